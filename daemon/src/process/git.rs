//! The one place that starts the `git` command, in a way that runs nothing that a repository configures.
//!
//! Called by `workspace` for repositories that libgit2 cannot read. Only commands that look: none of them takes a lock or
//! writes. Configuration that names programs (`core.fsmonitor`, hooks, pagers, external diffs, signature checks, filters,
//! transports) is overridden; who calls must pass the repository's filters in [`Git::filters`], because git has no switch
//! for them, and must keep git from looking into submodules, which have a configuration of their own.

use super::children;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Output kept of one call: a status of about 100,000 paths.
const OUTPUT_MAX: usize = 16 * 1024 * 1024;

/// Error text kept of one call.
const MESSAGE_MAX: usize = 4 * 1024;

/// Configuration that every call gets, over whatever the repository says.
const CONFIG: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "core.sshCommand=false",
    "core.quotePath=false",
    "color.ui=false",
    "credential.helper=",
    "diff.external=",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "status.submoduleSummary=false",
    "submodule.recurse=false",
];

/// Why a call gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no `git` on the daemon's `PATH`.
    #[error("the git command is not installed")]
    NotInstalled,
    /// It could not be started or read.
    #[error("the git command could not be run: {0}")]
    Io(#[from] std::io::Error),
    /// It took too long and was ended.
    #[error("the git command did not end within {0:?}")]
    TimedOut(Duration),
    /// It printed more than is kept and was ended.
    #[error("the git command printed more than {OUTPUT_MAX} bytes")]
    TooMuch,
    /// It ended with an error; the text is its last words, one line.
    #[error("{0}")]
    Failed(String),
}

/// A repository to ask about.
#[derive(Debug)]
pub struct Git<'a> {
    /// Where to run.
    pub dir: &'a Path,
    /// Further configuration as `key=value`: the repository's filters, made empty.
    pub filters: &'a [String],
    /// After this time the call is ended.
    pub timeout: Duration,
}

impl Git<'_> {
    /// Runs git with these arguments and gives what it printed. Blocks.
    pub fn run(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let mut command = Command::new("git");
        command.arg("--no-pager").arg("--no-optional-locks").arg("--literal-pathspecs");
        for setting in CONFIG.iter().copied().chain(self.filters.iter().map(String::as_str)) {
            command.arg("-c").arg(setting);
        }
        command.args(args).current_dir(self.dir).env_clear();
        for name in ["PATH", "HOME", "XDG_CONFIG_HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        for (name, value) in [
            ("LC_ALL", "C"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_PAGER", "cat"),
        ] {
            command.env(name, OsStr::new(value));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = match children::start(|| command.spawn(), |child| Some(child.id())) {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(GitError::NotInstalled),
            Err(error) => return Err(error.into()),
        };
        let read = read_both(&mut child, Instant::now() + self.timeout, self.timeout);
        if read.is_err() {
            end(&mut child);
        }
        let status = child.wait();
        let (output, message) = read?;
        if status?.success() {
            return Ok(output);
        }
        let message = String::from_utf8_lossy(&message);
        let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("git failed without a message");
        Err(GitError::Failed(line.trim_start_matches("fatal: ").trim_start_matches("error: ").to_owned()))
    }
}

/// Kills the child's whole group: git may have children of its own.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // It may have ended by itself in the meantime.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

fn read_both(child: &mut Child, deadline: Instant, timeout: Duration) -> Result<(Vec<u8>, Vec<u8>), GitError> {
    let (mut output, mut message) = (Vec::new(), Vec::new());
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let mut buffer = vec![0; 64 * 1024];
    while stdout.is_some() || stderr.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut ready = [false; 2];
        {
            let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(2);
            polled.extend(stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            polled.extend(stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            let wait = Timespec::try_from(left).ok();
            let count = match poll(&mut polled, wait.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other.map_err(std::io::Error::from)?,
            };
            if count == 0 {
                return Err(GitError::TimedOut(timeout));
            }
            let mut flags = polled.iter().map(|fd| !fd.revents().is_empty());
            let slots = [stdout.is_some(), stderr.is_some()];
            for (slot, open) in ready.iter_mut().zip(slots) {
                *slot = open && flags.next().unwrap_or(false);
            }
        }
        let [out_ready, err_ready] = ready;
        if out_ready && !read_some(&mut stdout, &mut buffer, &mut output, OUTPUT_MAX)? {
            return Err(GitError::TooMuch);
        }
        if err_ready {
            // What is over the bound is read and dropped, so that git does not block on it.
            read_some(&mut stderr, &mut buffer, &mut message, MESSAGE_MAX)?;
        }
    }
    Ok((output, message))
}

/// Reads once; at the end the pipe becomes `None`. `false` when the bound was reached.
fn read_some<R: Read>(
    pipe: &mut Option<R>,
    buffer: &mut [u8],
    into: &mut Vec<u8>,
    max: usize,
) -> Result<bool, std::io::Error> {
    let Some(open) = pipe.as_mut() else { return Ok(true) };
    let count = match open.read(buffer) {
        Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
        other => other?,
    };
    if count == 0 {
        *pipe = None;
        return Ok(true);
    }
    let room = max.saturating_sub(into.len());
    into.extend_from_slice(buffer.get(..count.min(room)).unwrap_or_default());
    Ok(count <= room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(dir: &Path) -> Git<'_> {
        Git { dir, filters: &[], timeout: Duration::from_secs(20) }
    }

    #[test]
    fn output_and_errors_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        assert!(git(dir.path()).run(&["--version"]).unwrap().starts_with(b"git version"));
        let error = git(dir.path()).run(&["rev-parse", "--no-such-option-here", "HEAD"]).unwrap_err().to_string();
        assert!(!error.is_empty() && !error.contains("fatal:"), "{error}");
    }

    #[test]
    fn a_call_that_hangs_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let slow = Git { timeout: Duration::from_millis(50), ..git(dir.path()) };
        // An alias that is a shell command stands for a git that does not end.
        let before = Instant::now();
        let result = slow.run(&["-c", "alias.hang=!sleep 600", "hang"]);
        assert!(matches!(result, Err(GitError::TimedOut(_))), "{result:?}");
        assert!(before.elapsed() < Duration::from_mins(1));
    }
}
