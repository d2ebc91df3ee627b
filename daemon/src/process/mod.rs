//! The one way to start a process.
//!
//! A command never is a child of the daemon itself. The daemon starts its own binary as `plimsoll __exec` ([`exec`]),
//! and that helper starts the command, owns its output, and ends it with everything it started when it is told to or
//! when the daemon is gone. [`run`] is the daemon's side, [`frame`] what the two say to each other, [`background`] what
//! is left of commands that have ended, [`recover`] what is left of a daemon that has died. What a command is held to is
//! [`limits`], enforced by [`sandbox`]; [`origin`] tells who may not talk to the daemon.
//!
//! Nothing here knows of sessions or tools.

pub mod background;
pub mod children;
pub mod detach;
pub mod environment;
pub mod exec;
pub mod frame;
pub mod git;
pub mod key_command;
pub mod limits;
pub mod origin;
pub mod recover;
pub mod run;
pub mod sandbox;
pub mod service_manager;
pub mod shell;
pub mod table;

use std::path::{Path, PathBuf};

/// The binary that is started as `__exec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper(PathBuf);

impl Helper {
    /// The binary of this process. On Linux the running one, also after its file was replaced by an update.
    pub fn own() -> std::io::Result<Self> {
        if cfg!(target_os = "linux") {
            Ok(Self(PathBuf::from("/proc/self/exe")))
        } else {
            std::env::current_exe().map(Self)
        }
    }

    /// The binary in this file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_binary_can_be_started_again() {
        let listed = std::process::Command::new(Helper::own().unwrap().path()).arg("--list").output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.contains("process::tests::the_own_binary_can_be_started_again: test"), "{listed}");
    }
}
