//! The way over bubblewrap, for systems that refuse namespaces to everybody but it. It makes the network and the view of
//! the file system, then starts this program's second stage, which does the rest and becomes the shell: under Landlock
//! bubblewrap itself could mount nothing.

use crate::process::limits::Limits;
use plimsoll_core::permission::leave::Files;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where it is looked for: fixed places, so that a `PATH` with a project's folder in it does not choose it.
const PLACES: &[&str] = &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// A program and what it is called with before the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bubblewrap {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Bubblewrap {
    /// The installed one.
    pub fn find() -> Option<Self> {
        let program = PLACES.iter().map(PathBuf::from).find(|place| place.is_file())?;
        Some(Self { program, arguments: Vec::new() })
    }

    /// Whether it can make a network here. Takes some milliseconds.
    pub fn works(&self) -> bool {
        let mut trial = Command::new(&self.program);
        trial.args(["--dev-bind", "/", "/", "--unshare-net", "--", "/bin/sh", "-c", ":"]);
        trial.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        trial.status().is_ok_and(|status| status.success())
    }

    /// The same with what it takes to hold a command to these limits.
    #[must_use]
    pub fn with(mut self, limits: &Limits, cwd: &Path) -> Self {
        let mut add = |words: &[&std::ffi::OsStr]| self.arguments.extend(words.iter().map(|word| (*word).to_owned()));
        if limits.leave.files == Files::All {
            add(&["--dev-bind".as_ref(), "/".as_ref(), "/".as_ref()]);
        } else {
            add(&["--ro-bind".as_ref(), "/".as_ref(), "/".as_ref()]);
            add(&["--dev-bind".as_ref(), "/dev".as_ref(), "/dev".as_ref()]);
            for path in limits.writable.iter().filter(|path| path.is_dir()) {
                add(&["--bind".as_ref(), path.as_ref(), path.as_ref()]);
            }
            for path in limits.hidden.iter().filter(|path| path.is_dir()) {
                add(&["--tmpfs".as_ref(), path.as_ref()]);
            }
            for path in limits.readable.iter().filter(|path| path.is_dir()) {
                add(&["--ro-bind".as_ref(), path.as_ref(), path.as_ref()]);
            }
            for path in limits.hidden.iter().filter(|path| path.is_dir()) {
                add(&["--remount-ro".as_ref(), path.as_ref()]);
            }
        }
        if !limits.leave.network {
            add(&["--unshare-net".as_ref()]);
        }
        add(&["--chdir".as_ref(), cwd.as_ref(), "--".as_ref()]);
        self
    }
}
