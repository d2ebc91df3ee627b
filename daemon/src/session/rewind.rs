//! The conversation goes back to before a turn, in the session's actor, so that no turn runs beside it. What is written is one
//! commit; a machine that is loaded is dropped, and the next turn loads what is in the view now. Files are not touched.

use super::api::{ApiError, ApiErrorKind};
use super::driver::{Driver, now};
use super::load::store_error;
use plimsoll_core::id::TurnNo;
use plimsoll_core::turn::machine::Counters;
use plimsoll_core::turn::rewind::rewind;

impl Driver {
    /// Takes this turn and all later ones out of the view.
    pub(super) async fn rewind(&mut self, turn: TurnNo) -> Result<(), ApiError> {
        let row = self.check_idle("go back").await?;
        let point = self.store.point_before(&self.id, turn).await.map_err(|error| store_error(&error))?;
        let point = point.ok_or_else(|| {
            ApiError::new(ApiErrorKind::NotFound, format!("the model's view holds no turn {turn}"))
                .hint("transcript/read shows the turns; items that are `outOfView` have left the view already")
        })?;
        let counters = row.counters;
        let counters = Counters {
            item: counters.item,
            seq: counters.seq,
            turn: counters.turn,
            call: counters.call,
            ask: counters.ask,
            request: counters.request,
            epoch: counters.epoch,
        };
        let committed = self.commit(rewind(&counters, point, now())).await;
        committed.map_err(|error| store_error(&error))?;
        self.forget_machine();
        Ok(())
    }
}
