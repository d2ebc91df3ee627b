//! `run_terminal_cmd`: runs a command in bash and gives its end and its output.
//!
//! How processes are started and ended is [`process`](crate::process); what of the output the model sees is
//! [`projection`](plimsoll_core::tool::projection::command). Whether the command may run was decided before.

pub(super) mod limits;
mod live;
pub(super) mod output;
pub(super) mod perform;
pub(super) mod places;

use super::scope::{self, Resolved};
use super::{Tool, ToolEnv, ToolRun, task};
use crate::process::Helper;
use crate::process::background::{Background, MAX_RUNNING};
use futures_util::future::BoxFuture;
use perform::{FIRST_LOOK, Follow, Starter, Task, perform};
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::{Body, Outcome, Status};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Time for a command that states none.
const DEFAULT_TIMEOUT_MS: u64 = 120_000;

/// The longest time that can be asked for.
const MAX_TIMEOUT_MS: u64 = 3_600_000;

/// Longest title, in characters.
const TITLE: usize = 120;

/// The tool.
#[derive(Debug, Clone)]
pub struct RunTerminalCmd {
    starter: Starter,
}

/// The arguments of a call.
#[derive(Debug, serde::Deserialize)]
struct Args {
    command: String,
    working_directory: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    is_background: bool,
}

impl RunTerminalCmd {
    /// The tool with the binary that it starts, and the keeper of what commands leave running.
    pub fn new(helper: Helper, background: Arc<Background>) -> Self {
        Self { starter: Starter { helper, background } }
    }
}

impl Tool for RunTerminalCmd {
    fn name(&self) -> &'static str {
        "run_terminal_cmd"
    }

    fn prepare<'a>(&'a self, call: &'a Call, env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            let args = Args::of(call)?;
            let cwd = working_directory(env, args.working_directory.as_deref())?;
            let first = args.command.trim().lines().next().unwrap_or_default();
            let short: String = first.chars().take(TITLE).collect();
            let more = if short.len() < args.command.trim().len() { " \u{2026}" } else { "" };
            Ok(Prepared {
                targets: places::targets(env, &cwd, &args.command),
                title: format!("run {short}{more}"),
                command: Some(args.command),
                ..Prepared::default()
            })
        })
    }

    fn run<'a>(&'a self, run: ToolRun<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match self.run_checked(&run).await {
                Ok(outcome) => outcome,
                Err(message) => Outcome::failed(message),
            }
        })
    }
}

impl Args {
    fn of(call: &Call) -> Result<Self, String> {
        let args: Self = serde_json::from_value(call.args.clone())
            .map_err(|error| format!("The arguments of run_terminal_cmd do not fit: {error}."))?;
        if args.command.trim().is_empty() {
            return Err("`command` is empty. Give the command line to run.".to_owned());
        }
        if args.command.contains('\0') {
            return Err("`command` contains a NUL character, which no program can be given. Leave it out.".to_owned());
        }
        if let Some(ms) = args.timeout_ms
            && !(1..=MAX_TIMEOUT_MS).contains(&ms)
        {
            return Err(format!("`timeout_ms` is {ms}; it must be from 1 to {MAX_TIMEOUT_MS}."));
        }
        Ok(args)
    }
}

impl RunTerminalCmd {
    async fn run_checked(&self, run: &ToolRun<'_>) -> Result<Outcome, String> {
        let args = Args::of(run.call)?;
        let cwd = working_directory(run.env, args.working_directory.as_deref())?;
        let now = places::targets(run.env, &cwd, &args.command);
        if run.prepared.command.as_ref() != Some(&args.command) || run.prepared.targets != now {
            return Err(format!(
                "The command was not run: its working directory is now {}, or a file that it names leads elsewhere than when it \
                 was decided. Call again.",
                cwd.shown
            ));
        }
        if run.cancel.is_cancelled() {
            let body = Body::Text("The command was not begun: the user interrupted before.".to_owned());
            return Ok(Outcome { status: Status::Cancelled, body });
        }
        if args.is_background && self.starter.background.running(&run.env.session_dir).len() >= MAX_RUNNING {
            return Err(format!(
                "The command was not run: {MAX_RUNNING} commands of this session are in the background, which is the \
                 most. End one with stop_task first. {}",
                task::running(&self.starter.background, &run.env.session_dir)
            ));
        }
        let how = if args.is_background {
            Follow::Begun(FIRST_LOOK)
        } else {
            Follow::Limited(Duration::from_millis(args.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS)))
        };
        perform(&self.starter, run, Task { command: args.command, cwd, how, env: BTreeMap::new() }).await
    }
}

/// The folder that a command runs in: `asked`, or the first root. Changes nothing.
fn working_directory(env: &ToolEnv, asked: Option<&str>) -> Result<Resolved, String> {
    let asked = asked.map(str::trim).filter(|asked| !asked.is_empty()).unwrap_or(".");
    let resolved = scope::resolve_existing(env, asked)
        .map_err(|problem| format!("`working_directory`: {problem} Give an existing folder, or leave it out."))?;
    if !resolved.path.is_dir() {
        return Err(format!("`working_directory` {asked} is not a folder. Give a folder, or leave it out."));
    }
    Ok(resolved)
}
