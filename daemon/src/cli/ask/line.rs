//! One line that a person types, waited for by a thread that can be told to stop: what is typed after an answer belongs to
//! whoever reads the terminal next.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{QueueSelector, tcflush};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Longest line that is taken: what the terminal's own editing allows.
const LINE_MAX: usize = 4096;

/// A line that is waited for. Dropped, it is waited for no longer.
#[derive(Debug)]
pub struct Line {
    typed: Receiver<String>,
    _stop: PipeWriter,
}

impl Line {
    /// Waits for a line of this terminal. What was typed before is no answer to what is asked now.
    pub fn of(terminal: &File) -> io::Result<Self> {
        // A terminal that cannot forget has nothing to forget.
        let _ = tcflush(terminal, QueueSelector::IFlush);
        let terminal = terminal.try_clone()?;
        let (stopped, stop) = io::pipe()?;
        let (send, typed) = channel(1);
        std::thread::Builder::new().name("terminal".to_owned()).spawn(move || read(terminal, &stopped, &send))?;
        Ok(Self { typed, _stop: stop })
    }

    /// The line; none when the terminal has ended. Cancel safe.
    pub async fn next(&mut self) -> Option<String> {
        self.typed.recv().await
    }
}

/// Reads until a line's end, the terminal's end, or the end of the pipe.
fn read(mut terminal: File, stopped: &PipeReader, send: &Sender<String>) {
    let mut line = Vec::new();
    let mut buffer = [0; LINE_MAX];
    loop {
        let mut both = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        let [_, stop] = &both;
        if !stop.revents().is_empty() {
            return;
        }
        match terminal.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
            Ok(count) => {
                line.extend(buffer.iter().take(count));
                if line.last() == Some(&b'\n') || line.len() > LINE_MAX {
                    // Nobody may wait for it any more.
                    drop(send.blocking_send(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()));
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::unix::ffi::OsStringExt;

    /// A person's end and the end that a program reads.
    fn terminal() -> (File, File) {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let name = std::ffi::OsString::from_vec(ptsname(&person, Vec::new()).unwrap().into_bytes());
        (File::from(person), OpenOptions::new().read(true).write(true).open(name).unwrap())
    }

    #[tokio::test]
    async fn a_line_that_is_no_longer_waited_for_is_left_to_the_next_reader() {
        let (mut person, program) = terminal();
        let first = Line::of(&program).unwrap();
        drop(first);
        let mut second = Line::of(&program).unwrap();
        person.write_all(b"y\nmore\n").unwrap();
        assert_eq!(second.next().await.as_deref(), Some("y"));
        assert_eq!(second.next().await, None, "one line and no more");
        let mut rest = [0; 16];
        assert_eq!((&program).read(&mut rest).unwrap(), 5);
        assert_eq!(&rest[..5], b"more\n");
    }

    #[tokio::test]
    async fn a_terminal_that_ends_gives_no_line() {
        let (person, program) = terminal();
        let mut line = Line::of(&program).unwrap();
        drop(person);
        assert_eq!(line.next().await, None);
    }
}
