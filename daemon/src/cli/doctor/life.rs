//! Does a daemon run, does it answer, and is it of this build? None is started.

use super::super::connect::{self, CommandError};
use super::super::reach::{ReachError, Spawn};
use super::super::{build, lock};
use super::finding::Finding;
use crate::config::Folders;
use plimsoll_protocol::daemon::{DaemonApiClient, DaemonStatus};
use plimsoll_protocol::error::ErrorKind;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

/// How long a daemon may take to say how it is.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Whether a daemon uses the data folder now.
pub fn is_running(folders: &Folders) -> bool {
    lock::is_held(folders).unwrap_or(false)
}

/// Looks at lock and socket, and asks the daemon that answers there.
pub async fn check(folders: &Folders) -> Vec<Finding> {
    let mut findings = vec![process(folders, ask(folders).await)];
    findings.extend(socket(folders));
    findings
}

async fn ask(folders: &Folders) -> Result<DaemonStatus, CommandError> {
    let asked = async { Ok(connect::connect(folders, Spawn::Never).await?.status().await?) };
    tokio::time::timeout(ANSWERS_WITHIN, asked).await.unwrap_or_else(|_| {
        let silent = format!("silent for {} seconds", ANSWERS_WITHIN.as_secs());
        Err(ReachError::Connection(std::io::Error::new(std::io::ErrorKind::TimedOut, silent)).into())
    })
}

fn process(folders: &Folders, asked: Result<DaemonStatus, CommandError>) -> Finding {
    let id = "daemon.process";
    let end = || match lock::last_holder(folders) {
        Some(holder) if is_running(folders) => format!("run `kill {}`; the next command starts a new one", holder.pid),
        _ => "run `plimsoll restart`".to_owned(),
    };
    match asked {
        Ok(status) if status.build != build::id() => {
            let what =
                format!("process {} runs, of another build ({}, this is {})", status.pid, status.build, build::id());
            Finding::warn(id, what, "run `plimsoll restart`; what is stored stays")
        }
        Ok(status) => Finding::ok(
            id,
            format!(
                "process {} runs and answers, version {}, {} live sessions, {} with a running turn",
                status.pid, status.version, status.sessions, status.turns
            ),
        ),
        Err(CommandError::Reach(ReachError::NotRunning)) => match lock::is_held(folders) {
            Ok(false) => Finding::ok(id, "none runs; it is started when it is needed"),
            Ok(true) => {
                Finding::error(id, "one holds the lock of the data folder, but cannot be reached at its socket", end())
            }
            Err(error) => {
                let lock = folders.lock_file();
                let what = format!("the lock {} cannot be looked at: {error}", lock.display());
                Finding::error(id, what, format!("run `chmod 600 '{}'`", lock.display()))
            }
        },
        Err(CommandError::Reach(ReachError::Refused(refusal))) if refusal.kind == ErrorKind::IncompatibleVersion => {
            Finding::error(id, format!("one runs of another version: {}", refusal.message), "run `plimsoll restart`")
        }
        Err(CommandError::Reach(ReachError::Refused(refusal))) => {
            let fix = refusal.hint.clone().unwrap_or_else(|| "run `plimsoll restart`".to_owned());
            Finding::error(id, format!("it refuses this client: {}", refusal.message), fix)
        }
        Err(error) => {
            let fix = error.hint().unwrap_or_else(end);
            Finding::error(id, error.to_string(), fix)
        }
    }
}

/// What stands at the socket's place when nobody listens there.
fn socket(folders: &Folders) -> Option<Finding> {
    let path = folders.socket();
    let found = fs::symlink_metadata(&path).ok()?;
    let shown = path.display();
    if !found.file_type().is_socket() {
        let what = format!("{shown} is in the way: it is no socket");
        return Some(Finding::error("daemon.socket", what, format!("move it away: `mv '{shown}' '{shown}.old'`")));
    }
    // Left by a daemon that died: the next one takes its place.
    let stale = !is_running(folders);
    stale.then(|| {
        Finding::ok("daemon.socket", format!("{shown} is left of a daemon that died; the next one replaces it"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;
    use crate::cli::lock::{Holder, InstanceLock};
    use crate::cli::tests::folders;
    use std::os::unix::net::UnixListener;

    #[tokio::test]
    async fn where_none_runs_all_is_well_and_what_it_left_is_named() {
        let (_root, folders) = folders();
        assert_eq!(
            check(&folders).await,
            [Finding::ok("daemon.process", "none runs; it is started when it is needed")]
        );
        assert!(!folders.lock_file().exists(), "nothing is made");
        let path = folders.ensure_socket_folder().unwrap();
        drop(UnixListener::bind(&path).unwrap());
        let levels: Vec<_> = check(&folders).await.iter().map(|one| (one.id, one.level)).collect();
        assert_eq!(levels, [("daemon.process", Level::Ok), ("daemon.socket", Level::Ok)]);
    }

    #[tokio::test]
    async fn a_holder_that_cannot_be_reached_is_an_error_with_the_process_to_end() {
        let (_root, folders) = folders();
        let path = folders.ensure_socket_folder().unwrap();
        let mut lock = InstanceLock::take(&folders).unwrap().unwrap();
        lock.announce(&Holder { pid: 77, socket: path.clone(), version: "1".to_owned(), stopped: false }).unwrap();
        fs::write(&path, "").unwrap();
        let findings = check(&folders).await;
        let [process, socket] = findings.as_slice() else { panic!("{findings:?}") };
        let expected = Finding::error(
            "daemon.process",
            "one holds the lock of the data folder, but cannot be reached at its socket",
            "run `kill 77`; the next command starts a new one",
        );
        assert_eq!(process, &expected);
        assert!(socket.level == Level::Error && socket.what.ends_with("it is no socket"), "{socket:?}");
    }

    #[tokio::test]
    async fn what_answers_and_is_no_daemon_is_an_error() {
        let (_root, folders) = folders();
        let listener = tokio::net::UnixListener::bind(folders.ensure_socket_folder().unwrap()).unwrap();
        let somebody = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"SSH-2.0\n").await.unwrap();
            stream
        });
        // The greeting blocks its thread.
        let checked = folders.clone();
        let asked = tokio::task::spawn_blocking(move || {
            connect::runtime().unwrap().block_on(async { process(&checked, ask(&checked).await) })
        });
        let found = asked.await.unwrap();
        assert_eq!((found.level, found.fix.as_deref()), (Level::Error, Some("run `plimsoll restart`")));
        assert!(found.what.contains("not a daemon that this build knows"), "{found:?}");
        drop(somebody.await.unwrap());
    }
}
