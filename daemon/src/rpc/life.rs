//! The daemon's own facts and its end, as far as connections are concerned. Made once, cloned for every connection.

use super::methods::repeat::Repeats;
use plimsoll_core::time::Timestamp;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

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
    /// When it started.
    pub started_at: Timestamp,
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
    close: CancellationToken,
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
                close: CancellationToken::new(),
                steered: Arc::default(),
            }),
        }
    }

    /// Who the daemon is.
    pub fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    /// Asks the daemon to end: whoever runs it waits for [`stop_requested`](Self::stop_requested).
    pub fn stop(&self) {
        self.shared.stop.cancel();
    }

    /// Returns when somebody asked the daemon to end.
    pub async fn stop_requested(&self) {
        self.shared.stop.cancelled().await;
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
        life.clone().stop();
        life.stop_requested().await;
    }
}
