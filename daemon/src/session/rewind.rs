//! The conversation goes back to before a turn, in the session's actor, so that no turn runs beside it. What is written is one
//! commit; a machine that is loaded is dropped, and the next turn loads what is in the view now. Files are touched only where
//! that is asked for: what the turns wrote is undone first, as an operation of its own. A death between the two leaves an undo
//! that is done; asked again, nothing is left to undo, and the conversation goes back.

use super::api::{ApiError, ApiErrorKind};
use super::driver::{Driver, now};
use super::load::store_error;
use plimsoll_core::checkpoint::How;
use plimsoll_core::id::TurnNo;
use plimsoll_core::turn::rewind::rewind;

impl Driver {
    /// Takes this turn and all later ones out of the view; with `files`, undoes so what they wrote. When that cannot be, all
    /// stays.
    pub(super) async fn rewind(&mut self, turn: TurnNo, files: Option<How>) -> Result<(), ApiError> {
        let mut row = self.check_idle("go back").await?;
        let point = self.store.point_before(&self.id, turn).await.map_err(|error| store_error(&error))?;
        let point = point.ok_or_else(|| {
            ApiError::new(ApiErrorKind::NotFound, format!("the model's view holds no turn {turn}"))
                .hint("transcript/read shows the turns; items that are `outOfView` have left the view already")
        })?;
        if let Some(how) = files {
            self.undo_from(turn, how).await?;
            row = self.store.session(&self.id).await.map_err(|error| store_error(&error))?;
        }
        let committed = self.commit(rewind(&row.counters.into(), point, now())).await;
        committed.map_err(|error| store_error(&error))?;
        self.forget_machine();
        Ok(())
    }
}
