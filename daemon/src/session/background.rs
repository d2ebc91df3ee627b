//! A session's commands in the background, as far as its actor is concerned: it ends when they have ended, and tells the
//! machine of every end.

use super::api::CloseReason;
use super::driver::Driver;
use super::setup::canonical;
use plimsoll_core::tool::outcome::TaskEnd;
use plimsoll_core::turn::input::InputBody;
use plimsoll_core::turn::machine::Machine;
use std::path::PathBuf;

impl Driver {
    /// The session's folder.
    fn folder(&self) -> PathBuf {
        canonical(&self.store.session_folder(&self.id))
    }

    /// Ends the session for this reason: its turn, unless that waits for answers only, and its commands in the background.
    pub(super) async fn close(&mut self, reason: CloseReason) {
        self.ends = reason;
        self.project.shared.background.stop_session(&self.folder());
        self.input(InputBody::Close).await;
        // What prepares a compaction is of no use to anybody any more.
        self.drop_beside();
    }

    /// After [`Self::close`]: whether nothing works for the session any more.
    pub(super) async fn is_over(&mut self) -> bool {
        let folder = self.folder();
        if self.no_tool_runs() && self.project.shared.background.count(&folder) == 0 {
            self.tell_ended().await;
        }
        let rests = |machine: &Machine| machine.running_turn().is_none() && machine.in_background().is_empty();
        // A compaction that no turn waits for is given up with the session.
        self.no_tool_runs() && self.machine.as_ref().is_none_or(rests)
    }

    /// Tells the machine which of its commands in the background have ended without its knowing.
    pub(super) async fn tell_ended(&mut self) {
        let Some(machine) = &self.machine else { return };
        for end in self.ended(machine) {
            Box::pin(self.input(InputBody::TaskEnded(end))).await;
        }
    }

    /// Which of a machine's commands in the background have ended.
    pub(super) fn ended(&self, machine: &Machine) -> Vec<TaskEnd> {
        let folder = self.folder();
        let end = |call| match self.project.shared.background.find(&folder, call) {
            Some(task) => task.end(),
            None => Some(TaskEnd { call, exit: None, duration_ms: 0, told: false }),
        };
        machine.in_background().into_iter().filter_map(end).collect()
    }
}
