//! What is remembered over sessions: the user stays master of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A memory, without its text, which stands in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Its id, `m3` of the project or `u7` of the user; never given to another.
    pub id: String,
    /// What it says, in one line.
    pub title: String,
    /// Absolute path of its file.
    pub path: String,
    /// When it was made.
    pub created_at: i64,
    /// When it was last changed.
    pub updated_at: i64,
    /// The session that wrote what it says now; it may have been deleted since.
    pub session: String,
    /// The item of that session's transcript which is the call that wrote it.
    pub item: u64,
}

/// Parameters of `memory/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListParams {
    /// Key of the project.
    pub project: String,
}

/// Result of `memory/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The project's, then the user's, each oldest first.
    pub memories: Vec<Memory>,
}

/// Parameters of `memory/delete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteParams {
    /// Key of the project.
    pub project: String,
    /// The memory.
    pub id: String,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::ListResult;
    use crate::Done;
    use jsonrpsee::proc_macros::rpc;

    /// Memories.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "memory", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "memory", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "memory", namespace_separator = "/")
    )]
    pub trait MemoryApi {
        /// Lists what is remembered for a project and for the user.
        #[method(name = "list", param_kind = map)]
        async fn list(&self, project: String) -> jsonrpsee::core::RpcResult<ListResult>;

        /// Forgets one.
        #[method(name = "delete", param_kind = map)]
        async fn delete(
            &self,
            project: String,
            id: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Done>;
    }
}

#[cfg(feature = "client")]
pub use api::MemoryApiClient;
#[cfg(feature = "server")]
pub use api::MemoryApiServer;
