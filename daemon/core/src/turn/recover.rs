//! Settles a session whose turn was cut, by the daemon's death or because the store could not follow it: what was open
//! gets an end that does not lie. Pure; the result is one batch.

use super::load::Loaded;
use crate::event::{AskResolution, Event, EventBody, TurnEnd};
use crate::id::{CallId, EvidenceId, StepNo, TurnNo};
use crate::ledger::OpState;
use crate::model::usage::Usage;
use crate::prompt;
use crate::time::Timestamp;
use crate::tool::outcome::{Body, Outcome, Status};
use crate::tool::projection::{Budget, ProjectionInput, project};
use crate::tool::spec::{self, Class};
use crate::transcript::batch::{Batch, SessionState, StoredProjection};
use crate::transcript::epoch::RequestEnd;
use crate::transcript::item::{Item, ItemBody, MetaCause, MetaMessage, Notice, NoticeCause, ToolResult};

/// What the model is told of the work before the end.
const DONE: &str = "What had finished by then stands above with its results.";

/// What cut a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The daemon died.
    Died,
    /// A commit failed, so the turn was ended.
    NotStored,
}

impl Cut {
    fn end(self) -> TurnEnd {
        match self {
            Self::Died => TurnEnd::Crashed,
            Self::NotStored => TurnEnd::StoreError,
        }
    }

    fn cause(self) -> NoticeCause {
        match self {
            Self::Died => NoticeCause::Crash,
            Self::NotStored => NoticeCause::StoreError,
        }
    }

    /// For people.
    fn message(self) -> &'static str {
        match self {
            Self::Died => "Plimsoll's daemon ended in the middle of this turn.",
            Self::NotStored => {
                "This turn could not be stored, so it was ended. See that the disk of the data folder has room and is writable."
            }
        }
    }

    /// For the model, of a call that ran.
    fn of_call(self) -> &'static str {
        match self {
            Self::Died => "The daemon ended while this ran",
            Self::NotStored => "What this did could not be stored",
        }
    }
}

/// What must be written before the session goes on; `None` when nothing is open. Doing it twice gives `None` the second
/// time, once the first batch is committed.
pub fn settle(loaded: &Loaded, cut: Cut, now: Timestamp) -> Option<Batch> {
    let turn = loaded.running_turn?;
    let mut recovery = Recovery { loaded, cut, now, turn, batch: Batch::default(), step: StepNo(0) };
    recovery.step = loaded.open_calls.iter().map(|(_, _, step)| *step).max().unwrap_or_default();
    let unknown = recovery.end_operations();
    recovery.void_asks();
    recovery.answer_calls(&unknown);
    recovery.end_request();
    recovery.tell(&unknown);
    let unsettled: Vec<CallId> = loaded
        .operations
        .iter()
        .filter(|operation| operation.state == OpState::Unknown)
        .map(|operation| operation.call)
        .chain(unknown.iter().copied())
        .collect();
    recovery.event(EventBody::TurnCompleted {
        turn,
        reason: cut.end(),
        usage: Usage::default(),
        cost: None,
        unsettled,
        message: Some(cut.message().to_owned()),
    });
    for waiting in turn.0 + 1..=loaded.counters.turn.0 {
        recovery.event(EventBody::TurnCompleted {
            turn: TurnNo(waiting),
            reason: cut.end(),
            usage: Usage::default(),
            cost: None,
            unsettled: Vec::new(),
            message: Some("The turn before was cut while this prompt waited; send it again.".to_owned()),
        });
    }
    recovery.batch.state = Some(SessionState::Interrupted);
    Some(recovery.batch)
}

struct Recovery<'a> {
    loaded: &'a Loaded,
    cut: Cut,
    now: Timestamp,
    turn: TurnNo,
    step: StepNo,
    batch: Batch,
}

impl Recovery<'_> {
    fn event(&mut self, body: EventBody) {
        let seq = self.loaded.counters.seq.0 + 1 + self.batch.events.len() as u64;
        self.batch.events.push(Event { seq: crate::id::Seq(seq), at: self.now, body });
    }

    fn item(&mut self, body: ItemBody) {
        let no = crate::id::ItemNo(self.loaded.counters.item.0 + 1 + self.batch.items.len() as u64);
        self.batch.items.push(Item { no, turn: self.turn, step: self.step, at: self.now, body });
        self.event(EventBody::ItemAdded { item: no });
    }

    /// Operations that may have begun become unknown, the others cancelled: they never began. Returns the unknown ones.
    fn end_operations(&mut self) -> Vec<CallId> {
        let mut unknown = Vec::new();
        for operation in &self.loaded.operations {
            let state = match operation.state {
                OpState::Running => {
                    unknown.push(operation.call);
                    OpState::Unknown
                }
                OpState::Proposed | OpState::Approved => OpState::Cancelled,
                OpState::Denied | OpState::Succeeded | OpState::Failed | OpState::Cancelled | OpState::Unknown => {
                    continue;
                }
            };
            let mut operation = operation.clone();
            operation.state = state;
            operation.at = self.now;
            self.batch.operations.push(operation);
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

    fn answer_calls(&mut self, unknown: &[CallId]) {
        for (call, tool, _) in &self.loaded.open_calls {
            let reads = spec::find(tool).is_some_and(|spec| spec.class == Class::Read);
            let (status, text) = if unknown.contains(call) {
                (
                    Status::Unknown,
                    format!(
                        "{}: its outcome is unknown, it may or may not have taken effect. Its processes were ended. \
                         Check before repeating it.",
                        self.cut.of_call()
                    ),
                )
            } else if reads {
                (
                    Status::Unknown,
                    "Not observed: the turn was cut before the result was there. Call it again if it is still needed."
                        .to_owned(),
                )
            } else {
                (Status::Cancelled, "Not run: the turn was cut before this call began.".to_owned())
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
                saved_path: None,
                continuation_of: None,
            });
            self.batch.projections.push(StoredProjection {
                call: *call,
                text: projection.text,
                is_error: projection.is_error,
                tokens: projection.tokens,
                partial: projection.partial,
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

    fn end_request(&mut self) {
        if let Some(request) = &self.loaded.view.last_request
            && !self.loaded.last_request_ended
        {
            let error = Some("the turn was cut while the answer came".to_owned());
            self.batch.request_end = Some(RequestEnd { no: request.no, at: self.now, usage: None, error });
        }
    }

    fn tell(&mut self, unknown: &[CallId]) {
        let text = format!(
            "{} What was done until then is kept; an answer that was still being written is lost.",
            self.cut.message()
        );
        self.item(ItemBody::Notice(Notice { cause: self.cut.cause(), text }));
        let (cause, text) = if unknown.is_empty() {
            (MetaCause::Interrupted, prompt::reminder_crashed(DONE))
        } else {
            let calls: Vec<String> = self
                .loaded
                .operations
                .iter()
                .filter(|operation| unknown.contains(&operation.call))
                .map(|operation| {
                    let what = operation.command.as_ref().unwrap_or(&operation.target);
                    format!("{} {}: {what}", operation.call, operation.tool)
                })
                .collect();
            (MetaCause::UnknownOperations, prompt::reminder_unknown_operations(&calls))
        };
        self.item(ItemBody::Meta(MetaMessage { cause, text }));
    }
}
