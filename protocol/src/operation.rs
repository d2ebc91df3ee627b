//! Operations: calls with an effect, and what became of those whose end was not seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `operation/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListParams {
    /// The session.
    pub session: String,
    /// Only those in one of these states; absent or empty: in any.
    #[serde(default)]
    pub states: Option<Vec<OperationState>>,
    /// Only those that are open (`true`), or that are not (`false`); absent: both.
    #[serde(default)]
    pub unsettled: Option<bool>,
    /// Where the page before ended.
    #[serde(default)]
    pub cursor: Option<String>,
    /// At most so many; 1 to 500, 50 when absent.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// Result of `operation/list`: the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The operations.
    pub operations: Vec<Operation>,
    /// Give it as `cursor` for the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `operation/inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InspectParams {
    /// The session.
    pub session: String,
    /// The operation's call, such as `c7`.
    pub call: String,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Parameters of `operation/resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolveParams {
    /// The session.
    pub session: String,
    /// The operation's call, such as `c7`.
    pub call: String,
    /// What the user says became of it.
    pub resolution: Resolution,
    /// What the user adds; at most 2000 bytes. The model reads it.
    #[serde(default)]
    pub note: Option<String>,
    /// The client's key for this call; saying the same again changes nothing.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// What the user says became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Resolution {
    /// It took effect.
    Applied,
    /// It did not.
    NotApplied,
    /// Whatever it did, it is taken as it is.
    Accepted,
}

/// A call with an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// The call, such as `c7`.
    pub call: String,
    /// Its turn.
    pub turn: u64,
    /// The tool's name; `undo` for an undo.
    pub tool: String,
    /// What it may do: `write`, `execute`, `network` or `interact`.
    pub class: String,
    /// Canonical path of what it acts on: the file, or the folder that a command runs in.
    pub target: String,
    /// The command line, for commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where it stands.
    pub state: OperationState,
    /// When it came there.
    pub at: i64,
    /// The project's revision when it was allowed to run, such as `r42`.
    pub revision: String,
    /// A command that goes on, or went on, in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// For edits: each file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<OperationFile>,
    /// What was found out about one whose end was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// Whether nothing about it is open.
    pub settled: bool,
}

/// Where an operation stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OperationState {
    /// The model asked for it.
    Proposed,
    /// It was refused and did not run.
    Denied,
    /// It may run and has not begun.
    Approved,
    /// It may have begun.
    Running,
    /// It ended well.
    Succeeded,
    /// It ended badly.
    Failed,
    /// It was ended, or not begun, because of an interrupt.
    Cancelled,
    /// Its end was not seen, and never will be: `finding` says what is known.
    Unknown,
    /// A state that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// What an operation does to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationFile {
    /// Canonical path.
    pub path: String,
    /// Version before; absent when nothing was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Version that was intended; absent for a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What was found out about an operation whose end was not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What it says.
    pub verdict: Verdict,
    /// Who found it out.
    pub by: FoundBy,
    /// The later operation that proves it, where `by` is `later`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
    /// When.
    pub at: i64,
    /// The project's revision at which it was found.
    pub revision: String,
    /// How each file stood then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FoundFile>,
    /// What the user said to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What evidence, or the user, says of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Every file has the content that was intended.
    Applied,
    /// Every file has the content from before.
    NotApplied,
    /// Some files have the intended content, the others that from before.
    PartlyApplied,
    /// At least one file has neither.
    Changed,
    /// There is nothing to compare: a command, or a file that cannot be read.
    CannotTell,
    /// A verdict that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// Who found something out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FoundBy {
    /// The daemon, when it took the session up again.
    Recovery,
    /// `inspect_operation` or `operation/inspect`.
    Inspection,
    /// The user. It settles the operation whatever the verdict.
    User,
    /// A later operation on the same files.
    Later,
    /// Somebody whom this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// How a file of an operation stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundFile {
    /// Canonical path.
    pub path: String,
    /// What it held.
    pub stands: Stands,
    /// Its version then; absent when nothing was there or it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a file holds, beside what an operation was to make of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Stands {
    /// The intended content.
    After,
    /// The content from before.
    Before,
    /// Something else.
    Other,
    /// It cannot be read.
    Unreadable,
    /// Something that this build does not know.
    #[serde(untagged)]
    Unknown(String),
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{ListResult, Operation, OperationState, Resolution};
    use jsonrpsee::proc_macros::rpc;

    /// Operations.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "operation", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "operation", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "operation", namespace_separator = "/")
    )]
    pub trait OperationApi {
        /// Operations of a session, the newest first.
        #[method(name = "list", param_kind = map)]
        async fn list(
            &self,
            session: String,
            states: Option<Vec<OperationState>>,
            unsettled: Option<bool>,
            cursor: Option<String>,
            limit: Option<u32>,
        ) -> jsonrpsee::core::RpcResult<ListResult>;

        /// Looks anew at the files of an operation whose end was not seen, and records what is found.
        #[method(name = "inspect", param_kind = map)]
        async fn inspect(
            &self,
            session: String,
            call: String,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Operation>;

        /// Settles an operation whose end was not seen by the user's word.
        #[method(name = "resolve", param_kind = map)]
        async fn resolve(
            &self,
            session: String,
            call: String,
            resolution: Resolution,
            note: Option<String>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<Operation>;
    }
}

#[cfg(feature = "client")]
pub use api::OperationApiClient;
#[cfg(feature = "server")]
pub use api::OperationApiServer;
