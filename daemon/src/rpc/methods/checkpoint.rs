//! `checkpoint/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::checkpoint::Undo;
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_core::checkpoint::How;
use plimsoll_core::id::TurnNo;
use plimsoll_protocol::checkpoint::{CheckpointApiServer, DiffResult, ListResult, RestoreResult};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl CheckpointApiServer for Methods {
    async fn list(&self, session: String, before: Option<u64>, limit: Option<u32>) -> RpcResult<ListResult> {
        let session = from_wire::id("session", &session)?;
        let limit = from_wire::list_limit(limit)?;
        let page = self.service.checkpoints(&session, before.map(TurnNo), limit).await.map_err(api)?;
        Ok(to_wire::checkpoint::page(&page))
    }

    async fn diff(
        &self,
        session: String,
        turn: Option<u64>,
        from: Option<u64>,
        call: Option<String>,
    ) -> RpcResult<DiffResult> {
        let (session, scope) = (from_wire::id("session", &session)?, from_wire::scope(turn, from, call.as_deref())?);
        let undone = self.service.undo_diff(&session, scope).await.map_err(api)?;
        Ok(to_wire::checkpoint::diff(&undone))
    }

    // What is undone already is not undone again: the key adds nothing.
    async fn restore(
        &self,
        session: String,
        turn: Option<u64>,
        from: Option<u64>,
        call: Option<String>,
        skip: Option<bool>,
        force: Option<bool>,
        dry_run: Option<bool>,
        _idempotency_key: Option<String>,
    ) -> RpcResult<RestoreResult> {
        let (session, scope) = (from_wire::id("session", &session)?, from_wire::scope(turn, from, call.as_deref())?);
        let how = How { skip: skip.unwrap_or_default(), force: force.unwrap_or_default() };
        let undo = Undo { scope, how, dry_run: dry_run.unwrap_or_default() };
        let undone = self.service.undo(&session, undo).await.map_err(api)?;
        Ok(to_wire::checkpoint::undone(&undone))
    }
}
