//! The one loop of the helper: output, ends of processes, words of the daemon, time.
//!
//! A second thread collects ended processes and says so through a pipe; everything is decided here.

use super::keep::Keep;
use super::link::{Link, Said};
use super::log::Log;
use super::shell::Confined;
use super::tree;
use crate::process::frame::{End, Ended, Frame, Started};
use crate::process::table;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::{Errno, ioctl_fionbio, ioctl_fionread, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, WaitOptions, wait};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Time between asking processes to end and killing them.
pub const TERM_GRACE: Duration = Duration::from_secs(2);

/// Time that killed processes get to be gone.
pub const KILL_WAIT: Duration = Duration::from_secs(1);

/// Time that what a command started gets to end after the command itself: enough for the end of a pipeline that the
/// shell does not wait for, little when a server was started.
pub const LINGER: Duration = Duration::from_millis(500);

/// Killing is repeated, because a process may have started another between the look and the kill.
const KILL_EVERY: Duration = Duration::from_millis(50);

/// How much is read at once: what a pipe holds.
const READ: usize = 64 * 1024;

/// From the collecting thread.
enum Collected {
    /// A child ended.
    Child(u32, End),
    /// There is no child, and so no descendant, any more.
    All,
}

/// Where the end of everything stands.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Nobody wants it to end.
    Running,
    /// The command has ended, what it started has until then.
    Lingering(Instant),
    /// Everything was asked to end and is killed from then on.
    Terminating(Instant),
    /// Everything is being killed; given up at the second time.
    Killing(Instant, Instant),
}

/// See the module's head.
pub struct Supervisor {
    link: Link,
    log: Log,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    collected: mpsc::Receiver<Collected>,
    wake: OwnedFd,
    output_kept: Keep,
    stderr_kept: Keep,
    buffer: Vec<u8>,
    pid: Option<u32>,
    started: Instant,
    phase: Phase,
    /// The command's end and when it was.
    end: Option<(End, Instant)>,
    /// Whether it was told to end before it ended.
    stopped: bool,
    all_gone: bool,
    reported: bool,
}

impl Supervisor {
    /// Starts the command. That it cannot be started is reported like any other end.
    pub fn start(link: Link, log: Log, command: Confined) -> io::Result<Self> {
        let (stdout, stdout_writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, stderr_writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let (wake, wake_writer) = pipe_with(PipeFlags::CLOEXEC)?;
        for reader in [&stdout, &stderr, &wake] {
            ioctl_fionbio(reader, true)?;
        }
        let started = Instant::now();
        let spawned = command.start(stdout_writer, stderr_writer);
        let (sender, collected) = mpsc::channel();
        let mut this = Self {
            link,
            log,
            stdout: Some(stdout),
            stderr: Some(stderr),
            collected,
            wake,
            output_kept: Keep::default(),
            stderr_kept: Keep::default(),
            buffer: vec![0; READ],
            pid: None,
            started,
            phase: Phase::Running,
            end: None,
            stopped: false,
            all_gone: false,
            reported: false,
        };
        match spawned {
            Ok(pid) => {
                this.pid = Some(pid);
                let start_ticks = table::process(pid).map_or(0, |process| process.start_ticks);
                this.link.send(&Frame::Started(Started { pid, start_ticks }));
                std::thread::Builder::new().name("collect".into()).spawn(move || collect(&sender, &wake_writer))?;
            }
            Err(why) => {
                this.end = Some((End::NotStarted(why), Instant::now()));
                this.all_gone = true;
            }
        }
        Ok(this)
    }

    /// Runs until everything has ended, or was killed and did not go.
    pub fn run(mut self) -> io::Result<()> {
        loop {
            // That the daemon is gone may also have been seen while something was sent to it: then its side of the socket
            // wakes nobody any more.
            if !self.link.is_open() {
                self.stop();
            }
            self.decide();
            if self.is_done() {
                self.log.settle();
                return Ok(());
            }
            self.wait_for_something()?;
            if self.link.is_waiting() {
                self.link.flush();
            }
            match self.link.hear() {
                Said::Nothing => {}
                Said::Stop | Said::Gone => self.stop(),
            }
            self.read_output(READ)?;
            self.collect();
        }
    }

    /// Moves on to what time and events allow.
    fn decide(&mut self) {
        let now = Instant::now();
        if self.all_gone {
            self.report();
            return;
        }
        match self.phase {
            Phase::Running if self.end.is_some() && !self.reported => self.phase = Phase::Lingering(now + LINGER),
            Phase::Lingering(until) if now >= until => {
                self.report();
                self.phase = Phase::Running;
            }
            Phase::Terminating(until) if now >= until => {
                self.phase = Phase::Killing(now, now + KILL_WAIT);
                self.decide();
            }
            Phase::Killing(at, give_up) if now >= at => {
                if now >= give_up {
                    self.report();
                } else {
                    tree::signal(self.pid, self.end.is_none(), Signal::KILL);
                    self.phase = Phase::Killing(now + KILL_EVERY, give_up);
                }
            }
            Phase::Running | Phase::Lingering(_) | Phase::Terminating(_) | Phase::Killing(..) => {}
        }
    }

    /// Whether nothing is left to do.
    fn is_done(&self) -> bool {
        let sent = !self.link.is_waiting();
        let given_up = matches!(self.phase, Phase::Killing(_, give_up) if Instant::now() >= give_up);
        let drained = self.stdout.is_none() && self.stderr.is_none();
        let nothing_to_keep = drained || !self.link.is_open();
        sent && (given_up || (self.all_gone && self.reported && nothing_to_keep))
    }

    fn stop(&mut self) {
        if matches!(self.phase, Phase::Terminating(_) | Phase::Killing(..)) {
            return;
        }
        self.stopped = self.end.is_none();
        self.phase = Phase::Terminating(Instant::now() + TERM_GRACE);
        if !self.all_gone {
            tree::signal(self.pid, self.end.is_none(), Signal::TERM);
            // A stopped process acts on nothing but this.
            tree::signal(self.pid, self.end.is_none(), Signal::CONT);
        }
    }

    /// Tells the daemon how it ended, once, after everything that was printed until now is in the log.
    fn report(&mut self) {
        if self.reported {
            return;
        }
        for is_stderr in [false, true] {
            let pipe = if is_stderr { &self.stderr } else { &self.stdout };
            let held = pipe.as_ref().and_then(|pipe| ioctl_fionread(pipe).ok()).unwrap_or(0);
            // One more than the pipe holds, so that its end is seen.
            let mut left = usize::try_from(held).unwrap_or(usize::MAX).saturating_add(1);
            while left > 0 {
                match self.read_pipe(is_stderr, left) {
                    Ok(count) if count > 0 => left = left.saturating_sub(count),
                    Ok(_) | Err(_) => break,
                }
            }
        }
        self.reported = true;
        self.log.settle();
        let (end, ended_at) = self.end.clone().unwrap_or((End::Unkillable, Instant::now()));
        let left_running = if self.all_gone { Vec::new() } else { tree::living().iter().map(|one| one.pid).collect() };
        let given_up = matches!(self.phase, Phase::Killing(..));
        let ended = Ended {
            end,
            stopped: self.stopped,
            duration_ms: u64::try_from((ended_at - self.started).as_millis()).unwrap_or(u64::MAX),
            left_running,
            stays: !given_up && (!self.all_gone || self.stdout.is_some() || self.stderr.is_some()),
            output: self.output_kept.totals(),
            stderr: self.stderr_kept.totals(),
            log_error: self.log.error().map(str::to_owned),
        };
        let (head, tail) = self.output_kept.take();
        self.link.send(&Frame::OutputHead(head));
        self.link.send(&Frame::OutputTail(tail));
        let (head, tail) = self.stderr_kept.take();
        self.link.send(&Frame::StderrHead(head));
        self.link.send(&Frame::StderrTail(tail));
        self.link.send(&Frame::Ended(Box::new(ended)));
    }

    fn wait_for_something(&self) -> io::Result<()> {
        // When all are gone the pipe of the collecting thread is closed, and would wake at once for ever.
        let wake = (!self.all_gone).then_some(&self.wake);
        let readable = wake.into_iter().chain(&self.stdout).chain(&self.stderr);
        let mut fds: Vec<PollFd<'_>> = readable.map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
        let link = self.link.fd();
        if self.link.is_open() {
            let wanted = if self.link.is_waiting() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            fds.push(PollFd::new(&link, wanted));
        }
        let until = match self.phase {
            Phase::Running => None,
            Phase::Lingering(until) | Phase::Terminating(until) => Some(until),
            Phase::Killing(at, give_up) => Some(at.min(give_up)),
        };
        let timeout = until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            // A time that cannot be told is longer than any of the phases; what is too long ends by an event.
            Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 })
        });
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read_output(&mut self, limit: usize) -> io::Result<()> {
        self.read_pipe(false, limit)?;
        self.read_pipe(true, limit)?;
        Ok(())
    }

    /// Takes what one pipe has, at most `limit` and one buffer; 0 when it has nothing or is at its end.
    fn read_pipe(&mut self, is_stderr: bool, limit: usize) -> io::Result<usize> {
        let pipe = if is_stderr { &mut self.stderr } else { &mut self.stdout };
        let Some(open) = pipe else { return Ok(0) };
        let room = self.buffer.len().min(limit);
        let count = match read(open.as_fd(), self.buffer.get_mut(..room).unwrap_or_default()) {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        if count == 0 {
            *pipe = None;
        }
        let bytes = self.buffer.get(..count).unwrap_or_default();
        self.log.write(bytes);
        // What comes after the report belongs to no result any more; the log still has it.
        if count > 0 && !self.reported {
            self.output_kept.push(bytes);
            if is_stderr {
                self.stderr_kept.push(bytes);
            }
            self.link.show(bytes);
        }
        Ok(count)
    }

    fn collect(&mut self) {
        let mut bytes = [0; 64];
        while matches!(read(&self.wake, &mut bytes), Ok(count) if count > 0) {}
        while let Ok(collected) = self.collected.try_recv() {
            match collected {
                Collected::Child(pid, end) if Some(pid) == self.pid && self.end.is_none() => {
                    self.end = Some((end, Instant::now()));
                }
                Collected::Child(..) => {}
                Collected::All => self.all_gone = true,
            }
        }
    }
}

/// Waits for every child until none is left. With the last child the last descendant is gone, because orphans become
/// children of this process.
fn collect(sender: &mpsc::Sender<Collected>, wake: &OwnedFd) {
    loop {
        let collected = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Collected::Child(pid.as_raw_nonzero().get().unsigned_abs(), End::Code(code)),
                (None, Some(signal)) => {
                    Collected::Child(pid.as_raw_nonzero().get().unsigned_abs(), End::Signal(signal))
                }
                (None, None) => continue,
            },
            Ok(None) | Err(Errno::INTR) => continue,
            Err(_) => Collected::All,
        };
        let last = matches!(collected, Collected::All);
        if sender.send(collected).is_err() || write(wake, b".").is_err() || last {
            return;
        }
    }
}
