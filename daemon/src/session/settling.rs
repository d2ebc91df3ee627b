//! How a session comes to rest: what a store that could not be written left open is written down, and what only a turn needs is
//! forgotten.

use super::api::CloseReason;
use super::driver::{Driver, now};
use super::load;
use crate::store::StoreError;
use plimsoll_core::turn::machine::Machine;
use plimsoll_core::turn::recover::Cut;
use std::time::Duration;
use tokio::time::Instant;

/// How long after a store refused to be written the end of the cut turn is tried again: soon enough for somebody who has
/// just made room on the disk and looks at the session.
pub(super) const SETTLE_AGAIN: Duration = Duration::from_secs(5);

impl Driver {
    /// Tries again to write down how what was cut has ended. What fails is logged, and due again.
    pub(super) async fn settle_again(&mut self) {
        let _ = self.settle().await;
    }

    /// The store could not follow: everybody who waits is told. Once nothing runs any more the turn's end is written, at
    /// once or when the store works again, and the session is loaded anew when it is next needed.
    pub(super) fn store_failed(&mut self, error: &StoreError) {
        tracing::error!(session = %self.id, %error, "a commit failed; the turn was ended");
        for reply in std::mem::take(&mut self.accepting).into_values().flatten() {
            reply.send(Err(load::store_error(error)));
        }
        self.refuse_compaction(&load::store_error(error));
        self.turns.clear();
        self.cut = Some(Cut::Store(error.to_string()));
        self.activity.set_cut(true);
    }

    /// Writes down how what was cut has ended. On an error the next attempt is due a little later.
    pub(super) async fn settle(&mut self) -> Result<(), StoreError> {
        self.settle_at = None;
        let Some(cut) = &self.cut else { return Ok(()) };
        match load::recover_session(&self.store, &self.id, now(), &self.hub, cut).await {
            Ok(()) => {
                self.cut = None;
                self.activity.set_cut(false);
                Ok(())
            }
            Err(error) => {
                tracing::warn!(session = %self.id, %error, "a cut turn could not be settled yet");
                self.settle_at = Some(Instant::now() + SETTLE_AGAIN);
                Err(error)
            }
        }
    }

    /// Something was done: tells those who wait for a turn's end, and when nothing runs forgets what only a turn needs.
    pub(super) async fn rest(&mut self) {
        let broken = self.machine.as_ref().is_some_and(Machine::is_broken);
        let running = self.machine.as_ref().and_then(Machine::running_turn);
        if self.is_idle() {
            if broken {
                self.drop_beside();
                self.machine = None;
                self.generation += 1;
                if self.settle().await.is_err() {
                    let why = self.cut.as_ref().map_or("the store cannot be written", |cut| match cut {
                        Cut::Store(why) => why,
                        Cut::Crash | Cut::Fault | Cut::User | Cut::Model => "the store cannot be written",
                    });
                    let message = format!("the session could not be stored, so its turn was ended: {why}");
                    self.hub.close(CloseReason::StoreFailed, &message);
                }
            }
            self.running = None;
            if !self.works_beside() {
                self.rest_beside();
                self.counted = None;
                self.activity.end();
            }
        }
        if !broken || self.is_idle() {
            for (turn, reply) in std::mem::take(&mut self.waiting) {
                if running == Some(turn) {
                    self.waiting.push((turn, reply));
                } else {
                    let _ = reply.send(());
                }
            }
        }
    }
}
