//! One record of the transcript. Items are appended and never change.

use crate::id::{CallId, ItemNo, Revision, StepNo, TurnNo};
use crate::media::Image;
use crate::model::request::Reasoning;
use crate::time::Timestamp;
use crate::tool::outcome::Outcome;
use crate::tool::projection::Shown;
use serde::{Deserialize, Serialize};

/// An item with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its number in the session.
    pub no: ItemNo,
    /// The turn it belongs to; 0 for what stands before the first.
    pub turn: TurnNo,
    /// The step of the turn; 0 for what stands before the first model request of the turn.
    pub step: StepNo,
    /// When it was made.
    pub at: Timestamp,
    /// What it is.
    pub body: ItemBody,
}

/// The kinds of items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "results are the usual case, and items are not moved about")]
pub enum ItemBody {
    /// What the user said: a prompt, or steering while a turn runs.
    User(UserMessage),
    /// A reminder or other injection: hidden from the user, kept for the model.
    Meta(MetaMessage),
    /// Text by the model.
    Assistant(AssistantText),
    /// Reasoning by the model, with what its provider needs to take it back.
    Reasoning(Reasoning),
    /// A call as the model proposed it.
    ToolCall(ToolCall),
    /// The complete result of a call.
    ToolResult(ToolResult),
    /// What results show beside their text, gathered behind the results of a step.
    Observation(Observation),
    /// Something that clients show and the model does not see.
    Notice(Notice),
    /// The conversation went back: items before this one left the view.
    Rewind(Rewind),
}

/// What the user said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UserMessage {
    /// Verbatim.
    pub text: String,
    /// The rendered content of `<additional_data>` that was sent with it; empty for steering.
    pub additional_data: String,
    /// It joined a running turn.
    pub steering: bool,
    /// It did not fit the model's window: the user sees it, the model never did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Images that the user put beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// What it shows of files that the user attached, by canonical path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Shown>,
}

/// Images of one step's results. The images themselves are in the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// What the model reads before them, with its tags.
    pub text: String,
    /// The calls whose results hold them, in call order.
    pub calls: Vec<CallId>,
}

/// Text that Plimsoll itself puts before the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetaMessage {
    /// Why it was put there.
    pub cause: MetaCause,
    /// The text, with its `<system-reminder>` tags.
    pub text: String,
}

/// Why a meta message exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetaCause {
    /// The model's answer was cut by the connection; it is asked to go on.
    ContinueCut,
    /// The answer reached the output limit; it is asked to go on.
    OutputLimit,
    /// The previous turn did not end by itself.
    Interrupted,
    /// The outcome of earlier calls is not known.
    UnknownOperations,
    /// An instruction file changed since it was last stated.
    InstructionsChanged,
    /// Other facts that the head stated have changed.
    EnvironmentChanged,
    /// Commands in the background have ended.
    TaskEnded,
    /// The user undid what calls wrote.
    Undone,
    /// Rules are about files that were touched.
    RuleApplies,
    /// The index of memories, or the list of skills or rules, is another one.
    ListsChanged,
    /// Plan mode is on, said in full.
    PlanMode,
    /// Plan mode is still on, said in short.
    PlanModeStill,
    /// Plan mode is over.
    PlanModeLeft,
    /// The todo list was not written for long.
    TodosStale,
    /// The history was shortened: what is in force, said again.
    Compacted,
    /// The user asks to go on with the turn before, which was cut: what a turn without a prompt begins with.
    GoesOn,
}

/// Text by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssistantText {
    /// Verbatim.
    pub text: String,
    /// The stream ended before the model did.
    pub cut: bool,
}

/// A call as proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The daemon's id.
    pub call: CallId,
    /// The name as the model wrote it.
    pub tool: String,
    /// The arguments as the model wrote them, possibly not valid JSON.
    pub arguments: String,
    /// The provider's id.
    pub provider_id: Option<String>,
}

/// The result of a call. The view shows its projection, stored beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call: CallId,
    /// The tool's name, for readers of the transcript.
    pub tool: String,
    /// Everything that came out.
    pub outcome: Outcome,
    /// The project's revision when it ended.
    pub revision: Revision,
    /// Whether the revision is approximate (no watcher saw the change itself).
    pub approximate: bool,
}

/// The conversation went back to before a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewind {
    /// The first turn that left the view.
    pub turn: TurnNo,
    /// The first item that left the view; all from there up to this item did.
    pub from: ItemNo,
}

/// Something for the clients' eyes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// What kind of thing happened.
    pub cause: NoticeCause,
    /// For people.
    pub text: String,
}

/// Kinds of notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCause {
    /// The model failed; the turn ended.
    ModelError,
    /// A model call is tried again.
    Retry,
    /// The turn was interrupted by the user.
    Interrupted,
    /// The daemon died in the middle of the turn.
    Crash,
    /// The turn could not be stored.
    StoreError,
    /// A limit ended the turn.
    Limit,
    /// The model of the session changed.
    ModelChanged,
    /// What calls wrote was undone.
    Undone,
    /// The history was shortened for the model.
    Compaction,
    /// Something else worth showing.
    Info,
}
