//! How a turn ends: by itself, by an interrupt, by a failure.

use super::super::effect::Effect;
use super::super::machine::{Life, Machine};
use super::super::state::{Answer, Phase};
use crate::event::{Ask, AskResolution, EventBody, TurnEnd, TurnFacts};
use crate::transcript::batch::SessionState;
use crate::transcript::item::{MetaCause, NoticeCause};

/// How the request of an interrupted turn is recorded to have ended.
const INTERRUPTED: &str = "interrupted by the user";

impl Machine {
    /// Ends the turn: one commit with everything that is held, then the next prompt that waits.
    pub(in crate::turn) fn finish(&mut self, reason: TurnEnd, message: Option<String>) {
        self.add_steering();
        self.add_ended();
        let Some(turn) = self.turn.take() else { return };
        let verification = self.verification.as_ref().map(|known| known.beside(self.revision));
        let facts = TurnFacts { files: turn.changed.into_iter().collect(), verification };
        let cost = self.settings.model.price.as_ref().map(|price| price.cost(turn.usage));
        self.add_event(EventBody::TurnCompleted {
            turn: turn.no,
            reason,
            usage: turn.usage,
            cost,
            unsettled: self.unsettled_calls(),
            message,
            facts,
        });
        let waiting = !self.queue.is_empty();
        self.set_state(if waiting { SessionState::Running } else { SessionState::Idle });
        self.commit();
        self.begin_next();
    }

    /// The next prompt that waits begins.
    pub(in crate::turn) fn begin_next(&mut self) {
        match self.queue.pop_front() {
            Some((no, prompt)) => self.begin(no, prompt),
            // What was asked for while the turn ran, and had no request to come before.
            None => self.compact_alone(),
        }
    }

    /// The user interrupts. What runs still reports; then the turn ends.
    pub(in crate::turn) fn cancel(&mut self) {
        if self.is_compacting_alone() {
            self.cancel_compaction();
            self.commit();
            self.begin_next();
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        if turn.cancelled {
            return;
        }
        turn.cancelled = true;
        match &mut turn.phase {
            Phase::Collecting => self.interrupted_at_once(),
            Phase::Compacting => {
                self.cancel_compaction();
                self.interrupted();
            }
            Phase::Calling(answer) => {
                let request = answer.request;
                let answer = std::mem::replace(answer, Answer::new(request));
                self.effects.push(Effect::StopModel(request));
                self.keep_cut_text(&answer);
                self.end_request(&answer, Some(INTERRUPTED.to_owned()));
                self.interrupted();
            }
            Phase::Backoff { .. } => {
                self.end_request(&Answer::new(self.counters.request), Some(INTERRUPTED.to_owned()));
                self.interrupted();
            }
            Phase::Calls(_) => self.cancel_calls(),
            Phase::Asking(ask) => {
                let ask = Ask::clone(ask);
                self.resolve_ask(ask, AskResolution::Void);
                self.interrupted();
            }
        }
    }

    /// The session is about to be closed: what waits is told as ended and never begins; the running turn is interrupted,
    /// unless it waits for answers only: then they can still come later.
    pub(in crate::turn) fn close(&mut self) {
        self.drop_queue("The session was closed while this prompt waited; send it again.");
        if self.waits_for_answers_only() {
            // How they end is still to be stored.
            if self.tasks.is_empty() {
                self.suspend();
            } else {
                self.life = Life::Closing;
                self.commit();
            }
            return;
        }
        self.cancel();
        self.stop_compaction();
        self.commit();
    }

    /// The last words of an interrupted turn: the user sees it, and the model will know.
    pub(in crate::turn) fn interrupted(&mut self) {
        self.add_steering();
        self.add_ended();
        self.add_notice(NoticeCause::Interrupted, "Interrupted by the user.");
        self.remind(
            MetaCause::Interrupted,
            self.prompts().reminder_interrupted("What had finished by then stands above with its results."),
        );
        self.finish(TurnEnd::Cancelled, None);
    }
}
