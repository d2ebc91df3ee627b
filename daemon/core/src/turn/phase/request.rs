//! The next model request: assembled, recorded, sent.

use super::super::effect::{Effect, ModelCall};
use super::super::machine::Machine;
use super::super::state::{Answer, Phase};
use crate::event::{EventBody, TurnEnd};
use crate::transcript::item::{ItemBody, NoticeCause, UserMessage};

impl Machine {
    /// Begins the next step with everything that the transcript holds by now, steering included.
    pub(in crate::turn) fn request(&mut self) {
        let Some(turn) = &self.turn else { return };
        if turn.step.0 >= self.settings.max_steps {
            let text = format!(
                "The turn reached its limit of {} steps (limits.max_steps_per_turn) and stopped; say `continue` to go on.",
                self.settings.max_steps
            );
            self.add_notice(NoticeCause::Limit, text.clone());
            self.finish(TurnEnd::MaxSteps, Some(text));
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        for text in std::mem::take(&mut turn.steering) {
            self.add_item(ItemBody::User(UserMessage { text, additional_data: String::new(), steering: true }));
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
        turn.context_tokens = tokens;
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
