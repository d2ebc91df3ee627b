//! The daemon's main loop: takes connections, gives each a task that it owns, and notices when nobody needs the daemon
//! any more. What a connection speaks it does not know.

use super::build::Executable;
use crate::shutdown::Shutdown;
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// More connections than any set of editors needs; each may hold buffers of its own.
const CONNECTIONS_MAX: usize = 256;
/// How long to wait before trying again when the system gives no connection, which happens when descriptors run out.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// When the daemon ends by itself.
#[derive(Debug, Clone)]
pub struct Leave {
    /// After so long without connection and running turn; none: never.
    pub idle: Option<Duration>,
    /// When this file was replaced and nothing runs and nobody is connected.
    pub executable: Option<Executable>,
    /// How often both are looked at.
    pub every: Duration,
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A signal or a client asked for it.
    Requested,
    /// Nobody has needed it for long.
    Idle,
    /// Another build took its place.
    Replaced,
}

/// Serves until there is a reason to end. Returns with the connections that are still open; the listener is closed.
pub async fn serve<F>(
    listener: UnixListener,
    shutdown: &Shutdown,
    leave: Leave,
    running_turns: impl Fn() -> usize,
    mut handle: impl FnMut(UnixStream) -> F,
) -> (Reason, JoinSet<()>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut needed = Instant::now();
    let mut look = interval(leave.every);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reason = loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => break Reason::Requested,
            Some(ended) = connections.join_next(), if !connections.is_empty() => {
                log_end(ended);
                needed = Instant::now();
                // The next client gets the new build at once and not only after the next look.
                look.reset_immediately();
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connections.len() < CONNECTIONS_MAX => {
                    connections.spawn(handle(stream));
                }
                Ok(_) => tracing::warn!(open = connections.len(), "a connection is refused: too many are open"),
                Err(error) => {
                    tracing::error!(%error, "no connection can be taken");
                    sleep(AFTER_FAILURE).await;
                }
            },
            _ = look.tick() => {
                if !connections.is_empty() || running_turns() > 0 {
                    needed = Instant::now();
                } else if leave.executable.as_ref().is_some_and(Executable::was_replaced) {
                    break Reason::Replaced;
                } else if leave.idle.is_some_and(|idle| needed.elapsed() >= idle) {
                    break Reason::Idle;
                }
            }
        }
    };
    (reason, connections)
}

/// A panic in a connection ends that connection and nothing else; the hook has logged where it was.
fn log_end(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!("a connection ended by a panic");
    }
}

#[cfg(test)]
mod tests;
