//! The one way in which the daemon is asked to end: a signal, a client's request, idleness. Whoever asks only sets the
//! token; what then happens, and in which order, is the daemon's run in `cli`.

use std::io;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code after a second interrupt: 128 and the number of SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;

/// The request to end; cheap to clone, and all clones are one.
#[derive(Debug, Clone, Default)]
pub struct Shutdown(CancellationToken);

impl Shutdown {
    /// A request that was not made yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks. Again does nothing.
    pub fn request(&self) {
        self.0.cancel();
    }

    /// Whether it was asked.
    pub fn is_requested(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it is asked. Cancel safe.
    pub async fn requested(&self) {
        self.0.cancelled().await;
    }

    /// The token, for code that waits on one.
    pub fn token(&self) -> CancellationToken {
        self.0.clone()
    }
}

/// Listens for SIGTERM, SIGINT and SIGHUP from the moment it returns. The future asks for the end at the first of them
/// and ends the process at the next interrupt: whoever presses Ctrl-C twice does not want to wait. It never ends; its
/// owner drops it.
pub fn listen(shutdown: Shutdown) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        loop {
            let name = tokio::select! {
                Some(()) = interrupt.recv() => "SIGINT",
                Some(()) = terminate.recv() => "SIGTERM",
                Some(()) = hangup.recv() => "SIGHUP",
                else => return,
            };
            if name == "SIGINT" && shutdown.is_requested() {
                tracing::warn!("second interrupt: ending at once");
                std::process::exit(INTERRUPTED);
            }
            tracing::info!(signal = name, "asked to end");
            shutdown.request();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_reaches_every_clone_and_lasts() {
        let shutdown = Shutdown::new();
        let other = shutdown.clone();
        assert!(!other.is_requested());
        let waiting = tokio::spawn(async move { other.requested().await });
        shutdown.request();
        shutdown.request();
        waiting.await.unwrap();
        shutdown.requested().await;
        assert!(shutdown.token().is_cancelled());
    }
}
