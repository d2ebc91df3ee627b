//! A turn that waits for nothing but answers can wait without a machine: it is in the store, with its questions open.
//! Whoever answers one, or says something else to the session, takes it up where it stands.

use super::super::effect::Effect;
use super::super::input::TimerId;
use super::super::load::Loaded;
use super::super::machine::{Life, Machine};
use super::super::state::{Phase, Slot, SlotState, Surroundings, Turn};
use crate::context::rules::Touched;
use crate::event::{Ask, EventBody, TurnEnd, TurnFacts};
use crate::id::CallId;
use crate::model::usage::Usage;
use crate::tool::call::Prepared;
use crate::tool::name;
use crate::transcript::batch::SessionState;
use crate::transcript::item::ItemBody;
use std::collections::BTreeSet;

/// How long a question waits for somebody to come before its turn is suspended: ten minutes.
pub const PATIENCE_MS: u64 = 600_000;

impl Machine {
    /// The turn waits for an answer from now on.
    pub(super) fn expect_answer(&mut self) {
        self.set_state(SessionState::Waiting);
        if self.patience.is_none() {
            self.timer += 1;
            let id = TimerId(self.timer);
            self.patience = Some(id);
            self.effects.push(Effect::StartTimer { id, delay_ms: PATIENCE_MS });
        }
    }

    /// Time has passed; whether it was time for patience.
    pub(super) fn patience_over(&mut self, id: TimerId) -> bool {
        if self.patience != Some(id) {
            return false;
        }
        self.patience = None;
        if !self.is_asking() {
            return true;
        }
        if self.attended || !self.waits_for_answers_only() {
            self.expect_answer();
        } else {
            self.suspend();
        }
        true
    }

    pub(super) fn is_asking(&self) -> bool {
        match self.turn.as_ref().map(|turn| &turn.phase) {
            Some(Phase::Asking(_)) => true,
            Some(Phase::Calls(slots)) => slots.iter().any(|slot| slot.state.is_asking()),
            Some(Phase::Collecting | Phase::Compacting | Phase::Calling(_) | Phase::Backoff { .. }) | None => false,
        }
    }

    /// Whether nothing runs that would have to be ended, and a question is open.
    pub(super) fn waits_for_answers_only(&self) -> bool {
        let Some(turn) = self.turn.as_ref().filter(|turn| !turn.cancelled) else { return false };
        let rests = |slot: &Slot| slot.state.is_asking() || slot.is_done() || matches!(slot.state, SlotState::Waiting);
        match &turn.phase {
            Phase::Calls(slots) => self.is_asking() && slots.iter().all(rests),
            Phase::Asking(_) => true,
            Phase::Collecting | Phase::Compacting | Phase::Calling(_) | Phase::Backoff { .. } => false,
        }
    }

    /// Leaves the turn to the store. What waits behind it exists here only, and is told as ended.
    pub(super) fn suspend(&mut self) {
        self.drop_queue("The session was suspended while this prompt waited; send it again.");
        self.commit();
        self.effects.push(Effect::Suspend);
        self.stop_compaction();
        self.turn = None;
        self.life = Life::Suspended;
    }

    /// Tells the prompts that wait as ended.
    pub(super) fn drop_queue(&mut self, why: &str) {
        for (turn, _) in std::mem::take(&mut self.queue) {
            self.add_event(EventBody::TurnCompleted {
                turn,
                reason: TurnEnd::Cancelled,
                usage: Usage::default(),
                cost: None,
                unsettled: self.unsettled_calls(),
                message: Some(why.to_owned()),
                facts: TurnFacts::default(),
            });
        }
    }
}

/// The turn that a suspended session is in the middle of.
pub(in crate::turn) fn taken_up(loaded: &Loaded, max_steps: u64) -> Option<Turn> {
    if !loaded.is_suspended() {
        return None;
    }
    let row = loaded.view.last_request.as_ref()?;
    let about_turn = loaded.asks.iter().find(|ask| ask.tool == super::limits::TURN);
    let phase = match about_turn {
        Some(ask) => Phase::Asking(Box::new(ask.clone())),
        None => Phase::Calls(slots(loaded)),
    };
    Some(Turn {
        environment: Box::default(),
        surroundings: Surroundings::Unknown,
        touched: touched(loaded),
        changed: loaded.turn_files.iter().cloned().collect(),
        no: loaded.running_turn?,
        step: row.step,
        text: String::new(),
        key: None,
        goes_on: None,
        phase,
        usage: loaded.turn_usage,
        steering: Vec::new(),
        cancelled: false,
        attempts: 0,
        continued: 0,
        failing: None,
        same: None,
        // As when it was asked whether it may go on.
        steps_allowed: if about_turn.is_some() { row.step.0.min(max_steps) } else { max_steps.max(row.step.0 + 1) },
    })
}

/// What the results of the last answer show of files; what else its calls touched is not stored.
fn touched(loaded: &Loaded) -> Touched {
    let unsent = loaded.view.unsent.iter().filter_map(|item| match &item.body {
        ItemBody::ToolResult(result) => loaded.view.projections.get(&result.call),
        _ => None,
    });
    let paths = unsent.flat_map(|projection| &projection.shown).map(|shown| shown.path.clone());
    Touched { paths: paths.collect(), nested: Vec::new() }
}

/// The calls of the last answer: done, asked about, or not begun.
fn slots(loaded: &Loaded) -> Vec<Slot> {
    let items = || loaded.view.unsent.iter().map(|item| &item.body);
    let answered: BTreeSet<CallId> = items()
        .filter_map(|body| match body {
            ItemBody::ToolResult(result) => Some(result.call),
            _ => None,
        })
        .collect();
    items()
        .filter_map(|body| match body {
            ItemBody::ToolCall(call) => Some(call),
            _ => None,
        })
        .map(|call| {
            let spec = name::normalise(&call.tool);
            let ask = loaded.asks.iter().find(|ask| ask.call == call.call);
            let state = match ask {
                _ if answered.contains(&call.call) => SlotState::Done,
                Some(ask) => SlotState::Suspended(Box::new(ask.clone())),
                None => SlotState::Waiting,
            };
            Slot {
                id: call.call,
                tool: spec.map_or_else(|| call.tool.clone(), |spec| spec.name.to_owned()),
                arguments: call.arguments.clone(),
                spec,
                call: None,
                target: None,
                held_by: None,
                operation: loaded.operations.iter().find(|operation| operation.call == call.call).cloned(),
                state,
            }
        })
        .collect()
}

/// Whether what will happen is what was asked about.
pub(super) fn is_what_was_asked(ask: &Ask, prepared: &Prepared) -> bool {
    let paths = prepared.targets.iter().map(|target| &target.path);
    ask.command == prepared.command && ask.paths.iter().eq(paths) && ask.changes == prepared.changes
}
