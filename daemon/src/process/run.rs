//! A command that runs, from the daemon's side. Called by tools; the helper that owns the command is [`exec`](super::exec).
//!
//! Dropping a [`Running`] ends the command and everything it started, within [`TERM_GRACE`](super::exec::TERM_GRACE) and
//! [`KILL_WAIT`](super::exec::KILL_WAIT); so does the death of the daemon.

use super::exec::{KILL_WAIT, TERM_GRACE};
use super::frame::{Ended, Frame, FrameError, STOP};
use super::limits::Limits;
use super::recover::{self, LeftoverEnd};
use super::table;
use super::{Helper, children};
use plimsoll_core::ledger::ProcessMark;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

/// What the helper is called with, so that lists of processes show what it is.
const SHOWN_NAME: &str = "plimsoll";

/// How much of the helper's frames is read at once: a few of what it sends at most.
const READ: usize = 64 * 1024;

/// Time that a helper gets to be gone when nobody listens to it any more: what ending everything takes at most, and some
/// for a busy machine. With nothing left to end it needs a millisecond.
const HELPER_END: Duration = TERM_GRACE.saturating_add(KILL_WAIT).saturating_add(Duration::from_secs(2));

/// A command to run.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// The binary to start as helper.
    pub helper: Helper,
    /// The text for the shell.
    pub command: String,
    /// Where it runs; an existing folder.
    pub cwd: PathBuf,
    /// Its whole environment; see [`command_env`](super::environment::command_env).
    pub env: BTreeMap<String, String>,
    /// Where the log is written; its folder exists. No file is made when nothing is printed.
    pub log: PathBuf,
    /// What it is held to.
    pub limits: Limits,
}

/// A command that could not be begun, or was lost.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The helper cannot be started.
    #[error("cannot start the helper {}: {source}", helper.display())]
    Start {
        /// The binary.
        helper: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The socket to the helper cannot be made.
    #[error("cannot make a socket for the helper: {0}")]
    Socket(io::Error),
    /// The limits cannot be handed over.
    #[error("cannot write the command's limits down: {0}")]
    Limits(serde_json::Error),
    /// The helper ended without telling how the command ended.
    #[error("the helper ended before the command was seen to end")]
    HelperLost,
    /// The helper does not say what a helper says.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// What happens while a command runs.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// It has started.
    Started(ProcessMark),
    /// It printed something; for those who watch.
    Output(Vec<u8>),
    /// So much of what it printed is not shown.
    Skipped(u64),
    /// It ended; the last event.
    Ended(Box<Finished>),
}

/// An ended command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub output: Kept,
    /// What it printed on standard error.
    pub stderr: Kept,
}

/// Beginning and end of an output, as printed; together everything when nothing was omitted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The beginning.
    pub head: Vec<u8>,
    /// The end.
    pub tail: Vec<u8>,
}

/// See the module's head.
#[derive(Debug)]
pub struct Running {
    socket: UnixStream,
    child: Child,
    received: Vec<u8>,
    mark: Option<ProcessMark>,
    output: Kept,
    stderr: Kept,
}

/// Starts a command. Must be called in a runtime.
pub fn spawn(spec: &CommandSpec) -> Result<Running, ProcessError> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(ProcessError::Socket)?;
    ours.set_nonblocking(true).map_err(ProcessError::Socket)?;
    let socket = UnixStream::from_std(ours).map_err(ProcessError::Socket)?;
    let limits = serde_json::to_string(&spec.limits).map_err(ProcessError::Limits)?;
    let mut command = Command::new(spec.helper.path());
    command
        .arg0(SHOWN_NAME)
        .arg("__exec")
        .arg(&spec.log)
        .arg(limits)
        .arg(&spec.command)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(&spec.env)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = children::start(|| command.spawn(), Child::id)
        .map_err(|source| ProcessError::Start { helper: spec.helper.path().to_owned(), source })?;
    Ok(Running { socket, child, received: Vec::new(), mark: None, output: Kept::default(), stderr: Kept::default() })
}

impl Running {
    /// What happens next. Cancel safe. After [`RunEvent::Ended`] or an error it must not be called again.
    pub async fn next(&mut self) -> Result<RunEvent, ProcessError> {
        loop {
            while let Some((frame, len)) = Frame::decode(&self.received)? {
                self.received.drain(..len);
                match frame {
                    Frame::Started(started) => {
                        let mark = ProcessMark {
                            pid: started.pid,
                            start_ticks: started.start_ticks,
                            boot_id: table::boot_id(),
                        };
                        self.mark = Some(mark.clone());
                        return Ok(RunEvent::Started(mark));
                    }
                    Frame::Live(bytes) => return Ok(RunEvent::Output(bytes)),
                    Frame::Skipped(count) => return Ok(RunEvent::Skipped(count)),
                    Frame::OutputHead(bytes) => self.output.head = bytes,
                    Frame::OutputTail(bytes) => self.output.tail = bytes,
                    Frame::StderrHead(bytes) => self.stderr.head = bytes,
                    Frame::StderrTail(bytes) => self.stderr.tail = bytes,
                    Frame::Ended(ended) => {
                        let output = std::mem::take(&mut self.output);
                        let stderr = std::mem::take(&mut self.stderr);
                        return Ok(RunEvent::Ended(Box::new(Finished { ended: *ended, output, stderr })));
                    }
                }
            }
            self.received.reserve(READ);
            match self.socket.read_buf(&mut self.received).await {
                Ok(0) | Err(_) => return Err(ProcessError::HelperLost),
                Ok(_) => {}
            }
        }
    }

    /// Asks for the end of the command and of everything it started; [`Running::next`] tells when it is there.
    pub async fn stop(&mut self) {
        // A failure means that the helper has ended, which the next event tells.
        let _ = self.socket.write_all(&[STOP]).await;
    }

    /// Lets go of a command that has ended: ends what it left running and waits until its helper is collected.
    pub async fn close(mut self) {
        drop(self.socket);
        // A helper that does not go in time is collected by the runtime when it does.
        let _ = tokio::time::timeout(HELPER_END, self.child.wait()).await;
    }

    /// Waits until everything that an ended command left running has ended. Cancel safe.
    pub async fn left_ended(&mut self) {
        let mut ignored = [0; 64];
        while matches!(self.socket.read(&mut ignored).await, Ok(count) if count > 0) {}
    }

    /// After [`ProcessError`]: ends what a lost helper left of the command, and lets go. Says whether the command's own
    /// process is known to be gone.
    pub async fn abandon(mut self) -> bool {
        drop(self.socket);
        let _ = self.child.start_kill();
        let _ = tokio::time::timeout(HELPER_END, self.child.wait()).await;
        let mark = self.mark;
        let ended = tokio::task::spawn_blocking(move || {
            let ended = mark.map(|mark| recover::end_leftover(&mark));
            // What had left the command's group and was in nobody's care but the helper's.
            children::end_orphans() && matches!(ended, Some(LeftoverEnd::Gone | LeftoverEnd::Ended))
        });
        ended.await.unwrap_or(false)
    }
}
