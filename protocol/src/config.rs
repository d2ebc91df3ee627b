//! The configuration: what counts, who said so, and the user's own file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Parameters of `config/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetParams {
    /// A key such as `limits.max_steps_per_turn`, or a table such as `providers.local`; absent: everything.
    #[serde(default)]
    pub key: Option<String>,
    /// Key of a project whose own file counts too.
    #[serde(default)]
    pub project: Option<String>,
}

/// Result of `config/get`: as it counts for this client, in its environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetResult {
    /// Each key with what counts; null: nothing is set. Keys of providers and headers are hidden.
    pub values: BTreeMap<String, Value>,
    /// Who said so: of a list one for each entry, in its order; none where the built-in value counts.
    pub sources: BTreeMap<String, Vec<Source>>,
    /// What is odd in the files, for people; what to do follows the first semicolon.
    pub warnings: Vec<String>,
}

/// Who said something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// `user`, `project`, `environment`, `client` (the options of `initialize`) or `managed`. Later versions may add words.
    pub layer: String,
    /// Absolute path, where it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The environment variable, or the option of `initialize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Parameters of `config/set`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetParams {
    /// A key of the user's file, such as `limits.max_steps_per_turn` or `providers.local.models."qwen3:8b".images`.
    pub key: String,
    /// What to write; null takes the key out. A table may be given as a whole, as an object.
    pub value: Value,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Result of `config/set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetResult {
    /// Absolute path of the user's file.
    pub file: String,
    /// Whether it differs from before.
    pub changed: bool,
    /// What is odd in the configuration now, for people.
    pub warnings: Vec<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{GetResult, SetResult};
    use jsonrpsee::proc_macros::rpc;

    /// The configuration.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "config", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "config", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "config", namespace_separator = "/")
    )]
    pub trait ConfigApi {
        /// What counts for this client, and who said so.
        #[method(name = "get", param_kind = map, with_extensions)]
        async fn get(&self, key: Option<String>, project: Option<String>) -> jsonrpsee::core::RpcResult<GetResult>;

        /// Writes one key into the user's file, or takes it out.
        #[method(name = "set", param_kind = map)]
        async fn set(
            &self,
            key: String,
            value: serde_json::Value,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<SetResult>;
    }
}

#[cfg(feature = "client")]
pub use api::ConfigApiClient;
#[cfg(feature = "server")]
pub use api::ConfigApiServer;
