//! What the machine wants done, in order. The driver performs effects one after the other and decides nothing.

use super::input::TimerId;
use crate::event::Delta;
use crate::id::{AskId, CallId, EvidenceId, ItemNo, RequestNo, SessionId, SideNo, TurnNo};
use crate::model::request::Api;
use crate::permission::leave::Leave;
use crate::permission::rule::Rule;
use crate::tool::account::Part;
use crate::tool::call::{Call, Prepared};
use crate::transcript::batch::Batch;
use crate::workspace::Wanted;

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Collect the environment for this turn; answered by `Input::Environment`.
    Collect {
        /// The turn.
        turn: TurnNo,
        /// What depends on the turn.
        wanted: Box<Wanted>,
    },
    /// Commit; effects after it wait. Its durable events are published once it is committed. When it fails, the effects
    /// after it are dropped and `Input::CommitFailed` follows.
    Commit(Box<Batch>),
    /// Show something that nobody needs later.
    Emit(Delta),
    /// Send a request; answered by `Input::Model` events, ended by `Finished` or `Input::ModelFailed`.
    CallModel(Box<ModelCall>),
    /// Drop the running request.
    StopModel(RequestNo),
    /// Read the history as it is stored; answered by `Input::History`.
    LoadHistory {
        /// The first item that is wanted; what the user said is wanted from the first on.
        from: ItemNo,
    },
    /// Send a request beside the conversation; answered by `Input::Side` events, ended by `Finished` or
    /// `Input::SideFailed`.
    CallSide(Box<SideCall>),
    /// Drop such a request.
    StopSide(SideNo),
    /// What was asked for by `Input::Compact` has begun, or why it cannot.
    CompactionTaken(Result<(), String>),
    /// Find out what a call will touch; answered by `Input::Prepared`.
    Prepare(Call),
    /// Run a call whose facts are prepared; answered by `Input::ToolFinished`.
    Run {
        /// The call.
        call: Call,
        /// Its facts, to be checked again.
        prepared: Prepared,
        /// What it may do, enforced by whoever runs it.
        leave: Leave,
    },
    /// End a running call; its outcome still comes.
    StopTool(CallId),
    /// Load a saved outcome for a cursor; answered by `Input::ResultLoaded`.
    LoadResult {
        /// The call that asks.
        call: CallId,
        /// The call whose outcome is wanted.
        of: CallId,
    },
    /// Save a long text as the file that its result will name, on disk before the answer; answered by
    /// `Input::TextSaved`. Nobody knows of the file before the result is committed: saved again, it is another one.
    SaveText {
        /// The call that gave it.
        call: CallId,
        /// The whole of it.
        text: String,
    },
    /// Read the session's plan file; answered by `Input::PlanRead`.
    ReadPlan {
        /// The call that asks.
        call: CallId,
    },
    /// Find out what a host tool asks of the store and the disk; answered by `Input::Consulted`.
    Consult {
        /// The call that asks.
        call: CallId,
        /// What it asks.
        question: Consult,
    },
    /// Answer with `Input::Timer` after `delay_ms`, give or take a random tenth.
    StartTimer {
        /// The timer.
        id: TimerId,
        /// Milliseconds.
        delay_ms: u64,
    },
    /// A prompt was accepted as this turn. Of a turn that waited it comes twice: when it is queued, and when it begins.
    Accepted {
        /// The turn.
        turn: TurnNo,
        /// Whether it waits behind a running turn.
        queued: bool,
    },
    /// The turn waits for answers only, and for long: the machine is let go of. The session is loaded again when somebody
    /// answers or says something.
    Suspend,
    /// Keep these rules for the project: the user allowed them for good.
    Grant {
        /// The call that was asked about.
        call: CallId,
        /// The rules.
        rules: Vec<Rule>,
    },
    /// An answer was taken (`true`), or came too late.
    AnswerTaken {
        /// The question.
        ask: AskId,
        /// Whether it was the first answer.
        taken: bool,
    },
}

/// What a host tool asks of the store and the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consult {
    /// An operation of this session as it is stored, and how its files stand now.
    Operation {
        /// Its call.
        of: CallId,
        /// A further file to be looked at, as the call gave it.
        target: Option<String>,
    },
    /// What stands in a session of this project.
    Session {
        /// The session; none for this one.
        session: Option<SessionId>,
        /// What of it.
        part: Part,
    },
    /// What a task cites.
    Citations {
        /// Results that must exist.
        evidence: Vec<EvidenceId>,
        /// Texts that must be an exact part of a message of the user, with its number where the call gave one.
        quotes: Vec<(String, Option<ItemNo>)>,
        /// Whether it asks what the session's calls have done, and for the revision now.
        deeds: bool,
    },
}

/// A request beside the conversation as it goes out.
#[derive(Debug, Clone, PartialEq)]
pub struct SideCall {
    /// Its number.
    pub no: SideNo,
    /// Whether it is for the model of the setting `context.summary_model`, not for the session's.
    pub other_model: bool,
    /// The wire.
    pub api: Api,
    /// The whole body.
    pub body: Vec<u8>,
}

/// A request as it goes out.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// Its number.
    pub no: RequestNo,
    /// The wire.
    pub api: Api,
    /// The whole body.
    pub body: Vec<u8>,
}
