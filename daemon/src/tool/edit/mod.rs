//! What the tools that change files have in common: a call becomes a [`Plan`], which is told, decided about, and made
//! anew and compared when the call runs.
//!
//! The difference between the tools is the plan; everything that touches the disk is in [`perform`], and, after a crash, in
//! [`recover`]. What the model has
//! seen of a file, and whether a call may run, is decided elsewhere: from what a plan tells in its
//! [`FileChange`]s and targets.

mod change;
mod content;
mod journal;
#[cfg(test)]
mod matrix;
mod perform;
mod recover;
mod replacing;
#[cfg(test)]
mod tests;

pub(super) use content::{Content, check_version, read};
pub use recover::{Recovered, recover};
pub(super) use replacing::replacing;

use super::scope::Resolved;
use super::{ToolEnv, ToolRun, blocking};
use plimsoll_core::edit::Edit;
use plimsoll_core::path::escape;
use plimsoll_core::tool::call::{Call, FileChange, Prepared};
use plimsoll_core::tool::outcome::{Body, Edited, EditedFile, Outcome, Status};
use plimsoll_core::workspace::FileVersion;
use std::os::unix::ffi::OsStrExt;

/// What a call will do.
pub(super) struct Plan {
    /// Each file, in the order of the call; no file twice.
    pub(super) files: Vec<FilePlan>,
    /// What the model should know besides.
    pub(super) notes: Vec<String>,
    /// One line for people.
    pub(super) title: String,
}

/// What becomes of one file.
pub(super) struct FilePlan {
    place: Resolved,
    before: Option<Before>,
    after: After,
    change: FileChange,
    lines_after: u64,
    wrote: Vec<(u64, u64)>,
}

/// What is there.
pub(super) struct Before {
    /// Its bytes; of a symbolic link, the path that it holds.
    pub(super) bytes: Vec<u8>,
    /// Their version.
    pub(super) version: String,
    /// Permission bits; none for a link.
    pub(super) mode: Option<u32>,
}

/// What will be there.
pub(super) enum After {
    /// What is there, edited.
    Edit(Edit),
    /// This.
    Whole(Vec<u8>),
    /// Nothing.
    Nothing,
}

/// What a plan tells of a file besides its versions.
#[derive(Default)]
pub(super) struct Facts {
    /// See [`FileChange`] for this and the others.
    pub(super) change: FileChange,
    /// Lines of the file after.
    pub(super) lines_after: u64,
    /// Lines of it that the call writes.
    pub(super) wrote: Vec<(u64, u64)>,
}

impl FilePlan {
    /// Of `facts.change` only what the bytes do not tell is taken.
    pub(super) fn new(place: Resolved, before: Option<Before>, after: After, facts: Facts) -> Self {
        let Facts { change, lines_after, wrote } = facts;
        let mut plan = Self { place, before, after, change, lines_after, wrote };
        let after = plan.pieces().map(|pieces| {
            let mut hasher = blake3::Hasher::new();
            for piece in pieces {
                hasher.update(piece);
            }
            FileVersion::from_hash(hasher.finalize()).to_string()
        });
        plan.change.path = escape(plan.place.path.as_os_str().as_bytes());
        plan.change.shown.clone_from(&plan.place.shown);
        plan.change.before = plan.before.as_ref().map(|before| before.version.clone());
        plan.change.mode = plan.before.as_ref().and_then(|before| before.mode);
        plan.change.after = after;
        plan
    }

    /// The path as results show it.
    pub(super) fn shown(&self) -> &str {
        &self.place.shown
    }

    /// Whether anything of it becomes another.
    fn changes(&self) -> bool {
        self.change.before != self.change.after
    }

    /// The content after; none when the file is deleted.
    fn pieces(&self) -> Option<Vec<&[u8]>> {
        match &self.after {
            After::Edit(edit) => {
                Some(edit.pieces(self.before.as_ref().map(|before| before.bytes.as_slice()).unwrap_or_default()))
            }
            After::Whole(bytes) => Some(vec![bytes]),
            After::Nothing => None,
        }
    }
}

impl Plan {
    fn prepared(self) -> Prepared {
        Prepared {
            targets: self.files.iter().map(|file| file.place.target()).collect(),
            command: None,
            title: self.title,
            changes: self.files.into_iter().map(|file| file.change).collect(),
            nested: Vec::new(),
        }
    }

    fn edited(self) -> Edited {
        let file =
            |file: FilePlan| EditedFile { change: file.change, lines_after: file.lines_after, wrote: file.wrote };
        Edited { files: self.files.into_iter().map(file).collect(), notes: self.notes }
    }
}

/// How a tool makes its plan from a call and what is on the disk. The error is text for the model. Blocking.
pub(super) type Planner = fn(&Call, &ToolEnv) -> Result<Plan, String>;

/// [`Tool::prepare`](super::Tool::prepare) of an editing tool.
pub(super) async fn prepare(call: &Call, env: &ToolEnv, planner: Planner) -> Result<Prepared, String> {
    let (call, env) = (call.clone(), env.clone());
    blocking::look(move || planner(&call, &env).map(Plan::prepared)).await
}

/// [`Tool::run`](super::Tool::run) of an editing tool. A call that is cancelled before its first effect changes nothing;
/// one that has begun is finished.
pub(super) async fn run(run: ToolRun<'_>, planner: Planner) -> Outcome {
    let (call, env, prepared) = (run.call.clone(), run.env.clone(), run.prepared.clone());
    blocking::finish(&run.cancel, move |stop| {
        let done = perform::again(&call, &env, &prepared, planner)
            .and_then(|plan| Ok(perform::perform(&call, &plan, &env, stop)?.then_some(plan)));
        match done {
            Ok(Some(plan)) => Some(Outcome { status: Status::Ok, body: Body::Edit(plan.edited()) }),
            Ok(None) => None,
            Err(problem) => Some(Outcome::failed(problem)),
        }
    })
    .await
}
