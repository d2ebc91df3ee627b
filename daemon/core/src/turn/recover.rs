//! Settles a session whose daemon died: what was open gets an end that does not lie. Pure; the result is one batch.

use super::load::Loaded;
use crate::event::{AskResolution, Event, EventBody, TurnEnd, TurnFacts};
use crate::id::{CallId, EvidenceId, StepNo, TurnNo};
use crate::ledger::{FoundBy, OpState, Operation, SeenFile, changed_files};
use crate::model::usage::Usage;
use crate::prompt::Prompts;
use crate::time::Timestamp;
use crate::tool::outcome::{Body, Outcome, Status};
use crate::tool::projection::{Budget, ProjectionInput, Saved, project};
use crate::tool::spec::{self, Class};
use crate::transcript::batch::{Batch, SessionState, StoredProjection};
use crate::transcript::epoch::RequestEnd;
use crate::transcript::item::{Item, ItemBody, MetaCause, MetaMessage, Notice, NoticeCause, Observation, ToolResult};
use crate::transcript::view::unobserved;
use std::collections::BTreeSet;

/// What the model is told of the work before the end.
const DONE: &str = "What had finished by then stands above with its results.";

/// What cut a session's turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// The daemon ended.
    Crash,
    /// The store could not be written; the text says why.
    Store(String),
    /// A fault of Plimsoll's own ended the session's work.
    Fault,
    /// The user interrupted a turn that was suspended.
    User,
    /// The session has another model than when its turn was suspended.
    Model,
}

impl Cut {
    /// What happened, as the end of a sentence.
    fn what(&self) -> &'static str {
        match self {
            Self::Crash => "the daemon ended",
            Self::Store(_) => "the session could not be stored any more",
            Self::Fault => "a fault inside Plimsoll ended the turn",
            Self::User => "the user interrupted the turn",
            Self::Model => "the session got another model",
        }
    }

    fn reason(&self) -> TurnEnd {
        match self {
            Self::Crash => TurnEnd::Crashed,
            Self::Store(_) => TurnEnd::StoreError,
            Self::Fault => TurnEnd::Internal,
            Self::User | Self::Model => TurnEnd::Cancelled,
        }
    }

    fn cause(&self) -> NoticeCause {
        match self {
            Self::Crash | Self::Fault => NoticeCause::Crash,
            Self::Store(_) => NoticeCause::StoreError,
            Self::User => NoticeCause::Interrupted,
            Self::Model => NoticeCause::ModelChanged,
        }
    }

    /// Whether commands in the background have ended with it.
    pub fn ends_background(&self) -> bool {
        match self {
            Self::Crash | Self::Fault => true,
            Self::Store(_) | Self::User | Self::Model => false,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Crash => "Plimsoll's daemon ended in the middle of this turn.".to_owned(),
            Self::Store(why) => format!("The session could not be stored, so its turn was ended: {why}"),
            Self::Fault => "A fault inside Plimsoll ended this turn; the daemon's log has more.".to_owned(),
            Self::User => "Interrupted by the user.".to_owned(),
            Self::Model => "The session got another model while this turn waited, so it was ended.".to_owned(),
        }
    }
}

/// The operations that were running when a session was cut, and are over by now: their processes are to be ended, and their
/// files to be looked at, before [`settle`] says what became of them.
pub fn cut_operations<'a>(loaded: &'a Loaded, cut: &Cut) -> impl Iterator<Item = &'a Operation> {
    let ends_background = cut.ends_background();
    let running = |operation: &&Operation| operation.state == OpState::Running;
    loaded.operations.iter().filter(running).filter(move |operation| ends_background || !operation.in_background())
}

/// What must be written before the session goes on; `None` when nothing is open. Doing it twice gives `None` the second
/// time, once the first batch is committed. A turn that waits for answers only outlives the daemon: it stays as it is.
/// `seen` are the files of the [`cut_operations`] as they stand now.
pub fn settle(loaded: &Loaded, seen: &[SeenFile], now: Timestamp, cut: &Cut) -> Option<Batch> {
    let busy = matches!(loaded.state, Some(SessionState::Running | SessionState::Waiting));
    let suspended = *cut == Cut::Crash && loaded.is_suspended();
    let open = (busy || loaded.running_turn.is_some()) && !suspended;
    let ended = cut.ends_background() && loaded.operations.iter().any(Operation::in_background);
    if !open && !ended && loaded.waiting_turns.is_empty() {
        return None;
    }
    let turn = loaded.running_turn.unwrap_or(loaded.counters.turn);
    let prompts = loaded.view.epoch.as_ref().map(|epoch| epoch.prompts.clone()).unwrap_or_default();
    let mut recovery =
        Recovery { loaded, seen, prompts, cut, now, turn, batch: Batch::default(), step: StepNo(0), lost: Vec::new() };
    recovery.step = loaded.open_calls.iter().map(|(_, _, step)| *step).max().unwrap_or_default();
    if ended {
        recovery.end_background();
    }
    let mut unknown = Vec::new();
    if open {
        unknown = recovery.end_operations();
        recovery.void_asks();
        recovery.answer_calls(&unknown);
        recovery.observe();
    }
    if open && loaded.running_turn.is_some() {
        recovery.end_request();
        recovery.tell(&unknown);
        let unsettled: Vec<CallId> = loaded
            .operations
            .iter()
            .filter(|operation| operation.is_unsettled())
            .map(|operation| operation.call)
            .chain(recovery.lost.iter().copied())
            .chain(unknown.iter().filter(|operation| operation.is_unsettled()).map(|operation| operation.call))
            .collect();
        let message = (*cut != Cut::User).then(|| cut.message());
        recovery.completed(turn, loaded.turn_usage, unsettled, message);
    }
    for waiting in &loaded.waiting_turns {
        let message = format!("This prompt waited when {}; send it again.", cut.what());
        recovery.completed(*waiting, Usage::default(), Vec::new(), Some(message));
    }
    recovery.batch.state = match cut {
        _ if suspended || (!open && loaded.waiting_turns.is_empty()) => None,
        Cut::User => Some(SessionState::Idle),
        Cut::Crash | Cut::Store(_) | Cut::Fault | Cut::Model => Some(SessionState::Interrupted),
    };
    Some(recovery.batch)
}

struct Recovery<'a> {
    prompts: Prompts,
    loaded: &'a Loaded,
    seen: &'a [SeenFile],
    cut: &'a Cut,
    now: Timestamp,
    turn: TurnNo,
    step: StepNo,
    batch: Batch,
    /// Commands in the background whose end was not seen.
    lost: Vec<CallId>,
}

impl Recovery<'_> {
    fn event(&mut self, body: EventBody) {
        let seq = self.loaded.counters.seq.0 + 1 + self.batch.events.len() as u64;
        self.batch.events.push(Event { seq: crate::id::Seq(seq), at: self.now, body });
    }

    fn completed(&mut self, turn: TurnNo, usage: Usage, unsettled: Vec<CallId>, message: Option<String>) {
        let reason = self.cut.reason();
        let facts = if Some(turn) == self.loaded.running_turn { self.facts(turn) } else { TurnFacts::default() };
        self.event(EventBody::TurnCompleted { turn, reason, usage, cost: None, unsettled, message, facts });
    }

    /// What is known of the turn that was cut, also by what was found out about it now.
    fn facts(&self, turn: TurnNo) -> TurnFacts {
        let found = self.batch.operations.iter().filter(|operation| operation.turn == turn).flat_map(changed_files);
        let files: BTreeSet<&str> = self.loaded.turn_files.iter().map(String::as_str).chain(found).collect();
        let verification = self.loaded.verification.as_ref().map(|known| known.beside(self.loaded.revision));
        TurnFacts { files: files.into_iter().map(str::to_owned).collect(), verification }
    }

    /// Commands in the background ended with what kept them: how is not known, and the model is told once.
    fn end_background(&mut self) {
        let mut lines = Vec::new();
        for operation in self.loaded.operations.iter().filter(|operation| operation.in_background()) {
            let operation = self.cut_short(operation);
            if !self.loaded.untold.contains(&operation.call) {
                lines.push(format!(
                    "{} {}: {}, and this command with it; how far it had come was not seen",
                    operation.call,
                    operation.command.as_deref().unwrap_or(&operation.target),
                    self.cut.what()
                ));
            }
            self.lost.push(operation.call);
            let ended = EventBody::TaskEnded { call: operation.call, exit: None, duration_ms: 0 };
            self.batch.operations.push(operation);
            self.event(ended);
        }
        if lines.is_empty() {
            return;
        }
        let text = self.prompts.reminder_task_ended(&lines);
        self.item(ItemBody::Meta(MetaMessage { cause: MetaCause::TaskEnded, text }));
    }

    fn item(&mut self, body: ItemBody) {
        let no = crate::id::ItemNo(self.loaded.counters.item.0 + 1 + self.batch.items.len() as u64);
        self.batch.items.push(Item { no, turn: self.turn, step: self.step, at: self.now, body });
        self.event(EventBody::ItemAdded { item: no });
    }

    /// One that ran and whose end was not seen, with what its files say of it.
    fn cut_short(&self, operation: &Operation) -> Operation {
        let unknown = Operation { state: OpState::Unknown, at: self.now, ..operation.clone() };
        unknown.found(FoundBy::Recovery, self.seen, self.now, self.loaded.revision)
    }

    /// Operations that may have begun become unknown, the others cancelled: they never began. Returns the unknown ones.
    fn end_operations(&mut self) -> Vec<Operation> {
        let mut unknown = Vec::new();
        for operation in self.loaded.operations.iter().filter(|operation| !operation.in_background()) {
            let ended = match operation.state {
                OpState::Running => {
                    let ended = self.cut_short(operation);
                    unknown.push(ended.clone());
                    ended
                }
                OpState::Proposed | OpState::Approved => {
                    Operation { state: OpState::Cancelled, at: self.now, ..operation.clone() }
                }
                OpState::Denied | OpState::Succeeded | OpState::Failed | OpState::Cancelled | OpState::Unknown => {
                    continue;
                }
            };
            self.batch.operations.push(ended);
        }
        unknown
    }

    fn void_asks(&mut self) {
        for ask in &self.loaded.asks {
            let mut ask = ask.clone();
            ask.resolution = Some(AskResolution::Void);
            let body = EventBody::PermissionResolved { ask: ask.id, call: ask.call };
            self.batch.asks.push(ask);
            self.event(body);
        }
    }

    fn answer_calls(&mut self, unknown: &[Operation]) {
        let what = self.cut.what();
        for (call, tool, _) in &self.loaded.open_calls {
            let reads = spec::find(tool).is_some_and(|spec| spec.class == Class::Read);
            let cut_short = unknown.iter().find(|operation| operation.call == *call);
            let (status, text) = if let Some(operation) = cut_short {
                (Status::Unknown, what_became(operation, what))
            } else if reads && *self.cut != Cut::User {
                (
                    Status::Unknown,
                    format!("Not observed: {what} before the result was there. Call it again if it is still needed."),
                )
            } else {
                (Status::Cancelled, format!("Not run: {what} before this call began."))
            };
            let outcome = Outcome { status, body: Body::Text(text) };
            let projection = project(&ProjectionInput {
                call: *call,
                tool,
                outcome: &outcome,
                evidence: EvidenceId { call: *call, revision: self.loaded.revision },
                approximate: true,
                budget: Budget::default(),
                cursor: None,
                saved: Saved::No,
            });
            self.batch.projections.push(StoredProjection {
                call: *call,
                text: projection.text,
                is_error: projection.is_error,
                tokens: projection.tokens,
                partial: projection.partial,
                whole: projection.whole,
                saved: projection.saved,
                shown: Vec::new(),
            });
            let revision = self.loaded.revision;
            self.item(ItemBody::ToolResult(ToolResult {
                call: *call,
                tool: tool.clone(),
                outcome,
                revision,
                approximate: true,
            }));
        }
    }

    /// Images of results that were there when the turn was cut are seen all the same.
    fn observe(&mut self) {
        let calls = unobserved(&self.loaded.view.unsent);
        let with_image =
            |item: &&Item| matches!(&item.body, ItemBody::ToolResult(result) if calls.contains(&result.call));
        let Some(step) = self.loaded.view.unsent.iter().find(with_image).map(|item| item.step) else { return };
        let text = self.prompts.observation();
        let before = std::mem::replace(&mut self.step, step);
        self.item(ItemBody::Observation(Observation { text, calls }));
        self.step = before;
    }

    fn end_request(&mut self) {
        if let Some(request) = &self.loaded.view.last_request
            && !self.loaded.last_request_ended
        {
            let error = Some(format!("{} while the answer came", self.cut.what()));
            self.batch.request_end = Some(RequestEnd { no: request.no, at: self.now, usage: None, error });
        }
    }

    fn tell(&mut self, unknown: &[Operation]) {
        if *self.cut == Cut::User {
            self.item(ItemBody::Notice(Notice { cause: self.cut.cause(), text: self.cut.message() }));
            let text = self.prompts.reminder_interrupted(DONE);
            self.item(ItemBody::Meta(MetaMessage { cause: MetaCause::Interrupted, text }));
            return;
        }
        let text = format!(
            "{} What was done until then is kept; an answer that was still being written is lost.",
            self.cut.message().trim_end_matches('.').to_owned() + "."
        );
        self.item(ItemBody::Notice(Notice { cause: self.cut.cause(), text }));
        let (cause, text) = if unknown.is_empty() {
            (MetaCause::Interrupted, self.prompts.reminder_crashed(self.cut.what(), DONE))
        } else {
            let calls: Vec<String> = unknown.iter().map(Operation::line).collect();
            (MetaCause::UnknownOperations, self.prompts.reminder_unknown_operations(&calls))
        };
        self.item(ItemBody::Meta(MetaMessage { cause, text }));
    }
}

/// The result of a call whose end was not seen.
fn what_became(operation: &Operation, what: &str) -> String {
    let begin = format!("While this ran {what}, so its end was not seen.");
    let standing = operation.standing();
    if operation.is_settled() {
        return format!("{begin} Its files were looked at since: {standing}.");
    }
    let ended = if operation.command.is_some() { " Its processes were ended." } else { "" };
    format!(
        "{begin} Its outcome is unknown: {standing}.{ended} Find out with `inspect_operation` ({}) before you repeat it.",
        operation.call
    )
}
