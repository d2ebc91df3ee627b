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
    /// The session that wrote what it says now; it may have been deleted since. Absent: the user wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The item of that session's transcript which is the call that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
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

/// Parameters of `memory/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetParams {
    /// Key of the project.
    pub project: String,
    /// The memory.
    pub id: String,
}

/// Result of `memory/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetResult {
    /// The memory.
    pub memory: Memory,
    /// Its text, without the title.
    pub text: String,
}

/// For whom something is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MemoryScope {
    /// For the sessions of the project.
    Project,
    /// For all of the user's sessions.
    User,
}

/// Parameters of `memory/put`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PutParams {
    /// Key of the project.
    pub project: String,
    /// The memory that is changed; absent: a new one.
    #[serde(default)]
    pub id: Option<String>,
    /// For whom a new one is; absent: for the project.
    #[serde(default)]
    pub scope: Option<MemoryScope>,
    /// What it says, in one line of at most 120 characters; absent: as before.
    #[serde(default)]
    pub title: Option<String>,
    /// Its text, at most 16384 bytes; absent: as before, and for a new one its title.
    #[serde(default)]
    pub text: Option<String>,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
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
    use super::{GetResult, ListResult, Memory, MemoryScope};
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

        /// One with its text.
        #[method(name = "get", param_kind = map)]
        async fn get(&self, project: String, id: String) -> jsonrpsee::core::RpcResult<GetResult>;

        /// Keeps one, or changes it.
        #[method(name = "put", param_kind = map)]
        async fn put(
            &self,
            project: String,
            id: Option<String>,
            scope: Option<MemoryScope>,
            title: Option<String>,
            text: Option<String>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Memory>;

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
