//! How a turn ends: by itself, by an interrupt, by a failure.

use super::super::effect::Effect;
use super::super::machine::Machine;
use super::super::state::{Answer, Phase};
use crate::event::{EventBody, TurnEnd};
use crate::prompt;
use crate::transcript::batch::SessionState;
use crate::transcript::epoch::RequestEnd;
use crate::transcript::item::{ItemBody, MetaCause, NoticeCause, UserMessage};

impl Machine {
    /// Ends the turn: one commit with everything that is held, then the next prompt that waits.
    pub(in crate::turn) fn finish(&mut self, reason: TurnEnd, message: Option<String>) {
        let Some(turn) = &mut self.turn else { return };
        // What the user added and no request has told yet stands in the next one.
        for text in std::mem::take(&mut turn.steering) {
            self.add_item(ItemBody::User(UserMessage { text, additional_data: String::new(), steering: true }));
        }
        let Some(turn) = self.turn.take() else { return };
        let cost = self.settings.model.price.as_ref().map(|price| price.cost(turn.usage));
        self.add_event(EventBody::TurnCompleted {
            turn: turn.no,
            reason,
            usage: turn.usage,
            cost,
            unsettled: self.unsettled.clone(),
            message,
        });
        self.set_state(SessionState::Idle);
        self.commit();
        if let Some((no, prompt)) = self.queue.pop_front() {
            self.begin(no, prompt);
        }
    }

    /// The user interrupts. What runs still reports; then the turn ends.
    pub(in crate::turn) fn cancel(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        if turn.cancelled {
            return;
        }
        turn.cancelled = true;
        turn.steering.clear();
        match &mut turn.phase {
            // The prompt is stored once the environment is there; then the turn ends.
            Phase::Collecting => {}
            Phase::Calling(answer) => {
                let request = answer.request;
                let answer = std::mem::replace(answer, Answer::new(request));
                self.effects.push(Effect::StopModel(request));
                self.keep_cut_text(&answer);
                self.held.request_end = Some(RequestEnd {
                    no: request,
                    at: self.now,
                    usage: answer.usage,
                    error: Some("interrupted by the user".to_owned()),
                });
                self.interrupted();
            }
            Phase::Backoff { .. } => {
                self.held.request_end = Some(RequestEnd {
                    no: self.counters.request,
                    at: self.now,
                    usage: None,
                    error: Some("interrupted by the user".to_owned()),
                });
                self.interrupted();
            }
            Phase::Calls(_) => self.cancel_calls(),
        }
    }

    /// The last words of an interrupted turn: the user sees it, and the model will know.
    pub(in crate::turn) fn interrupted(&mut self) {
        self.add_notice(NoticeCause::Interrupted, "Interrupted by the user.");
        self.remind(
            MetaCause::Interrupted,
            prompt::reminder_interrupted("What had finished by then stands above with its results."),
        );
        self.finish(TurnEnd::Cancelled, None);
    }
}
