//! `operation/*`.

use super::super::error::{api, param};
use super::super::{from_wire, to_wire};
use crate::session::operations::{Asked, OperationFilter};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use jsonrpsee_types::ErrorObjectOwned;
use plimsoll_core::ledger::{OpState, Resolution};
use plimsoll_protocol::operation::{self as wire, ListResult, Operation, OperationApiServer, OperationState};

/// Most bytes of what the user adds to a resolution.
const MAX_NOTE: usize = 2_000;

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl OperationApiServer for Methods {
    async fn list(
        &self,
        session: String,
        states: Option<Vec<OperationState>>,
        unsettled: Option<bool>,
        cursor: Option<String>,
        limit: Option<u32>,
    ) -> RpcResult<ListResult> {
        let session = from_wire::id("session", &session)?;
        let states =
            states.unwrap_or_default().iter().map(state).collect::<Result<Vec<OpState>, ErrorObjectOwned>>()?;
        let before = cursor.map(|cursor| from_wire::id("cursor", &cursor)).transpose()?;
        let filter = OperationFilter { states, unsettled, before, limit: from_wire::list_limit(limit)? };
        let page = self.service.operations(&session, &filter).await.map_err(api)?;
        Ok(to_wire::operation::page(&page))
    }

    // Looking twice finds the same: the key adds nothing.
    async fn inspect(&self, session: String, call: String, _idempotency_key: Option<String>) -> RpcResult<Operation> {
        let (session, call) = (from_wire::id("session", &session)?, from_wire::id("call", &call)?);
        let found = self.service.operation(&session, call, Asked::Inspect).await.map_err(api)?;
        Ok(to_wire::operation::operation(&found))
    }

    // What is said already is not said again: the key adds nothing.
    async fn resolve(
        &self,
        session: String,
        call: String,
        resolution: wire::Resolution,
        note: Option<String>,
        _idempotency_key: Option<String>,
    ) -> RpcResult<Operation> {
        let (session, call) = (from_wire::id("session", &session)?, from_wire::id("call", &call)?);
        let note = note.filter(|note| !note.trim().is_empty());
        if let Some(note) = note.as_ref().filter(|note| note.len() > MAX_NOTE) {
            return Err(param("note", format_args!("has {} bytes; at most {MAX_NOTE} are kept", note.len())));
        }
        let resolution = match resolution {
            wire::Resolution::Applied => Resolution::Applied,
            wire::Resolution::NotApplied => Resolution::NotApplied,
            wire::Resolution::Accepted => Resolution::Accepted,
        };
        let settled = self.service.operation(&session, call, Asked::Resolve(resolution, note)).await.map_err(api)?;
        Ok(to_wire::operation::operation(&settled))
    }
}

fn state(state: &OperationState) -> Result<OpState, ErrorObjectOwned> {
    Ok(match state {
        OperationState::Proposed => OpState::Proposed,
        OperationState::Denied => OpState::Denied,
        OperationState::Approved => OpState::Approved,
        OperationState::Running => OpState::Running,
        OperationState::Succeeded => OpState::Succeeded,
        OperationState::Failed => OpState::Failed,
        OperationState::Cancelled => OpState::Cancelled,
        OperationState::Unknown => OpState::Unknown,
        OperationState::Other(word) => {
            let known = "proposed, denied, approved, running, succeeded, failed, cancelled, unknown";
            return Err(param("states", format_args!("`{word}` is no state; there are {known}")));
        }
    })
}
