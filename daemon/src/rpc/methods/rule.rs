//! `rule/*`.

use super::super::error::api;
use super::super::from_wire;
use crate::session::service::Service;
use jsonrpsee_core::server::Extensions;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_core::workspace::{InstructionSource, Rule};
use plimsoll_protocol::rule::{ListResult, RuleApiServer, RuleApplies, RuleInfo};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl RuleApiServer for Methods {
    async fn list(&self, context: &Extensions, project: String) -> RpcResult<ListResult> {
        let client = super::client(context)?;
        let texts = self.service.told(&client, &from_wire::id("project", &project)?).await.map_err(api)?;
        let rules = texts.instructions.into_iter().map(always).chain(texts.rules.into_iter().map(other)).collect();
        Ok(ListResult { rules })
    }
}

fn always(source: InstructionSource) -> RuleInfo {
    let name = source.path.rsplit('/').next().unwrap_or_default();
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    RuleInfo { name, path: source.path, applies: RuleApplies::Always, description: None, globs: Vec::new() }
}

fn other(rule: Rule) -> RuleInfo {
    let applies = if rule.globs.is_empty() { RuleApplies::Asked } else { RuleApplies::Touched };
    RuleInfo { name: rule.name, path: rule.path, applies, description: rule.description, globs: rule.globs }
}
