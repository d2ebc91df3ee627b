//! `run_tests`: runs the project's tests and binds what they say to the revision that they ran on.
//!
//! The command is what the configuration or the project's files say ([`detect`]); it runs exactly as one of
//! `run_terminal_cmd` does. What it printed is read by [`test_report`](plimsoll_core::tool::test_report). Before and after it the
//! workspace is looked at with what is pending applied; whose the changes between are is decided by [`changes`].

mod changes;
mod detect;
mod python;

use super::run_terminal_cmd::perform::{Follow, Starter, Task, perform};
use super::run_terminal_cmd::places;
use super::{Moment, Observation, Tool, ToolEnv, ToolEvent, ToolRun, arguments, blocking};
use crate::process::Helper;
use crate::process::background::Background;
use changes::{Made, Whose};
use detect::Choice;
use futures_util::future::BoxFuture;
use plimsoll_core::ingest::{self, Source};
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::{Body, CommandRun, Exit, Outcome, Status};
use plimsoll_core::tool::test_report::{TestRun, problems, read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Of an output that was not kept whole so many bytes of the log are read.
const LOG_READ: u64 = 32 * 1024 * 1024;

/// The tool.
#[derive(Debug, Clone)]
pub struct RunTests {
    starter: Starter,
    made: Arc<Made>,
}

/// The arguments of a call.
#[derive(Debug, serde::Deserialize)]
struct Args {
    target: Option<String>,
}

impl RunTests {
    /// The tool with the binary that it starts, and the keeper of what commands leave running.
    pub fn new(helper: Helper, background: Arc<Background>) -> Self {
        Self { starter: Starter { helper, background }, made: Arc::default() }
    }
}

impl Tool for RunTests {
    fn name(&self) -> &'static str {
        "run_tests"
    }

    fn prepare<'a>(&'a self, call: &'a Call, env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            let choice = choose(call, env).await?;
            Ok(Prepared {
                targets: places::targets(env, &choice.cwd, &choice.command),
                title: format!("run tests: {}", choice.command.lines().next().unwrap_or_default()),
                command: Some(choice.command),
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

async fn choose(call: &Call, env: &ToolEnv) -> Result<Choice, String> {
    let args: Args = arguments(call)?;
    let env = env.clone();
    blocking::look(move || detect::choose(&env, args.target.as_deref())).await
}

/// What the call limits the run to; none where the same runs without a target.
async fn limit(run: &ToolRun<'_>, choice: &Choice) -> Result<Option<String>, String> {
    let args: Args = arguments(run.call)?;
    let Some(target) = args.target else { return Ok(None) };
    let env = run.env.clone();
    let all = blocking::look(move || detect::choose(&env, None)).await;
    let same = all.is_ok_and(|all| all.command == choice.command && all.cwd.path == choice.cwd.path);
    Ok((!same).then_some(target))
}

impl RunTests {
    async fn run_checked(&self, run: &ToolRun<'_>) -> Result<Outcome, String> {
        let choice = choose(run.call, run.env).await?;
        let now = places::targets(run.env, &choice.cwd, &choice.command);
        if run.prepared.command.as_ref() != Some(&choice.command) || run.prepared.targets != now {
            return Err(format!(
                "The tests were not run: what the project's files say is now `{}`, or a file that it names leads elsewhere than when \
                 it was decided. Call again.",
                choice.command
            ));
        }
        if run.cancel.is_cancelled() {
            let body = Body::Text("The tests were not begun: the user interrupted before.".to_owned());
            return Ok(Outcome { status: Status::Cancelled, body });
        }
        let target = limit(run, &choice).await?;
        let Choice { runner, command, cwd, why } = choice;
        let before = observe(run, None).await;
        let how = Follow::Limited(run.env.tests.timeout);
        let (bytecode, env) = python::no_old_bytecode(run.env)?;
        let outcome = perform(&self.starter, run, Task { command, cwd: cwd.clone(), how, env }).await?;
        drop(bytecode);
        let after = observe(run, before.as_ref().map(|seen| seen.moment)).await;
        // How it ended was not seen: then there is nothing to read.
        let Outcome { status, body: Body::Command(command) } = outcome else { return Ok(outcome) };
        let text = printed(&command).await;
        let report = read(runner, &text);
        let silent = report.as_ref().is_none_or(|report| report.run() == 0 || report.failures.is_empty());
        let problems = if silent && command.exit != Exit::Code(0) { problems(&text) } else { Vec::new() };
        let Whose { own, foreign, void } =
            changes::whose(run.env, &self.made, runner, &cwd.path, before.as_ref(), after.as_ref());
        let moment = |seen: Option<&Observation>| seen.map(|seen| seen.moment.revision).unwrap_or_default();
        let tests = TestRun {
            run: command,
            runner,
            why,
            target,
            report,
            problems,
            before: moment(before.as_ref().or(after.as_ref())),
            after: moment(after.as_ref().or(before.as_ref())),
            own,
            foreign,
            void,
        };
        Ok(Outcome { status, body: Body::Tests(Box::new(tests)) })
    }
}

/// What the workspace is like now, beside an earlier moment; none when that could not be found out in time.
async fn observe(run: &ToolRun<'_>, since: Option<Moment>) -> Option<Observation> {
    let (reply, answer) = oneshot::channel();
    run.events.send(ToolEvent::Observe { since, reply }).await.ok()?;
    answer.await.ok().flatten()
}

/// Everything that was printed, as far as it is needed to count: of a long output the log is read.
async fn printed(run: &CommandRun) -> String {
    let kept = || {
        if run.output.omitted == 0 {
            run.output.head.clone()
        } else {
            format!("{}\n{}", run.output.head, run.output.tail)
        }
    };
    let (true, Some(log)) = (run.output.omitted > 0, &run.log) else { return kept() };
    let path = PathBuf::from(std::ffi::OsString::from_vec(plimsoll_core::path::unescape(log)));
    let read = tokio::task::spawn_blocking(move || {
        let size = std::fs::metadata(&path).ok()?.len();
        let bytes = (size <= LOG_READ).then(|| std::fs::read(&path).ok()).flatten()?;
        Some(ingest::text(Source::Command, &bytes))
    });
    read.await.ok().flatten().unwrap_or_else(kept)
}
