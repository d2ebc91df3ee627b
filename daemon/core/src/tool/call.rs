//! A call on its way: as the model proposed it, as it was understood, and as it was prepared.

use crate::id::CallId;
use crate::path::WorkspacePath;
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
    /// Plimsoll's other folders, the insides of `.git`, key files.
    Protected,
    /// Anywhere else.
    Outside,
}
