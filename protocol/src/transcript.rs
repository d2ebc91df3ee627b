//! The transcript: all items of a session, complete, never edited.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One record of the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its number in the session, from 1 without gaps.
    pub no: u64,
    /// The turn it belongs to; 0 for what stands before the first.
    pub turn: u64,
    /// The step of the turn; 0 for what stands before the first model request of the turn.
    pub step: u64,
    /// When it was made.
    pub at: i64,
    /// The model does not see it any more: the conversation went back to before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_view: bool,
    /// What it is.
    #[serde(flatten)]
    pub body: ItemBody,
}

/// The kinds of items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ItemBody {
    /// What the user said: a prompt, or steering while a turn runs.
    User {
        /// Verbatim.
        text: String,
        /// The data about the workspace that was sent to the model with it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        additional_data: String,
        /// It joined a running turn.
        steering: bool,
        /// Images that were put beside it, without their content.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// Text that Plimsoll itself put before the model: not for the conversation's view.
    Meta {
        /// Why, such as `continueCut` or `interrupted`.
        cause: String,
        /// The text.
        text: String,
    },
    /// Text by the model.
    Assistant {
        /// Verbatim.
        text: String,
        /// The stream ended before the model did.
        cut: bool,
    },
    /// Reasoning by the model.
    Reasoning {
        /// Readable text; empty when the provider gives none.
        text: String,
    },
    /// A call as the model proposed it.
    ToolCall {
        /// Its id, such as `c7`.
        call: String,
        /// The tool's name as the model wrote it.
        tool: String,
        /// The arguments as the model wrote them, possibly not valid JSON.
        arguments: String,
    },
    /// The result of a call.
    ToolResult {
        /// The call it answers.
        call: String,
        /// The tool's name.
        tool: String,
        /// How the call ended.
        status: CallStatus,
        /// The text that the model sees of it; absent when it has none yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// What the tool knows about its result; `data.kind` says which shape it has. The reference lists the shapes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<serde_json::Value>,
        /// The project's revision when the call ended, such as `r42`.
        revision: String,
        /// Whether that revision is approximate.
        approximate: bool,
    },
    /// Images of a step's results, put before the model behind these: not for the conversation's view.
    Observation {
        /// What the model reads before them.
        text: String,
        /// The calls whose results hold them.
        calls: Vec<String>,
    },
    /// Something that clients show and the model does not see.
    Notice {
        /// What kind of thing happened, such as `retry` or `crash`.
        cause: String,
        /// For people.
        text: String,
    },
    /// The conversation went back: the items from `from` up to this one left the model's view.
    Rewind {
        /// The first turn that left it.
        before: u64,
        /// The first item that left it.
        from: u64,
    },
    /// A kind that this build does not know.
    #[serde(other)]
    Unknown,
}

/// An image, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// What it is called; may be empty.
    pub name: String,
    /// Media type, such as `image/png`.
    pub mime_type: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Content hash: BLAKE3, its first 128 bits in hexadecimal digits.
    pub hash: String,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CallStatus {
    /// It did what was asked.
    Ok,
    /// It ran and failed, or it could not begin.
    Failed,
    /// The permission was refused; it did not run.
    Denied,
    /// The user's interrupt ended it, or came before it began.
    Cancelled,
    /// The daemon died while it ran; whether it took effect is not known.
    Unknown,
    /// A status that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// Parameters of `transcript/read`. With neither `after` nor `before`: the last items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadParams {
    /// The session.
    pub session: String,
    /// Items after this number.
    #[serde(default)]
    pub after: Option<u64>,
    /// Items before this number; not together with `after`.
    #[serde(default)]
    pub before: Option<u64>,
    /// At most this many, 1 to 1,000; absent: 100.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
}

/// Result of `transcript/read`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// Items, ascending. Fewer than asked when they would be too long for one message: go on from the last (or first)
    /// one that came.
    pub items: Vec<Item>,
    /// Number of the session's last item; 0 when it has none.
    pub last: u64,
}

/// Parameters of `transcript/search`. With neither `session` nor `project`: in all sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchParams {
    /// Words that all stand in an item, in any case and order; 1 to 16 of them.
    pub query: String,
    /// In this session only.
    #[serde(default)]
    pub session: Option<String>,
    /// In the sessions of this project only; not together with `session`.
    #[serde(default)]
    pub project: Option<String>,
    /// In items of these kinds only; absent: all that belong to the conversation, so neither `meta` nor `observation`.
    #[serde(default)]
    pub kinds: Option<Vec<String>>,
    /// `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// At most this many hits, 1 to 200; absent: 50.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<u32>,
}

/// An item that holds all the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// The session.
    pub session: String,
    /// Its title; may be empty.
    pub title: String,
    /// The item's number.
    pub item: u64,
    /// Its turn.
    pub turn: u64,
    /// Its kind, such as `user`.
    pub kind: String,
    /// When it was made.
    pub at: i64,
    /// A piece of its text around a word.
    pub text: String,
    /// Where words stand in `text`, in bytes of its UTF-8: `[start, end]`, ascending.
    pub ranges: Vec<[u64; 2]>,
}

/// A project whose sessions could not be searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// Key of the project.
    pub project: String,
    /// Why.
    pub reason: String,
}

/// Result of `transcript/search`: sessions made last first, in each the last items first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The hits; may be none although more come.
    pub hits: Vec<Hit>,
    /// Where the search goes on; absent when all was looked through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How many items this call looked through.
    pub searched: u64,
    /// Projects that could not be read, each named once in a call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// Parameters of `transcript/rebuild`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RebuildParams {
    /// The session.
    pub session: String,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Result of `transcript/rebuild`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RebuildResult {
    /// The session.
    pub session: String,
    /// The transcript as a file.
    pub path: String,
    /// Its items.
    pub items: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Saved texts of results that were made again.
    pub restored: u64,
    /// Saved texts of results that are gone and cannot be made again.
    pub lost: u64,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{Page, RebuildResult, SearchResult};
    use jsonrpsee::proc_macros::rpc;

    /// The transcript.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "transcript", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "transcript", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "transcript", namespace_separator = "/")
    )]
    pub trait TranscriptApi {
        /// Reads items.
        #[method(name = "read", param_kind = map)]
        async fn read(
            &self,
            session: String,
            after: Option<u64>,
            before: Option<u64>,
            limit: Option<u32>,
        ) -> jsonrpsee::core::RpcResult<Page>;

        /// Looks for words in the transcripts of sessions.
        #[method(name = "search", param_kind = map)]
        async fn search(
            &self,
            query: String,
            session: Option<String>,
            project: Option<String>,
            kinds: Option<Vec<String>>,
            cursor: Option<String>,
            limit: Option<u32>,
        ) -> jsonrpsee::core::RpcResult<SearchResult>;

        /// Makes the files of a session that are derived from the store anew.
        #[method(name = "rebuild", param_kind = map)]
        async fn rebuild(
            &self,
            session: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<RebuildResult>;
    }
}

#[cfg(feature = "client")]
pub use api::TranscriptApiClient;
#[cfg(feature = "server")]
pub use api::TranscriptApiServer;
