//! The todo list of a session.

use crate::event::Todo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `todo/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetParams {
    /// The session.
    pub session: String,
}

/// Result of `todo/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetResult {
    /// The list as it was written last; empty when it never was.
    pub todos: Vec<Todo>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::GetResult;
    use jsonrpsee::proc_macros::rpc;

    /// The todo list.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "todo", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "todo", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "todo", namespace_separator = "/")
    )]
    pub trait TodoApi {
        /// The list of a session.
        #[method(name = "get", param_kind = map)]
        async fn get(&self, session: String) -> jsonrpsee::core::RpcResult<GetResult>;
    }
}

#[cfg(feature = "client")]
pub use api::TodoApiClient;
#[cfg(feature = "server")]
pub use api::TodoApiServer;
