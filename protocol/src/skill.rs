//! Skills: what the model may learn when it needs it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A skill, without its text, which stands in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillInfo {
    /// Its name.
    pub name: String,
    /// When to use it, by its own head.
    pub description: String,
    /// Absolute path of its `SKILL.md`.
    pub path: String,
}

/// Parameters of `skill/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListParams {
    /// Key of the project.
    pub project: String,
}

/// Result of `skill/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The user's, those of a trusted project, those of configured folders.
    pub skills: Vec<SkillInfo>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::ListResult;
    use jsonrpsee::proc_macros::rpc;

    /// Skills.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "skill", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "skill", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "skill", namespace_separator = "/")
    )]
    pub trait SkillApi {
        /// Lists the skills of a project.
        #[method(name = "list", param_kind = map, with_extensions)]
        async fn list(&self, project: String) -> jsonrpsee::core::RpcResult<ListResult>;
    }
}

#[cfg(feature = "client")]
pub use api::SkillApiClient;
#[cfg(feature = "server")]
pub use api::SkillApiServer;
