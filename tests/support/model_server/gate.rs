//! A place where an answer waits until the test lets it go on, so that tests meet it there without sleeping.

use crate::in_time;
use std::sync::Arc;
use tokio::sync::watch;

/// Clones are the same gate. It is closed at first and stays open once released.
#[derive(Clone)]
pub struct Gate {
    shared: Arc<(watch::Sender<bool>, watch::Sender<bool>)>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self { shared: Arc::new((watch::Sender::new(false), watch::Sender::new(false))) }
    }

    /// Waits until an answer stands before the gate: everything that its step puts before it has been written.
    pub async fn reached(&self) {
        let mut reached = self.shared.0.subscribe();
        in_time("an answer at the gate", reached.wait_for(|reached| *reached))
            .await
            .expect("the gate holds the sender");
    }

    /// Opens it.
    pub fn release(&self) {
        self.shared.1.send_replace(true);
    }

    /// The answer's side: says that it is here, and waits.
    pub(super) async fn pass(&self) {
        self.shared.0.send_replace(true);
        // The sender lives in `self`, so the wait ends by release only.
        let _ = self.shared.1.subscribe().wait_for(|open| *open).await;
    }
}
