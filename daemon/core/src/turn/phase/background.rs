//! Commands in the background: they outlive their call, often their turn, and their end is told.

use super::super::machine::{Life, Machine};
use super::super::state::Phase;
use crate::event::EventBody;
use crate::id::CallId;
use crate::ledger::{OpState, Operation};
use crate::tool::outcome::{Body, Exit, Outcome, TaskEnd};
use crate::tool::projection::command;
use crate::transcript::item::MetaCause;

impl Machine {
    /// Commands in the background that have not been told to have ended.
    pub fn in_background(&self) -> Vec<CallId> {
        self.tasks.keys().copied().collect()
    }

    /// One has ended. While the model answers that waits: the answer does not know it.
    pub(in crate::turn) fn task_ended(&mut self, end: TaskEnd) {
        if !self.tasks.contains_key(&end.call) || self.ended.iter().any(|known| known.call == end.call) {
            return;
        }
        self.ended.push(end);
        let answering =
            self.turn.as_ref().is_some_and(|turn| matches!(turn.phase, Phase::Calling(_) | Phase::Backoff { .. }));
        if !answering {
            self.add_ended();
            self.commit();
        }
        if self.life == Life::Closing && self.tasks.is_empty() && self.waits_for_answers_only() {
            self.suspend();
        }
    }

    /// What has ended is settled and told, once: to clients, and to the model unless it knows already.
    pub(in crate::turn) fn add_ended(&mut self) {
        let mut lines = Vec::new();
        for end in std::mem::take(&mut self.ended) {
            let Some(mut operation) = self.tasks.remove(&end.call) else { continue };
            operation.state = settled(end.exit);
            operation.at = self.now;
            if operation.is_unsettled() {
                self.lost_sight_of(&operation);
            }
            if !self.seen_ended.remove(&end.call) && !end.told {
                lines.push(line(&operation, &end));
            }
            self.hold_operation(operation);
            self.add_event(EventBody::TaskEnded {
                call: end.call,
                exit: end.exit,
                duration_ms: if end.exit.is_some() { end.duration_ms } else { 0 },
            });
        }
        if !lines.is_empty() {
            self.remind(MetaCause::TaskEnded, self.prompts().reminder_task_ended(&lines));
        }
    }

    /// A result says how a command in the background stands: that it goes on, or that it has ended.
    pub(in crate::turn) fn note_task(&mut self, id: CallId, outcome: &Outcome) -> bool {
        let Body::Task(task) = &outcome.body else { return false };
        let runs = task.run.exit == Exit::Running;
        if !runs && self.tasks.contains_key(&task.id) {
            self.seen_ended.insert(task.id);
        }
        runs && task.id == id
    }
}

/// Where the operation of an ended command stands.
fn settled(exit: Option<Exit>) -> OpState {
    match exit {
        Some(Exit::Code(0)) => OpState::Succeeded,
        Some(Exit::Cancelled) => OpState::Cancelled,
        Some(Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotStarted) => OpState::Failed,
        Some(Exit::Running) | None => OpState::Unknown,
    }
}

/// What the model is told of one end.
fn line(operation: &Operation, end: &TaskEnd) -> String {
    let how = end.exit.map_or_else(
        || "its end was not seen; it does not run any more".to_owned(),
        |exit| command::task_end(exit, end.duration_ms),
    );
    format!("{} {}: {how}", operation.call, operation.command.as_deref().unwrap_or(&operation.target))
}
