//! When a root is brought up to date: on request, one refresh at a time, on a thread that may block; who asks waits as
//! long as he likes and takes what there is.

use super::revision::Revisions;
use super::root::{Reading, Root};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// A root with its refreshes. Cheap to clone.
#[derive(Clone)]
pub struct Refresher(Arc<Shared>);

struct Shared {
    /// Locked by the refreshing thread only.
    root: Mutex<Root>,
    queue: Mutex<Queue>,
    latest: watch::Sender<Option<Arc<Latest>>>,
    revisions: Arc<Mutex<Revisions>>,
    stop: AtomicBool,
    tasks: TaskTracker,
}

#[derive(Default)]
struct Queue {
    asked: u64,
    running: bool,
}

/// The newest refresh that ended.
pub struct Latest {
    /// The newest request that it answers.
    answers: u64,
    /// When it began to look.
    pub began: Instant,
    /// What it found; an error says that the root cannot be opened.
    pub reading: Result<Reading, std::io::ErrorKind>,
}

/// A request for a refresh.
#[derive(Debug, Clone, Copy)]
pub struct Ticket(u64);

/// Locks also after a panic elsewhere: what these locks guard is whole at every moment.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Refresher {
    /// Takes the root over; `tasks` owns the refreshes.
    pub fn new(root: Root, revisions: Arc<Mutex<Revisions>>, tasks: TaskTracker) -> Self {
        Self(Arc::new(Shared {
            root: Mutex::new(root),
            queue: Mutex::default(),
            latest: watch::Sender::new(None),
            revisions,
            stop: AtomicBool::new(false),
            tasks,
        }))
    }

    /// Asks for a refresh that begins after this moment. Must be called inside the runtime.
    pub fn request(&self) -> Ticket {
        let mut queue = lock(&self.0.queue);
        queue.asked += 1;
        if !queue.running && !self.0.stop.load(Ordering::Relaxed) {
            queue.running = true;
            let shared = Arc::clone(&self.0);
            self.0.tasks.spawn_blocking(move || shared.run());
        }
        Ticket(queue.asked)
    }

    /// Waits until the request is answered, at most until `deadline`; whether it is. Cancel safe.
    pub async fn wait(&self, ticket: Ticket, deadline: tokio::time::Instant) -> bool {
        let mut latest = self.0.latest.subscribe();
        let answered = latest.wait_for(|latest| latest.as_ref().is_some_and(|latest| latest.answers >= ticket.0));
        tokio::time::timeout_at(deadline, answered).await.is_ok_and(|answered| answered.is_ok())
    }

    /// The newest refresh, and whether it began after the request.
    pub fn latest(&self, ticket: Ticket) -> Option<(Arc<Latest>, bool)> {
        let latest = self.0.latest.borrow().clone()?;
        let fresh = latest.answers >= ticket.0;
        Some((latest, fresh))
    }

    /// Whether a refresh has ever ended.
    pub fn has_any(&self) -> bool {
        self.0.latest.borrow().is_some()
    }

    /// Ends the running refresh soon, and begins no other.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn run(&self) {
        // Also when a refresh panics the next request must find nobody running.
        let _idle = Idle(self);
        let mut done = 0;
        loop {
            let asked = {
                let mut queue = lock(&self.queue);
                if queue.asked == done || self.stop.load(Ordering::Relaxed) {
                    queue.running = false;
                    return;
                }
                queue.asked
            };
            let began = Instant::now();
            let reading = self.refresh();
            if self.stop.load(Ordering::Relaxed) {
                continue;
            }
            if let Ok(reading) = &reading
                && !reading.changed.is_empty()
            {
                lock(&self.revisions).step(reading.changed.clone(), reading.added.clone());
            }
            let elapsed = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            tracing::debug!(elapsed, ok = reading.is_ok(), "root refreshed");
            let reading = reading.map_err(|error| error.kind());
            self.latest.send_replace(Some(Arc::new(Latest { answers: asked, began, reading })));
            done = asked;
        }
    }

    fn refresh(&self) -> std::io::Result<Reading> {
        let mut root = match self.root.lock() {
            Ok(root) => root,
            Err(poisoned) => {
                // A panic left the model half repaired.
                tracing::error!("a refresh broke off, its model is made anew");
                self.root.clear_poison();
                let mut root = poisoned.into_inner();
                *root = root.anew();
                root
            }
        };
        root.refresh(&self.stop)
    }
}

struct Idle<'a>(&'a Shared);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.queue).running = false;
        }
    }
}
