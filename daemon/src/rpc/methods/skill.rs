//! `skill/*`.

use super::super::error::api;
use super::super::from_wire;
use crate::session::service::Service;
use jsonrpsee_core::server::Extensions;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_protocol::skill::{ListResult, SkillApiServer, SkillInfo};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl SkillApiServer for Methods {
    async fn list(&self, context: &Extensions, project: String) -> RpcResult<ListResult> {
        let client = super::client(context)?;
        let texts = self.service.told(&client, &from_wire::id("project", &project)?).await.map_err(api)?;
        let info = |skill: plimsoll_core::workspace::Skill| SkillInfo {
            name: skill.name,
            description: skill.description,
            path: skill.path,
        };
        Ok(ListResult { skills: texts.skills.into_iter().map(info).collect() })
    }
}
