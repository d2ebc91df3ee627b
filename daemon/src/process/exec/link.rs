//! The helper's end of the socket to the daemon. It never waits for the daemon while the command runs.

use crate::process::frame::{Frame, STOP};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Output may be shown at once up to this many bytes …
const LIVE_BURST: u64 = 1024 * 1024;

/// … and then this many each second: nobody reads faster, and the daemon has to clean what it gets.
const LIVE_RATE: u64 = 512 * 1024;

/// With more than this waiting to be sent, output is no longer shown live.
const LIVE_WAITING: usize = 256 * 1024;

/// What the daemon said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Nothing.
    Nothing,
    /// End the command.
    Stop,
    /// It is gone.
    Gone,
}

/// See the module's head.
#[derive(Debug)]
pub struct Link {
    socket: UnixStream,
    open: bool,
    waiting: Vec<u8>,
    sent: usize,
    live_room: u64,
    live_at: Instant,
    skipped: u64,
}

impl Link {
    /// Takes the socket over.
    pub fn new(socket: UnixStream) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        let live_at = Instant::now();
        Ok(Self { socket, open: true, waiting: Vec::new(), sent: 0, live_room: LIVE_BURST, live_at, skipped: 0 })
    }

    /// Whether the daemon is there.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether something waits to be sent.
    pub fn is_waiting(&self) -> bool {
        self.open && self.sent < self.waiting.len()
    }

    /// What to poll.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a frame as soon as the daemon takes it.
    pub fn send(&mut self, frame: &Frame) {
        if self.open {
            frame.encode(&mut self.waiting);
            self.flush();
        }
    }

    /// Shows output live when there is room for it.
    pub fn show(&mut self, bytes: &[u8]) {
        let now = Instant::now();
        let since = u64::try_from(now.duration_since(self.live_at).as_millis()).unwrap_or(u64::MAX);
        self.live_room = self.live_room.saturating_add(since.saturating_mul(LIVE_RATE) / 1000).min(LIVE_BURST);
        self.live_at = now;
        let len = bytes.len() as u64;
        if len > self.live_room || self.waiting.len() - self.sent > LIVE_WAITING {
            self.skipped += len;
            return;
        }
        self.live_room -= len;
        if self.skipped > 0 {
            let skipped = Frame::Skipped(std::mem::take(&mut self.skipped));
            self.send(&skipped);
        }
        self.send(&Frame::Live(bytes.to_vec()));
    }

    /// Sends what the daemon takes without waiting.
    pub fn flush(&mut self) {
        while self.is_waiting() {
            match self.socket.write(self.waiting.get(self.sent..).unwrap_or_default()) {
                Ok(0) => self.open = false,
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.open = false,
            }
        }
        self.waiting.drain(..self.sent.min(self.waiting.len()));
        self.sent = 0;
    }

    /// What the daemon said since last asked.
    pub fn hear(&mut self) -> Said {
        let mut said = Said::Nothing;
        let mut bytes = [0; 64];
        while self.open {
            match self.socket.read(&mut bytes) {
                Ok(0) => self.open = false,
                Ok(count) if bytes.get(..count).is_some_and(|bytes| bytes.contains(&STOP)) => said = Said::Stop,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return said,
                Err(_) => self.open = false,
            }
        }
        Said::Gone
    }
}
