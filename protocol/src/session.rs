//! Sessions: conversations in a project.

use crate::history::Origin;
use crate::permission::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// Key of the project.
    pub project: String,
    /// Canonical absolute paths of the project's roots.
    pub roots: Vec<String>,
    /// Its title; empty until it has one.
    pub title: String,
    /// When it was made.
    pub created_at: i64,
    /// When something last happened in it.
    pub updated_at: i64,
    /// What it does now.
    pub state: SessionState,
    /// Items in its transcript, which is the number of the last one.
    pub items: u64,
    /// Its newest durable event.
    pub last_seq: u64,
    /// Permission mode: `plan`, `ask`, `accept_edits`, `auto` or `full`.
    pub mode: String,
    /// Model as `provider/model`.
    pub model: String,
    /// Questions that wait for an answer.
    pub open_asks: Vec<Ask>,
    /// The session that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Origin>,
    /// The session whose export it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<Origin>,
    /// Lists leave it out unless they are asked for it. Absent: not.
    #[serde(default)]
    pub archived: bool,
    /// A root of its project is not there: turns are refused until it is back, or the project is relocated. Absent: not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub workspace_missing: bool,
}

/// What a session does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionState {
    /// No turn runs.
    Idle,
    /// A turn runs.
    Running,
    /// A turn waits for an answer.
    Waiting,
    /// The last turn was cut by the daemon's death.
    Interrupted,
    /// A state that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// Parameters of `session/create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateParams {
    /// Key of the project, from `project/open`.
    pub project: String,
    /// A title; absent: taken from the first prompt.
    #[serde(default)]
    pub title: Option<String>,
    /// Permission mode: `plan`, `ask`, `accept_edits`, `auto` or `full`; absent: from the configuration.
    #[serde(default)]
    pub mode: Option<String>,
    /// Model as `provider/model`; absent: from the configuration.
    #[serde(default)]
    pub model: Option<String>,
    /// Takes the place of the sentence that says what the agent is, and stays; absent: from the configuration.
    #[serde(default)]
    pub base_prompt: Option<String>,
    /// The client's key for this call; the same key again gives the same session.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `session/list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListParams {
    /// Of one project only.
    #[serde(default)]
    pub project: Option<String>,
    /// Words that all stand in the title, in any case and order.
    #[serde(default)]
    pub query: Option<String>,
    /// In one of these states only; absent or empty: in any.
    #[serde(default)]
    pub states: Option<Vec<SessionState>>,
    /// Whether archived sessions are listed; absent: `no`.
    #[serde(default)]
    pub archived: Option<Archived>,
    /// `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// At most this many, 1 to 500; absent: 50.
    #[serde(default)]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

/// Whether archived sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Archived {
    /// They are left out.
    #[default]
    No,
    /// They alone.
    Only,
    /// They too.
    Also,
}

/// Result of `session/list`: newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Where the next page begins; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `session/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetParams {
    /// The session.
    pub session: String,
}

/// Parameters of `session/rename`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenameParams {
    /// The session.
    pub session: String,
    /// The new title.
    pub title: String,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `session/archive`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveParams {
    /// The session.
    pub session: String,
    /// Whether lists leave it out from now on.
    pub archived: bool,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `session/setMode`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetModeParams {
    /// The session.
    pub session: String,
    /// The new mode: `plan`, `ask`, `accept_edits`, `auto` or `full`.
    pub mode: String,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `session/setModel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetModelParams {
    /// The session.
    pub session: String,
    /// The new model as `provider/model`.
    pub model: String,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `session/delete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteParams {
    /// The session; one that does not exist is no error.
    pub session: String,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `session/attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachParams {
    /// The session.
    pub session: String,
    /// `seq` of the last event that the client has; absent or 0: from the first event on.
    #[serde(default)]
    pub after: Option<u64>,
}

/// Parameters of `session/detach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetachParams {
    /// What `session/attach` answered.
    pub subscription: String,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{Archived, ListResult, SessionInfo, SessionState};
    use crate::Done;
    use jsonrpsee::proc_macros::rpc;

    /// Sessions.
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
    pub trait SessionApi {
        /// Makes a session.
        #[method(name = "create", param_kind = map, with_extensions)]
        async fn create(
            &self,
            project: String,
            title: Option<String>,
            mode: Option<String>,
            model: Option<String>,
            #[argument(rename = "basePrompt")] base_prompt: Option<String>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<SessionInfo>;

        /// Lists sessions, newest first.
        #[method(name = "list", param_kind = map)]
        async fn list(
            &self,
            project: Option<String>,
            query: Option<String>,
            states: Option<Vec<SessionState>>,
            archived: Option<Archived>,
            cursor: Option<String>,
            limit: Option<u32>,
        ) -> jsonrpsee::core::RpcResult<ListResult>;

        /// One session.
        #[method(name = "get", param_kind = map)]
        async fn get(&self, session: String) -> jsonrpsee::core::RpcResult<SessionInfo>;

        /// Gives a session another title.
        #[method(name = "rename", param_kind = map)]
        async fn rename(
            &self,
            session: String,
            title: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<SessionInfo>;

        /// Takes a session out of lists, or puts it back; it is kept in every other respect.
        #[method(name = "archive", param_kind = map)]
        async fn archive(
            &self,
            session: String,
            archived: bool,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<SessionInfo>;

        /// Sets a session's permission mode, from its next decision on.
        #[method(name = "setMode", param_kind = map)]
        async fn set_mode(
            &self,
            session: String,
            mode: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<SessionInfo>;

        /// Sets a session's model, from its next turn on.
        #[method(name = "setModel", param_kind = map, with_extensions)]
        async fn set_model(
            &self,
            session: String,
            model: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<SessionInfo>;

        /// Deletes a session with everything it stored; a running turn is interrupted first.
        #[method(name = "delete", param_kind = map)]
        async fn delete(
            &self,
            session: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Done>;

        /// Follows a session: what was missed since `after`, then what happens.
        #[subscription(
            name = "attach" => "event",
            unsubscribe = "detach",
            item = crate::event::SessionEvent,
            param_kind = map,
            with_extensions
        )]
        async fn attach(&self, session: String, after: Option<u64>) -> jsonrpsee::core::SubscriptionResult;
    }
}

#[cfg(feature = "client")]
pub use api::SessionApiClient;
#[cfg(feature = "server")]
pub use api::SessionApiServer;
