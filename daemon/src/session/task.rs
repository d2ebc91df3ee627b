//! The task of a session, for clients: as it stands with what the host knows beside it, and changed on the user's behalf. In
//! the session's actor, so that the model's own updates do not come in between.

use super::api::{ApiError, ApiErrorKind};
use super::consult::texts;
use super::driver::{Driver, now};
use super::load::{load, store_error};
use plimsoll_core::event::{Event, EventBody};
use plimsoll_core::id::{CallId, Revision};
use plimsoll_core::ledger::Operation;
use plimsoll_core::permission::policy::Shell;
use plimsoll_core::task::change::{Change, apply};
use plimsoll_core::task::{Phase, Task, gate};
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::turn::input::InputBody;
use plimsoll_core::turn::machine::Machine;
use plimsoll_core::verification::Verification;

/// A task with what the host knows beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInfo {
    /// The task; none where there never was one.
    pub task: Option<Task>,
    /// The last test run.
    pub verification: Option<Verification>,
    /// Calls of which nobody knows whether they took effect.
    pub unsettled: Vec<CallId>,
    /// The project's revision now, as last observed.
    pub revision: Revision,
}

impl Driver {
    /// The task as it stands.
    pub(super) async fn task(&self) -> Result<TaskInfo, ApiError> {
        let seen = self.project.workspace().revision();
        if let Some(machine) = self.machine.as_ref().filter(|machine| !machine.is_broken()) {
            return Ok(TaskInfo {
                task: machine.task().cloned(),
                verification: machine.verification().cloned(),
                unsettled: machine.unsettled().iter().map(|operation| operation.call).collect(),
                revision: seen.max(machine.revision()),
            });
        }
        let loaded = load(&self.store, &self.id).await.map_err(|error| store_error(&error))?;
        let unsettled = loaded.operations.iter().filter(|operation| operation.is_unsettled());
        Ok(TaskInfo {
            unsettled: unsettled.map(|operation: &Operation| operation.call).collect(),
            task: loaded.task,
            verification: loaded.verification,
            revision: seen.max(loaded.revision),
        })
    }

    /// Changes it. What it denies counts from the next decision on, in a running turn too.
    pub(super) async fn set_task(&mut self, change: Change) -> Result<TaskInfo, ApiError> {
        if self.machine.as_ref().is_some_and(Machine::is_broken) {
            return Err(ApiError::new(
                ApiErrorKind::Store,
                "the session could not be stored, and what ran is still ending",
            )
            .hint("try again in a moment"));
        }
        self.settle().await.map_err(|error| store_error(&error))?;
        let info = self.task().await?;
        let before = info.task.clone().unwrap_or_default();
        let after = apply(&before, &change).map_err(|why| ApiError::new(ApiErrorKind::InvalidParams, why))?;
        if after.phase == Phase::Done && before.phase != Phase::Done {
            self.check_done(&after, &info).await?;
        }
        if info.task.as_ref() == Some(&after) {
            return Ok(info);
        }
        if self.machine.is_some() {
            self.input(InputBody::SetTask(Box::new(after))).await;
            self.stored()?;
        } else {
            let event = Event { seq: self.hub.head().next(), at: now(), body: EventBody::TaskChanged };
            let batch = Batch { task: Some(after), events: vec![event], ..Batch::default() };
            self.commit(batch).await.map_err(|error| store_error(&error))?;
        }
        self.task().await
    }

    /// Whether a task counts as done; the error says what is missing.
    async fn check_done(&self, task: &Task, info: &TaskInfo) -> Result<(), ApiError> {
        let workspace = self.project.workspace();
        let revision = workspace.observe(workspace.revision()).await.revision.max(info.revision);
        let cited = self.store.cited(&self.id, Vec::new(), Vec::new(), true).await;
        let deeds = cited.map_err(|error| store_error(&error))?.deeds;
        let unsettled: Vec<String> = info.unsettled.iter().map(ToString::to_string).collect();
        let missing = gate::missing(
            task,
            &gate::Facts {
                unsettled: &unsettled,
                verification: info.verification.as_ref(),
                revision,
                deeds: &deeds,
                roots: &texts(&self.project.roots()),
                // What was done is read as bash does, whatever runs commands now.
                shell: Shell::Bash,
            },
        );
        if missing.is_empty() {
            return Ok(());
        }
        Err(ApiError::new(ApiErrorKind::Conflict, format!("the task is not done: {}", missing.join(" ")))
            .hint("`waive` lets it count as done without tests; `removeConstraints` lifts what was broken"))
    }
}
