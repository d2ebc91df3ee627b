//! What a running turn remembers.

use super::input::TimerId;
use crate::context::rules::Touched;
use crate::event::{Ask, AskChoice, TurnEnd};
use crate::id::{AskId, CallId, RequestNo, StepNo, TurnNo};
use crate::ledger::Operation;
use crate::model::event::BlockContent;
use crate::model::usage::Usage;
use crate::permission::leave::Leave;
use crate::permission::policy::{Mode, Policy};
use crate::tool::call::{Call, Prepared};
use crate::tool::outcome::Outcome;
use crate::tool::spec::{Class, Spec};
use std::collections::{BTreeMap, BTreeSet};

/// The turn that runs.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) no: TurnNo,
    pub(super) step: StepNo,
    pub(super) text: String,
    /// What was collected when it began; empty in a turn that was taken up from the store.
    pub(super) environment: Box<crate::workspace::Environment>,
    pub(super) surroundings: Surroundings,
    /// What its calls touched.
    pub(super) touched: Touched,
    /// Files that its calls changed.
    pub(super) changed: BTreeSet<String>,
    pub(super) key: Option<String>,
    /// How the turn ended that it goes on with.
    pub(super) goes_on: Option<TurnEnd>,
    pub(super) phase: Phase,
    pub(super) usage: Usage,
    /// What was said while the turn ran, for its next step.
    pub(super) steering: Vec<String>,
    pub(super) cancelled: bool,
    /// Attempts at the running request that failed.
    pub(super) attempts: u32,
    /// How often the model was asked to go on with an unfinished answer.
    pub(super) continued: u32,
    /// The last call that failed, as tool and arguments, with how often in a row it failed the same way.
    pub(super) failing: Option<(String, u32)>,
    /// The last call with its result, as a hash, with how often in a row that came.
    pub(super) same: Option<(String, u32)>,
    /// Model requests after which the user is asked whether to go on.
    pub(super) steps_allowed: u64,
}

/// Whether `environment` is that of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surroundings {
    /// It is, or comes before the turn's first request.
    Known,
    /// The turn was taken up from the store, and nothing has asked for it yet.
    Unknown,
    /// The turn was taken up from the store, and it is being collected.
    Asked,
}

/// What the turn waits for.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// For the environment.
    Collecting,
    /// For the history to be shortened, before its next request.
    Compacting,
    /// For the model.
    Calling(Answer),
    /// To try the same request again.
    Backoff {
        /// The timer that ends it.
        timer: TimerId,
    },
    /// For preparations, answers, tools.
    Calls(Vec<Slot>),
    /// For an answer to the question whether the turn goes on.
    Asking(Box<Ask>),
}

/// An answer that is being received.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) request: RequestNo,
    /// Complete blocks.
    pub(super) done: BTreeMap<u32, BlockContent>,
    /// Text so far of blocks that are not complete.
    pub(super) partial: BTreeMap<u32, String>,
    pub(super) usage: Option<Usage>,
}

impl Answer {
    pub(super) fn new(request: RequestNo) -> Self {
        Self { request, done: BTreeMap::new(), partial: BTreeMap::new(), usage: None }
    }

    /// Whether the user has seen any of it.
    pub(super) fn has_content(&self) -> bool {
        !self.partial.values().all(String::is_empty) || !self.done.is_empty()
    }
}

/// One call of the step.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) id: CallId,
    pub(super) tool: String,
    pub(super) arguments: String,
    pub(super) spec: Option<&'static Spec>,
    pub(super) call: Option<Call>,
    /// Canonical path of the first thing that it acts on, once that is known.
    pub(super) target: Option<String>,
    /// The operation that it would do again, for which it was held back.
    pub(super) held_by: Option<CallId>,
    /// Its record in the ledger, once it has one.
    pub(super) operation: Option<Operation>,
    pub(super) state: SlotState,
}

impl Slot {
    /// Whether it only looks, so that it may run beside others.
    pub(super) fn only_reads(&self) -> bool {
        self.spec.is_none_or(|spec| spec.class == Class::Read)
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, SlotState::Done)
    }
}

/// Where a call stands.
#[derive(Debug, Clone)]
pub(super) enum SlotState {
    /// It has not begun.
    Waiting,
    /// Its facts are being collected.
    Preparing,
    /// A client is being asked.
    Asking(Box<Ask>, Prepared, Leave),
    /// A client was asked before the session was taken up again, and is still.
    Suspended(Box<Ask>),
    /// That was allowed; its facts are being collected anew.
    Renewing(Box<Ask>),
    /// It was allowed and begins when its record is committed.
    Ready(Prepared, Leave),
    /// It runs.
    Running,
    /// It has run, and what it gave is being saved as a file.
    Saving(Box<Outcome>),
    /// The saved outcome that its cursor names is being loaded, or the plan file.
    Loading,
    /// Its result is in the transcript.
    Done,
}

impl SlotState {
    /// Whether an answer is waited for.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self, Self::Asking(..) | Self::Suspended(_))
    }
}

/// An answer to a question, as it came.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) ask: AskId,
    pub(super) choice: AskChoice,
    pub(super) advice: Option<String>,
}

/// Numbers that were given out last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Last item.
    pub item: crate::id::ItemNo,
    /// Last durable event.
    pub seq: crate::id::Seq,
    /// Last turn.
    pub turn: TurnNo,
    /// Last call.
    pub call: CallId,
    /// Last question.
    pub ask: AskId,
    /// Last request.
    pub request: RequestNo,
    /// Last epoch.
    pub epoch: crate::id::EpochNo,
    /// Last request beside the conversation.
    pub side: crate::id::SideNo,
}

/// What a session works with; changes are taken in between turns, the mode at once.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The model.
    pub model: crate::model::catalog::ModelProfile,
    /// The permission mode.
    pub mode: Mode,
    /// What permissions are decided with besides the mode.
    pub policy: Policy,
    /// Model requests after which a turn ends.
    pub max_steps: u64,
    /// US dollars that the session may cost before the user is asked.
    pub session_cost: Option<f64>,
    /// The texts of its next epoch.
    pub prompts: crate::prompt::Prompts,
    /// The language to answer in, when one is configured; else the user's locale decides.
    pub language: Option<String>,
    /// What results may cost in the view.
    pub projection: crate::tool::projection::Budget,
    /// When and how far the history is shortened.
    pub compaction: crate::compaction::Settings,
    /// Absolute path of the session's plan file in text form.
    pub plan_file: String,
    /// Absolute path of the session's folder in text form.
    pub session_dir: String,
}
