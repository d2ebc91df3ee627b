//! What the user's editor shows, told by the editor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file in an editor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditorFile {
    /// Absolute path, or one relative to the first root.
    pub path: String,
    /// Its lines, when known.
    #[serde(default)]
    pub total_lines: Option<u64>,
    /// Whether it is open now, or was viewed before.
    #[serde(default)]
    pub open: bool,
    /// Whether it has the focus.
    #[serde(default)]
    pub focused: bool,
    /// Whether it has unsaved changes.
    #[serde(default)]
    pub unsaved: bool,
    /// Line of the cursor, from 1.
    #[serde(default)]
    pub cursor_line: Option<u64>,
    /// The selected lines.
    #[serde(default)]
    pub selection: Option<LineRange>,
}

/// Lines, both ends included, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LineRange {
    /// The first.
    pub start: u64,
    /// The last.
    pub end: u64,
}

/// Parameters of `editor/state`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateParams {
    /// Key of the project.
    pub project: String,
    /// Open and recently viewed files, the most recent first. Replaces what this connection said before.
    pub files: Vec<EditorFile>,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::EditorFile;
    use crate::Done;
    use jsonrpsee::proc_macros::rpc;

    /// What the user's editor shows.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "editor", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "editor", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "editor", namespace_separator = "/")
    )]
    pub trait EditorApi {
        /// Says what this editor shows in a project. Forgotten when the connection ends.
        #[method(name = "state", param_kind = map, with_extensions)]
        async fn state(
            &self,
            project: String,
            files: Vec<EditorFile>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Done>;
    }
}

#[cfg(feature = "client")]
pub use api::EditorApiClient;
#[cfg(feature = "server")]
pub use api::EditorApiServer;
