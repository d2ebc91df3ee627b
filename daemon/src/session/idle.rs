//! Whether a session is at rest, for what may not be done beside a turn. A turn that waits for an answer is one, also where no
//! machine is loaded for it: it was left to the store, and goes on with what was there.

use super::api::{ApiError, ApiErrorKind};
use super::driver::Driver;
use super::load::store_error;
use crate::store::SessionRow;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::turn::machine::Machine;

impl Driver {
    /// The session's row when no turn of it is under way, once how a cut one ended is written; else the error that it is
    /// busy, with a hint that ends by what the user wants to do (`undo`).
    pub(super) async fn check_idle(&mut self, wish: &str) -> Result<SessionRow, ApiError> {
        let busy = || {
            ApiError::new(ApiErrorKind::Busy, "a turn of this session is running or waits for an answer")
                .hint(format!("wait for its end or interrupt it, then {wish}"))
        };
        if !self.is_idle() || self.machine.as_ref().is_some_and(Machine::is_broken) {
            return Err(busy());
        }
        self.settle().await.map_err(|error| store_error(&error))?;
        let row = self.store.session(&self.id).await.map_err(|error| store_error(&error))?;
        match row.state {
            SessionState::Running | SessionState::Waiting => Err(busy()),
            SessionState::Idle | SessionState::Interrupted => Ok(row),
        }
    }
}
