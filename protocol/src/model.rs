//! Models that sessions can use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `model/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListParams {
    /// Key of a project whose own file counts too.
    #[serde(default)]
    pub project: Option<String>,
}

/// Result of `model/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The models, the default one first.
    pub models: Vec<Model>,
    /// The model of new sessions. Not among the models when it cannot be used: `config/get` and `session/create` say why.
    pub default: String,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// `provider/model`.
    pub id: String,
    /// Tokens that a request and its answer may have together.
    pub context_window: u64,
    /// Most tokens of an answer.
    pub max_output: u32,
    /// Whether it takes images.
    pub images: bool,
    /// `set`, `missing` or `notNeeded`. What a command prints counts as set; it is run when it is needed.
    pub key_state: String,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::ListResult;
    use jsonrpsee::proc_macros::rpc;

    /// Models.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "model", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "model", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "model", namespace_separator = "/")
    )]
    pub trait ModelApi {
        /// Lists the models that sessions can use.
        #[method(name = "list", param_kind = map, with_extensions)]
        async fn list(&self, project: Option<String>) -> jsonrpsee::core::RpcResult<ListResult>;
    }
}

#[cfg(feature = "client")]
pub use api::ModelApiClient;
#[cfg(feature = "server")]
pub use api::ModelApiServer;
