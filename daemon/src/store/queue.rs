//! A bounded queue from async callers to one thread. What may wait is limited by permits, so a caller that is too fast
//! waits instead of filling memory. The thread can also ask to be woken at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// See the module's head.
pub(super) struct Queue<T> {
    permits: Arc<Semaphore>,
    state: Mutex<State<T>>,
    ready: Condvar,
}

struct State<T> {
    waiting: VecDeque<(T, OwnedSemaphorePermit)>,
    wake_at: Option<Instant>,
    closed: bool,
}

/// What the thread got.
pub(super) enum Taken<T> {
    /// What waited, in order, not empty.
    Some(Vec<T>),
    /// The time that was asked for has come.
    Woken,
    /// Nothing waits and nothing will come.
    Closed,
}

impl<T> Queue<T> {
    /// A queue in which at most `bound` entries wait.
    pub(super) fn new(bound: usize) -> Arc<Self> {
        let state = State { waiting: VecDeque::new(), wake_at: None, closed: false };
        Arc::new(Self { permits: Arc::new(Semaphore::new(bound)), state: Mutex::new(state), ready: Condvar::new() })
    }

    /// Adds an entry, after waiting for room. `false` when the queue is closed. Cancel safe: nothing was added.
    pub(super) async fn push(&self, entry: T) -> bool {
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return false };
        self.add(entry, permit)
    }

    /// Adds an entry when there is room now; `false` when there is none or the queue is closed.
    pub(super) fn offer(&self, entry: T) -> bool {
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => self.add(entry, permit),
            Err(_) => false,
        }
    }

    fn add(&self, entry: T, permit: OwnedSemaphorePermit) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        state.waiting.push_back((entry, permit));
        self.ready.notify_one();
        true
    }

    /// Wakes the thread after `delay` at the latest.
    pub(super) fn wake_in(&self, delay: Duration) {
        let at = Instant::now() + delay;
        let mut state = self.lock();
        if state.wake_at.is_none_or(|earlier| at < earlier) {
            state.wake_at = Some(at);
            self.ready.notify_one();
        }
    }

    /// Takes no more entries; those that wait are still handed out.
    pub(super) fn close(&self) {
        self.permits.close();
        self.lock().closed = true;
        self.ready.notify_all();
    }

    /// Blocks until there is something to do; hands out up to `most` entries. For the one thread.
    pub(super) fn take(&self, most: usize) -> Taken<T> {
        let mut state = self.lock();
        loop {
            if !state.waiting.is_empty() {
                let count = state.waiting.len().min(most.max(1));
                return Taken::Some(state.waiting.drain(..count).map(|(entry, _permit)| entry).collect());
            }
            if state.closed {
                return Taken::Closed;
            }
            state = match state.wake_at {
                None => self.ready.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let now = Instant::now();
                    if at <= now {
                        state.wake_at = None;
                        return Taken::Woken;
                    }
                    self.ready.wait_timeout(state, at - now).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn entries_come_in_order_and_no_more_than_the_bound_wait() {
        let queue = Queue::new(2);
        assert!(queue.push(1).await && queue.push(2).await);
        assert!(!queue.offer(3));
        assert!(matches!(queue.take(1), Taken::Some(taken) if taken == [1]));
        assert!(queue.offer(3));
        queue.close();
        assert!(!queue.push(4).await);
        assert!(matches!(queue.take(9), Taken::Some(taken) if taken == [2, 3]));
        assert!(matches!(queue.take(9), Taken::Closed));
    }

    #[test]
    fn a_wake_comes_once() {
        let queue = Queue::<u8>::new(1);
        queue.wake_in(Duration::ZERO);
        assert!(matches!(queue.take(1), Taken::Woken));
        queue.close();
        assert!(matches!(queue.take(1), Taken::Closed));
    }
}
