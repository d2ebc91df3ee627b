//! The next request of a session, and what a prompt would send: every byte with the layer and the origin that it has.

use crate::editor::LineRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `context/inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InspectParams {
    /// The session.
    pub session: String,
}

/// Parameters of `context/preview`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewParams {
    /// The session.
    pub session: String,
    /// The prompt; empty when absent.
    #[serde(default)]
    pub text: Option<String>,
    /// Files that would be put beside it; at most 100.
    #[serde(default)]
    pub files: Option<Vec<PreviewFile>>,
    /// Model as `provider/model`; the session's when absent.
    #[serde(default)]
    pub model: Option<String>,
}

/// A file that would be put beside a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewFile {
    /// Absolute path, or one relative to the project's first root.
    pub path: String,
    /// These lines only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineRange>,
}

/// Result of `context/inspect` and of `context/preview`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// The session.
    pub session: String,
    /// Which request this is.
    pub of: InspectedOf,
    /// Its number, when it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    /// The model that it is for, as `provider/model`.
    pub model: String,
    /// Why nothing would be sent, for people. Then there are no layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Why a new epoch would begin with it; absent while the present one goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<String>,
    /// Bytes of its body: exactly the sum over all parts.
    pub bytes: u64,
    /// Its tokens as the load counts them: what the provider reported last, and estimates of what came since.
    pub tokens: u64,
    /// The window.
    pub window: Window,
    /// The layers in their order.
    pub layers: Vec<LayerInfo>,
    /// What of the history it shows in short; absent where it shows all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<Shortened>,
    /// Items that came since, while a turn runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    /// What its input costs in US dollars with the expected cache; absent when the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The day on which the price was read, `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_as_of: Option<String>,
}

/// What of the history the model sees in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shortened {
    /// Results that are shown cut.
    pub results_cut: u64,
    /// The last turn that is shown as one line, or in part; the user's own messages are whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_through: Option<u64>,
    /// The summary of the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// What the last compaction did; absent where it has left the view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastCompaction>,
}

/// The summary that stands for the beginning of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Bytes of its text.
    pub bytes: u64,
    /// The last turn that it stands for.
    pub through_turn: u64,
    /// The last step of that turn; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through_step: Option<u64>,
    /// The last item that it stands for.
    pub last_item: u64,
}

/// What a compaction did. The words are those of the event `compactionFinished`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastCompaction {
    /// The epoch that it opened.
    pub epoch: u64,
    /// When.
    pub at: i64,
    /// Why.
    pub cause: String,
    /// What was done.
    pub levels: Vec<String>,
    /// Tokens of the next request before it.
    pub before: u64,
    /// And after it, estimated.
    pub after: u64,
    /// What the model could take at a load of 1.
    pub usable: u64,
    /// Tokens in the provider's cache that were of no use any more.
    pub given_up: u64,
    /// Where the summary is from, when it wrote one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Milliseconds that the conversation stood still for it.
    pub waited_ms: u64,
}

/// Parameters of `context/compact`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactParams {
    /// The session.
    pub session: String,
    /// What a summary should keep above all, in the user's words; at most 4,000 bytes.
    #[serde(default)]
    pub focus: Option<String>,
    /// Calls with the same key, in this session, begin one compaction.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Result of `context/compact`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactResult {
    /// It has begun, or is done before the running turn's next request; its end is an event.
    pub started: bool,
}

/// Which request is inspected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum InspectedOf {
    /// The one that this prompt would send.
    Next,
    /// The one that was sent last; a turn runs.
    Last,
    /// A word that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// The window of a model, in tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// All of it.
    pub tokens: u64,
    /// Kept for the answer.
    pub output_reserve: u64,
    /// Kept for the results of the next step.
    pub results_room: u64,
    /// The request's tokens over what is left.
    pub load: f64,
    /// Loads at which something is done about it.
    pub lines: Vec<f64>,
}

/// One layer of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LayerInfo {
    /// Its number; 0 for the parameters and what is around everything.
    pub layer: u8,
    /// Its name, for people.
    pub name: String,
    /// Its bytes in the body.
    pub bytes: u64,
    /// Its estimated tokens.
    pub tokens: u64,
    /// Of these, expected to be read from the provider's cache.
    pub cache_read: u64,
    /// Of these, expected to be written to it.
    pub cache_write: u64,
    /// Its parts, in the order in which the first of each kind stands in the body.
    pub parts: Vec<PartInfo>,
}

/// What came from one origin in one layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartInfo {
    /// Where it came from.
    pub origin: String,
    /// What of it: a tool, a block, a call, a cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file that it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its bytes in the body.
    pub bytes: u64,
    /// Its estimated tokens.
    pub tokens: u64,
    /// The items that it was made from, as ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemRange>,
}

/// Items from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemRange {
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
}

/// What came after the inspected request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Since {
    /// The items.
    pub items: Vec<ItemRange>,
    /// Their estimated tokens in the view.
    pub tokens: u64,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{CompactResult, Inspection, PreviewFile};
    use jsonrpsee::proc_macros::rpc;

    /// What the model sees.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "context", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "context", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "context", namespace_separator = "/")
    )]
    pub trait ContextApi {
        /// The next request; while a turn runs, the last one.
        #[method(name = "inspect", param_kind = map, with_extensions)]
        async fn inspect(&self, session: String) -> jsonrpsee::core::RpcResult<Inspection>;

        /// What a prompt would send.
        #[method(name = "preview", param_kind = map, with_extensions)]
        async fn preview(
            &self,
            session: String,
            text: Option<String>,
            files: Option<Vec<PreviewFile>>,
            model: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Inspection>;

        /// Has the history shortened for the model.
        #[method(name = "compact", param_kind = map, with_extensions)]
        async fn compact(
            &self,
            session: String,
            focus: Option<String>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<CompactResult>;
    }
}

#[cfg(feature = "client")]
pub use api::ContextApiClient;
#[cfg(feature = "server")]
pub use api::ContextApiServer;
