//! The daemon itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `daemon/status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StatusParams {}

/// Result of `daemon/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatus {
    /// Its process.
    pub pid: u32,
    /// Absolute path of its socket.
    pub socket: String,
    /// Its version.
    pub version: String,
    /// Its build.
    pub build: String,
    /// When it started.
    pub started_at: i64,
    /// Connections now, the asking one included.
    pub clients: u64,
    /// Sessions that are live in memory.
    pub sessions: u64,
    /// Turns that run.
    pub turns: u64,
    /// Commands in the background that run.
    #[serde(default)]
    pub jobs: u64,
    /// Whether it ends as soon as nothing runs, to make room for another build.
    #[serde(default)]
    pub restart_pending: bool,
    /// Databases that were found damaged since it started; what could be read of them was taken over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damaged>,
}

/// A database that was damaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Damaged {
    /// Absolute path of the damaged file, which was kept as it was found.
    pub kept: String,
    /// What was wrong and what came through, for people.
    pub detail: String,
}

/// Parameters of `daemon/stop`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopParams {
    /// Whether the caller starts another daemon at once: who is connected is told to connect again.
    #[serde(default)]
    pub restart: Option<bool>,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::DaemonStatus;
    use crate::Done;
    use jsonrpsee::proc_macros::rpc;

    /// The daemon itself.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "daemon", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "daemon", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "daemon", namespace_separator = "/")
    )]
    pub trait DaemonApi {
        /// How the daemon is.
        #[method(name = "status", param_kind = map)]
        async fn status(&self) -> jsonrpsee::core::RpcResult<DaemonStatus>;

        /// Asks the daemon to end; answered before it does.
        #[method(name = "stop", param_kind = map)]
        async fn stop(
            &self,
            restart: Option<bool>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Done>;
    }
}

#[cfg(feature = "client")]
pub use api::DaemonApiClient;
#[cfg(feature = "server")]
pub use api::DaemonApiServer;
