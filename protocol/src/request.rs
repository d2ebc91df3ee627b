//! Requests that were sent to models: what they shared with the one before, what they cost, and their exact bytes.

use crate::context::ItemRange;
use crate::event::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `request/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListParams {
    /// The session.
    pub session: String,
    /// Only requests before this one.
    #[serde(default)]
    pub before: Option<u64>,
    /// At most so many, the newest of them; 1 to 500, 50 when absent.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// Result of `request/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The requests, ascending.
    pub requests: Vec<RequestInfo>,
    /// Requests beside the conversation, such as for a summary, ascending; with the newest page only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side: Vec<SideInfo>,
    /// Give it as `before` for the page before this one; absent at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<u64>,
    /// All requests of the session together.
    pub total: Total,
}

/// One request beside the conversation. It is no part of the view, and has numbers of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SideInfo {
    /// Its number among the session's side requests.
    pub side: u64,
    /// What it was for: `summary`.
    pub purpose: String,
    /// When it was sent.
    pub at: i64,
    /// The epoch at that time.
    pub epoch: u64,
    /// The last item that it knew.
    pub last_item: u64,
    /// The request of the conversation that it begins with, byte for byte; absent: it stood alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<u64>,
    /// The provider's name of the model.
    pub model: String,
    /// Bytes of its body.
    pub bytes: u64,
    /// Its tokens, estimated.
    pub tokens: u64,
    /// What the provider reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// US dollars; absent when usage or price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Why it failed, or could not be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What all requests of a session come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Total {
    /// How many.
    pub requests: u64,
    /// Bytes that were sent.
    pub bytes: u64,
    /// Reported tokens.
    pub usage: Usage,
    /// Tokens that were expected to be read from the cache.
    pub cached_expected: u64,
    /// Requests that did not go on from the one before, the first not counted.
    pub breaks: u64,
    /// Requests beside the conversation; they are not among the figures above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<SideTotal>,
    /// US dollars of those with a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The day on which the price was read, `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_as_of: Option<String>,
}

/// What the requests beside a conversation come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SideTotal {
    /// How many.
    pub requests: u64,
    /// Bytes that were sent.
    pub bytes: u64,
    /// Reported tokens.
    pub usage: Usage,
    /// US dollars of those with a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestInfo {
    /// Its number in the session.
    pub request: u64,
    /// Its turn.
    pub turn: u64,
    /// Its step of the turn.
    pub step: u64,
    /// When it was sent.
    pub at: i64,
    /// Its epoch.
    pub epoch: u64,
    /// The provider's name of the model.
    pub model: String,
    /// The last item in its view.
    pub last_item: u64,
    /// Bytes of its body.
    pub bytes: u64,
    /// Its logical tokens, estimated.
    pub tokens: u64,
    /// What the provider reported; `input` is its logical tokens, `cacheRead` its cached ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Tokens that were expected to be read from the cache.
    pub cached_expected: u64,
    /// What it shares with the request before; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// Where it stopped going on from the request before.
    #[serde(default, rename = "break", skip_serializing_if = "Option::is_none")]
    pub broke: Option<Break>,
    /// US dollars; absent when usage or price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is wrong with a stored text that it was made of: it can no longer be shown or replayed as it was sent. Then
    /// `tokens` and `cachedExpected` are 0, and `kept` and `break` are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
}

/// What two requests share from their beginning on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Segments.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their estimated tokens.
    pub tokens: u64,
    /// Estimated tokens of the request before.
    pub of_tokens: u64,
}

/// A request that does not go on from the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Break {
    /// The first layer that changed, by number.
    pub layer: u8,
    /// Its name, for people.
    pub name: String,
    /// Why its epoch began.
    pub cause: String,
    /// Estimated tokens of the request before that are not kept.
    pub lost_tokens: u64,
}

/// Parameters of `request/get`. One of `request` and `side` is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetParams {
    /// The session.
    pub session: String,
    /// The request's number.
    #[serde(default)]
    pub request: Option<u64>,
    /// The number of one beside the conversation.
    #[serde(default)]
    pub side: Option<u64>,
    /// Also make its messages anew from their items and compare; of `request` only.
    #[serde(default)]
    pub check: Option<bool>,
}

/// Result of `request/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetResult {
    /// The request as in `request/list`; absent for one beside the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<RequestInfo>,
    /// The one beside the conversation as in `request/list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<SideInfo>,
    /// What the model wrote, of one beside the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The stored hash over parameters and segments, which the stored segments were compared with.
    pub hash: String,
    /// Its segments in the order of the body.
    pub segments: Vec<SegmentInfo>,
    /// What making it anew gave, when that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
}

/// One segment of a body: a tool, a block of system text, a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SegmentInfo {
    /// Its layer, by number.
    pub layer: u8,
    /// Content hash.
    pub hash: String,
    /// The hash of the chain up to it.
    pub chain: String,
    /// Its bytes, without cache marks.
    pub bytes: u64,
    /// Its estimated tokens.
    pub tokens: u64,
    /// Whether it carries a cache mark.
    pub marked: bool,
    /// The items that it was made from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemRange>,
}

/// What making the messages anew from their items gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Messages that were made and compared.
    pub messages: u64,
    /// Messages that an older version wrote; they are not compared.
    pub older: u64,
    /// Those that are not as they were sent.
    pub differences: Vec<Difference>,
}

/// A message that is not made again as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Its number among the messages after the head's, from 1.
    pub message: u64,
    /// Its items.
    pub items: Vec<ItemRange>,
    /// What is different, for people.
    pub what: String,
}

/// Parameters of `request/replay`. One of `request` and `side` is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayParams {
    /// The session.
    pub session: String,
    /// The request's number.
    #[serde(default)]
    pub request: Option<u64>,
    /// The number of one beside the conversation.
    #[serde(default)]
    pub side: Option<u64>,
    /// Where to begin, in bytes of the body; `nextOffset` of the page before.
    #[serde(default)]
    pub offset: Option<u64>,
    /// About so many bytes; 1 to 16,777,216, 4,194,304 when absent.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// Result of `request/replay`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayResult {
    /// The body from `offset` on, cut between two characters.
    pub text: String,
    /// Where `text` begins.
    pub offset: u64,
    /// Bytes of the whole body.
    pub bytes: u64,
    /// Where the next page begins; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// Parameters of `request/projections`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionsParams {
    /// The session.
    pub session: String,
    /// Over all sessions of its project.
    #[serde(default)]
    pub all: Option<bool>,
}

/// Result of `request/projections`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionsResult {
    /// By model, then by tool.
    pub projections: Vec<ProjectionInfo>,
}

/// What the shortened results of one tool saved with one model, and what of it was read again. Tokens are estimates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionInfo {
    /// The model that was sent the results.
    pub model: String,
    /// The tool.
    pub tool: String,
    /// Results that did not continue another.
    pub results: u64,
    /// Those of them that left something out.
    pub partial: u64,
    /// Partial ones of which more was asked for later.
    pub continued: u64,
    /// Tokens that these results cost in the view.
    pub tokens: u64,
    /// Tokens that they left out.
    pub saved: u64,
    /// Calls that asked for more of such a result.
    pub continuations: u64,
    /// Those of them that brought something new.
    pub with_new: u64,
    /// Tokens that they cost in the view.
    pub reread: u64,
    /// Tokens of these for what had been shown before.
    pub repeated: u64,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{GetResult, ListResult, ProjectionsResult, ReplayResult};
    use jsonrpsee::proc_macros::rpc;

    /// What was sent.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "request", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "request", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "request", namespace_separator = "/")
    )]
    pub trait RequestApi {
        /// Requests of a session.
        #[method(name = "list", param_kind = map, with_extensions)]
        async fn list(
            &self,
            session: String,
            before: Option<u64>,
            limit: Option<u32>,
        ) -> jsonrpsee::core::RpcResult<ListResult>;

        /// One of them with its segments.
        #[method(name = "get", param_kind = map, with_extensions)]
        async fn get(
            &self,
            session: String,
            request: Option<u64>,
            side: Option<u64>,
            check: Option<bool>,
        ) -> jsonrpsee::core::RpcResult<GetResult>;

        /// The exact body that was sent.
        #[method(name = "replay", param_kind = map)]
        async fn replay(
            &self,
            session: String,
            request: Option<u64>,
            side: Option<u64>,
            offset: Option<u64>,
            limit: Option<u32>,
        ) -> jsonrpsee::core::RpcResult<ReplayResult>;

        /// What shortened results saved, by model and tool.
        #[method(name = "projections", param_kind = map)]
        async fn projections(
            &self,
            session: String,
            all: Option<bool>,
        ) -> jsonrpsee::core::RpcResult<ProjectionsResult>;
    }
}

#[cfg(feature = "client")]
pub use api::RequestApiClient;
#[cfg(feature = "server")]
pub use api::RequestApiServer;
