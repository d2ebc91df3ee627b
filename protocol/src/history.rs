//! What is done with a whole conversation: forked, taken back, exported, imported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a session comes from that did not begin empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The other session, which may be gone; of an import, its id where it was exported.
    pub session: String,
    /// The last item that is shared with it; 0 when none is.
    pub item: u64,
}

/// Parameters of `session/fork`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkParams {
    /// The session.
    pub session: String,
    /// The last item to share, at most; absent: all that is settled.
    #[serde(default)]
    pub item: Option<u64>,
    /// A title; absent: the session's own with `(fork)` behind it.
    #[serde(default)]
    pub title: Option<String>,
    /// The client's key for this call; the same key again gives the same session.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `session/rewind`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RewindParams {
    /// The session.
    pub session: String,
    /// The first turn that leaves the model's view; all later ones leave it too.
    pub turn: u64,
    /// Undo what these turns wrote, before they leave. When a file cannot simply be restored, nothing is changed.
    #[serde(default)]
    pub files: Option<bool>,
    /// With `files`: leave out the files that cannot simply be restored.
    #[serde(default)]
    pub skip: Option<bool>,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExportFormat {
    /// Everything, one JSON value per line, for `session/import`.
    Jsonl,
    /// What was said, for people.
    Markdown,
}

/// Parameters of `session/export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportParams {
    /// The session.
    pub session: String,
    /// The form.
    pub format: ExportFormat,
    /// `nextOffset` of the page before; absent: 0, the beginning.
    #[serde(default)]
    pub offset: Option<u64>,
    /// Bytes of the page, 1 to 4,194,304; absent: 1,048,576.
    #[serde(default)]
    #[schemars(range(min = 1, max = 4_194_304))]
    pub limit: Option<u32>,
}

/// Result of `session/export`: a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportResult {
    /// The text.
    pub text: String,
    /// Where it begins in the whole export, in bytes.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Where the next page begins; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// Parameters of `session/import`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportParams {
    /// Key of the project that the session will belong to.
    pub project: String,
    /// An export in the form `jsonl`, whole.
    pub data: String,
    /// The client's key for this call; the same key again gives the same session.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{ExportFormat, ExportResult};
    use crate::session::SessionInfo;
    use jsonrpsee::proc_macros::rpc;

    /// Whole conversations.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "session", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "session", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "session", namespace_separator = "/")
    )]
    pub trait HistoryApi {
        /// Makes a session that begins with what another one has said.
        #[method(name = "fork", param_kind = map)]
        async fn fork(
            &self,
            session: String,
            item: Option<u64>,
            title: Option<String>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<SessionInfo>;

        /// Takes a turn and all later ones out of the model's view, and undoes what they wrote where that is asked for.
        #[method(name = "rewind", param_kind = map)]
        async fn rewind(
            &self,
            session: String,
            turn: u64,
            files: Option<bool>,
            skip: Option<bool>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<SessionInfo>;

        /// A page of a session as text.
        #[method(name = "export", param_kind = map)]
        async fn export(
            &self,
            session: String,
            format: ExportFormat,
            offset: Option<u64>,
            limit: Option<u32>,
        ) -> jsonrpsee::core::RpcResult<ExportResult>;

        /// Makes a session of an export.
        #[method(name = "import", param_kind = map, with_extensions)]
        async fn import(
            &self,
            project: String,
            data: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<SessionInfo>;
    }
}

#[cfg(feature = "client")]
pub use api::HistoryApiClient;
#[cfg(feature = "server")]
pub use api::HistoryApiServer;
