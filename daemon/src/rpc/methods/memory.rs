//! `memory/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_core::workspace::memory::{Asked, Scope};
use plimsoll_protocol::Done;
use plimsoll_protocol::memory::{GetResult, ListResult, Memory, MemoryApiServer, MemoryScope};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl MemoryApiServer for Methods {
    async fn list(&self, project: String) -> RpcResult<ListResult> {
        let memories = self.service.memories(&from_wire::id("project", &project)?).await.map_err(api)?;
        Ok(ListResult { memories: memories.iter().map(to_wire::memory).collect() })
    }

    async fn get(&self, project: String, id: String) -> RpcResult<GetResult> {
        let found = self.service.memory(&from_wire::id("project", &project)?, &id).await.map_err(api)?;
        Ok(GetResult { memory: to_wire::memory(&found), text: found.memory.content })
    }

    // What says the same already is not kept twice, and a change that is made again changes nothing: the key adds nothing.
    async fn put(
        &self,
        project: String,
        id: Option<String>,
        scope: Option<MemoryScope>,
        title: Option<String>,
        text: Option<String>,
        _idempotency_key: Option<String>,
    ) -> RpcResult<Memory> {
        let action = if id.is_some() { "update" } else { "create" };
        let scope = scope.map(|scope| match scope {
            MemoryScope::Project => Scope::Project,
            MemoryScope::User => Scope::User,
        });
        let asked = Asked { action: action.to_owned(), id, title, content: text, scope };
        let kept = self.service.put_memory(&from_wire::id("project", &project)?, asked).await.map_err(api)?;
        Ok(to_wire::memory(&kept))
    }

    // What is forgotten stays so: the key adds nothing.
    async fn delete(&self, project: String, id: String, _idempotency_key: Option<String>) -> RpcResult<Done> {
        self.service.delete_memory(&from_wire::id("project", &project)?, &id).await.map_err(api)?;
        Ok(Done {})
    }
}
