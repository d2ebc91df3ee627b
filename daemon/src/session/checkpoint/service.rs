//! What facades ask of a service about checkpoints.

use super::value::{TurnPage, Undo, Undone};
use crate::session::actor::Msg;
use crate::session::api::ApiError;
use crate::session::service::Service;
use plimsoll_core::checkpoint::Scope;
use plimsoll_core::id::{SessionId, TurnNo};

impl Service {
    /// Turns that changed files, newest first: up to `limit` before `before`.
    pub async fn checkpoints(
        &self,
        id: &SessionId,
        before: Option<TurnNo>,
        limit: usize,
    ) -> Result<TurnPage, ApiError> {
        // Taken up, so that what a dead daemon left is settled.
        let handle = self.live(id).await?;
        let (_, store) = self.store_of(id).await?;
        super::list(&store, id, &super::images(&handle.project.folder), before, limit).await
    }

    /// What undoing would change now, with differences.
    pub async fn undo_diff(&self, id: &SessionId, scope: Scope) -> Result<Undone, ApiError> {
        let handle = self.live(id).await?;
        let (_, store) = self.store_of(id).await?;
        super::diff(&store, id, &super::images(&handle.project.folder), scope).await
    }

    /// Undoes what calls wrote. Refused while a turn of the session runs.
    pub async fn undo(&self, id: &SessionId, undo: Undo) -> Result<Undone, ApiError> {
        self.live(id).await?.ask(|reply| Msg::Undo { undo, reply }).await?
    }
}
