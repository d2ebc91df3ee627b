//! Ends the real daemon dead at one exact system call: a boundary between what is on the disk and what is not yet.
//!
//! The binary is not changed and knows nothing of it. A small C library, compiled when a test begins and preloaded into
//! the daemon alone, lets the kernel report each call that changes a file before it happens (`stop.c` says how). An
//! undisturbed run gives the list of all boundaries, a further one is stopped at any of them.

use crate::machine::Machine;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SOURCE: &str = include_str!("stop.c");

/// How much of the call happens before the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Nothing.
    Before,
    /// Half of the bytes; for calls that write.
    Half,
    /// All of it.
    After,
}

/// A call that changed a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The call's name, as `stop.c` has it.
    pub call: String,
    /// The path; `from>to` for a rename.
    pub path: String,
}

/// Where a process is to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    /// Before, in the middle of or after the call.
    pub when: When,
    /// The call's name.
    pub call: String,
    /// Pattern of its path.
    pub glob: String,
    /// Which of the calls of this name and pattern, from 1.
    pub nth: usize,
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.when {
            When::Before => "before",
            When::Half => "half",
            When::After => "after",
        };
        write!(f, "{when} {} {} {}", self.call, self.nth, self.glob)
    }
}

/// The compiled library.
pub struct Stopper {
    _folder: TempDir,
    library: PathBuf,
}

impl Default for Stopper {
    fn default() -> Self {
        Self::new()
    }
}

impl Stopper {
    /// Compiles it. Needs the C compiler that building the workspace needs too.
    pub fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let (source, library) = (folder.path().join("stop.c"), folder.path().join("stop.so"));
        fs::write(&source, SOURCE).expect("the source");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-o"]);
        let output = compiler.arg(&library).arg(&source).output().unwrap_or_else(|error| {
            panic!("tests that stop the daemon at a system call need the C compiler `cc` (gcc, libc6-dev): {error}")
        });
        assert!(output.status.success(), "tests/support/boundary/stop.c: {}", String::from_utf8_lossy(&output.stderr));
        Self { _folder: folder, library }
    }

    /// Lets the daemons of `machine` that are started from now on note their boundaries, and end at this one.
    pub fn watch(&self, machine: &mut Machine, at: Option<&Boundary>) {
        machine.unset_for_daemon();
        for (name, value) in self.variables(machine.folder(), at) {
            machine.set_for_daemon(name, &value);
        }
    }

    fn variables(&self, folder: &Path, at: Option<&Boundary>) -> Vec<(&'static str, String)> {
        let text = |path: &Path| path.to_str().expect("temporary folders have plain names").to_owned();
        let mut variables = vec![
            ("LD_PRELOAD", text(&self.library)),
            ("BOUNDARY_LOG", text(&folder.join(LOG))),
            ("BOUNDARY_ARMED", text(&folder.join(ARMED))),
        ];
        variables.extend(at.map(|boundary| ("BOUNDARY_STOP", boundary.to_string())));
        variables
    }
}

/// Files in the machine's folder.
const LOG: &str = "boundaries";
const ARMED: &str = "armed";

/// From now on the daemon's boundaries are noted and counted.
pub fn arm(machine: &Machine) {
    fs::write(machine.folder().join(ARMED), "").expect("a file of the machine");
}

/// From now on they are not.
pub fn disarm(machine: &Machine) {
    fs::remove_file(machine.folder().join(ARMED)).expect("a machine that was armed");
}

/// All that were noted, in their order.
pub fn passed(machine: &Machine) -> Vec<Passed> {
    noted(machine.folder())
}

fn noted(folder: &Path) -> Vec<Passed> {
    let text = fs::read_to_string(folder.join(LOG)).expect("a daemon that was watched");
    let line = |line: &str| {
        let (call, path) = line.split_once(' ').expect("a call and a path");
        Passed { call: call.to_owned(), path: path.to_owned() }
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    /// Writes 9000 bytes at once and brings them to the disk, ended at `at`: the signal that ended it, the size of the
    /// file, and the calls that were noted.
    fn write(stopper: &Stopper, at: Option<(When, &str)>) -> (Option<i32>, u64, Vec<String>) {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join(ARMED), "").unwrap();
        let at = at.map(|(when, call)| Boundary { when, call: call.to_owned(), glob: "*/written".to_owned(), nth: 1 });
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "of=written", "bs=9000", "count=1", "conv=fsync", "status=none"]);
        let status = command.current_dir(&folder).envs(stopper.variables(folder.path(), at.as_ref())).status().unwrap();
        let size = fs::metadata(folder.path().join("written")).unwrap().len();
        (status.signal(), size, noted(folder.path()).into_iter().map(|passed| passed.call).collect())
    }

    #[test]
    fn a_process_ends_at_the_boundary_and_nowhere_else() {
        let stopper = Stopper::new();
        let calls = |calls: &[&str]| calls.iter().map(|call| (*call).to_owned()).collect::<Vec<_>>();
        let all = calls(&["write", "fsync"]);
        assert_eq!(write(&stopper, None), (None, 9000, all.clone()));
        assert_eq!(write(&stopper, Some((When::Before, "write"))), (Some(9), 0, calls(&["write"])));
        assert_eq!(write(&stopper, Some((When::Half, "write"))), (Some(9), 4500, calls(&["write"])));
        assert_eq!(write(&stopper, Some((When::After, "write"))), (Some(9), 9000, calls(&["write"])));
        assert_eq!(write(&stopper, Some((When::Before, "fsync"))), (Some(9), 9000, all.clone()));
        assert_eq!(write(&stopper, Some((When::Before, "rename"))), (None, 9000, all));
    }
}
