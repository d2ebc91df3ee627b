//! A live view of one session: replays from a `seq`, then follows.

use super::api::{CloseReason, Update};
use super::hub::{Hub, Next, Position};
use crate::store::ProjectStore;
use plimsoll_core::id::{Seq, SessionId};
use tokio::sync::watch;

/// Events that are read from the store at a time: a page is some hundred kilobytes at most in ordinary sessions.
const PAGE: usize = 200;

/// See the module's head.
pub struct Subscription {
    session: SessionId,
    hub: Hub,
    store: ProjectStore,
    position: Position,
    changed: watch::Receiver<u64>,
    closed: bool,
}

impl Subscription {
    pub(super) fn new(session: SessionId, hub: Hub, store: ProjectStore, after: Seq) -> Self {
        let (changed, position) = (hub.watch(), hub.position(after));
        Self { session, hub, store, position, changed, closed: false }
    }

    /// The next updates, in order, never empty; what gathered while the caller was busy comes merged. `None` after
    /// [`Update::Closed`], which says why. Cancel safe.
    pub async fn next(&mut self) -> Option<Vec<Update>> {
        loop {
            if self.closed {
                return None;
            }
            self.changed.mark_unchanged();
            match self.hub.next(&mut self.position) {
                Next::Updates(updates) => return Some(updates),
                Next::Read(after) => match self.store.events(&self.session, after, PAGE).await {
                    Ok(events) if events.is_empty() => {
                        let missing = "events that were announced are not in the store";
                        return self.close(CloseReason::StoreFailed, missing.to_owned());
                    }
                    Ok(events) => {
                        if let Some(last) = events.last() {
                            self.position.seq = last.event.seq;
                        }
                        return Some(events.into_iter().map(|event| Update::Event(Box::new(event))).collect());
                    }
                    Err(error) => {
                        let message = format!("{}: {error}", CloseReason::StoreFailed.message());
                        return self.close(CloseReason::StoreFailed, message);
                    }
                },
                Next::Closed(reason, message) => return self.close(reason, message),
                Next::Nothing => {
                    if self.changed.changed().await.is_err() {
                        return self.close(CloseReason::SessionEnded, CloseReason::SessionEnded.message().to_owned());
                    }
                }
            }
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the callers return what it gives")]
    fn close(&mut self, reason: CloseReason, message: String) -> Option<Vec<Update>> {
        self.closed = true;
        Some(vec![Update::Closed { reason, message }])
    }
}
