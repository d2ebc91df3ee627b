//! `stop_task`: ends a command in the background with everything it started.

use super::{Tool, ToolEnv, ToolRun, arguments, task};
use crate::process::background::Background;
use futures_util::future::BoxFuture;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::Outcome;
use std::sync::Arc;

/// The tool.
#[derive(Debug, Clone)]
pub struct StopTask {
    background: Arc<Background>,
}

#[derive(Debug, serde::Deserialize)]
struct Args {
    id: String,
}

impl StopTask {
    /// The tool with the keeper of what runs.
    pub fn new(background: Arc<Background>) -> Self {
        Self { background }
    }
}

impl Tool for StopTask {
    fn name(&self) -> &'static str {
        "stop_task"
    }

    fn prepare<'a>(&'a self, call: &'a Call, _env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            let args: Args = arguments(call)?;
            Ok(Prepared { title: format!("end {}", args.id.trim()), ..Prepared::default() })
        })
    }

    /// An interrupt does not stop it: the end was asked for, and comes within seconds.
    fn run<'a>(&'a self, run: ToolRun<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let found = arguments::<Args>(run.call)
                .and_then(|args| task::find(&self.background, &run.env.session_dir, &args.id));
            match found {
                Ok(task) => {
                    task.stop();
                    task.gone().await;
                    task::outcome(task).await
                }
                Err(problem) => Outcome::failed(problem),
            }
        })
    }
}
