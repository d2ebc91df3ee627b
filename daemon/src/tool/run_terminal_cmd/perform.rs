//! Performs a command to its end: starts it under its limits, shows its output live, ends it when its time is over or the
//! user interrupts, and keeps what it leaves running. Everything that runs a command for the model does it by this.

use super::{limits, live::Live, output};
use crate::process::Helper;
use crate::process::background::{Background, Described};
use crate::process::environment::command_env;
use crate::process::exec::{KILL_WAIT, TERM_GRACE};
use crate::process::frame::End;
use crate::process::run::{self, CommandSpec, Finished, ProcessError, RunEvent, Running};
use crate::tool::scope::Resolved;
use crate::tool::{ToolEvent, ToolRun};
use plimsoll_core::path::escape;
use plimsoll_core::tool::outcome::{Body, CommandRun, Exit, Outcome, Output, Status};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a command that shall go on in the background is followed, so that one that fails at once is told as failed.
pub(super) const FIRST_LOOK: Duration = Duration::from_millis(300);

/// An unfinished line is shown live after so long without output.
const QUIET: Duration = Duration::from_millis(100);

/// Time from asking for the end to giving the helper up: what ending takes at most, and some for a busy machine.
const STOP_LIMIT: Duration = TERM_GRACE.saturating_add(KILL_WAIT).saturating_add(Duration::from_secs(1));

/// What starts commands, and the keeper of what they leave running.
#[derive(Debug, Clone)]
pub(in crate::tool) struct Starter {
    /// The binary that is started as helper.
    pub(in crate::tool) helper: Helper,
    /// The keeper.
    pub(in crate::tool) background: Arc<Background>,
}

/// What is to be run.
pub(in crate::tool) struct Task {
    /// The text for the shell.
    pub(in crate::tool) command: String,
    /// The folder.
    pub(in crate::tool) cwd: Resolved,
    /// How long it is followed.
    pub(in crate::tool) how: Follow,
    /// What its environment has beside the client's, and in its place.
    pub(in crate::tool) env: BTreeMap<String, String>,
}

/// How long a command is followed.
#[derive(Debug, Clone, Copy)]
pub(in crate::tool) enum Follow {
    /// To its end, which is asked for after this time.
    Limited(Duration),
    /// For this time; it goes on afterwards.
    Begun(Duration),
}

/// What came of following a command.
enum Followed {
    /// It ended, and why that was asked for.
    Ended(Box<Finished>, Option<Exit>),
    /// It goes on.
    GoesOn,
}

/// Runs it. The error says, for the model, why it was not begun.
pub(in crate::tool) async fn perform(starter: &Starter, run: &ToolRun<'_>, task: Task) -> Result<Outcome, String> {
    let Task { command, cwd, how, env: own } = task;
    let artifacts = run.env.session_dir.join("artifacts");
    make_folder(&artifacts)
        .map_err(|error| format!("The command was not run: {} cannot be made: {error}.", artifacts.display()))?;
    let log = artifacts.join(format!("{}.log", run.call.id));
    let mut env = command_env(&run.env.client_env, &run.env.secret_env);
    env.extend(own);
    let spec = CommandSpec {
        helper: starter.helper.clone(),
        command: command.clone(),
        cwd: cwd.path.clone(),
        env,
        log: log.clone(),
        limits: limits::limits(run.env, run.leave),
    };
    let begin = Instant::now();
    let mut running = run::spawn(&spec).map_err(|error| format!("The command was not run: {error}."))?;
    let described = |asked| Described {
        id: run.call.id,
        command: command.clone(),
        cwd: cwd.shown.clone(),
        limits: spec.limits.words(),
        log: log.clone(),
        begun: begin,
        asked,
    };
    match follow(&mut running, run, how).await {
        Ok(Followed::Ended(finished, asked)) => {
            if finished.ended.stays {
                // What was printed until then is in this very result.
                let written = std::fs::metadata(&log).map_or(0, |log| log.len());
                let told = described(written.min(finished.ended.output.bytes));
                starter.background.keep(&run.env.session_dir, told, running, Some(&finished.ended));
            } else {
                running.close().await;
            }
            Ok(outcome(command, cwd.shown, *finished, asked, &log, spec.limits.words()))
        }
        Ok(Followed::GoesOn) => {
            let task = starter.background.keep(&run.env.session_dir, described(0), running, None);
            // The session tells the end; when it is gone, so is the command.
            let _ = run.events.send(ToolEvent::Background(Arc::clone(&task))).await;
            Ok(super::super::task::outcome(task).await)
        }
        Err(lost) => Ok(unknown(running, &lost, begin, &log).await),
    }
}

/// Follows a command to its end, which is asked for when the time is over or the user interrupts; then says why. One that
/// goes on in the background is followed until it runs and its time is over.
async fn follow(running: &mut Running, run: &ToolRun<'_>, how: Follow) -> Result<Followed, ProcessError> {
    let (Follow::Limited(timeout) | Follow::Begun(timeout)) = how;
    let mut begun = false;
    let mut live = Live::default();
    let mut asked = None;
    let deadline = tokio::time::sleep(timeout);
    tokio::pin!(deadline);
    let show = |text: String| {
        if !text.is_empty() {
            // Nobody waits for those who watch: what does not fit is left out, the result has it.
            let _ = run.events.try_send(ToolEvent::Output(text));
        }
    };
    loop {
        let why = tokio::select! {
            biased;
            () = run.cancel.cancelled(), if asked.is_none() => Exit::Cancelled,
            () = &mut deadline => match (asked, how) {
                (Some(_), _) => return Err(ProcessError::HelperLost),
                (None, Follow::Limited(_)) => Exit::TimedOut,
                (None, Follow::Begun(_)) if begun => {
                    show(live.quiet());
                    return Ok(Followed::GoesOn);
                }
                // The machine is busy: the process is not there yet.
                (None, Follow::Begun(_)) => {
                    deadline.as_mut().reset(tokio::time::Instant::now() + FIRST_LOOK);
                    continue;
                }
            },
            event = running.next() => {
                match event? {
                    RunEvent::Started(mark) => {
                        begun = true;
                        // The session takes it at once; when it is gone, so is the one who would want to know.
                        let _ = run.events.send(ToolEvent::Process(mark)).await;
                    }
                    RunEvent::Output(bytes) => show(live.push(&bytes)),
                    RunEvent::Skipped(count) => show(live.skip(count)),
                    RunEvent::Ended(finished) => {
                        show(live.quiet());
                        return Ok(Followed::Ended(finished, asked));
                    }
                }
                continue;
            }
            () = tokio::time::sleep(QUIET), if live.is_waiting() => {
                show(live.quiet());
                continue;
            }
        };
        asked = Some(why);
        deadline.as_mut().reset(tokio::time::Instant::now() + STOP_LIMIT);
        running.stop().await;
    }
}

fn outcome(
    command: String,
    cwd: String,
    finished: Finished,
    asked: Option<Exit>,
    log: &Path,
    limits: Option<String>,
) -> Outcome {
    let ended = finished.ended;
    let mut text = output::output(&finished.output, ended.output);
    let exit = match (ended.end, asked) {
        (End::NotStarted(why), _) => {
            text = Output { head: why, ..Output::default() };
            Exit::NotStarted
        }
        (_, Some(asked)) if ended.stopped => asked,
        (End::Code(code), _) => Exit::Code(code),
        (End::Signal(signal), _) => Exit::Signal(signal),
        // Only what was told to end can fail to.
        (End::Unkillable, asked) => asked.unwrap_or(Exit::Cancelled),
    };
    let status = match exit {
        Exit::Code(0) | Exit::Running => Status::Ok,
        Exit::Cancelled => Status::Cancelled,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotStarted => Status::Failed,
    };
    if let Some(error) = &ended.log_error {
        tracing::warn!(%error, "the log of a command could not be written");
    }
    let logged = ended.output.bytes > 0 && ended.log_error.is_none();
    let run = CommandRun {
        command,
        cwd,
        exit,
        duration_ms: ended.duration_ms,
        output: text,
        stderr: output::output(&finished.stderr, ended.stderr),
        log: logged.then(|| escape(log.as_os_str().as_bytes())),
        left_running: ended.left_running,
        limits,
    };
    Outcome { status, body: Body::Command(run) }
}

/// The outcome when the end was not seen. What is left of the command is ended first.
async fn unknown(running: Running, lost: &ProcessError, begin: Instant, log: &Path) -> Outcome {
    tracing::warn!(error = %lost, "a command was lost");
    let gone = running.abandon().await;
    let state = if gone { "It has been ended." } else { "It may still be running." };
    let printed = if log.exists() {
        format!(" What it printed until then is in {}.", escape(log.as_os_str().as_bytes()))
    } else {
        String::new()
    };
    let text = format!(
        "How the command ended is not known: after {} ms {lost}. What it had done by then stays done. {state}{printed}",
        begin.elapsed().as_millis()
    );
    Outcome { status: Status::Unknown, body: Body::Text(text) }
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
