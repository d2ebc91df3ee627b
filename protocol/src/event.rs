//! What an attached client is told, in order, by the notification `session/event`.
//!
//! Durable events have a `seq`, per session, from 1 without gaps; they are stored and come again after an attach from
//! an earlier `seq`. The others (deltas, output, `closed`) are seen once or never: whatever they showed stands in the
//! item that follows.

use crate::permission::Ask;
use crate::session::SessionInfo;
use crate::transcript::Item;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The notification by which events come.
pub const NOTIFICATION: &str = "session/event";

/// An event with its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEvent {
    /// The session.
    pub session: String,
    /// Its number, for durable events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it happened, for durable events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// The last test run, beside the revision at a turn's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Its call.
    pub call: String,
    /// Whether the tests passed, undisturbed.
    pub passed: bool,
    /// The revision that it speaks of, such as `r42`.
    pub revision: String,
    /// Whether that is the revision now.
    pub current: bool,
    /// Whether it was limited by `target`, so that it says nothing of the other tests; absent of a run of all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// Durable. A turn began.
    TurnStarted {
        /// The turn.
        turn: u64,
    },
    /// Durable. A prompt waits until the running turn has ended.
    TurnQueued {
        /// The turn that it will be.
        turn: u64,
    },
    /// Durable. An item was appended to the transcript.
    ItemAdded {
        /// The item.
        item: Box<Item>,
    },
    /// Durable. A call waits for an answer; see `permission/respond`.
    PermissionAsked {
        /// The question. It carries its resolution when it is already answered.
        ask: Ask,
    },
    /// Durable. A question was answered, or became void.
    PermissionResolved {
        /// The question with its resolution.
        ask: Ask,
    },
    /// Durable. A call began to run.
    ToolStarted {
        /// The call.
        call: String,
        /// One line for people.
        title: String,
    },
    /// Durable. A command that went on in the background has ended.
    TaskEnded {
        /// The call that started it.
        call: String,
        /// How, as in the data of a command's result; absent when that was not seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<serde_json::Value>,
        /// Wall time in milliseconds; 0 when the end was not seen.
        duration_ms: u64,
    },
    /// Transient. A running command printed something.
    ToolOutput {
        /// The call.
        call: String,
        /// Bytes of its output before `text`.
        offset: u64,
        /// What was printed.
        text: String,
    },
    /// Transient. More text of the answer that is being written.
    TextDelta {
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
        /// The block within the step, from 0.
        block: u32,
        /// Bytes of the block before `text`.
        offset: u64,
        /// What is appended.
        text: String,
    },
    /// Transient. More of the reasoning that is being written.
    ReasoningDelta {
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
        /// The block within the step, from 0.
        block: u32,
        /// Bytes of the block before `text`.
        offset: u64,
        /// What is appended.
        text: String,
    },
    /// Durable. The todo list changed; this is all of it.
    PlanChanged {
        /// The call that changed it.
        call: String,
        /// The list.
        todos: Vec<Todo>,
    },
    /// Durable. A model request is about to be sent.
    StepStarted {
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
        /// Estimated tokens of the request.
        tokens: u64,
        /// Tokens that the model's window has.
        window: u64,
        /// `tokens` / `window`; 0 when the window is not known.
        load: f64,
    },
    /// Durable. A model request was answered.
    StepCompleted {
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
        /// What the provider reported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// Durable. The turn ended.
    TurnCompleted {
        /// The turn.
        turn: u64,
        /// Why.
        stop_reason: StopReason,
        /// Tokens of all its requests.
        usage: Usage,
        /// Price in US dollars; absent when a price is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Calls of this session whose outcome is unknown.
        unsettled: Vec<String>,
        /// For people, when the end was not a good one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Files that the turn's calls changed: absolute paths, each once.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// The session's last test run; absent when there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verification: Option<Verified>,
    },
    /// Durable. What is known of an operation changed; see `operation/inspect`.
    OperationChanged {
        /// Its call.
        call: String,
    },
    /// Durable. The task changed; see `task/get`.
    TaskChanged {},
    /// Durable. The history is about to be shortened for the model, and the conversation waits for it.
    CompactionStarted {
        /// Why: `load`, `manual`, `turns`, `tooLong`, `modelChanged` or `cold`; there may be others.
        cause: String,
    },
    /// Durable. That is over; without `epoch` nothing was shortened.
    CompactionFinished {
        /// The epoch that it opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<u64>,
        /// What was done, in this order: `snip` (old results are cut), `prune` (old turns are a line each), `summarize`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        levels: Vec<String>,
        /// Tokens of the next request before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// And after it, estimated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
        /// The difference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        freed: Option<u64>,
        /// What the model can take at a load of 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usable: Option<u64>,
        /// Tokens in the provider's cache that are of no use any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given_up: Option<u64>,
        /// Where a summary that was written is from: `fork` (the session's model, on its own prefix), `independent` (a call of
        /// its own) or `host` (the store alone).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Milliseconds that the conversation stood still for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_ms: Option<u64>,
        /// For people: why nothing was shortened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Durable. Title, mode or model of the session changed.
    SessionChanged {
        /// The session as it is now; absent when it was deleted meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        info: Option<Box<SessionInfo>>,
    },
    /// Transient. The daemon ends as soon as nothing runs, to make room for another build; `closed` follows then.
    RestartPending {
        /// The build, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        build: Option<String>,
    },
    /// Transient, and the last of its subscription: attach again from the last `seq` that came.
    Closed {
        /// Why.
        reason: CloseReason,
        /// The same for people.
        message: String,
    },
    /// An event that this build does not know. Its `seq` counts.
    #[serde(other)]
    Unknown,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model is done.
    EndTurn,
    /// The answer reached the output limit.
    MaxTokens,
    /// The turn reached its limit of steps.
    MaxSteps,
    /// Another limit ended it: the session's cost, or the same call over and over.
    Limit,
    /// The model or a filter refused.
    Refusal,
    /// The user interrupted.
    Cancelled,
    /// The model could not be reached, or failed.
    ModelError,
    /// The store could not be written.
    StoreError,
    /// The daemon died while the turn ran.
    Crashed,
    /// A fault of Plimsoll's own.
    Internal,
    /// A reason that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// Why a subscription ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CloseReason {
    /// Somebody stopped the daemon: connect again when the user needs it.
    DaemonStopped,
    /// The daemon ends and another one may follow, at an upgrade or a restart for example: connect again.
    DaemonEnds,
    /// The session was deleted.
    SessionDeleted,
    /// What works for the session has ended: attach again.
    SessionEnded,
    /// Events cannot be read, or how a turn ended cannot be written now: attach again.
    StoreFailed,
    /// A reason that this build does not know: attach again.
    #[serde(untagged)]
    Other(String),
}

/// Tokens. `input` is everything that was sent, cached parts included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All tokens sent.
    pub input: u64,
    /// Of these, read from the provider's cache.
    pub cache_read: u64,
    /// Of these, written to the provider's cache.
    pub cache_write: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
}

/// One entry of the todo list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// The model's own id for it.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// States of a todo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
    /// A state that this build does not know.
    #[serde(untagged)]
    Other(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_a_newer_daemon_are_survived() {
        let newer = r#"{"session":"s","seq":9,"at":1,"type":"moonRose","phase":"full"}"#;
        assert_eq!(
            serde_json::from_str::<SessionEvent>(newer).unwrap(),
            SessionEvent { session: "s".into(), seq: Some(9), at: Some(1), event: Event::Unknown }
        );
        let item =
            r#"{"session":"s","seq":1,"type":"itemAdded","item":{"no":1,"turn":1,"step":0,"at":5,"kind":"new"}}"#;
        let SessionEvent { event: Event::ItemAdded { item }, .. } = serde_json::from_str(item).unwrap() else {
            panic!("not an item");
        };
        assert_eq!(item.body, crate::transcript::ItemBody::Unknown);
        let end = r#"{"turn":1,"type":"turnCompleted","stopReason":"bored","unsettled":[],"extra":[1],
            "usage":{"input":1,"cacheRead":0,"cacheWrite":0,"output":2,"dreams":3}}"#;
        assert_eq!(
            serde_json::from_str::<Event>(end).unwrap(),
            Event::TurnCompleted {
                turn: 1,
                stop_reason: StopReason::Other("bored".into()),
                usage: Usage { input: 1, cache_read: 0, cache_write: 0, output: 2 },
                cost: None,
                unsettled: vec![],
                message: None,
                files: vec![],
                verification: None,
            }
        );
    }
}
