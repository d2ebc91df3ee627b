//! What facades ask of checkpoints, and what they get: plain values.

use plimsoll_core::checkpoint::{How, Scope};
use plimsoll_core::id::{CallId, TurnNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::call::Diff;

/// An undo that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undo {
    /// What to undo.
    pub scope: Scope,
    /// What to do where a file cannot simply be restored.
    pub how: How,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What came of an undo, or would come of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// What came of it.
    pub state: UndoState,
    /// The undo's own call.
    pub call: Option<CallId>,
    /// Each file, by path.
    pub files: Vec<RestoredFile>,
    /// Commands that ran, with their calls: what they changed is not undone.
    pub commands: Vec<(CallId, String)>,
}

/// What came of an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoState {
    /// What is marked as done was restored.
    Done,
    /// What is marked as done would be restored.
    Planned,
    /// Nothing was done: some files cannot simply be restored.
    Refused,
    /// Everything stands as before.
    Nothing,
}

/// What restoring does to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFile {
    /// Canonical path in text form.
    pub path: String,
    /// What restoring it means.
    pub action: FileAction,
    /// Whether it may be restored.
    pub state: FileState,
    /// Why not, for people.
    pub reason: Option<String>,
    /// Whether it was restored, or would be.
    pub done: bool,
    /// Calls whose effect is taken back.
    pub calls: Vec<CallId>,
    /// Versions that are not the agent's and go; their contents are kept.
    pub keeps: Vec<String>,
    /// From what is there to what would be.
    pub diff: Diff,
}

/// What restoring a file means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// Its former content is written.
    Write,
    /// It is made again.
    Create,
    /// It is made again as a symbolic link.
    Link,
    /// It is deleted.
    Delete,
    /// Nothing.
    None,
}

/// Whether a file may be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// It stands as the agent left it.
    Ready,
    /// It stands as before.
    AlreadySo,
    /// Later calls changed it.
    Later,
    /// Somebody else changed it.
    Changed,
    /// It cannot be told what happened to it, or what is there cannot be replaced.
    Unclear,
    /// Its content before is no longer kept.
    Lost,
    /// It could not be restored when it was tried.
    Failed,
}

/// A page of turns that changed files, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPage {
    /// The turns.
    pub turns: Vec<TurnCheckpoint>,
    /// Turns before this one are on the next page; none at the end.
    pub next_before: Option<TurnNo>,
}

/// A turn that changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCheckpoint {
    /// The turn.
    pub turn: TurnNo,
    /// When its first call of these came to its end.
    pub at: Timestamp,
    /// The first line of its prompt.
    pub prompt: String,
    /// Whether it can be undone as a whole now.
    pub restorable: Restorable,
    /// Its calls that changed files, and the undos after it.
    pub calls: Vec<CallCheckpoint>,
}

/// A call that changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCheckpoint {
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// When it came to its end.
    pub at: Timestamp,
    /// Whether it can be undone alone now.
    pub restorable: Restorable,
    /// The files.
    pub files: Vec<ChangedFile>,
}

/// What a call did to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Canonical path in text form.
    pub path: String,
    /// Version before; none when nothing was there.
    pub before: Option<String>,
    /// Version after; none when it was deleted.
    pub after: Option<String>,
    /// Lines added and removed, where that is known.
    pub lines: Option<(u64, u64)>,
}

/// Whether something can be undone now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restorable {
    /// Yes.
    Ready,
    /// There is nothing to undo.
    AlreadySo,
    /// No, for this reason.
    Blocked(String),
}
