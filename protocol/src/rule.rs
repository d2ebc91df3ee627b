//! Rules and instruction files: what the user, the administrator and the project tell the model beforehand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a rule is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RuleApplies {
    /// From the first request on.
    Always,
    /// Once a file that its patterns name is touched; the model may also ask for it.
    Touched,
    /// When the model asks for it.
    Asked,
    /// A time that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// A rule, without its text, which stands in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleInfo {
    /// Its name.
    pub name: String,
    /// Absolute path of its file.
    pub path: String,
    /// When it is in force.
    pub applies: RuleApplies,
    /// What it is about, by its own head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Patterns of the files for which it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globs: Vec<String>,
}

/// Parameters of `rule/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListParams {
    /// Key of the project.
    pub project: String,
}

/// Result of `rule/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// What is always in force, then the others; each the administrator's, the user's, the project's.
    pub rules: Vec<RuleInfo>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::ListResult;
    use jsonrpsee::proc_macros::rpc;

    /// Rules.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "rule", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "rule", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "rule", namespace_separator = "/")
    )]
    pub trait RuleApi {
        /// Lists the rules of a project.
        #[method(name = "list", param_kind = map, with_extensions)]
        async fn list(&self, project: String) -> jsonrpsee::core::RpcResult<ListResult>;
    }
}

#[cfg(feature = "client")]
pub use api::RuleApiClient;
#[cfg(feature = "server")]
pub use api::RuleApiServer;
