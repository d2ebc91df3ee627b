//! The task of a session: the state of the work, which the user sees and is master of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is to be done, under which demands, and what is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// What is to be reached; empty until it was said.
    pub goal: String,
    /// What the user demanded or forbade.
    pub constraints: Vec<Constraint>,
    /// Explanations with their state; refuted ones stay.
    pub hypotheses: Vec<Hypothesis>,
    /// What is established.
    pub confirmed: Vec<Confirmed>,
    /// How far the work is.
    pub phase: Phase,
    /// What comes next; empty until it was said.
    pub next: String,
    /// Whether the user lets the work count as done without tests.
    pub waived: bool,
}

/// Something that the user demanded or forbade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Constraint {
    /// Its number within the task; never given to another.
    pub id: u32,
    /// The user's words.
    pub quote: String,
    /// The item that holds them; absent: a client set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// Rules whose calls are denied because of it, in every mode. Empty: nothing enforces it.
    pub denies: Vec<String>,
}

/// An explanation that is looked into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hypothesis {
    /// What it says.
    pub claim: String,
    /// What became of it.
    pub status: HypothesisStatus,
    /// The results that it rests on, such as `e/c7@r42`; see `evidence/get`.
    pub evidence: Vec<String>,
}

/// What became of a hypothesis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HypothesisStatus {
    /// Not decided.
    Open,
    /// It holds.
    Confirmed,
    /// It does not hold.
    Refuted,
    /// Something that a newer daemon sends.
    #[serde(untagged)]
    Other(String),
}

/// Something established.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Confirmed {
    /// What it says.
    pub claim: String,
    /// The results that it rests on.
    pub evidence: Vec<String>,
}

/// How far the work is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Finding out what is the case.
    Investigate,
    /// Making the change.
    Implement,
    /// Checking it.
    Verify,
    /// Nothing is left to do.
    Done,
    /// Something that a newer daemon sends.
    #[serde(untagged)]
    Other(String),
}

/// The last test run of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Its call.
    pub call: String,
    /// The command that ran.
    pub command: String,
    /// Whether the command ended well and no test failed.
    pub passed: bool,
    /// The revision when it began, such as `r41`.
    pub before: String,
    /// The revision when it had ended.
    pub after: String,
    /// Whether somebody else changed files meanwhile, so that it says nothing.
    pub void: bool,
    /// Whether it was limited by `target`, so that it says nothing of the other tests; absent of a run of all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Whether it says that all tests pass on the present revision.
    pub holds: bool,
    /// When it ended.
    pub at: i64,
}

/// Result of `task/get` and `task/set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskState {
    /// The task; null where there never was one.
    pub task: Option<Task>,
    /// The last test run; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Calls of which nobody knows whether they took effect.
    pub unsettled: Vec<String>,
    /// The project's revision now, as last observed.
    pub revision: String,
}

/// Parameters of `task/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetParams {
    /// The session.
    pub session: String,
}

/// Parameters of `task/set`. What is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetParams {
    /// The session.
    pub session: String,
    /// Another goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Another phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// What comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Constraints to be added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add_constraints: Option<Vec<NewConstraint>>,
    /// Numbers of constraints to be taken away, with what they deny.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove_constraints: Option<Vec<u32>>,
    /// Whether the work may count as done without tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waive: Option<bool>,
    /// The same key again changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// A constraint to be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewConstraint {
    /// The user's words.
    pub quote: String,
    /// Rules whose calls are denied; absent: those that follow from the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denies: Option<Vec<String>>,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::{NewConstraint, Phase, TaskState};
    use jsonrpsee::proc_macros::rpc;

    /// The task.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "task", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "task", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "task", namespace_separator = "/")
    )]
    pub trait TaskApi {
        /// The task of a session.
        #[method(name = "get", param_kind = map)]
        async fn get(&self, session: String) -> jsonrpsee::core::RpcResult<TaskState>;

        /// Changes it.
        #[method(name = "set", param_kind = map)]
        async fn set(
            &self,
            session: String,
            goal: Option<String>,
            phase: Option<Phase>,
            next: Option<String>,
            #[argument(rename = "addConstraints")] add_constraints: Option<Vec<NewConstraint>>,
            #[argument(rename = "removeConstraints")] remove_constraints: Option<Vec<u32>>,
            waive: Option<bool>,
            #[argument(rename = "idempotencyKey")] idempotency_key: Option<String>,
        ) -> jsonrpsee::core::RpcResult<TaskState>;
    }
}

#[cfg(feature = "client")]
pub use api::TaskApiClient;
#[cfg(feature = "server")]
pub use api::TaskApiServer;
