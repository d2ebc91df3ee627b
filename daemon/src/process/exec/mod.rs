//! `plimsoll __exec <log> <limits> <command>`: the process between the daemon and a command.
//!
//! It is not the daemon and not the command: it starts the command in a session without a terminal and in a group of its
//! own, owns its output, keeps the log, and ends everything that the command started when the daemon says so or is
//! gone. It becomes the parent of what the command leaves behind, so that nothing gets away by starting its own session.
//! What the command is held to it does to the thread that starts it, never to itself
//! ([`sandbox`](super::sandbox)).
//! It is called by `main` before anything else and uses no runtime, so that it starts in the time of a process.
//!
//! Its standard input is the socket to the daemon ([`frame`](super::frame)), its folder and environment are the
//! command's.

mod keep;
mod link;
mod log;
mod resources;
mod shell;
mod supervisor;
mod tree;

use crate::process::limits::Limits;
use crate::process::sandbox::probe;
use link::Link;
use log::Log;
use plimsoll_core::tool::projection::command::{LOG_HEAD, LOG_TAIL};
use rustix::process::{getpid, setsid};
use shell::Confined;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use supervisor::Supervisor;

pub use supervisor::{KILL_WAIT, LINGER, TERM_GRACE};

/// Exit code when it was not called by a daemon.
const USAGE: u8 = 2;

/// Instead of a log: tells what commands can be held to here.
pub const PROBE: &str = "--probe";

/// Instead of a log: confines itself and becomes the shell. For what bubblewrap starts.
pub const INSIDE: &str = "--inside";

/// Runs one command to its end and the end of all that it left behind. `args` is what follows `__exec`.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    match (args.next(), args.next(), args.next(), args.next()) {
        (Some(what), None, None, None) if what == PROBE => probe::answer(),
        (Some(what), Some(limits), Some(command), None) if what == INSIDE => match parse(&limits) {
            Ok(limits) => shell::become_shell(&limits, &command),
            Err(_) => ExitCode::from(USAGE),
        },
        (Some(log), Some(limits), Some(command), None) => match supervise(PathBuf::from(log), &limits, command) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(USAGE),
        },
        _ => ExitCode::from(USAGE),
    }
}

fn parse(limits: &OsStr) -> io::Result<Limits> {
    Ok(serde_json::from_slice(limits.as_bytes())?)
}

fn supervise(log: PathBuf, limits: &OsStr, command: OsString) -> io::Result<()> {
    let limits = parse(limits)?;
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::net::sockopt::socket_type(&socket)?;
    let link = Link::new(UnixStream::from(socket))?;
    // Fails only for the leader of a group, which the daemon's child is not.
    setsid()?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    resources::limit();
    // Before the first thread: some of it is possible only then.
    let command = Confined::new(limits, std::env::current_dir()?, command);
    Supervisor::start(link, Log::new(log, LOG_HEAD, LOG_TAIL), command)?.run()
}

/// The id of this process.
fn own_pid() -> u32 {
    getpid().as_raw_nonzero().get().unsigned_abs()
}
