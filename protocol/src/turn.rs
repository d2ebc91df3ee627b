//! Turns: one prompt and all that follows until the agent yields.

use crate::editor::LineRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to do when a turn already runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WhenBusy {
    /// Wait behind it.
    #[default]
    Queue,
    /// Refuse with kind `busy`.
    Refuse,
}

/// Something beside a prompt's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Attachment {
    /// A file, which is read when the turn begins. An image file is shown as an image.
    File {
        /// Absolute path, or one relative to the project's first root.
        path: String,
        /// The lines that are meant; absent: all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<LineRange>,
    },
    /// A text that the client gives itself, such as a selection or an unsaved buffer; at most 262144 bytes.
    Text {
        /// What it is called, such as a path.
        name: String,
        /// The text.
        text: String,
    },
    /// An image: PNG, JPEG, GIF or WebP. Over 5 MB or 8000 pixels a side it is named instead of shown.
    Image {
        /// What it is called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Media type, such as `image/png`.
        mime_type: String,
        /// Base64.
        data: String,
    },
    /// A session of the same project: what it is about, as `@session:<id>` in the text does it.
    Session {
        /// Its id.
        session: String,
    },
}

/// Parameters of `turn/start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartParams {
    /// The session.
    pub session: String,
    /// What the user says; not blank.
    pub text: String,
    /// What to do when a turn already runs; absent: `queue`.
    #[serde(default)]
    pub when_busy: Option<WhenBusy>,
    /// Rules that the user allows for this turn, such as `run_terminal_cmd(cargo test *)`; at most 100.
    #[serde(default)]
    pub allow: Option<Vec<String>>,
    /// What the user puts beside the text, in order; at most 64.
    #[serde(default)]
    pub attachments: Option<Vec<Attachment>>,
    /// The session's permission mode from now on, as `session/setMode` sets it; absent: it stays.
    #[serde(default)]
    pub mode: Option<String>,
    /// The session's model from now on, as `session/setModel` sets it; absent: it stays.
    #[serde(default)]
    pub model: Option<String>,
    /// The client's key for this prompt; the same key again is the same turn.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Result of `turn/start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedTurn {
    /// The turn that it is, or will be.
    pub turn: u64,
    /// Whether it waits behind a running one.
    pub queued: bool,
}

/// Parameters of `turn/steer`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SteerParams {
    /// The session.
    pub session: String,
    /// What the user adds; not blank.
    pub text: String,
    /// The client's key for this call; the same key again adds nothing.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `turn/cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelParams {
    /// The session.
    pub session: String,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `turn/continue`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContinueParams {
    /// The session.
    pub session: String,
    /// The client's key for this call; the same key again is the same turn.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{AcceptedTurn, Attachment, WhenBusy};
    use crate::Done;
    use jsonrpsee::proc_macros::rpc;

    /// Turns.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "turn", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "turn", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "turn", namespace_separator = "/")
    )]
    pub trait TurnApi {
        /// Asks for a turn. Answered when it is accepted; its end is the event `turnCompleted`.
        #[method(name = "start", param_kind = map, with_extensions)]
        async fn start(
            &self,
            session: String,
            text: String,
            #[argument(rename = "whenBusy")] when_busy: Option<WhenBusy>,
            allow: Option<Vec<String>>,
            attachments: Option<Vec<Attachment>>,
            mode: Option<String>,
            model: Option<String>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<AcceptedTurn>;

        /// Adds to the running turn; without one it is a prompt.
        #[method(name = "steer", param_kind = map, with_extensions)]
        async fn steer(
            &self,
            session: String,
            text: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Done>;

        /// Interrupts the running turn; answered when it is over, at once when none runs.
        #[method(name = "cancel", param_kind = map)]
        async fn cancel(
            &self,
            session: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Done>;

        /// Goes on with the last turn, which was cut: a new turn without a prompt. Answered as `turn/start` is.
        #[method(name = "continue", param_kind = map, with_extensions)]
        async fn go_on(
            &self,
            session: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<AcceptedTurn>;
    }
}

#[cfg(feature = "client")]
pub use api::TurnApiClient;
#[cfg(feature = "server")]
pub use api::TurnApiServer;
