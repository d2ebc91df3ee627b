//! Undoing what the agent wrote: from the ledger's operations and what stands on the disk now to a plan.
//!
//! Pure. It reads and writes no file: contents are named by their versions, and what a plan wants done the session does.
//! A checkpoint is the state before a call; a turn groups its calls. An undo is an operation of its own and can be undone
//! like any other call.

mod history;
mod plan;
mod told;

pub use plan::{How, Refusal, paths, plan};
pub use told::{notice, reminder};

use crate::id::{CallId, TurnNo};
use crate::ledger::{OpState, Operation, OperationFile};
use std::collections::BTreeMap;

/// The tool's name in the operations that undos leave.
pub const UNDO: &str = "undo";

/// What is to be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One call. Of an undo: what it undid is done again.
    Call(CallId),
    /// All calls of a turn.
    Turn(TurnNo),
    /// All calls of a turn and of those after it.
    From(TurnNo),
}

/// What stands, or stood, at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Absent,
    /// A regular file with the content of this version.
    File(String),
    /// A symbolic link; the version is that of the path that it leads to.
    Link(String),
}

impl Content {
    fn of(version: Option<&String>, link: bool) -> Self {
        match version {
            None => Self::Absent,
            Some(version) if link => Self::Link(version.clone()),
            Some(version) => Self::File(version.clone()),
        }
    }

    fn before(file: &OperationFile) -> Self {
        Self::of(file.before.as_ref(), file.link)
    }

    /// The version of what is there.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Absent => None,
            Self::File(version) | Self::Link(version) => Some(version),
        }
    }
}

/// What stands at a path now, as far as it can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Now {
    /// This, with these permission bits.
    Is(Content, Option<u32>),
    /// Something that must not be replaced, such as a folder; the text says what.
    Unclear(String),
}

/// What an undo would do, file by file, in the order of the paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Each file that the scope changed.
    pub files: Vec<FilePlan>,
    /// Commands of the scope with their calls: what they changed is not known and stays.
    pub commands: Vec<(CallId, String)>,
}

/// What an undo would do to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// Canonical absolute path in text form.
    pub path: String,
    /// Calls whose effect on it would be taken back.
    pub calls: Vec<CallId>,
    /// What is there.
    pub now: Content,
    /// Permission bits of what is there.
    pub now_mode: Option<u32>,
    /// What would be there.
    pub want: Content,
    /// Permission bits that it would get; none: those that it has.
    pub mode: Option<u32>,
    /// Whether that may be done.
    pub verdict: Verdict,
}

/// Whether a file may be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It stands as the agent left it.
    Restore,
    /// It stands as it stood before.
    AlreadySo,
    /// Later calls of the session changed it further; they would be undone along.
    Later(Vec<CallId>),
    /// Somebody else changed it: after the agent, or between two of the calls.
    Changed {
        /// Versions that were not written by the agent and would go, newest first. The newest may be what is there now.
        loses: Vec<String>,
    },
    /// It cannot be told whether the call took effect, or what is there is no file.
    Unclear(String),
    /// The content before is no longer kept.
    Lost,
}

/// The undo of a dead daemon, settled by what stands on the disk: it did what is there now. A file that is neither as it
/// was nor as it was to become counts as not restored; its content is somebody's.
pub fn settle(operation: &Operation, now: &BTreeMap<String, Now>) -> Operation {
    let is_there = |file: &OperationFile| match now.get(&file.path) {
        Some(Now::Is(content, _)) => content.version() == file.after.as_deref(),
        Some(Now::Unclear(_)) | None => false,
    };
    let files: Vec<OperationFile> = operation.files.iter().filter(|file| is_there(file)).cloned().collect();
    let state = if files.is_empty() { OpState::Failed } else { OpState::Succeeded };
    Operation { state, files, ..operation.clone() }
}

/// Whether an operation is an undo.
pub fn is_undo(operation: &Operation) -> bool {
    operation.tool == UNDO
}

#[cfg(test)]
mod tests;
