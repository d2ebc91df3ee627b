//! Programs that a test makes and runs.
//!
//! No system runs a file that somebody has open for writing, and what this process has open, each process that another test
//! starts has too until it has become its own program. So this process never opens such a file for writing: a child makes it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Makes `path` a program with this content, which anybody may run.
pub fn write(path: &Path, content: &[u8]) {
    let mut maker = Command::new("sh");
    maker.args(["-c", "cat >\"$1\" && chmod 755 \"$1\"", "sh"]).arg(path).stdin(Stdio::piped());
    let mut maker = maker.spawn().expect("a shell");
    let written = maker.stdin.take().expect("its input is a pipe").write_all(content);
    let made = maker.wait().expect("the shell ends").success();
    assert!(made && written.is_ok(), "{} cannot be made: {written:?}", path.display());
}

/// Makes `to` a copy of the program `from`.
pub fn copy(from: &Path, to: &Path) {
    let made = Command::new("cp").arg("--").args([from, to]).status().expect("cp");
    assert!(made.success(), "{} cannot be copied to {}", from.display(), to.display());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn they_can_be_run_at_once_whatever_else_is_started() {
        let folder = tempfile::tempdir().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        assert!(Command::new("true").status().unwrap().success());
                    }
                });
            }
            for round in 0..50 {
                let (first, second) =
                    (folder.path().join(format!("a{round}")), folder.path().join(format!("b{round}")));
                write(&first, b"#!/bin/sh\nexit 7\n");
                copy(&first, &second);
                for path in [first, second] {
                    let ran = Command::new(&path).status();
                    if !matches!(&ran, Ok(status) if status.code() == Some(7)) {
                        done.store(true, Ordering::Relaxed);
                        panic!("{}: {ran:?}", path.display());
                    }
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
