//! Starts a daemon when none runs. Any number of clients may try at the same time: one starts it, the others wait for
//! that and find it.

use super::readiness::Readiness;
use super::{build, reach, successor};
use crate::config::{FolderError, Folders, env, private_append, private_file};
use crate::process::detach::{self, Detached};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a daemon may take until it listens: it may have to wait for its predecessor, which ends its turns first.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// Longest line of readiness; what is longer is not one.
const READINESS_MAX: usize = 64 * 1024;
/// The file of what a daemon says before it has a log is begun anew when it is longer than this.
const COMPLAINTS_MAX: u64 = 1024 * 1024;

/// What a daemon keeps of the environment of whoever happens to start it: what names the user and finds programs.
/// Everything that belongs to a session comes from the session's own client.
const KEPT: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PATH",
    "LANG",
    "TZ",
    "XDG_CONFIG_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "RUST_BACKTRACE",
    env::LOG,
];

/// No daemon could be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The path of this executable is not known.
    #[error("the path of this program is not known, so the daemon cannot be started; start it with `plimsoll daemon`")]
    NoExecutable,
    /// The system refused something.
    #[error("the daemon cannot be started: {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// It said that it cannot run.
    #[error("the daemon cannot run: {0}")]
    Failed(String),
    /// It ended without a word.
    #[error("the daemon ended before it was ready; {} may say why, or run `plimsoll daemon`", complaints.display())]
    Silent {
        /// Where it writes what goes wrong early.
        complaints: PathBuf,
    },
    /// It did not get ready in time.
    #[error("the daemon was not ready within {} seconds; {} may say why", READY_WITHIN.as_secs(), log.display())]
    Late {
        /// The log.
        log: PathBuf,
    },
    /// It said that it listens, and does not.
    #[error("the daemon said that it listens at {}, but nothing answers there", socket.display())]
    NotThere {
        /// Where.
        socket: PathBuf,
    },
}

fn system(what: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::System { what, source }
}

/// A connection to the daemon that runs after this, started by this process or by another one.
pub fn start(folders: &Folders) -> Result<UnixStream, StartError> {
    start_by(folders, || spawn(folders))
}

/// The right to start a daemon. While it lives, whoever else wants one waits.
#[derive(Debug)]
pub struct StartLock {
    _file: File,
}

/// Takes the right to start a daemon once nobody else has it.
pub fn lock(folders: &Folders) -> Result<StartLock, StartError> {
    folders.ensure_data()?;
    folders.ensure_logs()?;
    let file = private_file(&folders.start_lock_file()).map_err(system("opening the start lock"))?;
    // Whoever holds it waits for a daemon no longer than the limit above, and the kernel releases it at its death.
    file.lock().map_err(system("taking the start lock"))?;
    Ok(StartLock { _file: file })
}

/// The same as [`start`] for whoever has the right already.
pub fn start_holding(folders: &Folders, lock: StartLock) -> Result<UnixStream, StartError> {
    let started = start_locked(folders, || spawn(folders));
    drop(lock);
    started
}

fn start_by(
    folders: &Folders,
    spawn: impl FnOnce() -> Result<Readiness, StartError>,
) -> Result<UnixStream, StartError> {
    let _lock = lock(folders)?;
    start_locked(folders, spawn)
}

fn start_locked(
    folders: &Folders,
    spawn: impl FnOnce() -> Result<Readiness, StartError>,
) -> Result<UnixStream, StartError> {
    if let Some(stream) = reach::connect_running(folders) {
        return Ok(stream);
    }
    match spawn()? {
        Readiness::Ready { socket, .. } => match reach::connect_to(&socket) {
            Some(stream) => Ok(stream),
            None => Err(StartError::NotThere { socket }),
        },
        Readiness::Failed { message } => Err(StartError::Failed(message)),
    }
}

/// Starts the build that the last daemon made room for, else this one.
fn spawn(folders: &Folders) -> Result<Readiness, StartError> {
    if let Some(program) = successor::chosen(folders) {
        match spawn_program(folders, &program) {
            // A file that does not run as a daemon must not keep everybody from having one.
            Err(StartError::System { .. } | StartError::Silent { .. }) => {}
            answer => return answer,
        }
    }
    spawn_program(folders, &build::path().ok_or(StartError::NoExecutable)?)
}

fn spawn_program(folders: &Folders, program: &Path) -> Result<Readiness, StartError> {
    let complaints_path = folders.logs().join("start.log");
    let complaints = private_append(&complaints_path).map_err(system("opening logs/start.log"))?;
    if complaints.metadata().is_ok_and(|metadata| metadata.len() > COMPLAINTS_MAX) {
        complaints.set_len(0).map_err(system("shortening logs/start.log"))?;
    }
    let (reader, ready) = io::pipe().map_err(system("making a pipe"))?;
    let detached = Detached {
        program,
        arguments: &[OsStr::new("daemon"), OsStr::new("--detached")],
        environment: environment(folders, std::env::vars_os()),
        ready,
        complaints,
    };
    detach::spawn(detached).map_err(system("running this program again"))?;
    match read_line(reader, Instant::now() + READY_WITHIN).map_err(system("reading its answer"))? {
        Answer::Line(line) => {
            serde_json::from_slice(&line).map_err(|_| StartError::Silent { complaints: complaints_path })
        }
        Answer::End => Err(StartError::Silent { complaints: complaints_path }),
        Answer::Late => Err(StartError::Late { log: folders.logs() }),
    }
}

/// The environment of the daemon: the kept variables and the folders, which are absolute here and must stay the same.
fn environment(folders: &Folders, own: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let kept = |name: &OsStr| name.to_str().is_some_and(|name| KEPT.contains(&name) || name.starts_with("LC_"));
    let mut environment: Vec<_> = own.filter(|(name, _)| kept(name)).collect();
    for (name, folder) in
        [(env::CONFIG_DIR, &folders.config), (env::DATA_DIR, &folders.data), (env::RUNTIME_DIR, &folders.runtime)]
    {
        environment.push((name.into(), folder.into()));
    }
    environment
}

enum Answer {
    Line(Vec<u8>),
    End,
    Late,
}

/// Reads up to a line's end, the pipe's end or the limit.
fn read_line(mut pipe: PipeReader, deadline: Instant) -> io::Result<Answer> {
    let mut line = Vec::new();
    let mut buffer = [0; 4096];
    while line.len() < READINESS_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        match poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&limit)) {
            Ok(0) => return Ok(Answer::Late),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let count = match pipe.read(&mut buffer) {
            Ok(0) => return Ok(Answer::End),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        line.extend(buffer.iter().take(count));
        if line.last() == Some(&b'\n') {
            return Ok(Answer::Line(line));
        }
    }
    Ok(Answer::End)
}

#[cfg(test)]
mod tests;
