//! Checkpoints: what the agent's calls changed in files, and undoing it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `checkpoint/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListParams {
    /// The session.
    pub session: String,
    /// Only turns before this one.
    #[serde(default)]
    pub before: Option<u64>,
    /// At most so many turns; 1 to 500, 50 when absent.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// Result of `checkpoint/list`: turns that changed files, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The turns.
    pub turns: Vec<CheckpointTurn>,
    /// Give it as `before` for the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<u64>,
}

/// A turn that changed files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointTurn {
    /// The turn.
    pub turn: u64,
    /// When its first call of these began.
    pub at: i64,
    /// The first line of its prompt.
    pub prompt: String,
    /// Whether the turn can be undone as a whole now.
    pub restorable: Restorable,
    /// Its calls that changed files, in order, and the undos that came after it.
    pub calls: Vec<CheckpointCall>,
}

/// A call that changed files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointCall {
    /// The call, such as `c7`.
    pub call: String,
    /// The tool's name; `undo` for an undo.
    pub tool: String,
    /// When it came to the state in which it is.
    pub at: i64,
    /// Whether it can be undone alone now.
    pub restorable: Restorable,
    /// The files.
    pub files: Vec<CheckpointFile>,
}

/// What a call did to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointFile {
    /// Canonical path.
    pub path: String,
    /// Version before; absent when nothing was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Version after; absent when the file was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Lines added; absent when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines removed; absent when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// Whether something can be undone now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restorable {
    /// The answer.
    pub state: RestorableState,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether something can be undone now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RestorableState {
    /// Yes.
    Ready,
    /// There is nothing to undo: the files stand as before.
    AlreadySo,
    /// Some of its files cannot simply be restored.
    Blocked,
    /// A state that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// Parameters of `checkpoint/diff`. Exactly one of `turn`, `from` and `call` is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffParams {
    /// The session.
    pub session: String,
    /// Undo this turn.
    #[serde(default)]
    pub turn: Option<u64>,
    /// Undo this turn and all after it.
    #[serde(default)]
    pub from: Option<u64>,
    /// Undo this call; of an undo: do again what it undid.
    #[serde(default)]
    pub call: Option<String>,
}

/// Result of `checkpoint/diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffResult {
    /// Each file, by path, with its difference.
    pub files: Vec<RestoredFile>,
    /// Commands that ran: what they changed is not undone.
    pub commands: Vec<RanCommand>,
}

/// Parameters of `checkpoint/restore`. Exactly one of `turn`, `from` and `call` is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreParams {
    /// The session.
    pub session: String,
    /// Undo this turn.
    #[serde(default)]
    pub turn: Option<u64>,
    /// Undo this turn and all after it.
    #[serde(default)]
    pub from: Option<u64>,
    /// Undo this call; of an undo: do again what it undid.
    #[serde(default)]
    pub call: Option<String>,
    /// Leave out the files that cannot simply be restored. Without it all are restored or none.
    #[serde(default)]
    pub skip: Option<bool>,
    /// Restore also files that somebody else, or later calls, changed. What is there is kept first.
    #[serde(default)]
    pub force: Option<bool>,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: Option<bool>,
    /// The client's key for this call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Result of `checkpoint/restore`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreResult {
    /// What came of it.
    pub state: RestoreState,
    /// The undo's own call: give it to `checkpoint/restore` to take the undo back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Each file, by path.
    pub files: Vec<RestoredFile>,
    /// Commands that ran: what they changed is not undone.
    pub commands: Vec<RanCommand>,
}

/// What came of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RestoreState {
    /// The files marked `done` were restored.
    Done,
    /// The files marked `done` would be restored.
    Planned,
    /// Nothing was done, because some files cannot simply be restored.
    Refused,
    /// There is nothing to do: the files stand as before.
    Nothing,
    /// A state that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// What restoring does to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoredFile {
    /// Canonical path.
    pub path: String,
    /// What restoring it means.
    pub action: RestoreAction,
    /// Whether that may be done.
    pub verdict: FileVerdict,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it was restored, or would be.
    pub done: bool,
    /// Calls whose effect is taken back.
    pub calls: Vec<String>,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Versions that were not written by the agent and are taken away; their contents are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keeps: Vec<String>,
    /// From what is there to what would be: a unified diff without its two lines of file names. Only of `checkpoint/diff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Lines of the diff that were left out at its end.
    #[serde(default)]
    pub cut: u64,
}

/// What restoring a file means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RestoreAction {
    /// Its former content is written.
    Write,
    /// It is made again.
    Create,
    /// It is made again as a symbolic link.
    Link,
    /// It is deleted.
    Delete,
    /// Nothing.
    None,
    /// An action that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// Whether a file may be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileVerdict {
    /// It stands as the agent left it.
    Ready,
    /// It stands as it stood before.
    AlreadySo,
    /// Later calls of the session changed it further; `force` undoes them along.
    Later,
    /// Somebody else changed it; `force` restores it and keeps what is there.
    Changed,
    /// It cannot be told whether the call took effect, or what is there is no file that can be replaced.
    Unclear,
    /// The content before is no longer kept.
    Lost,
    /// It changed, or could not be written, while it was restored.
    Failed,
    /// A verdict that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// A command that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RanCommand {
    /// The call.
    pub call: String,
    /// Its text.
    pub command: String,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{DiffResult, ListResult, RestoreResult};
    use jsonrpsee::proc_macros::rpc;

    /// Undoing what the agent wrote.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "checkpoint", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "checkpoint", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "checkpoint", namespace_separator = "/")
    )]
    pub trait CheckpointApi {
        /// Turns that changed files, newest first.
        #[method(name = "list", param_kind = map)]
        async fn list(
            &self,
            session: String,
            before: Option<u64>,
            limit: Option<u32>,
        ) -> jsonrpsee::core::RpcResult<ListResult>;

        /// What undoing would change now.
        #[method(name = "diff", param_kind = map)]
        async fn diff(
            &self,
            session: String,
            turn: Option<u64>,
            from: Option<u64>,
            call: Option<String>,
        ) -> jsonrpsee::core::RpcResult<DiffResult>;

        /// Undoes what calls wrote.
        #[method(name = "restore", param_kind = map)]
        async fn restore(
            &self,
            session: String,
            turn: Option<u64>,
            from: Option<u64>,
            call: Option<String>,
            skip: Option<bool>,
            force: Option<bool>,
            #[argument(rename = "dryRun")] dry_run: Option<bool>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<RestoreResult>;
    }
}

#[cfg(feature = "client")]
pub use api::CheckpointApiClient;
#[cfg(feature = "server")]
pub use api::CheckpointApiServer;
