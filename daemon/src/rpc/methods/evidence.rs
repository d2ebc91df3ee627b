//! `evidence/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_protocol::evidence::{Evidence, EvidenceApiServer};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl EvidenceApiServer for Methods {
    async fn get(&self, session: String, evidence: String) -> RpcResult<Evidence> {
        let (session, id) = (from_wire::id("session", &session)?, from_wire::id("evidence", &evidence)?);
        let info = self.service.evidence(&session, id).await.map_err(api)?;
        Ok(to_wire::task::evidence(&info))
    }
}
