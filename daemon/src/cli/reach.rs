//! Finds the daemon, or has it started, and exchanges the first lines with it. Plain blocking code, so that bridges cost
//! no runtime.

use super::start::{self, StartError};
use super::{build, lock};
use crate::config::Folders;
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::hello::{Facade, Hello, HelloMark, Refusal, Welcome};
use plimsoll_protocol::version::ProtocolRange;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long the daemon may take to answer a hello: it does nothing else then, but the machine may be busy.
const WELCOME_WITHIN: Duration = Duration::from_secs(10);
/// How long a daemon that is about to end may take: it ends its turns first.
const LEAVES_WITHIN: Duration = Duration::from_secs(30);
/// Longest answer to a hello; what is longer is not a daemon of ours.
const WELCOME_MAX: usize = 64 * 1024;
/// So often a daemon is sought that closes the connection unanswered, as one does that is just leaving.
const ATTEMPTS: usize = 5;

/// A connection whose first lines are exchanged.
#[derive(Debug)]
pub struct Link {
    /// The connection.
    pub stream: UnixStream,
    /// What came directly after the answer.
    pub rest: Vec<u8>,
}

/// Whether a daemon is started when none runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spawn {
    /// Yes.
    WhenNone,
    /// No.
    Never,
}

/// There is no usable connection.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// None runs, and none was to be started.
    #[error("no daemon runs")]
    NotRunning,
    /// None runs, and none could be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It will not serve this client.
    #[error("the daemon refuses this client: {}", .0.message)]
    Refused(Refusal),
    /// It closes the connection without an answer.
    #[error("the daemon closes the connection without an answer")]
    Closed,
    /// Something else answers.
    #[error("what answers at the daemon's socket is not a daemon that this build knows")]
    NotADaemon,
    /// The connection failed.
    #[error("the daemon does not answer: {0}")]
    Connection(io::Error),
}

/// The environment of this process, as far as it is text.
pub fn own_environment() -> BTreeMap<String, String> {
    let text = |value: OsString| value.into_string().ok();
    std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

/// The hello of this process. Who would start a daemon names its own executable, so that an older daemon makes room for
/// it; who only looks changes nothing.
pub fn own_hello(facade: Facade, spawn: Spawn) -> Hello {
    let mut binary = build::binary();
    if let (Spawn::Never, Some(binary)) = (spawn, &mut binary) {
        binary.path = None;
    }
    Hello {
        plimsoll: HelloMark::Hello,
        facade,
        build: build::id().to_owned(),
        protocol: ProtocolRange::OURS,
        cwd: std::env::current_dir().ok().and_then(|folder| folder.into_os_string().into_string().ok()),
        env: own_environment(),
        binary,
        resume: None,
    }
}

/// A connection to the running daemon, at this user's usual place or where the holder of the lock says: a client with
/// another `XDG_RUNTIME_DIR` must find it too.
pub fn connect_running(folders: &Folders) -> Option<UnixStream> {
    let usual = folders.socket();
    connect_to(&usual).or_else(|| {
        let holder = lock::last_holder(folders)?;
        if holder.socket == usual { None } else { connect_to(&holder.socket) }
    })
}

/// A connection to a socket in a folder that only this user can write: a hello tells the whole environment, and anybody
/// can listen in a folder that is open to all.
pub fn connect_to(socket: &Path) -> Option<UnixStream> {
    let folder = fs::symlink_metadata(socket.parent()?).ok()?;
    let private = folder.is_dir() && folder.uid() == rustix::process::geteuid().as_raw() && folder.mode() & 0o022 == 0;
    if private { UnixStream::connect(socket).ok() } else { None }
}

/// Reaches the daemon.
pub fn reach(folders: &Folders, hello: &Hello, spawn: Spawn) -> Result<Link, ReachError> {
    for _ in 0..ATTEMPTS {
        let stream = match connect_running(folders) {
            Some(stream) => stream,
            None if spawn == Spawn::Never => return Err(ReachError::NotRunning),
            None => start::start(folders)?,
        };
        match greet(stream, hello) {
            Ok(link) => return Ok(link),
            Err(ReachError::Closed) => {}
            Err(ReachError::Refused(refusal)) if refusal.kind == ErrorKind::ShuttingDown => {
                lock::wait_until_free(folders, LEAVES_WITHIN).map_err(ReachError::Connection)?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(ReachError::Closed)
}

/// Says hello and reads the answer.
pub fn greet(mut stream: UnixStream, hello: &Hello) -> Result<Link, ReachError> {
    let mut line = serde_json::to_vec(hello).map_err(|error| ReachError::Connection(error.into()))?;
    line.push(b'\n');
    stream.set_read_timeout(Some(WELCOME_WITHIN)).map_err(ReachError::Connection)?;
    stream.set_write_timeout(Some(WELCOME_WITHIN)).map_err(ReachError::Connection)?;
    stream.write_all(&line).map_err(gone_or_broken)?;
    let (answer, rest) = read_welcome(&mut stream)?;
    let welcome: Welcome = serde_json::from_slice(&answer).map_err(|_| ReachError::NotADaemon)?;
    if let Some(refusal) = welcome.error {
        return Err(ReachError::Refused(refusal));
    }
    stream.set_read_timeout(None).map_err(ReachError::Connection)?;
    stream.set_write_timeout(None).map_err(ReachError::Connection)?;
    Ok(Link { stream, rest })
}

fn read_welcome(stream: &mut UnixStream) -> Result<(Vec<u8>, Vec<u8>), ReachError> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = match stream.read(&mut buffer) {
            Ok(0) => return Err(ReachError::Closed),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(gone_or_broken(error)),
        };
        read.extend(buffer.iter().take(count));
        if let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let rest = read.split_off(end + 1);
            return Ok((read, rest));
        }
        if read.len() > WELCOME_MAX {
            return Err(ReachError::NotADaemon);
        }
    }
}

fn gone_or_broken(error: io::Error) -> ReachError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => ReachError::Closed,
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let seconds = WELCOME_WITHIN.as_secs();
            ReachError::Connection(io::Error::new(io::ErrorKind::TimedOut, format!("silent for {seconds} seconds")))
        }
        _ => ReachError::Connection(error),
    }
}

#[cfg(test)]
mod tests;
