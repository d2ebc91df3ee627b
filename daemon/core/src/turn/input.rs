//! What can happen to a session. Every input carries its time; the machine makes none.

pub use super::phase::task::Citations;
use crate::compaction::history::History;
use crate::event::{AskChoice, TurnEnd};
use crate::id::{AskId, CallId, RequestNo, Revision, SideNo, TurnNo};
use crate::ledger::{Operation, ProcessMark, SeenFile};
use crate::model::error::ModelError;
use crate::model::event::ModelEvent;
use crate::task::Task;
use crate::time::Timestamp;
use crate::tool::account::Account;
use crate::tool::call::Prepared;
use crate::tool::outcome::{Outcome, TaskEnd};
use crate::workspace::{Attachment, Environment};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// When.
    pub at: Timestamp,
    /// What.
    pub body: InputBody,
}

/// The kinds of inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum InputBody {
    /// A client asks for a turn. Begins it, or queues it behind the running one.
    Prompt(Prompt),
    /// A client adds to the running turn; joins at the next step. Without a running turn it is a prompt.
    Steer(String),
    /// A client interrupts the running turn.
    Cancel,
    /// The session is about to be closed: the running turn is interrupted, and those that wait never begin.
    Close,
    /// Title or mode of the session were changed in its record.
    SessionChanged,
    /// A client set the task, which is stored with this.
    SetTask(Box<Task>),
    /// Files were undone, or are about to be: the record of it, and at its end what people and the model are told. Comes
    /// only while no turn runs.
    Undo {
        /// The record.
        operation: Operation,
        /// A notice for people, and a reminder for the model.
        told: Option<(String, String)>,
    },
    /// What is known of an operation whose end was not seen is this now: a client had it looked at, or the user settled it.
    Found(Box<Operation>),
    /// A client asks for a compaction now.
    Compact {
        /// What the summary should keep above all, in the user's words.
        focus: Option<String>,
    },
    /// What `Effect::LoadHistory` found; an error is text for people, and nothing is compacted.
    History(Box<Result<History, String>>),
    /// The stream of a request beside the conversation says something. Of another than the running one: ignored.
    Side {
        /// The request.
        no: SideNo,
        /// What it says.
        event: ModelEvent,
    },
    /// Such a stream ended without `Finished`, or never began.
    SideFailed {
        /// The request.
        no: SideNo,
        /// Why.
        error: ModelError,
    },
    /// A client answers a question. Late and repeated answers are ignored.
    Answer {
        /// The question.
        ask: AskId,
        /// The answer.
        choice: AskChoice,
        /// What the user said to a rejection.
        advice: Option<String>,
    },
    /// What `Effect::Collect` found. Of another turn than the one that waits for it: ignored.
    Environment {
        /// The turn.
        turn: TurnNo,
        /// The surroundings.
        environment: Box<Environment>,
    },
    /// A batch could not be committed; what followed it was not done. The text is for people.
    CommitFailed(String),
    /// The model's stream says something. Of another request than the running one: ignored.
    Model {
        /// The request.
        request: RequestNo,
        /// What it says.
        event: ModelEvent,
    },
    /// The model's stream ended without `Finished`, or never began.
    ModelFailed {
        /// The request.
        request: RequestNo,
        /// Why.
        error: ModelError,
    },
    /// What `Effect::Prepare` found; an error is text for the model, and the call does not run.
    Prepared {
        /// The call.
        call: CallId,
        /// The facts.
        result: Result<Prepared, String>,
    },
    /// A running command's process is known.
    ToolProcess {
        /// The call.
        call: CallId,
        /// The process.
        process: ProcessMark,
    },
    /// A tool ended. Every `Effect::Run` is answered by exactly one of these, also after `Effect::StopTool`.
    ToolFinished {
        /// The call.
        call: CallId,
        /// What it gave.
        outcome: Outcome,
        /// The project's revision now.
        revision: Revision,
    },
    /// A command in the background has ended. Of a call that has none running: ignored.
    TaskEnded(TaskEnd),
    /// What `Effect::LoadResult` found; an error is text for the model.
    ResultLoaded {
        /// The call that asked for it.
        call: CallId,
        /// The saved outcome of the call that its cursor names.
        result: Result<Box<Outcome>, String>,
    },
    /// What became of `Effect::SaveText`: the file's absolute path in text form, or why it could not be saved.
    TextSaved {
        /// The call that gave the text.
        call: CallId,
        /// The path.
        result: Result<String, String>,
    },
    /// What `Effect::ReadPlan` found: the text, or none where no file is; an error is text for the model.
    PlanRead {
        /// The call that asked for it.
        call: CallId,
        /// The plan.
        result: Result<Option<String>, String>,
    },
    /// What `Effect::Consult` found; an error is text for the model.
    Consulted {
        /// The call that asked.
        call: CallId,
        /// The answer.
        result: Result<Consulted, String>,
    },
    /// The time of `Effect::StartTimer` is over.
    Timer(TimerId),
}

/// The answer to a [`Consult`](super::effect::Consult).
#[derive(Debug, Clone, PartialEq)]
pub enum Consulted {
    /// The operation as it is stored, and its files as they are.
    Operation {
        /// None where the session has none of that call.
        operation: Option<Box<Operation>>,
        /// Its files.
        seen: Vec<SeenFile>,
        /// The further file that was asked for, by its canonical path.
        target: Option<SeenFile>,
        /// What else is known of a command, in lines for the model: its process, its log's end, files that changed since.
        lines: Vec<String>,
        /// The project's revision at which this was seen.
        revision: Revision,
    },
    /// What stands in a session.
    Session(Box<Account>),
    /// What a task cites.
    Citations(Citations),
}

/// A timer of the machine; the latest one started is the only one that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimerId(pub u64);

/// A user's prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// What the user said.
    pub text: String,
    /// The client's key for this prompt; the same key again is the same prompt.
    pub key: Option<String>,
    /// What the client put beside the text.
    pub attachments: Vec<Attachment>,
    /// How the turn before ended, where this one goes on with it: the user says nothing, and the text is empty.
    pub goes_on: Option<TurnEnd>,
}
