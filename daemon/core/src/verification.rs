//! What a test run says, and of which revision.

use crate::id::{CallId, Revision};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The last test run of a session. It speaks of one revision only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The call.
    pub call: CallId,
    /// The command that ran.
    pub command: String,
    /// Whether the command ended well and no test failed.
    pub passed: bool,
    /// The revision when it began, with what was pending then applied.
    pub before: Revision,
    /// The revision when it had ended; more than `before` when files changed meanwhile.
    pub after: Revision,
    /// Somebody else changed files while it ran: it says nothing of any revision.
    pub void: bool,
    /// When it ended.
    pub at: Timestamp,
}

impl Verification {
    /// Whether the tests passed on this revision, undisturbed.
    pub fn holds_for(&self, revision: Revision) -> bool {
        self.passed && !self.void && self.after == revision
    }
}
