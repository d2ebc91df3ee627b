//! The texts of Plimsoll's own that a session's model reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose text it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TextSource {
    /// Plimsoll's.
    BuiltIn,
    /// Of the administrator, the user or the project, in the place of the built-in one.
    Own,
    /// A source that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// One text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextInfo {
    /// Its path below the folder of texts, such as `lean/system.md`.
    pub path: String,
    /// Whose it is.
    pub source: TextSource,
    /// Absolute path of an own text's file, as long as that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its size, placeholders included.
    pub bytes: u64,
}

/// Parameters of `prompt/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListParams {
    /// The session.
    pub session: String,
}

/// Result of `prompt/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The bundle: `lean` or `full`.
    pub bundle: String,
    /// What takes the place of the sentence that says what the agent is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The texts in force, by path.
    pub texts: Vec<TextInfo>,
    /// What is wrong with own texts that are not used, each with what to do.
    pub warnings: Vec<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::ListResult;
    use jsonrpsee::proc_macros::rpc;

    /// Texts.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "prompt", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "prompt", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "prompt", namespace_separator = "/")
    )]
    pub trait PromptApi {
        /// Lists the texts of a session.
        #[method(name = "list", param_kind = map, with_extensions)]
        async fn list(&self, session: String) -> jsonrpsee::core::RpcResult<ListResult>;
    }
}

#[cfg(feature = "client")]
pub use api::PromptApiClient;
#[cfg(feature = "server")]
pub use api::PromptApiServer;
