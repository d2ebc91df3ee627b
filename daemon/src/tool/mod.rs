//! World tools: values in, an outcome out. What a tool needs of the session it asks for by an event.
//!
//! Called by `session::driver` only. A tool never touches the store, a model or a client.

use crate::process::background::Task;
use futures_util::future::BoxFuture;
use plimsoll_core::id::Revision;
use plimsoll_core::ledger::ProcessMark;
use plimsoll_core::path::WorkspacePath;
use plimsoll_core::permission::leave::Leave;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::Outcome;
use plimsoll_core::workspace::memory::Change;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub mod apply_patch;
pub mod blocking;
pub mod delete_file;
pub mod edit;
pub mod glob_file_search;
pub mod grep;
pub mod list_dir;
pub mod multi_edit;
pub mod read_file;
pub mod registry;
pub mod run_terminal_cmd;
pub mod run_tests;
pub mod scope;
pub mod stop_task;
pub mod string_replace;
mod task;
pub mod task_output;
pub mod update_memory;
pub mod walk;
pub mod write;

#[cfg(test)]
mod testing;

/// A tool that acts on the world. The open set: others add implementations.
pub trait Tool: Send + Sync {
    /// The name of its [`Spec`](plimsoll_core::tool::spec::Spec).
    fn name(&self) -> &'static str;

    /// Finds out what the call will touch, without touching it. The error is text for the model: what is wrong and what
    /// would be right.
    fn prepare<'a>(&'a self, call: &'a Call, env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>>;

    /// Runs a call that was allowed, after checking again what was prepared. Never panics on bad input, always gives
    /// exactly one outcome, and gives it soon after `cancel` fires.
    fn run<'a>(&'a self, run: ToolRun<'a>) -> BoxFuture<'a, Outcome>;
}

/// One run of a tool.
pub struct ToolRun<'a> {
    /// The call.
    pub call: &'a Call,
    /// Its facts, as the decision saw them.
    pub prepared: &'a Prepared,
    /// What it may do.
    pub leave: Leave,
    /// Where it runs.
    pub env: &'a ToolEnv,
    /// What happens while it runs.
    pub events: mpsc::Sender<ToolEvent>,
    /// Fires when the user interrupts.
    pub cancel: CancellationToken,
}

/// The values that a tool works with.
#[derive(Debug, Clone)]
pub struct ToolEnv {
    /// The project's roots, canonical, at least one.
    pub roots: Arc<[PathBuf]>,
    /// The environment of the client that started the turn.
    pub client_env: Arc<BTreeMap<String, String>>,
    /// The session's own folder, canonical: transcript, artifacts, logs. Readable by tools.
    pub session_dir: PathBuf,
    /// The session's plan file, canonical: written in plan mode only.
    pub plan_file: PathBuf,
    /// Folders of this project that tools may always read (transcripts, artifacts, logs), canonical.
    pub readable: Arc<[PathBuf]>,
    /// Plimsoll's own folders, canonical: out of reach but for `readable`.
    pub protected: Arc<[PathBuf]>,
    /// The folder of pre-images, canonical; see [`file_io::pre_image`](crate::file_io::pre_image).
    pub pre_images: PathBuf,
    /// Folders outside the roots that the configuration declares as writable for commands, canonical.
    pub writable: Arc<[PathBuf]>,
    /// Names of variables that hold provider keys; never handed to a command.
    pub secret_env: Arc<[String]>,
    /// How the project's tests are run, as far as the configuration says it.
    pub tests: Arc<TestsEnv>,
}

/// See [`ToolEnv::tests`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestsEnv {
    /// The command, with the place that names it, for people.
    pub command: Option<(String, String)>,
    /// How long a run may take.
    pub timeout: Duration,
    /// Patterns, from a root, of files that a run changes itself.
    pub writes: Vec<String>,
}

impl Default for TestsEnv {
    fn default() -> Self {
        Self { command: None, timeout: Duration::from_mins(10), writes: Vec::new() }
    }
}

/// A moment of the workspace, to be compared with a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The revision.
    pub revision: Revision,
    /// How many paths calls of sessions had written.
    pub writes: u64,
}

/// What the workspace is like, beside an earlier moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Now.
    pub moment: Moment,
    /// What changed since; a folder that went away ends in `/`.
    pub changed: Vec<WorkspacePath>,
    /// Those of them that were not there then.
    pub added: Vec<WorkspacePath>,
    /// What calls of sessions wrote since.
    pub by_calls: Vec<WorkspacePath>,
    /// Whether `changed` is all.
    pub complete: bool,
}

/// What a running tool tells its session.
#[derive(Debug)]
pub enum ToolEvent {
    /// The process that performs it is known.
    Process(ProcessMark),
    /// Output for the clients' eyes, already cleaned; may be dropped when nobody reads.
    Output(String),
    /// Something is to be remembered or forgotten; answered once that is committed, in words for the model.
    Memory(Change, oneshot::Sender<Result<String, String>>),
    /// The files are to be looked at now, with what is pending applied, beside an earlier moment; answered by none when that
    /// takes too long.
    Observe {
        /// The moment; none for this one.
        since: Option<Moment>,
        /// What was found.
        reply: oneshot::Sender<Option<Observation>>,
    },
    /// The command goes on in the background after its result; its end is to be told.
    Background(Arc<Task>),
}

/// A call's arguments as a tool's own type. They fit the schema already, so that an error is the daemon's own fault; it
/// is told all the same.
fn arguments<T: serde::de::DeserializeOwned>(call: &Call) -> Result<T, String> {
    serde_json::from_value(call.args.clone())
        .map_err(|error| format!("The arguments of {} do not fit: {error}.", call.tool))
}
