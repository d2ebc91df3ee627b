//! A command on a terminal of its own, and a person who reads and types there.

use crate::{in_time, machine::Machine};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use tokio::process::Child;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// See the module's head.
pub struct Terminal {
    child: Child,
    person: File,
    output: UnboundedReceiver<Vec<u8>>,
    shown: String,
    /// What of `shown` a wait has passed.
    seen: usize,
}

impl Terminal {
    /// Starts `plimsoll` with these arguments on a terminal, which is also its standard input, output and error.
    pub fn start(machine: &Machine, cwd: &Path, arguments: &[&str]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let person = openpt(flags).expect("a terminal");
        grantpt(&person).expect("the terminal is ours");
        unlockpt(&person).expect("a terminal that can be opened");
        let name = ptsname(&person, Vec::new()).expect("its name").into_bytes();
        let name = std::ffi::OsString::from_vec(name);
        let end = || {
            let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
            let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&name);
            Stdio::from(opened.expect("the terminal's other end"))
        };
        // `setsid` makes its standard input the terminal of the session.
        let mut command = machine.shell(cwd, "exec setsid --ctty --wait \"$@\"", arguments);
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("a command");
        // The ends go with the command, so that the terminal ends with whoever still has one.
        drop(command);
        let person = File::from(person);
        let mut reader = person.try_clone().expect("a second handle");
        let (send, output) = unbounded_channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal that nobody has open any more ends with an error.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, person, output, shown: String::new(), seen: 0 }
    }

    /// Waits until this is shown, after what was waited for before.
    pub async fn wait_for(&mut self, text: &str) {
        loop {
            if let Some(at) = self.shown[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            match in_time(text, self.output.recv()).await {
                Some(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                None => panic!("the terminal ended before it showed {text:?}:\n{}", self.shown),
            }
        }
    }

    /// Types a line.
    pub fn type_line(&mut self, line: &str) {
        self.type_text(&format!("{line}\n"));
    }

    /// Types this, control characters too.
    pub fn type_text(&mut self, text: &str) {
        self.person.write_all(text.as_bytes()).expect("the terminal takes it");
    }

    /// Waits for the command's end; how it ended and everything that was shown, what was typed included.
    pub async fn end(mut self) -> (ExitStatus, String) {
        let status = in_time("the command's end", self.child.wait()).await.expect("a child");
        while let Some(bytes) = in_time("the terminal's end", self.output.recv()).await {
            self.shown.push_str(&String::from_utf8_lossy(&bytes));
        }
        (status, self.shown.replace("\r\n", "\n"))
    }
}

#[tokio::test]
async fn what_is_typed_reaches_the_command_and_what_it_says_is_shown() {
    let machine = Machine::new(Path::new("/bin/sh"));
    let line = "test -t 0 && read word </dev/tty && echo \"got $word\"";
    let mut terminal = Terminal::start(&machine, Path::new("/"), &["-c", line]);
    terminal.type_line("it");
    terminal.wait_for("got it").await;
    let (status, shown) = terminal.end().await;
    assert_eq!((status.code(), shown.ends_with("got it\n")), (Some(0), true), "{shown}");
}
