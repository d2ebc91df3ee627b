//! `plimsoll __exec <log> <command>`: the process between the daemon and a command.
//!
//! It is not the daemon and not the command: it starts the command in a session without a terminal and in a group of its
//! own, owns its output, keeps the log, and ends everything that the command started when the daemon says so or is
//! gone. It becomes the parent of what the command leaves behind, so that nothing gets away by starting its own session.
//! It is called by `main` before anything else and uses no runtime, so that it starts in the time of a process.
//!
//! Its standard input is the socket to the daemon ([`frame`](super::frame)), its folder and environment are the
//! command's.

mod keep;
mod link;
mod log;
mod supervisor;
mod tree;

use link::Link;
use log::Log;
use plimsoll_core::tool::projection::command::{LOG_HEAD, LOG_TAIL};
use rustix::process::{getpid, setsid};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use supervisor::Supervisor;

pub use supervisor::{KILL_WAIT, LINGER, TERM_GRACE};

/// Exit code when it was not called by a daemon.
const USAGE: u8 = 2;

/// Runs one command to its end and the end of all that it left behind. `args` is what follows `__exec`.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(log), Some(command), None) = (args.next(), args.next(), args.next()) else {
        return ExitCode::from(USAGE);
    };
    match supervise(PathBuf::from(log), command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(USAGE),
    }
}

fn supervise(log: PathBuf, command: OsString) -> io::Result<()> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::net::sockopt::socket_type(&socket)?;
    let link = Link::new(UnixStream::from(socket))?;
    // Fails only for the leader of a group, which the daemon's child is not.
    setsid()?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    Supervisor::start(link, Log::new(log, LOG_HEAD, LOG_TAIL), &command)?.run()
}

/// The id of this process.
fn own_pid() -> u32 {
    getpid().as_raw_nonzero().get().unsigned_abs()
}
