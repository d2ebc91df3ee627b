//! `run_terminal_cmd`: runs a command in bash and gives its end and its output.
//!
//! How processes are started and ended is [`process`](crate::process); what of the output the model sees is
//! [`projection`](plimsoll_core::tool::projection::command). Whether the command may run was decided before.

mod limits;
mod live;
pub(super) mod output;
mod places;

use super::scope::{self, Resolved};
use super::{Tool, ToolEnv, ToolEvent, ToolRun, task};
use crate::process::Helper;
use crate::process::background::{Background, Described, MAX_RUNNING};
use crate::process::environment::command_env;
use crate::process::exec::{KILL_WAIT, TERM_GRACE};
use crate::process::frame::End;
use crate::process::run::{self, CommandSpec, Finished, ProcessError, RunEvent, Running};
use futures_util::future::BoxFuture;
use live::Live;
use plimsoll_core::path::escape;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::{Body, CommandRun, Exit, Outcome, Output, Status};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for a command that states none.
const DEFAULT_TIMEOUT_MS: u64 = 120_000;

/// The longest time that can be asked for.
const MAX_TIMEOUT_MS: u64 = 3_600_000;

/// How long a command that shall go on in the background is followed, so that one that fails at once is told as failed.
const FIRST_LOOK: Duration = Duration::from_millis(300);

/// An unfinished line is shown live after so long without output.
const QUIET: Duration = Duration::from_millis(100);

/// Time from asking for the end to giving the helper up: what ending takes at most, and some for a busy machine.
const STOP_LIMIT: Duration = TERM_GRACE.saturating_add(KILL_WAIT).saturating_add(Duration::from_secs(1));

/// Longest title, in characters.
const TITLE: usize = 120;

/// The tool.
#[derive(Debug, Clone)]
pub struct RunTerminalCmd {
    helper: Helper,
    background: Arc<Background>,
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

/// How long a command is followed.
#[derive(Debug, Clone, Copy)]
enum Follow {
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

impl RunTerminalCmd {
    /// The tool with the binary that it starts, and the keeper of what commands leave running.
    pub fn new(helper: Helper, background: Arc<Background>) -> Self {
        Self { helper, background }
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
        if args.is_background && self.background.running(&run.env.session_dir).len() >= MAX_RUNNING {
            return Err(format!(
                "The command was not run: {MAX_RUNNING} commands of this session are in the background, which is the \
                 most. End one with stop_task first. {}",
                task::running(&self.background, &run.env.session_dir)
            ));
        }
        let artifacts = run.env.session_dir.join("artifacts");
        make_folder(&artifacts)
            .map_err(|error| format!("The command was not run: {} cannot be made: {error}.", artifacts.display()))?;
        let log = artifacts.join(format!("{}.log", run.call.id));
        let spec = CommandSpec {
            helper: self.helper.clone(),
            command: args.command.clone(),
            cwd: cwd.path.clone(),
            env: command_env(&run.env.client_env, &run.env.secret_env),
            log: log.clone(),
            limits: limits::limits(run.env, run.leave),
        };
        let how = if args.is_background {
            Follow::Begun(FIRST_LOOK)
        } else {
            Follow::Limited(Duration::from_millis(args.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS)))
        };
        let begin = Instant::now();
        let mut running = run::spawn(&spec).map_err(|error| format!("The command was not run: {error}."))?;
        let described = |asked| Described {
            id: run.call.id,
            command: args.command.clone(),
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
                    self.background.keep(&run.env.session_dir, told, running, Some(&finished.ended));
                } else {
                    running.close().await;
                }
                Ok(outcome(args.command, cwd.shown, *finished, asked, &log, spec.limits.words()))
            }
            Ok(Followed::GoesOn) => {
                let task = self.background.keep(&run.env.session_dir, described(0), running, None);
                // The session tells the end; when it is gone, so is the command.
                let _ = run.events.send(ToolEvent::Background(Arc::clone(&task))).await;
                Ok(task::outcome(task).await)
            }
            Err(lost) => Ok(unknown(running, &lost, begin, &log).await),
        }
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
