//! `config/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait, server::Extensions};
use plimsoll_protocol::config::{ConfigApiServer, GetResult, SetResult};
use serde_json::Value;

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl ConfigApiServer for Methods {
    async fn get(&self, context: &Extensions, key: Option<String>, project: Option<String>) -> RpcResult<GetResult> {
        let project = project.map(|project| from_wire::id("project", &project)).transpose()?;
        let client = super::client(context)?;
        let found = self.service.configuration(&client, project.as_ref(), key.as_deref()).await.map_err(api)?;
        Ok(to_wire::configuration(found.settings, found.warnings))
    }

    // The same value again changes nothing: the key adds nothing.
    async fn set(&self, key: String, value: Value, _idempotency_key: Option<String>) -> RpcResult<SetResult> {
        let change = self.service.change_configuration(key, value).await.map_err(api)?;
        Ok(SetResult { file: to_wire::path(&change.file), changed: change.changed, warnings: change.warnings })
    }
}
