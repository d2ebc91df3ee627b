//! `permission/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::api::Answer;
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait, server::Extensions};
use plimsoll_protocol::Done;
use plimsoll_protocol::permission::{Choice, GrantsResult, PermissionApiServer, RespondResult};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl PermissionApiServer for Methods {
    // Only the first answer counts: the key adds nothing.
    async fn respond(
        &self,
        context: &Extensions,
        session: String,
        ask: String,
        choice: Choice,
        advice: Option<String>,
        _idempotency_key: Option<String>,
    ) -> RpcResult<RespondResult> {
        let session = from_wire::id("session", &session)?;
        let advice = advice.filter(|advice| !advice.trim().is_empty());
        let answer = Answer { ask: from_wire::id("ask", &ask)?, choice: from_wire::choice(choice), advice };
        let accepted = self.service.answer(&super::client(context)?, &session, answer).await.map_err(api)?;
        Ok(RespondResult { accepted })
    }

    async fn grants(&self, project: String) -> RpcResult<GrantsResult> {
        let grants = self.service.grants(&from_wire::id("project", &project)?).await.map_err(api)?;
        Ok(GrantsResult { grants: grants.iter().map(to_wire::grant).collect() })
    }

    // What is revoked stays so: the key adds nothing.
    async fn revoke(&self, project: String, grant: u64, _idempotency_key: Option<String>) -> RpcResult<Done> {
        self.service.revoke(&from_wire::id("project", &project)?, grant).await.map_err(api)?;
        Ok(Done {})
    }
}
