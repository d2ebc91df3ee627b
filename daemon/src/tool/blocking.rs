//! One hop to a thread that may block, for tools that read the disk: a slow or hanging file system then holds up its own
//! call and nothing else. The hop costs some ten microseconds.

use plimsoll_core::tool::outcome::{Body, Outcome, Status};
use tokio_util::sync::CancellationToken;

/// Whether a piece of blocking work should end early.
#[derive(Debug, Clone)]
pub struct Stop(CancellationToken);

impl Stop {
    /// One that a cancellation sets.
    pub fn of(cancel: &CancellationToken) -> Self {
        Self(cancel.clone())
    }

    /// For work that nobody ends early.
    pub fn never() -> Self {
        Self(CancellationToken::new())
    }

    /// Looked at between steps of the work.
    pub fn is_set(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// Runs a lookup that cannot be interrupted and is short.
pub async fn look<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(%error, "a lookup broke down");
            Err("An internal error broke the call off; call again.".to_owned())
        }
    }
}

/// Runs a tool's work. On cancellation the outcome comes at once; the work, which has no effect, ends by itself at its
/// next look at [`Stop`].
pub async fn run(cancel: &CancellationToken, work: impl FnOnce(&Stop) -> Outcome + Send + 'static) -> Outcome {
    let stop = Stop::of(cancel);
    let work = tokio::task::spawn_blocking(move || work(&stop));
    tokio::select! {
        biased;
        result = work => match result {
            Ok(_) if cancel.is_cancelled() => cancelled(),
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::error!(%error, "a tool broke down");
                Outcome::failed("An internal error broke the call off; call again.")
            }
        },
        () = cancel.cancelled() => cancelled(),
    }
}

/// Runs work that changes something. It is waited for also after a cancellation, since only its end tells what it did; it
/// looks at [`Stop`] until its effect begins, and gives none when it stopped before.
pub async fn finish(
    cancel: &CancellationToken,
    work: impl FnOnce(&Stop) -> Option<Outcome> + Send + 'static,
) -> Outcome {
    let stop = Stop::of(cancel);
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(outcome) => outcome.unwrap_or_else(cancelled),
        Err(error) => {
            tracing::error!(%error, "a tool broke down");
            Outcome::failed("An internal error broke the call off; look at what it did before calling again.")
        }
    }
}

fn cancelled() -> Outcome {
    Outcome { status: Status::Cancelled, body: Body::Text("Interrupted by the user.".to_owned()) }
}
