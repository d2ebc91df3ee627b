//! The beginning of a connection.

use crate::version::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program, for logs and for people.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Its name, such as `plimsoll.nvim`.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a client can do beyond this version's base. Nothing yet; unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {}

/// What a client asks for: over the configuration files and the `PLIMSOLL_*` variables, below parameters of single calls and
/// what an administrator has set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientOptions {
    /// Model of new sessions as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Permission mode of new sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Language of answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Model requests in one turn after which the user is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
}

/// Parameters of `initialize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Who calls.
    pub client_info: ClientInfo,
    /// The protocol version that the client was written for.
    pub protocol_version: Version,
    /// What the client can do.
    #[serde(default)]
    pub capabilities: Option<ClientCapabilities>,
    /// What counts for this connection over the user's and a project's files and the environment.
    #[serde(default)]
    pub options: Option<ClientOptions>,
}

/// The daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// Always `plimsoll`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The build; two builds of one version differ in it.
    pub build: String,
    /// Its process.
    pub pid: u32,
}

/// What this daemon offers, and what it allows on a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// The longest message in bytes, either way.
    pub max_message_bytes: u64,
    /// The most entries of a batch.
    pub max_batch: u32,
    /// The most subscriptions at a time.
    pub max_subscriptions: u32,
    /// Calls that run at a time; further ones wait in the socket.
    pub max_in_flight: u32,
    /// The methods that this daemon has, by name: what is not among them came with a later version.
    #[serde(default)]
    pub methods: Vec<String>,
}

/// Result of `initialize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The daemon.
    pub server_info: ServerInfo,
    /// The version that the daemon speaks: the same major, possibly another minor.
    pub protocol_version: Version,
    /// What the daemon allows.
    pub capabilities: ServerCapabilities,
}

/// Parameters of `shutdown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ShutdownParams {}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{ClientCapabilities, ClientInfo, ClientOptions, InitializeResult};
    use crate::Done;
    use jsonrpsee::proc_macros::rpc;

    /// The beginning of a connection.
    #[cfg_attr(all(feature = "server", feature = "client"), rpc(server, client))]
    #[cfg_attr(all(feature = "server", not(feature = "client")), rpc(server))]
    #[cfg_attr(all(feature = "client", not(feature = "server")), rpc(client))]
    pub trait LifeApi {
        /// Says who calls and learns who answers.
        #[method(name = "initialize", param_kind = map, with_extensions)]
        async fn initialize(
            &self,
            #[argument(rename = "clientInfo")] client_info: ClientInfo,
            // A text, so that a version that is not one gets an error that names it.
            #[argument(rename = "protocolVersion")] protocol_version: String,
            capabilities: Option<ClientCapabilities>,
            options: Option<ClientOptions>,
        ) -> jsonrpsee::core::RpcResult<InitializeResult>;

        /// Ends this connection in good order.
        #[method(name = "shutdown", param_kind = map, with_extensions)]
        async fn shutdown(&self) -> jsonrpsee::core::RpcResult<Done>;
    }
}

#[cfg(feature = "client")]
pub use api::LifeApiClient;
#[cfg(feature = "server")]
pub use api::LifeApiServer;
