//! The calls that run on one connection: side by side, begun in order, and owned by the connection.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::task::JoinSet;

/// See the module's head.
#[derive(Debug, Default)]
pub struct Calls {
    running: JoinSet<()>,
}

impl Calls {
    /// Begins a call: it runs up to its first wait before anything that came later, and then beside it. So what a
    /// client sends in order reaches the sessions in order.
    pub async fn begin(&mut self, call: impl Future<Output = ()> + Send + 'static) {
        while self.running.try_join_next().is_some() {}
        let mut call = Box::pin(call);
        // Outside this task's budget: a call must not be put off because many came at once.
        let once = pin!(std::future::poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))));
        let first = tokio::task::unconstrained(once).await;
        if first.is_pending() {
            // The task polls it again at once, with its own waker.
            self.running.spawn(call);
        }
    }

    /// Waits for what still runs, for so long at most, and ends the rest.
    pub async fn finish(&mut self, patience: Duration) {
        // Too late is as good as done: the rest is ended below.
        let _ = tokio::time::timeout(patience, async { while self.running.join_next().await.is_some() {} }).await;
        self.running.shutdown().await;
    }
}
