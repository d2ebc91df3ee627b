//! `task_output`: what a command in the background printed since it was last asked about, and how it stands.

use super::{Tool, ToolEnv, ToolRun, arguments, task};
use crate::process::background::{Background, Task};
use futures_util::future::BoxFuture;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::Outcome;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The longest wait that can be asked for, as the schema says.
const MAX_WAIT_MS: u64 = 600_000;

/// How often the log is looked at for what nobody tells of: what is printed after a command's own end.
const LOOK: Duration = Duration::from_millis(200);

/// The tool.
#[derive(Debug, Clone)]
pub struct TaskOutput {
    background: Arc<Background>,
}

#[derive(Debug, serde::Deserialize)]
struct Args {
    id: String,
    #[serde(default)]
    wait_ms: u64,
}

impl TaskOutput {
    /// The tool with the keeper of what runs.
    pub fn new(background: Arc<Background>) -> Self {
        Self { background }
    }
}

impl Tool for TaskOutput {
    fn name(&self) -> &'static str {
        "task_output"
    }

    fn prepare<'a>(&'a self, call: &'a Call, _env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            let args: Args = arguments(call)?;
            Ok(Prepared { title: format!("output of {}", args.id.trim()), ..Prepared::default() })
        })
    }

    fn run<'a>(&'a self, run: ToolRun<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let found = arguments::<Args>(run.call)
                .and_then(|args| Ok((task::find(&self.background, &run.env.session_dir, &args.id)?, args.wait_ms)));
            let (task, wait_ms) = match found {
                Ok(found) => found,
                Err(problem) => return Outcome::failed(problem),
            };
            wait(&task, Duration::from_millis(wait_ms.min(MAX_WAIT_MS)), &run.cancel).await;
            task::outcome(task).await
        })
    }
}

/// Waits until something new is printed, the command ends, the time is over or the user interrupts.
async fn wait(task: &Task, time: Duration, cancel: &CancellationToken) {
    let mut changes = task.watch();
    let ended = task.state().end.is_some();
    let asked = task.read_on(|from| (from, from));
    let news = async {
        loop {
            let state = changes.borrow_and_update().clone();
            if !state.runs || (state.end.is_some() && !ended) || size(&task.described.log) > asked {
                return;
            }
            // The sender lives as long as the task.
            let _ = tokio::time::timeout(LOOK, changes.changed()).await;
        }
    };
    tokio::select! {
        () = news => {}
        () = tokio::time::sleep(time) => {}
        () = cancel.cancelled() => {}
    }
}

fn size(log: &Path) -> u64 {
    std::fs::metadata(log).map_or(0, |metadata| metadata.len())
}
