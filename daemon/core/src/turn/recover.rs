//! Settles a session whose daemon died: what was open gets an end that does not lie. Pure; the result is one batch.

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

/// What must be written before the session goes on; `None` when nothing is open. Doing it twice gives `None` the second
/// time, once the first batch is committed.
pub fn settle(loaded: &Loaded, now: Timestamp) -> Option<Batch> {
    let turn = loaded.running_turn?;
    let mut recovery = Recovery { loaded, now, turn, batch: Batch::default(), step: StepNo(0) };
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
        reason: TurnEnd::Crashed,
        usage: Usage::default(),
        cost: None,
        unsettled,
        message: Some("Plimsoll's daemon ended in the middle of this turn.".to_owned()),
    });
    for waiting in turn.0 + 1..=loaded.counters.turn.0 {
        recovery.event(EventBody::TurnCompleted {
            turn: TurnNo(waiting),
            reason: TurnEnd::Crashed,
            usage: Usage::default(),
            cost: None,
            unsettled: Vec::new(),
            message: Some("The daemon ended while this prompt waited; send it again.".to_owned()),
        });
    }
    recovery.batch.state = Some(SessionState::Interrupted);
    Some(recovery.batch)
}

struct Recovery<'a> {
    loaded: &'a Loaded,
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
                    "The daemon ended while this ran: its outcome is unknown, it may or may not have taken effect. \
                     Its processes were ended. Check before repeating it.",
                )
            } else if reads {
                (
                    Status::Unknown,
                    "Not observed: the daemon ended before the result was there. Call it again if it is still needed.",
                )
            } else {
                (Status::Cancelled, "Not run: the daemon ended before this call began.")
            };
            let outcome = Outcome { status, body: Body::Text(text.to_owned()) };
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
            let error = Some("the daemon ended while the answer came".to_owned());
            self.batch.request_end = Some(RequestEnd { no: request.no, at: self.now, usage: None, error });
        }
    }

    fn tell(&mut self, unknown: &[CallId]) {
        let text = "Plimsoll's daemon ended in the middle of this turn. What was done until then is kept; \
                    an answer that was still being written is lost.";
        self.item(ItemBody::Notice(Notice { cause: NoticeCause::Crash, text: text.to_owned() }));
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
