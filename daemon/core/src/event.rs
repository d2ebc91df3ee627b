//! What happened, for clients. Durable events have a number, are committed with the items they speak of and refer to
//! them; transient ones are deltas that nobody needs later.

use crate::id::{AskId, CallId, EpochNo, ItemNo, Revision, Seq, StepNo, TurnNo};
use crate::model::usage::Usage;
use crate::time::Timestamp;
use crate::tool::outcome::Exit;
use serde::{Deserialize, Serialize};

/// A durable event with its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number in the session.
    pub seq: Seq,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub body: EventBody,
}

/// What happened. Payload is referred to, never repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// A turn began.
    TurnStarted {
        /// The turn.
        turn: TurnNo,
    },
    /// A prompt waits until the running turn has ended.
    TurnQueued {
        /// The turn that it will be.
        turn: TurnNo,
    },
    /// An item was appended.
    ItemAdded {
        /// The item.
        item: ItemNo,
    },
    /// A call needs an answer before it runs. The request itself is an [`Ask`].
    PermissionAsked {
        /// The question.
        ask: AskId,
        /// The call it is about.
        call: CallId,
    },
    /// The question was answered, or became void.
    PermissionResolved {
        /// The question.
        ask: AskId,
        /// The call it is about.
        call: CallId,
    },
    /// A call began to run.
    ToolStarted {
        /// The call.
        call: CallId,
        /// One line for people.
        title: String,
    },
    /// A command that went on in the background has ended.
    TaskEnded {
        /// The call that started it.
        call: CallId,
        /// How it ended; none when that was not seen.
        exit: Option<Exit>,
        /// Wall time in milliseconds; 0 when its end was not seen.
        duration_ms: u64,
    },
    /// The todo list changed; it stands in the result of this call.
    PlanChanged {
        /// The call whose result holds the list.
        call: CallId,
    },
    /// A model request is about to be sent.
    StepStarted {
        /// The turn.
        turn: TurnNo,
        /// The step.
        step: StepNo,
        /// Estimated tokens of the request.
        tokens: u64,
        /// The model's window.
        window: u64,
    },
    /// A model request was answered.
    StepCompleted {
        /// The turn.
        turn: TurnNo,
        /// The step.
        step: StepNo,
        /// Reported usage.
        usage: Option<Usage>,
    },
    /// The turn ended.
    TurnCompleted {
        /// The turn.
        turn: TurnNo,
        /// Why.
        reason: TurnEnd,
        /// Usage of all its requests.
        usage: Usage,
        /// Price in the catalogue's currency (US dollars); none when a price is not known.
        cost: Option<f64>,
        /// Calls of this session whose outcome is unknown.
        unsettled: Vec<CallId>,
        /// Text for people when the end was not a good one.
        message: Option<String>,
        /// What the host knows of the work, whatever the model says.
        #[serde(default)]
        facts: TurnFacts,
    },
    /// What is known of an operation changed outside a turn's own calls: it was inspected, or the user settled it.
    OperationChanged {
        /// Its call.
        call: CallId,
    },
    /// The task changed; the session's own record has it.
    TaskChanged,
    /// The view is about to be compacted, and the conversation waits for it.
    CompactionStarted {
        /// Why.
        cause: CompactionCause,
    },
    /// That is over: an epoch was opened, or the view is as it was.
    CompactionFinished {
        /// The epoch; none when nothing was done.
        epoch: Option<EpochNo>,
        /// What was done; none when nothing was.
        facts: Option<SwitchFacts>,
        /// For people, when nothing was done: why.
        message: Option<String>,
    },
    /// Title, mode or model of the session changed; the session's own record has the new values.
    SessionChanged,
}

/// What the host knows when a turn ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnFacts {
    /// Files that the turn's calls changed, as canonical absolute paths in text form, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The session's last test run; none when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verified>,
}

/// The last test run, beside the revision at a turn's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Its call.
    pub call: CallId,
    /// Whether the tests passed, undisturbed.
    pub passed: bool,
    /// The revision that it speaks of.
    pub revision: Revision,
    /// Whether that is the revision now.
    pub current: bool,
    /// Whether it was limited by `target`, so that it says nothing of the other tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// What a compaction did, for people and for the inspector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwitchFacts {
    /// Why it was done.
    pub cause: CompactionCause,
    /// What was done, in this order.
    pub levels: Vec<Level>,
    /// Tokens of the next request before it, as they were known.
    pub before: u64,
    /// And after it, estimated.
    pub after: u64,
    /// What the model could take at a load of 1.
    pub usable: u64,
    /// The first message behind the head that is another one than before.
    pub first_changed: u64,
    /// Where the summary is from, when it made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummarySource>,
    /// Milliseconds that the conversation stood still for it.
    pub waited_ms: u64,
}

/// Why a compaction was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionCause {
    /// The load passed a line.
    Load,
    /// By hand.
    Manual,
    /// So many turns had passed as the settings say.
    Turns,
    /// The provider refused a request as too long.
    TooLong,
    /// The model's window is smaller than the one before.
    ModelChanged,
    /// The provider's cache had gone cold, and it was pending.
    Cold,
}

/// What a compaction can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Old results are cut.
    Snip,
    /// Old turns are shown as a line each.
    Prune,
    /// The beginning is summarised.
    Summarize,
}

/// Where a summary is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummarySource {
    /// The session's model, on its own prefix.
    Fork,
    /// A call of its own.
    Independent,
    /// The store alone: no model gave one that could be used.
    Host,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model is done.
    EndTurn,
    /// The answer reached the output limit, also after it was asked to go on.
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
    /// The daemon died while it ran.
    Crashed,
    /// A fault of Plimsoll's own.
    Internal,
}

/// A question to the clients, durable until it is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// The call it is about.
    pub call: CallId,
    /// The turn.
    pub turn: TurnNo,
    /// When it was asked.
    pub at: Timestamp,
    /// The tool's name.
    pub tool: String,
    /// One line for people: what will happen when it is allowed.
    pub title: String,
    /// The command, where it is one.
    pub command: Option<String>,
    /// Canonical paths it is about.
    pub paths: Vec<String>,
    /// For edits: what would change, per file.
    #[serde(default)]
    pub changes: Vec<crate::tool::call::FileChange>,
    /// The plan that is handed in, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Why it is asked.
    pub reason: String,
    /// The operation whose end was not seen and that it would do again, where it is asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<CallId>,
    /// The answers offered.
    pub options: Vec<AskOption>,
    /// How it was resolved; none while it is open.
    pub resolution: Option<AskResolution>,
}

/// An answer that is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskOption {
    /// What it means.
    pub kind: AskChoice,
    /// For people. A choice that lasts says exactly what it stores.
    pub label: String,
    /// The rules that a choice that lasts stores, in their text form.
    #[serde(default)]
    pub rules: Vec<String>,
}

/// The kinds of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskChoice {
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskResolution {
    /// A client answered.
    Answered {
        /// The choice.
        choice: AskChoice,
        /// What the user said to a rejection, for the model.
        advice: Option<String>,
    },
    /// The turn was interrupted, or the daemon restarted.
    Void,
}

/// A block of the answer that is still being written, or output of a running call. Offsets are bytes of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text of the answer.
    Text {
        /// The turn.
        turn: TurnNo,
        /// The step.
        step: StepNo,
        /// The block within the step.
        block: u32,
        /// What is appended.
        text: String,
    },
    /// Reasoning.
    Reasoning {
        /// The turn.
        turn: TurnNo,
        /// The step.
        step: StepNo,
        /// The block within the step.
        block: u32,
        /// What is appended.
        text: String,
    },
    /// Output of a running command.
    Output {
        /// The call.
        call: CallId,
        /// What is appended.
        text: String,
    },
}
