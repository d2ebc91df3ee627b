//! `memory/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_protocol::Done;
use plimsoll_protocol::memory::{ListResult, MemoryApiServer};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl MemoryApiServer for Methods {
    async fn list(&self, project: String) -> RpcResult<ListResult> {
        let memories = self.service.memories(&from_wire::id("project", &project)?).await.map_err(api)?;
        Ok(ListResult { memories: memories.iter().map(to_wire::memory).collect() })
    }

    // What is forgotten stays so: the key adds nothing.
    async fn delete(&self, project: String, id: String, _idempotency_key: Option<String>) -> RpcResult<Done> {
        self.service.delete_memory(&from_wire::id("project", &project)?, &id).await.map_err(api)?;
        Ok(Done {})
    }
}
