//! Projects: workspaces of one or more roots.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Its key, for other calls.
    pub key: String,
    /// Canonical absolute paths of its roots; the first names it.
    pub roots: Vec<String>,
    /// When it was first opened.
    pub created_at: i64,
    /// Whether the user trusts it, so that its own programs may run where the mode says so. Absent: not.
    #[serde(default)]
    pub trusted: bool,
}

/// Parameters of `project/open`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenParams {
    /// Absolute paths of existing folders; the first names the project. What it has beside them stays.
    #[schemars(length(min = 1))]
    pub roots: Vec<String>,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `project/list`: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListParams {}

/// Result of `project/list`: oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The projects.
    pub projects: Vec<Project>,
}

/// Parameters of `project/trust`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustParams {
    /// Key of the project.
    pub project: String,
    /// Whether the user trusts it.
    pub trusted: bool,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `project/relocate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelocateParams {
    /// Key of the project.
    pub project: String,
    /// Absolute paths of existing folders that take the place of its roots; the first names it.
    #[schemars(length(min = 1))]
    pub roots: Vec<String>,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{ListResult, Project};
    use jsonrpsee::proc_macros::rpc;

    /// Projects.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "project", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "project", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "project", namespace_separator = "/")
    )]
    pub trait ProjectApi {
        /// Opens the project of these roots; the same roots give the same project.
        #[method(name = "open", param_kind = map)]
        async fn open(
            &self,
            roots: Vec<String>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Project>;

        /// Lists all projects that were ever opened.
        #[method(name = "list")]
        async fn list(&self) -> jsonrpsee::core::RpcResult<ListResult>;

        /// Gives a project other roots, such as those to which its folders were moved.
        #[method(name = "relocate", param_kind = map)]
        async fn relocate(
            &self,
            project: String,
            roots: Vec<String>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Project>;

        /// Notes whether the user trusts a project.
        #[method(name = "trust", param_kind = map)]
        async fn trust(
            &self,
            project: String,
            trusted: bool,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Project>;
    }
}

#[cfg(feature = "client")]
pub use api::ProjectApiClient;
#[cfg(feature = "server")]
pub use api::ProjectApiServer;
