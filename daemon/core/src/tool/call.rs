//! A call on its way: as the model proposed it, as it was understood, and as it was prepared.

use crate::id::CallId;
use crate::path::WorkspacePath;
use crate::workspace::InstructionSource;
use serde::{Deserialize, Serialize};

/// A call that the model proposed, understood: the tool exists and its arguments fit its schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The daemon's own id.
    pub id: CallId,
    /// The tool's name as in its [`Spec`](super::spec::Spec).
    pub tool: String,
    /// The arguments after [`args::parse`](super::args::parse): a JSON object that fits the schema.
    pub args: serde_json::Value,
}

/// Facts about a call that were collected just before the decision, re-checked when it runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prepared {
    /// Everything that the call will touch; a command names its working directory.
    pub targets: Vec<Target>,
    /// For commands: the exact text that will be run.
    pub command: Option<String>,
    /// One line for people: what the call is about to do, such as `read src/main.rs`.
    pub title: String,
    /// For edits: what will become of each file, in the order of the call.
    #[serde(default)]
    pub changes: Vec<FileChange>,
    /// Instruction files that lie between a root and a target, the root's own excepted, outer ones first.
    #[serde(default)]
    pub nested: Vec<InstructionSource>,
}

/// What an edit will do to one file, computed from the bytes that are there now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileChange {
    /// Canonical absolute path in text form; one of the call's targets.
    pub path: String,
    /// The path as results show it.
    pub shown: String,
    /// Version of the content before, as file results print it; none when nothing is there.
    pub before: Option<String>,
    /// Version of the content after; none when the file is deleted.
    pub after: Option<String>,
    /// Permission bits before.
    #[serde(default)]
    pub mode: Option<u32>,
    /// What is there is a symbolic link, which is deleted itself; its content is the path that it leads to.
    #[serde(default)]
    pub link: bool,
    /// Lines of the file before that are replaced: number of the first, and how many. Empty for a new file.
    pub touches: Vec<(u64, u64)>,
    /// Lines of the file before.
    pub lines_before: u64,
    /// The call replaces the content as a whole, so that all of it must have been shown.
    pub whole: bool,
    /// The call's own text occurs exactly once (or wherever it asked for) in the bytes that are there now, so that it is
    /// right also for a version that was not shown.
    pub anchored: bool,
    /// The difference.
    pub diff: Diff,
}

/// A difference of texts, for people and for results.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Diff {
    /// Unified, with three lines of context, without the two lines that name the files; bounded, see `cut`.
    pub text: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Lines of `text` that were left out at its end.
    pub cut: u64,
}

/// A file or folder that a call will touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The canonical absolute path in text form (see [`crate::path`]), after symbolic links.
    pub path: String,
    /// Where that path lies.
    pub zone: Zone,
}

/// Where a canonical path lies, as far as permission is concerned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Zone {
    /// Inside a root of the project.
    Root(WorkspacePath),
    /// One of Plimsoll's own readable folders: this project's transcripts, artifacts, logs.
    Readable,
    /// The session's plan file: read in every mode, written in plan mode only.
    Plan,
    /// Plimsoll's other folders, the insides of `.git`, key files.
    Protected,
    /// Anywhere else.
    Outside,
}
