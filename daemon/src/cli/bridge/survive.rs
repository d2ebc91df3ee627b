//! `plimsoll acp` outlives its daemon: when that ends, however it ends, the bridge finds or starts another, tells it what
//! there was, and asks again what was not answered. The editor notices a pause.
//!
//! Two threads, as in the plain copier. The one towards the editor sees the daemon's end and brings the next; the one
//! towards the daemon waits meanwhile, and the editor's pipe with it. Who needs both locks takes `uplink` first.

use super::conversation::Conversation;
use super::{End, LAST_ANSWERS, Side, wait_for_daemon};
use crate::cli::lock;
use crate::cli::reach::{self, Link, ReachError, Spawn};
use crate::config::Folders;
use crate::rpc::framing::MESSAGE_LIMIT;
use plimsoll_protocol::hello::Hello;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Daemons may end so often within [`CRASHES_WITHIN`]; more is a daemon that cannot live.
const CRASHES_MAX: usize = 5;
/// See there.
const CRASHES_WITHIN: Duration = Duration::from_mins(1);
/// How often is looked for a daemon that somebody else starts, after one was stopped and while nobody here needs one.
const LOOK_FOR_DAEMON: Duration = Duration::from_secs(1);

/// See the module's head.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Held while something is written to the daemon.
    uplink: Mutex<()>,
}

struct State {
    conversation: Conversation,
    /// None while there is no daemon.
    daemon: Option<Arc<UnixStream>>,
    /// The editor has something for a daemon that is not there.
    wanted: bool,
    /// The editor has said its last.
    ended: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked with it has ended the bridge.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn uplink(&self) -> MutexGuard<'_, ()> {
        self.uplink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How to come to the next daemon.
pub struct Ways {
    /// Where it is.
    pub folders: Folders,
    /// What it is told first; what there was is added.
    pub hello: Hello,
}

/// Copies until the editor ends, or no daemon can be had.
pub fn copy(link: Link, ways: Ways, input: impl Read + Send + 'static, output: File) -> End {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            conversation: Conversation::new(uuid::Uuid::now_v7().simple().to_string()),
            daemon: None,
            wanted: false,
            ended: false,
        }),
        changed: Condvar::new(),
        uplink: Mutex::new(()),
    });
    let (ended, end) = mpsc::sync_channel(2);
    let down = Down { shared: Arc::clone(&shared), ways, output, lost: VecDeque::new() };
    let told = ended.clone();
    let downwards = std::thread::Builder::new().name("to editor".to_owned()).spawn(move || {
        let end = down.run(link);
        let _ = told.send((Side::Output, end));
    });
    let upwards = std::thread::Builder::new().name("to daemon".to_owned()).spawn(move || up(&shared, input, &ended));
    if downwards.is_err() || upwards.is_err() {
        return End::Daemon;
    }
    match end.recv() {
        // The input is at its end: the daemon may finish what it is saying, but not for long.
        Ok((Side::Input, reason)) => {
            let _ = end.recv_timeout(LAST_ANSWERS);
            reason
        }
        Ok((Side::Output | Side::Daemon, reason)) => reason,
        Err(_) => End::Daemon,
    }
}

/// Copies what the editor says, line by line.
fn up(shared: &Shared, input: impl Read, ended: &SyncSender<(Side, End)>) {
    let mut input = BufReader::new(input);
    loop {
        let line = match read_line(&mut input) {
            Line::Whole(line) => line,
            Line::End => break,
            Line::TooLong => {
                let _ = ended.send((Side::Output, End::Endless));
                return;
            }
        };
        send(shared, line);
    }
    let daemon = {
        let mut state = shared.state();
        state.ended = true;
        state.daemon.clone()
    };
    // Said before the daemon can answer it by closing.
    let _ = ended.send((Side::Input, End::Editor));
    shared.changed.notify_all();
    if let Some(daemon) = daemon {
        let _ = daemon.shutdown(Shutdown::Write);
    }
}

/// Gives the daemon a line, as soon as there is one. What it does not get because it ends is sent again with everything
/// else that was not answered.
fn send(shared: &Shared, line: Vec<u8>) {
    loop {
        let mut state = shared.state();
        while state.daemon.is_none() {
            state.wanted = true;
            shared.changed.notify_all();
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let _writing = shared.uplink();
        let mut state = shared.state();
        let Some(daemon) = state.daemon.clone() else { continue };
        let line = state.conversation.editor_says(line);
        drop(state);
        if let Some(line) = line {
            let _ = (&*daemon).write_all(&line);
        }
        return;
    }
}

enum Line {
    Whole(Vec<u8>),
    TooLong,
    End,
}

/// The next line with its end; the last may have none.
fn read_line(input: &mut impl BufRead) -> Line {
    let mut line = Vec::new();
    let limit = u64::try_from(MESSAGE_LIMIT).unwrap_or(u64::MAX).saturating_add(1);
    match input.take(limit).read_until(b'\n', &mut line) {
        // An input that cannot be read is at its end.
        Ok(0) | Err(_) => Line::End,
        Ok(count) if count > MESSAGE_LIMIT => Line::TooLong,
        Ok(_) => Line::Whole(line),
    }
}

/// Why there is nothing more from a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// The editor reads no more.
    Editor,
    /// The daemon has ended.
    Daemon,
}

struct Down {
    shared: Arc<Shared>,
    ways: Ways,
    output: File,
    /// When daemons ended.
    lost: VecDeque<Instant>,
}

impl Down {
    fn run(mut self, mut link: Link) -> End {
        loop {
            let Ok(stream) = link.stream.try_clone() else { return End::Daemon };
            self.take(stream);
            if self.copy(link) == Lost::Editor {
                return End::Editor;
            }
            let told = {
                let mut state = self.shared.state();
                state.daemon = None;
                if state.ended {
                    return End::Editor;
                }
                state.conversation.lost()
            };
            if !self.tell(&told) {
                return End::Editor;
            }
            link = match self.next() {
                Ok(Some(link)) => link,
                Ok(None) => return End::Editor,
                Err(end) => {
                    let why = end.to_string();
                    let told = self.shared.state().conversation.give_up(&why);
                    self.tell(&told);
                    return end;
                }
            };
        }
    }

    /// Speaks to this daemon from now on; it is first asked what was not answered.
    fn take(&self, stream: UnixStream) {
        let daemon = Arc::new(stream);
        let _writing = self.shared.uplink();
        let repeated = {
            let mut state = self.shared.state();
            state.daemon = Some(Arc::clone(&daemon));
            state.wanted = false;
            self.shared.changed.notify_all();
            if state.ended {
                let _ = daemon.shutdown(Shutdown::Write);
                return;
            }
            state.conversation.repeat()
        };
        for line in repeated {
            if (&*daemon).write_all(&line).is_err() {
                // Its end is seen by whoever reads from it.
                return;
            }
        }
    }

    /// Copies what a daemon says to its end. A line that it did not finish is not said.
    fn copy(&mut self, link: Link) -> Lost {
        let Link { stream, rest } = link;
        let mut from = BufReader::new(rest.as_slice().chain(Waiting { stream: &stream, output: &self.output }));
        let mut line = Vec::new();
        loop {
            line.clear();
            match from.read_until(b'\n', &mut line) {
                Ok(0) => return Lost::Daemon,
                Ok(_) if line.last() != Some(&b'\n') => return Lost::Daemon,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Lost::Editor,
                Err(_) => return Lost::Daemon,
            }
            let told = self.shared.state().conversation.daemon_says(&line);
            if let Some(told) = told
                && (&self.output).write_all(&told).is_err()
            {
                return Lost::Editor;
            }
        }
    }

    fn tell(&mut self, lines: &[Vec<u8>]) -> bool {
        lines.iter().all(|line| self.output.write_all(line).is_ok())
    }

    /// The next daemon; none when the editor has gone meanwhile.
    fn next(&mut self) -> Result<Option<Link>, End> {
        let now = Instant::now();
        self.lost.push_back(now);
        self.lost.retain(|lost| now.duration_since(*lost) < CRASHES_WITHIN);
        if self.lost.len() > CRASHES_MAX {
            return Err(End::Crashes { times: self.lost.len(), log: self.ways.folders.logs() });
        }
        let mut hello = self.ways.hello.clone();
        let stopped = lock::last_holder(&self.ways.folders).is_some_and(|holder| holder.stopped);
        loop {
            hello.resume = Some({
                let mut state = self.shared.state();
                if stopped && !state.wanted && !state.ended && !state.conversation.waits() {
                    // Somebody wants it to be ended: it is started again when the editor needs it.
                    let waited = self.shared.changed.wait_timeout(state, LOOK_FOR_DAEMON);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                if state.ended || !super::is_read(&self.output) {
                    return Ok(None);
                }
                state.conversation.resume()
            });
            let needed = {
                let state = self.shared.state();
                !stopped || state.wanted || state.conversation.waits()
            };
            let spawn = if needed { Spawn::WhenNone } else { Spawn::Never };
            match reach::reach(&self.ways.folders, &hello, spawn) {
                Ok(link) => return Ok(Some(link)),
                Err(ReachError::NotRunning) if !needed => {}
                Err(error) => return Err(End::Unreachable(error)),
            }
        }
    }
}

/// Reads from the daemon, and fails with a broken pipe when the editor stops reading meanwhile.
struct Waiting<'a> {
    stream: &'a UnixStream,
    output: &'a File,
}

impl Read for Waiting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !wait_for_daemon(self.stream, self.output) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.stream.read(buffer)
    }
}

#[cfg(test)]
#[path = "survive_tests.rs"]
mod tests;
