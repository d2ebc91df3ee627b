//! Which sessions have an actor: taken up when somebody needs them, let go of when nobody does. Each session has a place of
//! its own, whose lock is held while its actor begins or ends, so that no session waits for another.

use super::actor::Msg;
use super::api::{ApiError, ApiErrorKind, CloseReason};
use super::hub::Hub;
use super::setup::{Chosen, Project};
use plimsoll_core::id::SessionId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How long a session that nobody follows and that does nothing is kept loaded: somebody who comes back within minutes
/// finds it warm.
pub(super) const KEPT: Duration = Duration::from_mins(5);
/// Sessions that are kept loaded for that long; of more the ones that were used longest ago go at once. A long one holds a
/// few megabytes.
pub(super) const MOST_KEPT: usize = 16;
/// How often is looked for sessions that can go.
const LOOK: Duration = Duration::from_mins(1);

/// A running actor. Short-lived: an actor whose handles are held is not let go of.
#[derive(Clone)]
pub(super) struct Handle {
    /// Its mailbox.
    pub(super) mailbox: mpsc::Sender<Msg>,
    /// What its clients are told.
    pub(super) hub: Hub,
    pub(super) project: Arc<Project>,
    /// What it was made with.
    pub(super) chosen: Arc<Chosen>,
    /// Held from a prompt's arrival until it is in the mailbox, so that prompts keep their order.
    pub(super) order: Arc<tokio::sync::Mutex<()>>,
}

impl Handle {
    /// Sends a message that is answered, and waits for the answer.
    pub(super) async fn ask<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Msg) -> Result<T, ApiError> {
        self.send(message).await?.await.map_err(|_| gone())
    }

    /// Sends a message; what is given resolves to its answer.
    pub(super) async fn send<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> Msg,
    ) -> Result<oneshot::Receiver<T>, ApiError> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.send(message(reply)).await.map_err(|_| gone())?;
        Ok(answer)
    }
}

pub(super) fn gone() -> ApiError {
    ApiError::new(ApiErrorKind::Internal, "the session ended before it could answer")
        .hint("try again; the daemon's log has the reason")
}

/// What a session does, as it looks from outside.
pub(super) struct Activity {
    busy: AtomicBool,
    /// A turn was cut and how it ended is not written yet.
    cut: AtomicBool,
    since: Mutex<Instant>,
}

impl Activity {
    fn new() -> Self {
        Self { busy: AtomicBool::new(false), cut: AtomicBool::new(false), since: Mutex::new(Instant::now()) }
    }

    /// Whether a turn was cut and how it ended is not written yet.
    pub(super) fn set_cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::Relaxed);
    }

    /// A turn begins.
    pub(super) fn begin(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }

    /// No turn runs.
    pub(super) fn end(&self) {
        self.busy.store(false, Ordering::Relaxed);
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn idle_since(&self) -> Option<Instant> {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.busy.load(Ordering::Relaxed)).then_some(since)
    }
}

/// An actor with its task.
pub(super) struct Live {
    pub(super) handle: Handle,
    pub(super) task: JoinHandle<()>,
}

/// A session's place. `live` is none while no actor runs.
pub(super) struct Place {
    pub(super) activity: Arc<Activity>,
    pub(super) live: tokio::sync::Mutex<Option<Live>>,
}

/// Actors may begin.
const OPEN: u8 = 0;
/// It is being found out whether everything closes.
const TRYING: u8 = 1;
/// No actor begins any more.
const CLOSED: u8 = 2;

/// A call that is about to begin a turn.
pub(super) struct Beginning(Arc<AtomicUsize>);

impl Drop for Beginning {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// See the module's head.
pub(super) struct Sessions {
    places: Mutex<HashMap<SessionId, Arc<Place>>>,
    /// How many have an actor.
    count: AtomicUsize,
    gate: AtomicU8,
    /// Calls that are about to begin a turn.
    beginning: Arc<AtomicUsize>,
    crowded: Notify,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Sessions {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            places: Mutex::default(),
            count: AtomicUsize::new(0),
            gate: AtomicU8::new(OPEN),
            beginning: Arc::default(),
            crowded: Notify::new(),
            keeper: Mutex::default(),
        })
    }

    fn places(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Place>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many sessions have an actor.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether everything is being closed.
    pub(super) fn is_closing(&self) -> bool {
        loop {
            match self.gate.load(Ordering::SeqCst) {
                // Somebody finds out whether it closes, which takes no longer than reading three numbers.
                TRYING => std::thread::yield_now(),
                gate => return gate == CLOSED,
            }
        }
    }

    /// Closes everything unless somebody is about to begin a turn or `busy` says so; whether it is closed. A call either
    /// is counted here, or finds everything closed.
    pub(super) fn close_unless(&self, busy: impl FnOnce() -> bool) -> bool {
        if self.gate.compare_exchange(OPEN, TRYING, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return self.is_closing();
        }
        let close = self.beginning.load(Ordering::SeqCst) == 0 && !busy();
        self.gate.store(if close { CLOSED } else { OPEN }, Ordering::SeqCst);
        close
    }

    /// Counts a call that is about to begin a turn.
    pub(super) fn beginning(&self) -> Beginning {
        self.beginning.fetch_add(1, Ordering::SeqCst);
        Beginning(Arc::clone(&self.beginning))
    }

    /// The place of a session.
    pub(super) fn place(&self, id: &SessionId) -> Arc<Place> {
        let make = || {
            let activity = Arc::new(Activity::new());
            Arc::new(Place { activity, live: tokio::sync::Mutex::new(None) })
        };
        Arc::clone(self.places().entry(id.clone()).or_insert_with(make))
    }

    /// Whether a turn of this session runs in this daemon.
    pub(super) fn is_busy(&self, id: &SessionId) -> bool {
        self.places().get(id).is_some_and(|place| place.activity.idle_since().is_none())
    }

    /// The sessions with a turn that runs in this daemon.
    pub(super) fn busy(&self) -> Vec<SessionId> {
        let places = self.places();
        places.iter().filter(|(_, place)| place.activity.idle_since().is_none()).map(|(id, _)| id.clone()).collect()
    }

    /// Whether a turn of this session was cut and how it ended is not written yet.
    pub(super) fn is_cut(&self, id: &SessionId) -> bool {
        self.places().get(id).is_some_and(|place| place.activity.cut.load(Ordering::Relaxed))
    }

    /// Notes that an actor began in a place whose lock the caller holds.
    pub(super) fn began(self: &Arc<Self>, place: &Place) {
        place.activity.end();
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count > MOST_KEPT {
            self.crowded.notify_one();
        }
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.is_none() {
            *keeper = Some(tokio::spawn(keep(Arc::downgrade(self))));
        }
    }

    /// Notes that one has ended.
    pub(super) fn ended(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends the actors that nobody follows and that do nothing: those that were used last before `before`, and of more
    /// than `most` the ones that were used longest ago. Everything is in the store; who needs one takes it up again.
    pub(super) async fn let_go(&self, before: Instant, most: usize) {
        let mut idle: Vec<(Instant, SessionId, Arc<Place>)> = self
            .places()
            .iter()
            .filter_map(|(id, place)| Some((place.activity.idle_since()?, id.clone(), Arc::clone(place))))
            .collect();
        idle.sort_by_key(|(since, ..)| *since);
        for (since, _, place) in &idle {
            if *since > before && self.count() <= most {
                break;
            }
            // Whoever holds the lock begins or ends it just now.
            let Ok(mut live) = place.live.try_lock() else { continue };
            let free = live.as_ref().is_some_and(|live| {
                // One sender is the place's own: nobody is about to ask, and no task works for it.
                live.handle.mailbox.strong_count() == 1 && live.handle.hub.followers() == 0
            });
            if !free || place.activity.idle_since() != Some(*since) {
                continue;
            }
            if let Some(Live { handle, task }) = live.take() {
                drop(handle);
                if let Err(error) = task.await {
                    tracing::error!(%error, "a session ended with a panic");
                }
                self.ended();
            }
        }
        drop(idle);
        // A place that somebody holds is in use, with or without an actor.
        let unused = |place: &Arc<Place>| {
            Arc::strong_count(place) == 1 && place.live.try_lock().is_ok_and(|live| live.is_none())
        };
        self.places().retain(|_, place| !unused(place));
    }

    /// Closes all for this reason; no actor begins from here on.
    pub(super) async fn close(&self, reason: CloseReason) {
        self.gate.store(CLOSED, Ordering::SeqCst);
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            keeper.abort();
        }
        let places: Vec<Arc<Place>> = self.places().values().cloned().collect();
        let closing = places.into_iter().map(|place| async move {
            if let Some(live) = place.live.lock().await.take() {
                close(live, reason).await;
                self.ended();
            }
        });
        futures_util::future::join_all(closing).await;
    }
}

/// Looks for sessions that can go for as long as there are sessions.
async fn keep(sessions: Weak<Sessions>) {
    loop {
        let Some(all) = sessions.upgrade() else { return };
        let crowded = tokio::time::timeout(LOOK, all.crowded.notified()).await;
        let now = Instant::now();
        all.let_go(now.checked_sub(KEPT).unwrap_or(now), MOST_KEPT).await;
        tracing::trace!(crowded = crowded.is_ok(), "looked for sessions to let go of");
    }
}

/// Ends an actor and waits for it.
pub(super) async fn close(live: Live, reason: CloseReason) {
    let (reply, closed) = oneshot::channel();
    if live.handle.mailbox.send(Msg::Close { reason, reply }).await.is_ok() {
        // Without an answer it has ended all the same.
        let _ = closed.await;
    }
    drop(live.handle);
    if let Err(error) = live.task.await {
        tracing::error!(%error, "a session ended with a panic");
    }
}
/// Counts a running turn for as long as it lives.
pub(super) struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub(super) fn new(turns: &Arc<AtomicUsize>) -> Self {
        turns.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(turns))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_closes_only_when_nothing_runs_and_nothing_is_about_to() {
        let sessions = Sessions::new();
        let beginning = sessions.beginning();
        assert!(!sessions.close_unless(|| false));
        assert!(!sessions.is_closing());
        drop(beginning);
        assert!(!sessions.close_unless(|| true));
        assert!(!sessions.is_closing());
        assert!(sessions.close_unless(|| false));
        assert!(sessions.is_closing());
        assert!(sessions.close_unless(|| true), "it is closed already");
    }
}
