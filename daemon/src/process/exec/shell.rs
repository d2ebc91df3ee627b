//! The shell that runs the command, started in whatever the command is held to.

use super::INSIDE;
use crate::process::limits::Limits;
use crate::process::sandbox::{self, Stage, Start};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Shells in the order of preference. Fixed places come first, so that a `PATH` with a project's folder in it does not
/// choose the shell.
const SHELLS: &[(&str, &[&str])] = &[
    ("/bin/bash", &["--noprofile", "--norc", "-c"]),
    ("/usr/bin/bash", &["--noprofile", "--norc", "-c"]),
    ("bash", &["--noprofile", "--norc", "-c"]),
    ("/bin/sh", &["-c"]),
    ("sh", &["-c"]),
];

/// Exit code of a shell that could not be started, as shells themselves have it.
const CANNOT_RUN: u8 = 126;

/// The shell that commands run in on this machine; none when there is none.
pub fn found() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |shell: &str| {
        if shell.starts_with('/') {
            Some(PathBuf::from(shell)).filter(|shell| shell.exists())
        } else {
            std::env::split_paths(&path).map(|folder| folder.join(shell)).find(|shell| shell.is_file())
        }
    };
    SHELLS.iter().find_map(|(shell, _)| there(shell))
}

/// A command that can be started, and what it is held to.
#[derive(Debug)]
pub struct Confined {
    command: OsString,
    limits: Limits,
    stage: Option<Stage>,
}

impl Confined {
    /// Must be called while the process has one thread.
    pub fn new(limits: Limits, cwd: PathBuf, command: OsString) -> Self {
        let stage = limits.bind().then(|| sandbox::prepare(limits.clone(), cwd));
        Self { command, limits, stage }
    }

    /// Starts it; the error says why it cannot be.
    pub fn start(self, stdout: OwnedFd, stderr: OwnedFd) -> Result<u32, String> {
        let Self { command, limits, stage } = self;
        let Some(stage) = stage else { return spawn(&command, &stdout, &stderr) };
        // What is done to this thread is done to what it starts, and ends with it.
        let thread = std::thread::Builder::new().name("confined".into()).spawn(move || match stage.confine()? {
            Start::Here => spawn(&command, &stdout, &stderr),
            #[cfg(target_os = "linux")]
            Start::Behind(bubblewrap) => {
                let own = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
                let limits = serde_json::to_string(&limits).map_err(|error| error.to_string())?;
                let mut wrapped = Command::new(&bubblewrap.program);
                wrapped.args(&bubblewrap.arguments).arg(own).args(["__exec", INSIDE]).arg(limits).arg(&command);
                match start(&mut wrapped, &stdout, &stderr) {
                    Ok(pid) => Ok(pid),
                    Err(error) => Err(format!("cannot start {}: {error}", bubblewrap.program.display())),
                }
            }
        });
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        thread.join().unwrap_or_else(|_| Err("what it is held to could not be set up".to_owned()))
    }
}

/// Starts the command in the first shell that there is; the error says what was tried.
fn spawn(command: &OsStr, stdout: &OwnedFd, stderr: &OwnedFd) -> Result<u32, String> {
    for (shell, options) in SHELLS {
        if shell.starts_with('/') && !Path::new(shell).exists() {
            continue;
        }
        match start(Command::new(shell).args(*options).arg(command), stdout, stderr) {
            Ok(pid) => return Ok(pid),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
                return Err("the command is too long for the system; write it to a file and run that".to_owned());
            }
            Err(error) => return Err(format!("cannot start {shell}: {error}")),
        }
    }
    Err("there is neither bash nor sh on this machine".to_owned())
}

fn start(command: &mut Command, stdout: &OwnedFd, stderr: &OwnedFd) -> io::Result<u32> {
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?).process_group(0);
    // The handle is given up: the collecting thread waits for every child.
    Ok(command.spawn()?.id())
}

/// Confines this process, in which the namespaces are made already, and becomes the shell.
pub fn become_shell(limits: &Limits, command: &OsStr) -> ExitCode {
    let problem = match sandbox::inside(limits, true) {
        Ok(()) => {
            let there = |shell: &&(&str, &[&str])| !shell.0.starts_with('/') || Path::new(shell.0).exists();
            let Some((shell, options)) = SHELLS.iter().find(there) else { return ExitCode::from(CANNOT_RUN) };
            Command::new(shell).args(*options).arg(command).exec().to_string()
        }
        Err(why) => why,
    };
    // Standard error is the command's own, which is where the model reads.
    let _ =
        io::Write::write_all(&mut io::stderr(), format!("plimsoll: the command was not run: {problem}\n").as_bytes());
    ExitCode::from(CANNOT_RUN)
}
