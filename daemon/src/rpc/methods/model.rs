//! `model/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait, server::Extensions};
use plimsoll_protocol::model::{ListResult, ModelApiServer};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl ModelApiServer for Methods {
    async fn list(&self, context: &Extensions, project: Option<String>) -> RpcResult<ListResult> {
        let project = project.map(|project| from_wire::id("project", &project)).transpose()?;
        let found = self.service.models(&super::client(context)?, project.as_ref()).await.map_err(api)?;
        let models = found.models.iter().map(|(profile, at)| to_wire::model(profile, at)).collect();
        Ok(ListResult { models, default: found.default })
    }
}
