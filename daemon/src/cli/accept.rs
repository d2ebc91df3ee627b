//! The daemon's main loop: takes connections, gives each a task that it owns, and notices when nobody needs the daemon
//! any more. What a connection speaks it does not know.

use super::build::Executable;
use crate::rpc::life::{Life, RestartPending};
use crate::shutdown::Shutdown;
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

/// More connections than any set of editors needs; each may hold buffers of its own.
const CONNECTIONS_MAX: usize = 256;
/// How long to wait before trying again when the system gives no connection, which happens when descriptors run out.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// When the daemon ends by itself.
#[derive(Debug, Clone)]
pub struct Leave {
    /// When this file was replaced and nothing runs.
    pub executable: Option<Executable>,
    /// How often both are looked at.
    pub every: Duration,
    /// How often is looked whether something still runs, once it shall end then.
    pub soon: Duration,
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

/// What still holds a daemon.
pub struct Work<W, R> {
    /// How much runs.
    pub running: W,
    /// Lets nothing begin any more if nothing runs; whether that is so.
    pub come_to_rest: R,
}

/// Serves until there is a reason to end. One is that for as long as `idle` says at that moment nobody was connected and
/// nothing ran; none: never. Returns with the connections that are still open; the listener is closed. But for a request to
/// end, nothing runs then, and nothing can begin.
pub async fn serve<F>(
    listener: UnixListener,
    shutdown: &Shutdown,
    leave: Leave,
    mut idle: impl FnMut() -> Option<Duration>,
    life: &Life,
    work: Work<impl Fn() -> usize, impl Fn() -> bool>,
    mut handle: impl FnMut(UnixStream) -> F,
) -> (Reason, JoinSet<()>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut needed = Instant::now();
    let mut restarts = life.restarts();
    let mut pending = false;
    let mut look = ticks(leave.every);
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
            // The sender lives as long as the life.
            _ = restarts.changed(), if !pending => {
                pending = true;
                look = ticks(leave.soon);
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
                if !pending && leave.executable.as_ref().is_some_and(Executable::was_replaced) {
                    life.announce_restart(RestartPending { build: None });
                }
                if !connections.is_empty() || (work.running)() > 0 {
                    needed = Instant::now();
                }
                if pending {
                    if (work.come_to_rest)() {
                        life.leave();
                        break Reason::Replaced;
                    }
                    life.stay();
                } else if idle().is_some_and(|idle| needed.elapsed() >= idle) && (work.come_to_rest)() {
                    break Reason::Idle;
                }
            }
        }
    };
    (reason, connections)
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
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
