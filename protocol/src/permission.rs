//! Questions about permission: asked by an event, answered by a method, by any attached client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question, open until it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Its id, such as `a3`.
    pub id: String,
    /// The call it is about, such as `c7`.
    pub call: String,
    /// The turn.
    pub turn: u64,
    /// When it was asked.
    pub at: i64,
    /// The tool's name.
    pub tool: String,
    /// One line for people: what will happen when it is allowed.
    pub title: String,
    /// The command, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Canonical paths it is about.
    pub paths: Vec<String>,
    /// For edits: what would become of each file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// For a plan that is handed in: its text, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Why it is asked.
    pub reason: String,
    /// The answers offered.
    pub options: Vec<AskOption>,
    /// How it was resolved; absent while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

/// What an edit does to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Canonical path.
    pub path: String,
    /// Version before; absent when nothing is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Version after; absent when it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Unified diff without its two lines of file names.
    pub diff: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Lines of the diff that were left out at its end.
    pub cut: u64,
}

/// An answer that is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskOption {
    /// What it means.
    pub kind: OfferedChoice,
    /// For people. A choice that lasts says exactly what it stores.
    pub label: String,
    /// The rules that a choice that lasts stores, such as `run_terminal_cmd(cargo test *)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// The kinds of answers that are offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OfferedChoice {
    /// One of this version.
    Known(Choice),
    /// One that this build does not know; do not offer it.
    Other(String),
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Choice {
    /// This call.
    AllowOnce,
    /// This call, and what the option's rules cover, in this session.
    AllowSession,
    /// The same in this project from now on.
    AllowAlways,
    /// Not this call.
    Reject,
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Resolution {
    /// A client answered.
    Answered {
        /// The choice.
        choice: OfferedChoice,
        /// What the user said to a rejection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        advice: Option<String>,
    },
    /// The turn was interrupted, or the daemon restarted.
    Void,
    /// An end that this build does not know.
    #[serde(other)]
    Unknown,
}

/// Parameters of `permission/respond`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RespondParams {
    /// The session.
    pub session: String,
    /// The question.
    pub ask: String,
    /// The answer.
    pub choice: Choice,
    /// What the user says to a rejection, for the model.
    #[serde(default)]
    pub advice: Option<String>,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Result of `permission/respond`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RespondResult {
    /// Whether this answer counts; `false`: another came first. A question that is void is an error (`conflict`).
    pub accepted: bool,
}

/// Parameters of `permission/grants`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantsParams {
    /// Key of the project.
    pub project: String,
}

/// Result of `permission/grants`: oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantsResult {
    /// What the user allowed in this project until it is revoked.
    pub grants: Vec<Grant>,
}

/// Something that the user allowed for good, by the answer `allowAlways`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Its number, which is never given to another.
    pub no: u64,
    /// The rule, such as `run_terminal_cmd(cargo test *)`.
    pub rule: String,
    /// When the user allowed it.
    pub at: i64,
    /// The session in which it was asked.
    pub session: String,
    /// The call about which it was asked.
    pub call: String,
}

/// Parameters of `permission/revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevokeParams {
    /// Key of the project.
    pub project: String,
    /// Number of the grant.
    pub grant: u64,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{Choice, GrantsResult, RespondResult};
    use crate::Done;
    use jsonrpsee::proc_macros::rpc;

    /// Questions about permission.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "permission", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "permission", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "permission", namespace_separator = "/")
    )]
    pub trait PermissionApi {
        /// Answers a question. The first answer counts.
        #[method(name = "respond", param_kind = map, with_extensions)]
        async fn respond(
            &self,
            session: String,
            ask: String,
            choice: Choice,
            advice: Option<String>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<RespondResult>;

        /// Lists what the user allowed in a project until it is revoked.
        #[method(name = "grants", param_kind = map)]
        async fn grants(&self, project: String) -> jsonrpsee::core::RpcResult<GrantsResult>;

        /// Revokes one of these grants, in running turns too.
        #[method(name = "revoke", param_kind = map)]
        async fn revoke(
            &self,
            project: String,
            grant: u64,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Done>;
    }
}

#[cfg(feature = "client")]
pub use api::PermissionApiClient;
#[cfg(feature = "server")]
pub use api::PermissionApiServer;
