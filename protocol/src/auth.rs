//! Keys of providers. No key is ever sent to a client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A key. It is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Key(pub String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Parameters of `auth/status`: none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusParams {}

/// Result of `auth/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusResult {
    /// The configured providers, then the well-known hosts.
    pub providers: Vec<ProviderKey>,
}

/// Where the key of a provider is, for turns of this client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderKey {
    /// The provider.
    pub provider: String,
    /// `set`, `missing` or `notNeeded`.
    pub state: String,
    /// Of a key that is set: `client` (by `auth/set`), `clientEnvironment`, `daemonEnvironment`, `command` or `file`. Later
    /// versions may add words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The environment variable that holds it, or that would have to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

/// Parameters of `auth/set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetParams {
    /// The provider.
    pub provider: String,
    /// The key, for turns of this connection; null forgets it.
    #[serde(default)]
    pub key: Option<Key>,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{Key, ProviderKey, StatusResult};
    use jsonrpsee::proc_macros::rpc;

    /// Keys of providers.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "auth", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "auth", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "auth", namespace_separator = "/")
    )]
    pub trait AuthApi {
        /// Says where the key of each provider is.
        #[method(name = "status", param_kind = map, with_extensions)]
        async fn status(&self) -> jsonrpsee::core::RpcResult<StatusResult>;

        /// Gives a key for the turns of this connection, or forgets it.
        #[method(name = "set", param_kind = map, with_extensions)]
        async fn set(
            &self,
            provider: String,
            key: Option<Key>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<ProviderKey>;
    }
}

#[cfg(feature = "client")]
pub use api::AuthApiClient;
#[cfg(feature = "server")]
pub use api::AuthApiServer;
