//! The one line by which a detached daemon says that it can be reached, or why not. It comes through the pipe that is its
//! standard output at its start.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// The line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// A daemon listens: the one that was started, or the one that it found.
    Ready {
        /// Where.
        socket: PathBuf,
        /// Its process.
        pid: u32,
    },
    /// It could not start.
    Failed {
        /// Why, for people, with the fix.
        message: String,
    },
}

/// The daemon's end of the pipe; silent when a person started the daemon.
#[derive(Debug)]
pub struct Reporter(Option<File>);

impl Reporter {
    /// One that tells nobody.
    pub fn silent() -> Self {
        Self(None)
    }

    /// Takes standard output as the pipe and points descriptor 1 at standard error, so that nothing that prints by
    /// mistake is taken for the line.
    pub fn from_stdout() -> io::Result<Self> {
        let pipe = super::out::set_stdout_aside()?;
        Ok(Self(Some(pipe)))
    }

    /// Writes the line and closes the pipe. That nobody reads it any more is no fault of the daemon's.
    pub fn report(self, readiness: &Readiness) {
        if let Some(mut pipe) = self.0
            && let Ok(mut line) = serde_json::to_vec(readiness)
        {
            line.push(b'\n');
            let _ = pipe.write_all(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    #[test]
    fn the_line_is_one_line_and_the_pipe_is_closed_after_it() {
        let (mut reader, writer) = io::pipe().unwrap();
        let ready = Readiness::Ready { socket: "/s".into(), pid: 3 };
        Reporter(Some(File::from(OwnedFd::from(writer)))).report(&ready);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "{\"ready\":{\"socket\":\"/s\",\"pid\":3}}\n");
        assert_eq!(serde_json::from_str::<Readiness>(&text).unwrap(), ready);
    }
}
