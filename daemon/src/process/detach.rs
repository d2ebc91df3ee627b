//! The start of a daemon that outlives whoever needed it first. Everything else about the new process (its own session,
//! its standard output) it does itself when it begins. Called by `cli`, before any runtime exists.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeWriter};
use std::path::Path;
use std::process::{Command, Stdio};

/// A process that is to run without the one that starts it.
pub struct Detached<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [&'a OsStr],
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Its standard output: where it says that it is ready. It must close it soon.
    pub ready: PipeWriter,
    /// Its standard error.
    pub complaints: File,
}

/// Starts it in the folder `/` with nothing to read, and returns its process number. It is reaped when it ends, as long
/// as this process lives, so that it never stays behind as a zombie.
pub fn spawn(detached: Detached<'_>) -> io::Result<u32> {
    let mut child = Command::new(detached.program)
        .args(detached.arguments)
        .env_clear()
        .envs(detached.environment)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(detached.ready)
        .stderr(detached.complaints)
        .spawn()?;
    let pid = child.id();
    // The thread ends with the child or with this process, whichever is first; nobody needs to wait for it.
    std::thread::Builder::new().name("reaper".to_owned()).spawn(move || child.wait())?;
    Ok(pid)
}
