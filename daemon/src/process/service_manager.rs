//! Tells the system's manager of user services about a service, for the command line.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

/// Runs the manager's program to its end without input. What it prints is an error's text.
pub fn run(program: &str, arguments: &[&OsStr]) -> io::Result<()> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    Err(io::Error::other(if said.is_empty() { output.status.to_string() } else { said.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_the_program_said() {
        let run = |line: &str| run("sh", &[OsStr::new("-c"), OsStr::new(line)]).map_err(|error| error.to_string());
        assert_eq!(run("cat"), Ok(()));
        assert_eq!(run("echo no bus >&2; exit 1"), Err("no bus".to_owned()));
        assert_eq!(run("exit 3"), Err("exit status: 3".to_owned()));
    }
}
