//! `todo/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_protocol::todo::{GetResult, TodoApiServer};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl TodoApiServer for Methods {
    async fn get(&self, session: String) -> RpcResult<GetResult> {
        let todos = self.service.todos(&from_wire::id("session", &session)?).await.map_err(api)?;
        Ok(GetResult { todos: to_wire::todos(&todos) })
    }
}
