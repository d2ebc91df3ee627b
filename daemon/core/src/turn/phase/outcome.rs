//! What came out of a call, and what follows when the last one of a step is done.

use super::super::machine::Machine;
use super::super::state::{Phase, SlotState};
use crate::context::load::Room;
use crate::event::{Ask, AskResolution, TurnEnd};
use crate::id::{CallId, EvidenceId};
use crate::ledger::OpState;
use crate::tokens::tokens;
use crate::tool::outcome::{Body, Outcome, Status};
use crate::tool::projection::cursor::Cursor;
use crate::tool::projection::{Budget, Projection, ProjectionInput, Saved, project};
use crate::transcript::batch::StoredProjection;
use crate::transcript::item::{ItemBody, NoticeCause, Observation, ToolResult};
use crate::verification::Verification;

/// Tokens of a result however many stand beside it: enough for its header and the way to more.
const LEAST_TOKENS: u64 = 300;

/// The same call failing the same way this often in a row ends the turn.
const MAX_SAME_FAILURES: u32 = 3;

impl Machine {
    pub(in crate::turn) fn tool_finished(&mut self, id: CallId, outcome: Outcome) {
        let Some(slot) = self.slot(id) else { return };
        if !matches!(slot.state, SlotState::Running) {
            return;
        }
        self.settle(id, outcome);
        self.advance();
        // While the next call is being prepared nothing else would be committed: what ended must not wait for that.
        self.commit();
    }

    /// Writes a call's result: item, projection, and the operation's end. The caller goes on with `advance`.
    /// A long text is saved first, and its result is written when that is done.
    pub(in crate::turn) fn settle(&mut self, id: CallId, outcome: Outcome) {
        if let Some(outcome) = self.save_first(id, outcome) {
            self.settle_with(id, outcome, Saved::No);
        }
    }

    pub(in crate::turn) fn settle_with(&mut self, id: CallId, outcome: Outcome, saved: Saved<'_>) {
        let mut projection = self.project(id, &outcome, saved, None);
        if let Some(problem) = self.too_large(&outcome, saved, &projection) {
            projection = self.project(id, &Outcome::failed(problem), Saved::No, None);
        }
        self.store_result(id, outcome, projection);
    }

    /// Answers a continuation from the saved outcome that a cursor names. What is saved for this call is the page itself:
    /// the whole is kept once.
    pub(in crate::turn) fn settle_page(&mut self, id: CallId, outcome: Outcome, at: Cursor) {
        let projection = self.project(id, &outcome, Saved::No, Some(at));
        let page = Outcome { status: outcome.status, body: Body::Text(projection.text.clone()) };
        self.store_result(id, page, projection);
    }

    /// What the result of a call may cost. The results of one step share their room: in call order each takes what it may, and
    /// later ones get what is left, at least header and continuation. Calls that are not done yet keep a first look's worth.
    pub(in crate::turn) fn budget(&self, id: CallId) -> Budget {
        let own = self.settings.projection;
        let Some(Phase::Calls(slots)) = self.turn.as_ref().map(|turn| &turn.phase) else { return own };
        let mut before = true;
        let mut taken = 0_u64;
        for slot in slots {
            before &= slot.id != id;
            taken += match (self.view.shown_tokens(slot.id), before) {
                (Some(tokens), _) => tokens,
                (None, true) => own.tokens,
                (None, false) => 0,
            };
        }
        let room = self.calibration().estimated(Room::of(&self.settings.model).results);
        let left = room.saturating_sub(taken).max(LEAST_TOKENS);
        Budget {
            tokens: own.tokens.min(left),
            asked_tokens: own.asked_tokens.min(left),
            general_tokens: own.general_tokens.min(left),
        }
    }

    fn project(&mut self, id: CallId, outcome: &Outcome, saved: Saved<'_>, page: Option<Cursor>) -> Projection {
        let evidence = EvidenceId { call: id, revision: self.revision };
        let tool = self.slot(id).map(|slot| slot.tool.clone()).unwrap_or_default();
        project(&ProjectionInput {
            call: id,
            tool: &tool,
            outcome,
            evidence,
            approximate: true,
            budget: self.budget(id),
            cursor: page,
            saved,
        })
    }

    fn store_result(&mut self, id: CallId, outcome: Outcome, projection: Projection) {
        let revision = self.revision;
        let now = self.now;
        let goes_on = self.note_task(id, &outcome);
        if let Body::Tests(run) = &outcome.body {
            // An interrupted run leaves what was known before.
            self.verification = Verification::of(id, run, now).or(self.verification.take());
        }
        let Some(slot) = self.slot(id) else { return };
        slot.state = SlotState::Done;
        let tool = slot.tool.clone();
        let failure = outcome.status.is_error().then(|| format!("{tool}\n{}", slot.arguments));
        if let Some(operation) = &mut slot.operation
            && !operation.state.is_settled()
        {
            if goes_on {
                operation.background = true;
            } else {
                operation.state = settled(outcome.status);
            }
            operation.at = now;
            let operation = operation.clone();
            let changed = operation.state == OpState::Unknown || revision > operation.revision;
            if goes_on {
                self.tasks.insert(id, operation.clone());
            }
            if operation.is_unsettled() {
                self.lost_sight_of(&operation);
            }
            if changed {
                self.reopen_task();
            }
            self.settle_earlier(&operation);
            self.hold_operation(operation);
        }
        self.count_failure(failure);
        let shown = self.note_shown(id, &outcome, projection.shown);
        let mut stored = StoredProjection {
            call: id,
            text: projection.text,
            is_error: projection.is_error,
            tokens: projection.tokens,
            partial: projection.partial,
            saved: projection.saved,
            whole: projection.whole,
            shown,
        };
        if let Some(again) = self.count_same(id, &outcome) {
            stored.text = format!("{}\n{again}", stored.text);
            stored.tokens = tokens(&stored.text);
        }
        self.view.show(stored.clone());
        self.held.projections.push(stored);
        self.add_item(ItemBody::ToolResult(ToolResult { call: id, tool, outcome, revision, approximate: true }));
    }

    fn count_failure(&mut self, failure: Option<String>) {
        let Some(turn) = &mut self.turn else { return };
        turn.failing = match (failure, turn.failing.take()) {
            (None, _) => None,
            (Some(call), Some((before, times))) if before == call => Some((call, times + 1)),
            (Some(call), _) => Some((call, 1)),
        };
    }

    /// Gathers the images of the step's results.
    fn observe(&mut self) {
        let calls = self.view.unobserved();
        if !calls.is_empty() {
            let text = self.prompts().observation();
            self.add_item(ItemBody::Observation(Observation { text, calls }));
        }
    }

    /// All calls of the step have their results: the next request, or the end.
    pub(in crate::turn) fn step_over(&mut self) {
        self.observe();
        let Some(turn) = &mut self.turn else { return };
        turn.phase = Phase::Calls(Vec::new());
        if turn.cancelled {
            self.interrupted();
            return;
        }
        if let Some((call, times)) = &turn.failing
            && *times >= MAX_SAME_FAILURES
        {
            let tool = call.lines().next().unwrap_or_default().to_owned();
            let text = format!("The same call of {tool} failed {times} times in a row; the turn was ended.");
            self.add_notice(NoticeCause::Limit, text.clone());
            self.finish(TurnEnd::ModelError, Some(text));
            return;
        }
        self.request();
    }

    /// Ends the calls of an interrupted turn: what has not begun gets its result at once, what runs is told to end.
    pub(in crate::turn) fn cancel_calls(&mut self) {
        let Some(Phase::Calls(slots)) = self.turn.as_ref().map(|turn| &turn.phase) else { return };
        let mut running = Vec::new();
        let mut ended: Vec<(CallId, Option<Ask>)> = Vec::new();
        for slot in slots {
            match &slot.state {
                SlotState::Running => running.push(slot.id),
                SlotState::Asking(ask, ..) | SlotState::Suspended(ask) => ended.push((slot.id, Some(Ask::clone(ask)))),
                SlotState::Waiting
                | SlotState::Preparing
                | SlotState::Renewing(_)
                | SlotState::Ready(..)
                | SlotState::Loading => ended.push((slot.id, None)),
                SlotState::Saving(_) | SlotState::Done => {}
            }
        }
        for (id, asked) in ended {
            if let Some(ask) = asked {
                self.resolve_ask(ask, AskResolution::Void);
            }
            // What was asked about, or allowed and not begun, has a record.
            self.conclude(id, OpState::Cancelled);
            let text = "Not run: the user interrupted the turn before this call began.";
            self.settle(id, Outcome { status: Status::Cancelled, body: Body::Text(text.to_owned()) });
        }
        self.effects.extend(running.into_iter().map(super::super::effect::Effect::StopTool));
        self.advance();
    }
}

fn settled(status: Status) -> OpState {
    match status {
        Status::Ok => OpState::Succeeded,
        Status::Failed => OpState::Failed,
        Status::Denied => OpState::Denied,
        Status::Cancelled => OpState::Cancelled,
        Status::Unknown => OpState::Unknown,
    }
}
