//! `plimsoll stdio` and `plimsoll acp`: one end of an editor's pipes, the daemon's socket at the other. A bridge uses no
//! runtime, ends with its editor, and leaves nothing behind. The native one knows no protocol beyond the first line and
//! what ends a connection ([`farewell`]), and ends with its daemon, as its clients attach again by `seq`; that of the Agent Client Protocol survives it ([`survive`]).
//!
//! Standard output carries what the daemon sends and nothing else, from the first byte: it is set aside before anything
//! could print.

mod conversation;
mod farewell;
mod survive;
mod told;

use super::reach::{self, Link, ReachError, Spawn};
use super::{lock, out};
use crate::config::Folders;
use crate::rpc::framing::MESSAGE_LIMIT;
use farewell::Farewell;
use plimsoll_protocol::hello::{Facade, Resume};
use rustix::event::{PollFd, PollFlags, poll};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::time::Duration;

/// How long the daemon may go on to answer after the end of the input: an editor expects its child to be gone within a
/// second.
const LAST_ANSWERS: Duration = Duration::from_millis(700);
/// Bytes that are copied at once: what a pipe holds.
const CHUNK: usize = 64 * 1024;

/// How a bridge ended; its exit code is documented in the help text.
#[derive(Debug, thiserror::Error)]
enum End {
    /// The editor closed its side, or asked the daemon to.
    #[error("the editor closed its side")]
    Editor,
    /// The daemon closed the connection while the editor was there.
    #[error("the daemon closed the connection")]
    Daemon,
    /// The daemon closed the connection because somebody stopped it.
    #[error("somebody stopped the daemon")]
    Stopped,
    /// The editor sends a line without an end.
    #[error("a message is longer than {} bytes", MESSAGE_LIMIT)]
    Endless,
    /// Daemons end again and again.
    #[error("the daemon ended {times} times within a minute; {} may say why", log.display())]
    Crashes {
        /// How often.
        times: usize,
        /// The log.
        log: PathBuf,
    },
    /// The daemon ended, and no other could be reached.
    #[error("the daemon ended, and no other can be reached: {0}")]
    Unreachable(ReachError),
}

/// Exit code when the daemon cannot be reached.
const UNREACHABLE: u8 = 1;
/// Exit code when the daemon left while the editor was there, and could not be replaced.
const DAEMON_LEFT: u8 = 4;
/// Exit code when somebody stopped the daemon: it is not to be started again before somebody needs it.
const DAEMON_STOPPED: u8 = 5;

/// Runs a bridge to its end.
pub fn main(facade: Facade) -> ExitCode {
    let output = match out::set_stdout_aside() {
        Ok(output) => output,
        Err(error) => {
            out::error(&format!("standard output cannot be used: {error}"), None);
            return ExitCode::from(UNREACHABLE);
        }
    };
    let folders = match Folders::of_process() {
        Ok(folders) => folders,
        Err(error) => {
            out::error(&error.to_string(), None);
            return ExitCode::from(UNREACHABLE);
        }
    };
    let mut hello = reach::own_hello(facade, Spawn::WhenNone);
    if facade == Facade::Acp {
        hello.resume = Some(Resume::default());
    }
    let link = match reach::reach(&folders, &hello, Spawn::WhenNone) {
        Ok(link) => link,
        Err(error) => {
            let hint = match &error {
                ReachError::Refused(refusal) => refusal.hint.as_deref(),
                _ => None,
            };
            out::error(&error.to_string(), hint);
            return ExitCode::from(UNREACHABLE);
        }
    };
    let end = match facade {
        Facade::Native => match copy(link, io::stdin(), output) {
            // Written before the connections are closed.
            End::Daemon if lock::last_holder(&folders).is_some_and(|holder| holder.stopped) => End::Stopped,
            end => end,
        },
        Facade::Acp => survive::copy(link, survive::Ways { folders, hello }, io::stdin(), output),
    };
    match end {
        End::Editor => ExitCode::SUCCESS,
        End::Stopped => {
            out::error(&end.to_string(), None);
            ExitCode::from(DAEMON_STOPPED)
        }
        End::Daemon | End::Endless | End::Crashes { .. } | End::Unreachable(_) => {
            out::error(&end.to_string(), None);
            ExitCode::from(DAEMON_LEFT)
        }
    }
}

/// Copies both ways until one side ends. The threads that still wait for their side then end with the process.
fn copy(link: Link, input: impl Read + Send + 'static, output: File) -> End {
    let Link { stream, rest, .. } = link;
    let (ended, end) = mpsc::sync_channel(2);
    let asked = Arc::new(AtomicBool::new(false));
    let downwards = stream.try_clone().and_then(|stream| {
        let ended = ended.clone();
        let copy = move || to_editor(stream, rest, output, &ended);
        std::thread::Builder::new().name("to editor".to_owned()).spawn(copy)
    });
    let upwards = std::thread::Builder::new().name("to daemon".to_owned()).spawn({
        let asked = Arc::clone(&asked);
        move || to_daemon(input, &stream, &asked, &ended)
    });
    if downwards.is_err() || upwards.is_err() {
        return End::Daemon;
    }
    match end.recv() {
        // The input is at its end: the daemon may finish what it is saying, but not for long.
        Ok(Side::Input) => {
            let _ = end.recv_timeout(LAST_ANSWERS);
            End::Editor
        }
        Ok(Side::Output) => End::Editor,
        Ok(Side::Daemon) if asked.load(Ordering::SeqCst) => End::Editor,
        Ok(Side::Daemon) | Err(_) => End::Daemon,
    }
}

/// Which side ended first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The editor writes no more.
    Input,
    /// The editor reads no more.
    Output,
    /// The daemon closed the connection.
    Daemon,
}

/// `asked` becomes true before the daemon can hear that the editor asks for the end of the connection.
fn to_daemon(mut input: impl Read, mut stream: &UnixStream, asked: &AtomicBool, ended: &SyncSender<Side>) {
    let mut buffer = vec![0; CHUNK];
    let mut farewell = Farewell::default();
    loop {
        let count = match input.read(&mut buffer) {
            Ok(count) if count > 0 => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // An input that cannot be read is at its end. That is said before the daemon can answer it by closing.
            Ok(_) | Err(_) => {
                let _ = ended.send(Side::Input);
                let _ = stream.shutdown(Shutdown::Write);
                return;
            }
        };
        let chunk = buffer.get(..count).unwrap_or_default();
        if farewell.is_said_in(chunk) {
            asked.store(true, Ordering::SeqCst);
        }
        if stream.write_all(chunk).is_err() {
            // The other thread says that the daemon has left, after it has delivered what the daemon said before.
            return;
        }
    }
}

fn to_editor(mut stream: UnixStream, rest: Vec<u8>, mut output: File, ended: &SyncSender<Side>) {
    let mut buffer = vec![0; CHUNK];
    let mut chunk: &[u8] = &rest;
    let side = loop {
        if output.write_all(chunk).is_err() {
            break Side::Output;
        }
        if !wait_for_daemon(&stream, &output) {
            break Side::Output;
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => chunk = buffer.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => chunk = &[],
            Ok(_) | Err(_) => break Side::Daemon,
        }
    };
    let _ = ended.send(side);
}

/// Waits until the daemon says something or ends; `false` when the editor stopped reading meanwhile, which nobody would
/// notice before the next write.
fn wait_for_daemon(stream: &UnixStream, output: &File) -> bool {
    loop {
        let mut both = [PollFd::new(stream, PollFlags::IN), PollFd::new(output, PollFlags::empty())];
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return true,
            Ok(_) => {}
        }
        let [daemon, editor] = &both;
        if !daemon.revents().is_empty() {
            return true;
        }
        if editor.revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) {
            return false;
        }
    }
}

/// Whether somebody still reads what a bridge says.
fn is_read(output: &File) -> bool {
    let mut editor = [PollFd::new(output, PollFlags::empty())];
    let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let polled = poll(&mut editor, Some(&at_once));
    let [editor] = &editor;
    polled.is_err() || !editor.revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
}

#[cfg(test)]
mod tests;
