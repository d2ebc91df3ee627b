//! `plimsoll daemon`: the order in which a daemon begins and ends. It becomes the only one before it touches anything,
//! says that it is ready when it can be reached, and gives its place up last.

use super::accept::{self, Leave, Reason, Work};
use super::build;
use super::idle::IdleStop;
use super::lock::{self, Holder, InstanceLock};
use super::readiness::{Readiness, Reporter};
use super::socket::{Socket, SocketError};
use super::wiring::{OpenError, Parts};
use super::{out, reach, successor};
use crate::config::{ConfigError, FolderError, Folders};
use crate::process::origin;
use crate::rpc::life::{Life, RestartPending};
use crate::session::api::CloseReason;
use crate::shutdown::{self, Shutdown};
use crate::telemetry::{self, Audience, TelemetryError};
use std::io;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Threads that run tasks: the daemon waits for models and disks, it does not compute.
const WORKERS: usize = 2;
/// Threads that wait for disks and processes at the same time.
const BLOCKING_THREADS: usize = 16;
/// Stack of each of them. Nothing here recurses, but the states of deeply nested calls are large, above all in builds that
/// are not optimised; what is not touched costs no memory.
const STACK: usize = 4 * 1024 * 1024;
/// How long a successor waits for a daemon that is ending; below what a client waits for the successor.
const PREDECESSOR_LEAVES_WITHIN: Duration = Duration::from_secs(25);
/// How often it looks. A lock cannot be waited for together with a socket, and this happens only between two daemons.
const LOOK_FOR_PREDECESSOR: Duration = Duration::from_millis(20);
/// How often idleness and the executable are looked at.
const LOOK_FOR_LEAVING: Duration = Duration::from_secs(15);
/// How often is looked whether something still runs while another build waits for that.
const LOOK_FOR_REST: Duration = Duration::from_millis(50);
/// How long running turns may take to be interrupted and stored.
const TURNS_END_WITHIN: Duration = Duration::from_secs(15);
/// How long connections may take to deliver their last words.
const CONNECTIONS_END_WITHIN: Duration = Duration::from_secs(1);

/// The daemon cannot run.
#[derive(Debug, thiserror::Error)]
enum DaemonError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Log(#[from] TelemetryError),
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the lock {} cannot be used: {source}", path.display())]
    Lock { path: std::path::PathBuf, source: io::Error },
    #[error(
        "another daemon holds the lock of this data folder but does not answer; see `plimsoll status`, or end process {0}"
    )]
    Stuck(u32),
    #[error("the runtime cannot be started: {0}")]
    Runtime(io::Error),
}

/// How it went.
enum Ran {
    /// It served and ended.
    Served,
    /// Another one runs already.
    Found(Holder),
}

/// Runs a daemon to its end. A detached one leaves its starter's session and speaks through its standard output.
pub fn main(detached: bool) -> ExitCode {
    let mut reporter = Reporter::silent();
    if detached {
        // Already the leader of a session when whoever started it saw to that.
        let _ = rustix::process::setsid();
        match Reporter::from_stdout() {
            Ok(pipe) => reporter = pipe,
            Err(error) => {
                out::error(&format!("standard output cannot be used: {error}"), None);
                return ExitCode::FAILURE;
            }
        }
    }
    let audience = if detached { Audience::Detached } else { Audience::Foreground };
    let mut reporter = Some(reporter);
    let mut report = |readiness: Readiness| {
        if let Some(reporter) = reporter.take() {
            reporter.report(&readiness);
        }
    };
    match run(audience, &mut report) {
        Ok(Ran::Served) => ExitCode::SUCCESS,
        Ok(Ran::Found(holder)) => {
            out::note(&format!("a daemon runs already: process {}, socket {}", holder.pid, holder.socket.display()));
            report(Readiness::Ready { socket: holder.socket, pid: holder.pid });
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!(%error, "the daemon cannot run");
            out::error(&error.to_string(), None);
            report(Readiness::Failed { message: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

fn run(audience: Audience, report: &mut impl FnMut(Readiness)) -> Result<Ran, DaemonError> {
    let folders = Folders::of_process()?;
    folders.ensure_data()?;
    folders.ensure_logs()?;
    let path = folders.ensure_socket_folder()?;
    let mut lock = match become_only(&folders)? {
        Place::Ours(lock) => lock,
        Place::Taken(holder) => return Ok(Ran::Found(holder)),
    };
    telemetry::begin(&folders, audience)?;
    origin::protect();
    let idle = IdleStop::begin(&folders);
    let (socket, listener) = Socket::bind(&path, &lock)?;
    let holder = Holder { pid: std::process::id(), socket: path, version: build::version().to_owned(), stopped: false };
    lock.announce(&holder).map_err(|source| DaemonError::Lock { path: folders.lock_file(), source })?;
    let leave = Leave { executable: build::own().cloned(), every: LOOK_FOR_LEAVING, soon: LOOK_FOR_REST };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_stack_size(STACK)
        .thread_name("plimsoll")
        .enable_all()
        .build()
        .map_err(DaemonError::Runtime)?;
    let ready = || report(Readiness::Ready { socket: holder.socket.clone(), pid: holder.pid });
    // Bridges that survive their daemon read it once their connections have ended.
    let stopped = || {
        if let Err(error) = lock.announce(&Holder { stopped: true, ..holder.clone() }) {
            tracing::warn!(%error, "the lock file cannot be written");
        }
    };
    let served = runtime.block_on(serve(&folders, socket, listener, leave, idle, Told { ready, stopped }));
    // What still blocks a thread here was given its time; the lock must not wait for it.
    runtime.shutdown_timeout(CONNECTIONS_END_WITHIN);
    drop(lock);
    served.map(|()| Ran::Served)
}

/// What the surroundings of a daemon are told of its life.
struct Told<R, S> {
    /// It can be reached.
    ready: R,
    /// It ends because somebody asked it to.
    stopped: S,
}

async fn serve(
    folders: &Folders,
    socket: Socket,
    listener: UnixListener,
    leave: Leave,
    mut idle: IdleStop,
    told: Told<impl FnOnce(), impl FnOnce()>,
) -> Result<(), DaemonError> {
    let shutdown = Shutdown::new();
    let signals = shutdown::listen(shutdown.clone()).map_err(DaemonError::Runtime)?;
    let listener = tokio::net::UnixListener::from_std(listener).map_err(DaemonError::Runtime)?;
    let daemon = Parts::open(folders, socket.path()).await?;
    tracing::info!(pid = std::process::id(), build = build::id(), socket = %socket.path().display(), "ready");
    (told.ready)();
    let mut requests = JoinSet::new();
    requests.spawn(signals);
    requests.spawn({
        let daemon = daemon.clone();
        async move { daemon.recover().await }
    });
    requests.spawn({
        let (daemon, shutdown) = (daemon.clone(), shutdown.clone());
        async move {
            daemon.stop_requested().await;
            shutdown.request();
        }
    });
    requests.spawn(make_room(folders.clone(), daemon.life().clone()));
    let work = Work { running: || daemon.work(), come_to_rest: || daemon.come_to_rest() };
    let (reason, mut connections) = accept::serve(
        listener,
        &shutdown,
        leave,
        || idle.now(),
        daemon.life(),
        work,
        |stream| daemon.clone().connection(stream),
    )
    .await;
    let (why, told_clients) = match reason {
        Reason::Requested if daemon.life().is_started_again() => ("asked to start again", CloseReason::DaemonEnds),
        Reason::Requested => ("asked to", CloseReason::DaemonStopped),
        Reason::Idle => ("nobody needs it", CloseReason::DaemonEnds),
        Reason::Replaced => ("another build took its place", CloseReason::DaemonEnds),
    };
    tracing::info!(connections = connections.len(), "ending: {why}");
    if told_clients == CloseReason::DaemonStopped {
        (told.stopped)();
    }
    // Nobody can begin anything from here on; whoever tries finds no socket and starts a successor, which waits for the
    // lock. Signals are still heard: a second interrupt ends at once.
    socket.remove();
    shutdown.request();
    if timeout(TURNS_END_WITHIN, daemon.shutdown(told_clients)).await.is_err() {
        tracing::error!("running turns did not end in time; they will be found as interrupted");
    }
    daemon.close_connections();
    let drained = timeout(CONNECTIONS_END_WITHIN, async { while connections.join_next().await.is_some() {} }).await;
    if drained.is_err() {
        connections.shutdown().await;
    }
    requests.shutdown().await;
    tracing::info!("ended");
    Ok(())
}

/// Writes down each newer build that is offered, then says that the daemon ends as soon as nothing runs. What cannot be
/// written down is not made room for: the next bridge could start an older build.
async fn make_room(folders: Folders, life: Life) {
    let mut offers = life.offers();
    while offers.changed().await.is_ok() {
        let Some(binary) = offers.borrow_and_update().clone() else { continue };
        let (folders, build) = (folders.clone(), binary.version.clone());
        let recorded = tokio::task::spawn_blocking(move || successor::record(&folders, &binary)).await;
        match recorded {
            Ok(Ok(())) => {
                tracing::info!(build, "a newer build is there: the daemon ends as soon as nothing runs");
                life.announce_restart(RestartPending { build: Some(build) });
            }
            Ok(Err(error)) => tracing::error!(%error, build, "a newer build cannot be made room for"),
            Err(error) => tracing::error!(%error, "writing down a newer build failed"),
        }
    }
}

/// Whose the data folder is.
enum Place {
    /// This process's.
    Ours(InstanceLock),
    /// Another daemon's, which answers.
    Taken(Holder),
}

/// Takes the lock, or finds who holds it. One that holds it and cannot be reached is beginning or ending: it is waited
/// for.
fn become_only(folders: &Folders) -> Result<Place, DaemonError> {
    let until = Instant::now() + PREDECESSOR_LEAVES_WITHIN;
    loop {
        let taken = InstanceLock::take(folders);
        if let Some(lock) = taken.map_err(|source| DaemonError::Lock { path: folders.lock_file(), source })? {
            return Ok(Place::Ours(lock));
        }
        let holder = lock::last_holder(folders);
        if let Some(holder) = &holder
            && reach::connect_to(&holder.socket).is_some()
        {
            return Ok(Place::Taken(holder.clone()));
        }
        if Instant::now() > until {
            return Err(DaemonError::Stuck(holder.map_or(0, |holder| holder.pid)));
        }
        sleep(LOOK_FOR_PREDECESSOR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::folders;

    #[test]
    fn the_second_daemon_finds_the_first() {
        let (_root, folders) = folders();
        let path = folders.ensure_socket_folder().unwrap();
        let Ok(Place::Ours(mut lock)) = become_only(&folders) else { panic!("the lock is free") };
        let (_socket, _listener) = Socket::bind(&path, &lock).unwrap();
        let first = Holder { pid: 1, socket: path, version: "1".to_owned(), stopped: false };
        lock.announce(&first).unwrap();
        let Ok(Place::Taken(found)) = become_only(&folders) else { panic!("the lock is held") };
        assert_eq!(found, first);
    }

    #[test]
    fn a_successor_waits_for_one_that_is_ending() {
        let (_root, folders) = folders();
        let path = folders.ensure_socket_folder().unwrap();
        let Ok(Place::Ours(mut lock)) = become_only(&folders) else { panic!("the lock is free") };
        lock.announce(&Holder { pid: 1, socket: path, version: "1".to_owned(), stopped: false }).unwrap();
        std::thread::scope(|scope| {
            let successor = scope.spawn(|| matches!(become_only(&folders), Ok(Place::Ours(_))));
            drop(lock);
            assert!(successor.join().unwrap());
        });
    }
}
