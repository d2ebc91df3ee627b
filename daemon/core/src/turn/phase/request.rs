//! The next model request: assembled, recorded, sent.

use super::super::effect::{Effect, ModelCall};
use super::super::machine::Machine;
use super::super::state::{Answer, Phase};
use crate::event::{EventBody, TurnEnd};
use crate::transcript::item::NoticeCause;

/// What the user can do about a full window.
pub(super) const WINDOW_FULL: &str =
    "Shorten the conversation with `/compact`, begin a new session, or use a model with a larger window.";

impl Machine {
    /// Begins the next step with everything that the transcript holds by now, steering included.
    pub(in crate::turn) fn request(&mut self) {
        self.add_steering();
        self.tell();
        let said = self.view.stated().clone();
        if !self.is_at_limit() {
            self.tell_rules();
        }
        self.tell_mode();
        if !self.may_go_on() || self.compact_first() {
            return;
        }
        let (tokens, room) = (self.view.next_tokens(&self.settings.model), self.settings.model.usable_window());
        if tokens > room {
            let head = self.calibration().of(self.view.head_estimate());
            let text = format!(
                "The conversation has about {tokens} tokens now, {head} of them in instructions and tool definitions, and {} \
                 takes {room} in all. {WINDOW_FULL}",
                self.settings.model.id()
            );
            // What is not sent has not been said.
            self.view.state(said);
            self.add_notice(NoticeCause::Limit, text.clone());
            self.finish(TurnEnd::ModelError, Some(text));
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        turn.step = turn.step.next();
        turn.attempts = 0;
        self.counters.request = self.counters.request.next();
        let no = self.counters.request;
        let (turn_no, step) = (turn.no, turn.step);
        turn.phase = Phase::Calling(Answer::new(no));
        let (row, body) = self.view.assemble(no, turn_no, step, self.now, &self.settings.model);
        let tokens = self.view.tokens();
        let window = self.settings.model.context_window;
        self.held.request = Some(row);
        self.add_event(EventBody::StepStarted { turn: turn_no, step, tokens, window });
        self.commit();
        self.effects.push(Effect::CallModel(Box::new(ModelCall { no, api: self.settings.model.api, body })));
    }

    /// Sends the running request once more, byte for byte.
    pub(in crate::turn) fn request_again(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let no = self.counters.request;
        turn.phase = Phase::Calling(Answer::new(no));
        let body = self.view.body(&self.settings.model);
        self.effects.push(Effect::CallModel(Box::new(ModelCall { no, api: self.settings.model.api, body })));
    }
}
