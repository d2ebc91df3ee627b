//! `plimsoll status`, `stop` and `restart`: the daemon's own life, from outside.

use super::connect::{self, CommandError};
use super::reach::{self, ReachError, Spawn};
use super::sessions::project_folder;
use super::{lock, out, permissions, start, successor};
use crate::config::Folders;
use plimsoll_protocol::daemon::{DaemonApiClient, DaemonStatus};
use plimsoll_protocol::error::ErrorKind;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Exit code of `status` when no daemon runs.
const NOT_RUNNING: u8 = 3;
/// How long a daemon may take to end: it interrupts its turns and stores what they did.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

/// What `status --json` prints. Scripts read it: fields are added, never changed.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    pid: u32,
    socket: &'a str,
    version: &'a str,
    build: &'a str,
    /// Without the one that asks.
    clients: u64,
    sessions: u64,
    turns: u64,
    /// Commands in the background.
    jobs: u64,
    started_at: i64,
    /// Whether it ends as soon as nothing runs, to make room for another build.
    restart_pending: bool,
    /// Whether the user trusts the project of the current folder; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted: Option<bool>,
}

impl<'a> Status<'a> {
    fn of(status: &'a DaemonStatus, trusted: Option<bool>) -> Self {
        Self {
            pid: status.pid,
            socket: &status.socket,
            version: &status.version,
            build: &status.build,
            clients: status.clients.saturating_sub(1),
            sessions: status.sessions,
            turns: status.turns,
            jobs: status.jobs,
            started_at: status.started_at,
            restart_pending: status.restart_pending,
            trusted,
        }
    }

    fn lines(&self) -> String {
        let Self { pid, socket, version, build, clients, sessions, turns, jobs, .. } = self;
        let jobs = if *jobs == 0 { String::new() } else { format!(", {jobs} commands in the background") };
        let pending = if self.restart_pending {
            "\nrestart   pending: it makes room for another build as soon as nothing runs"
        } else {
            ""
        };
        let other = if build == version { String::new() } else { format!(" (build {build})") };
        let project = match self.trusted {
            Some(true) => "\nproject   trusted",
            Some(false) => "\nproject   not trusted",
            None => "",
        };
        format!(
            "running   process {pid}, version {version}{other}\nsocket    {socket}\nclients   {clients}\n\
             sessions  {sessions} live, {turns} with a running turn{jobs}{pending}{project}"
        )
    }
}

/// `plimsoll status`.
pub fn status(json: bool) -> ExitCode {
    let ask = || -> Result<ExitCode, CommandError> {
        let folders = Folders::of_process()?;
        let (status, project) = connect::runtime()?.block_on(async {
            let client = connect::connect(&folders, Spawn::Never).await?;
            let project = match project_folder(None) {
                Ok(folder) => permissions::project_of(&client, &folder).await?,
                // Somebody stands in a folder that is gone.
                Err(_) => None,
            };
            Ok::<_, CommandError>((client.status().await?, project))
        })?;
        let status = Status::of(&status, project.map(|project| project.trusted));
        if json {
            out::json(&status)?;
        } else {
            out::line(&status.lines())?;
        }
        Ok(ExitCode::SUCCESS)
    };
    match ask() {
        Ok(code) => code,
        Err(CommandError::Reach(ReachError::NotRunning)) => {
            out::note("no daemon runs");
            ExitCode::from(NOT_RUNNING)
        }
        Err(error) => error.report(),
    }
}

/// `plimsoll stop`.
pub fn stop() -> ExitCode {
    match Folders::of_process().map_err(CommandError::from).and_then(|folders| end(&folders, false)) {
        Ok(Ended::Daemon) => {
            out::note("the daemon has ended");
            ExitCode::SUCCESS
        }
        Ok(Ended::None) => {
            out::note("no daemon runs");
            ExitCode::SUCCESS
        }
        Err(error) => error.report(),
    }
}

/// `plimsoll restart`.
pub fn restart() -> ExitCode {
    let run = || -> Result<Option<PathBuf>, CommandError> {
        let folders = Folders::of_process()?;
        // Bridges that begin meanwhile, perhaps of an older build, wait for this one's daemon.
        let right = start::lock(&folders).map_err(ReachError::from)?;
        end(&folders, true)?;
        let chosen = successor::chosen(&folders);
        start::start_holding(&folders, right).map_err(ReachError::from)?;
        Ok(chosen)
    };
    match run() {
        Ok(None) => {
            out::note("a daemon of this build runs");
            ExitCode::SUCCESS
        }
        Ok(Some(path)) => {
            out::note(&format!("a daemon of a newer build runs: {}", path.display()));
            ExitCode::SUCCESS
        }
        Err(error) => error.report(),
    }
}

/// Whether there was something to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Daemon,
    None,
}

/// Asks the daemon to end and waits until it has given its place up. `again`: the caller starts another one at once.
fn end(folders: &Folders, again: bool) -> Result<Ended, CommandError> {
    let asked = connect::runtime()?.block_on(async {
        connect::connect(folders, Spawn::Never).await?.stop(again.then_some(true), None).await?;
        Ok::<_, CommandError>(())
    });
    let ended = match asked {
        Ok(()) => Ended::Daemon,
        // One that is just ending holds the lock a little longer.
        Err(CommandError::Reach(ReachError::NotRunning | ReachError::Closed)) => Ended::None,
        Err(CommandError::Reach(ReachError::Refused(refusal))) if refusal.kind == ErrorKind::IncompatibleVersion => {
            signal(folders)?;
            Ended::Daemon
        }
        Err(error) => return Err(error),
    };
    if lock::wait_until_free(folders, ENDS_WITHIN)? {
        return Ok(ended);
    }
    let holder = lock::last_holder(folders).map_or_else(String::new, |holder| format!(" (process {})", holder.pid));
    Err(CommandError::Argument {
        message: format!("the daemon{holder} has not ended within {} seconds", ENDS_WITHIN.as_secs()),
        hint: "end the process yourself; nothing that was stored is lost".to_owned(),
    })
}

/// Asks a daemon with which this build cannot speak. It answered a moment ago, so the process that holds the lock lives.
fn signal(folders: &Folders) -> Result<(), CommandError> {
    let pid = lock::last_holder(folders).and_then(|holder| i32::try_from(holder.pid).ok()).and_then(Pid::from_raw);
    let pid = pid.ok_or(CommandError::Reach(reach::ReachError::NotADaemon))?;
    kill_process(pid, Signal::TERM).map_err(|error| CommandError::Io(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> DaemonStatus {
        DaemonStatus {
            pid: 7,
            socket: "/run/s".to_owned(),
            version: "0.1.0".to_owned(),
            build: "0.1.0+ab".to_owned(),
            started_at: 5,
            clients: 3,
            sessions: 2,
            turns: 1,
            damaged: Vec::new(),
            jobs: 0,
            restart_pending: false,
        }
    }

    #[test]
    fn the_status_counts_clients_without_the_one_that_asks() {
        let status = sample();
        let json = serde_json::to_string(&Status::of(&status, None)).unwrap();
        let expected = r#"{"pid":7,"socket":"/run/s","version":"0.1.0","build":"0.1.0+ab","clients":2,"sessions":2,"turns":1,"jobs":0,"startedAt":5,"restartPending":false}"#;
        assert_eq!(json, expected);
        let pending = DaemonStatus { jobs: 2, restart_pending: true, ..sample() };
        let lines = Status::of(&pending, None).lines();
        assert!(lines.contains("1 with a running turn, 2 commands in the background\nrestart   pending"), "{lines}");
        let lines = Status::of(&status, Some(true)).lines();
        assert!(lines.starts_with("running   process 7, version 0.1.0 (build 0.1.0+ab)\n"), "{lines}");
        assert!(lines.ends_with("clients   2\nsessions  2 live, 1 with a running turn\nproject   trusted"), "{lines}");
    }

    #[test]
    fn where_no_daemon_runs_there_is_nothing_to_end() {
        let (_root, folders) = crate::cli::tests::folders();
        assert_eq!(end(&folders, false).unwrap(), Ended::None);
    }
}
