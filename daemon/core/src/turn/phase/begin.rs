//! How a turn begins: a prompt, the environment, the first request.

use super::super::effect::Effect;
use super::super::input::Prompt;
use super::super::machine::{MAX_QUEUED, Machine};
use super::super::state::{Phase, Turn};
use crate::context;
use crate::event::{EventBody, TurnEnd};
use crate::id::StepNo;
use crate::model::usage::Usage;
use crate::transcript::batch::SessionState;
use crate::transcript::epoch::EpochCause;
use crate::transcript::item::{ItemBody, MetaCause, MetaMessage, UserMessage};
use crate::workspace::Environment;

/// Characters of the first prompt's first line that make a session's title.
const TITLE_CHARS: usize = 60;

impl Machine {
    pub(in crate::turn) fn prompt(&mut self, prompt: Prompt) {
        if self.turn.is_some() && self.queue.len() >= MAX_QUEUED {
            return;
        }
        self.counters.turn = self.counters.turn.next();
        let turn = self.counters.turn;
        if self.turn.is_some() {
            let key = prompt.key.clone();
            self.queue.push_back((turn, prompt));
            self.add_event(EventBody::TurnQueued { turn });
            self.commit();
            self.effects.push(Effect::Accepted { key, turn, queued: true });
        } else {
            self.begin(turn, prompt);
        }
    }

    pub(in crate::turn) fn begin(&mut self, no: crate::id::TurnNo, prompt: Prompt) {
        self.turn = Some(Turn {
            no,
            step: StepNo(0),
            text: prompt.text,
            key: prompt.key,
            phase: Phase::Collecting,
            usage: Usage::default(),
            steering: Vec::new(),
            cancelled: false,
            attempts: 0,
            continued: 0,
            failing: None,
            context_tokens: 0,
        });
        self.effects.push(Effect::Collect);
    }

    pub(in crate::turn) fn steer(&mut self, text: String) {
        match &mut self.turn {
            Some(turn) if !turn.cancelled => turn.steering.push(text),
            Some(_) | None => self.prompt(Prompt { text, key: None }),
        }
    }

    /// The environment is known: the user's message and the first request are one commit.
    pub(in crate::turn) fn collected(&mut self, environment: Environment) {
        let Some(turn) = &mut self.turn else { return };
        if !matches!(turn.phase, Phase::Collecting) {
            return;
        }
        let (no, key, text) = (turn.no, turn.key.take(), std::mem::take(&mut turn.text));
        let cancelled = turn.cancelled;
        self.see_revision(environment.revision);
        if !self.titled {
            self.titled = true;
            self.held.title = Some(title(&text));
            self.add_event(EventBody::SessionChanged);
        }
        self.add_event(EventBody::TurnStarted { turn: no });
        self.held.prompt_key = key.clone().map(|key| (key, no));
        if cancelled {
            // Nothing is sent, so nothing has been stated.
            self.add_item(ItemBody::User(UserMessage { text, additional_data: String::new(), steering: false }));
            self.finish(TurnEnd::Cancelled, None);
        } else {
            self.set_state(SessionState::Running);
            self.state_surroundings(text, &environment);
            self.request();
        }
        // The client hears of its turn once the turn is stored.
        self.accepted(key, no);
    }

    /// The user's message with what is new around it; in a new epoch behind the epoch's head.
    fn state_surroundings(&mut self, text: String, environment: &Environment) {
        if let Some(cause) = self.view.epoch_due(&self.settings.model) {
            self.open_epoch(cause, environment);
        }
        let changes = context::changes(environment, self.view.stated(), self.settings.model.context_window);
        for reminder in changes.reminders {
            self.add_item(ItemBody::Meta(MetaMessage { cause: MetaCause::InstructionsChanged, text: reminder }));
        }
        self.add_item(ItemBody::User(UserMessage { text, additional_data: changes.additional_data, steering: false }));
        self.view.state(changes.stated);
    }

    fn accepted(&mut self, key: Option<String>, turn: crate::id::TurnNo) {
        let after_commit = self
            .effects
            .iter()
            .position(|effect| matches!(effect, Effect::Commit(_)))
            .map_or(self.effects.len(), |at| at + 1);
        self.effects.insert(after_commit, Effect::Accepted { key, turn, queued: false });
    }

    fn open_epoch(&mut self, cause: EpochCause, environment: &Environment) {
        self.counters.epoch = self.counters.epoch.next();
        let head = context::head::head(environment, self.settings.model.context_window);
        let epoch = self.view.open_epoch(self.counters.epoch, cause, self.now, &self.settings.model, head);
        self.held.epoch = Some(epoch);
    }
}

/// The first line of a prompt, cut at a word.
fn title(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= TITLE_CHARS {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE_CHARS).collect();
    let end = cut.rfind(' ').filter(|at| *at > TITLE_CHARS / 2).unwrap_or(cut.len());
    format!("{}…", cut.get(..end).unwrap_or(&cut).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_cut_at_a_word() {
        assert_eq!(title("\n  Fix the bug  \nmore"), "Fix the bug");
        assert_eq!(
            title("Please explain in detail how the connection loop handles partial frames"),
            "Please explain in detail how the connection loop handles…"
        );
    }
}
