//! The daemon's own facts and its end, as far as connections are concerned. Made once, cloned for every connection.

use super::methods::repeat::Repeats;
use plimsoll_core::time::Timestamp;
use plimsoll_protocol::hello::Binary;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long a client of a newer build waits for whether the daemon ends at once: the build is written down, then is looked.
const DECIDES_WITHIN: Duration = Duration::from_secs(2);

/// What does not change while the daemon lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its process.
    pub pid: u32,
    /// Absolute path of its socket.
    pub socket: PathBuf,
    /// Its version.
    pub version: String,
    /// Its build: two builds of one version differ in it.
    pub build: String,
    /// Its executable, as it was when it started; none when the system does not tell.
    pub binary: Option<Binary>,
    /// When it started.
    pub started_at: Timestamp,
}

/// That the daemon ends as soon as nothing runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestartPending {
    /// The build that it makes room for, where that is known.
    pub build: Option<String>,
}

/// See the module's head. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Life {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    identity: Identity,
    connections: AtomicU64,
    clients: AtomicU64,
    stop: CancellationToken,
    /// Whoever asked for the end starts another daemon at once.
    again: AtomicBool,
    close: CancellationToken,
    /// The newest build newer than this one of which a client said that it is there.
    offered: watch::Sender<Option<Binary>>,
    restart: watch::Sender<Option<RestartPending>>,
    leaving: CancellationToken,
    /// Grows each time when the daemon should end and something runs.
    stays: watch::Sender<u64>,
    steered: Arc<Repeats>,
}

impl Life {
    /// A life that has just begun.
    pub fn new(identity: Identity) -> Self {
        Self {
            shared: Arc::new(Shared {
                identity,
                connections: AtomicU64::new(0),
                clients: AtomicU64::new(0),
                stop: CancellationToken::new(),
                again: AtomicBool::new(false),
                close: CancellationToken::new(),
                offered: watch::Sender::new(None),
                restart: watch::Sender::new(None),
                leaving: CancellationToken::new(),
                stays: watch::Sender::new(0),
                steered: Arc::default(),
            }),
        }
    }

    /// Who the daemon is.
    pub fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    /// Asks the daemon to end: whoever runs it waits for [`stop_requested`](Self::stop_requested). `again`: another one is
    /// started at once.
    pub fn stop(&self, again: bool) {
        self.shared.again.store(again, Ordering::SeqCst);
        self.shared.stop.cancel();
    }

    /// Returns when somebody asked the daemon to end.
    pub async fn stop_requested(&self) {
        self.shared.stop.cancelled().await;
    }

    /// Whether another daemon is started at once by whoever asked this one to end.
    pub fn is_started_again(&self) -> bool {
        self.shared.again.load(Ordering::SeqCst)
    }

    /// Notes a build that a client was started from, when it is newer than this one and than what was offered before.
    /// Says whether it is newer than this one.
    pub fn offer(&self, binary: &Binary) -> bool {
        let newer = |other: Option<&Binary>| other.is_some_and(|other| binary.is_newer_than(other));
        if binary.path.is_none() || !newer(self.shared.identity.binary.as_ref()) {
            return false;
        }
        self.shared.offered.send_if_modified(|offered| {
            let newest = offered.is_none() || newer(offered.as_ref());
            if newest {
                *offered = Some(binary.clone());
            }
            newest
        });
        true
    }

    /// The daemon ends now: nothing runs, and nothing can begin.
    pub fn leave(&self) {
        self.shared.leaving.cancel();
    }

    /// The daemon should end, but something runs.
    pub fn stay(&self) {
        self.shared.stays.send_modify(|looks| *looks = looks.wrapping_add(1));
    }

    /// Whether the daemon ends at once for a newer build that was just offered: its client then need not be served here.
    pub async fn leaves_now(&self) -> bool {
        let mut stays = self.shared.stays.subscribe();
        tokio::select! {
            biased;
            () = self.shared.leaving.cancelled() => true,
            _ = stays.changed() => false,
            () = tokio::time::sleep(DECIDES_WITHIN) => false,
        }
    }

    /// The builds that are offered, each newer than the one before.
    pub fn offers(&self) -> watch::Receiver<Option<Binary>> {
        self.shared.offered.subscribe()
    }

    /// Tells every client that the daemon ends as soon as nothing runs.
    pub fn announce_restart(&self, pending: RestartPending) {
        self.shared.restart.send_if_modified(|restart| {
            let changed = restart.as_ref() != Some(&pending);
            *restart = Some(pending);
            changed
        });
    }

    /// Whether the daemon ends as soon as nothing runs.
    pub fn is_restart_pending(&self) -> bool {
        self.shared.restart.borrow().is_some()
    }

    /// What is announced, now and from now on.
    pub fn restarts(&self) -> watch::Receiver<Option<RestartPending>> {
        let mut restarts = self.shared.restart.subscribe();
        if restarts.borrow().is_some() {
            restarts.mark_changed();
        }
        restarts
    }

    /// Ends every connection once what waits for it is written. Called after the sessions have come to rest, so that
    /// their last events still arrive.
    pub fn close_connections(&self) {
        self.shared.close.cancel();
    }

    /// A token that is cancelled when connections shall end.
    pub fn closing(&self) -> CancellationToken {
        self.shared.close.clone()
    }

    /// Steering calls that were already done, over all connections: a client repeats a call after it reconnected.
    pub(super) fn steered(&self) -> Arc<Repeats> {
        Arc::clone(&self.shared.steered)
    }

    /// A number for a new connection, unique in the daemon's life, from 1.
    pub fn next_connection(&self) -> u64 {
        self.shared.connections.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// How many connections are being served.
    pub fn clients(&self) -> u64 {
        self.shared.clients.load(Ordering::Relaxed)
    }

    /// Counts a connection while the guard lives.
    pub fn count_client(&self) -> ClientCount {
        self.shared.clients.fetch_add(1, Ordering::Relaxed);
        ClientCount { shared: Arc::clone(&self.shared) }
    }
}

/// A connection that is being served.
#[derive(Debug)]
pub struct ClientCount {
    shared: Arc<Shared>,
}

impl Drop for ClientCount {
    fn drop(&mut self) {
        self.shared.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A life for tests.
    pub fn sample() -> Life {
        Life::new(Identity {
            pid: 7,
            socket: "/run/p.sock".into(),
            version: "0.1.0".into(),
            build: "b1".into(),
            binary: None,
            started_at: Timestamp(5),
        })
    }

    #[tokio::test]
    async fn clients_are_counted_while_they_live_and_a_stop_is_seen() {
        let life = sample();
        let (first, second) = (life.count_client(), life.clone().count_client());
        assert_eq!((life.clients(), life.next_connection(), life.next_connection()), (2, 1, 2));
        drop(first);
        assert_eq!(life.clients(), 1);
        drop(second);
        assert_eq!(life.clients(), 0);
        assert!(!life.is_started_again());
        life.clone().stop(true);
        life.stop_requested().await;
        assert!(life.is_started_again());
    }

    #[test]
    fn only_a_newer_build_with_a_path_is_made_room_for_and_of_several_the_newest() {
        let binary =
            |modified, path: Option<&str>| Binary { version: "0.1.0".into(), modified, path: path.map(str::to_owned) };
        let life = Life::new(Identity { binary: Some(binary(5, None)), ..sample().identity().clone() });
        let offered = |modified, path| {
            life.offer(&binary(modified, path));
            life.offers().borrow().as_ref().map(|binary| binary.modified)
        };
        assert_eq!(offered(5, Some("/same")), None);
        assert_eq!(offered(4, Some("/older")), None);
        assert_eq!(offered(9, None), None);
        assert_eq!(offered(7, Some("/newer")), Some(7));
        assert_eq!(offered(6, Some("/between")), Some(7));
        assert_eq!(offered(8, Some("/newest")), Some(8));
        assert!(!life.is_restart_pending());
    }

    #[tokio::test]
    async fn a_client_of_a_newer_build_learns_whether_the_daemon_ends_at_once() {
        let life = sample();
        let (staying, asking) = (life.clone(), life.clone());
        let asked = tokio::spawn(async move { asking.leaves_now().await });
        while staying.shared.stays.receiver_count() == 0 {
            tokio::task::yield_now().await;
        }
        staying.stay();
        assert!(!asked.await.unwrap());
        life.leave();
        assert!(life.leaves_now().await);
    }

    #[tokio::test]
    async fn who_comes_after_the_announcement_hears_it_too() {
        let life = sample();
        let pending = RestartPending { build: Some("0.2.0".into()) };
        life.announce_restart(pending.clone());
        let mut restarts = life.restarts();
        restarts.changed().await.unwrap();
        assert_eq!(restarts.borrow_and_update().as_ref(), Some(&pending));
        life.announce_restart(pending);
        assert!(!restarts.has_changed().unwrap());
    }
}
