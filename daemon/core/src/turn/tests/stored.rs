//! A store in memory: what was committed, what of it is loaded, and what a fork or a rewind makes of it.

use super::super::load::Loaded;
use super::super::machine::Counters;
use super::super::{fork, rewind};
use crate::compaction::history::{History, Said};
use crate::context::view::StoredView;
use crate::event::{Ask, Event, EventBody};
use crate::id::{AskId, CallId, ItemNo, RequestNo, Revision, SideNo, TurnNo};
use crate::ledger::Operation;
use crate::model::usage::Usage;
use crate::permission::policy::Mode;
use crate::permission::rule::Rule;
use crate::prompt::Prompts;
use crate::task::Task;
use crate::time::Timestamp;
use crate::tool::outcome::{Body, Todo};
use crate::transcript::batch::{Batch, SessionState, StoredProjection};
use crate::transcript::epoch::{Epoch, EpochCause, RequestEnd, RequestRow, Switch};
use crate::transcript::item::{Item, ItemBody, MetaMessage};
use crate::transcript::rewound::OutOfView;
use crate::transcript::settled::{Place, settled_end};
use crate::transcript::side::{SideEnd, SideRow};
use std::collections::{BTreeMap, BTreeSet};

/// What was committed, checked as it comes.
#[derive(Debug, Default, Clone)]
pub(super) struct Stored {
    pub(super) items: Vec<Item>,
    pub(super) projections: BTreeMap<CallId, StoredProjection>,
    pub(super) operations: BTreeMap<CallId, Operation>,
    pub(super) asks: BTreeMap<AskId, Ask>,
    pub(super) epochs: Vec<Epoch>,
    pub(super) requests: Vec<RequestRow>,
    pub(super) ends: BTreeMap<RequestNo, RequestEnd>,
    pub(super) sides: Vec<SideRow>,
    pub(super) side_ends: BTreeMap<SideNo, SideEnd>,
    pub(super) events: Vec<Event>,
    pub(super) state: Option<SessionState>,
    pub(super) titled: bool,
    pub(super) mode: Mode,
    pub(super) before_plan: Option<Mode>,
    pub(super) task: Option<Task>,
    pub(super) revision: Revision,
}

impl Stored {
    pub(super) fn commit(&mut self, batch: Batch) {
        for item in batch.items {
            assert_eq!(item.no.0, self.items.len() as u64 + 1, "items have no gaps");
            self.items.push(item);
        }
        for event in batch.events {
            assert_eq!(event.seq.0, self.events.len() as u64 + 1, "events have no gaps");
            if let EventBody::ItemAdded { item } = event.body {
                assert!(item.0 <= self.items.len() as u64, "no event before its item");
            }
            self.events.push(event);
        }
        for operation in batch.operations {
            if let Some(before) = self.operations.get(&operation.call) {
                assert!(!before.is_settled(), "a settled operation stays settled: {before:?} -> {operation:?}");
            }
            self.operations.insert(operation.call, operation);
        }
        self.projections.extend(batch.projections.into_iter().map(|shown| (shown.call, shown)));
        self.asks.extend(batch.asks.into_iter().map(|ask| (ask.id, ask)));
        self.epochs.extend(batch.epoch);
        self.requests.extend(batch.request);
        self.ends.extend(batch.request_end.map(|end| (end.no, end)));
        self.sides.extend(batch.side);
        self.side_ends.extend(batch.side_end.map(|end| (end.no, end)));
        self.state = batch.state.or(self.state);
        self.titled |= batch.title.is_some();
        if let Some(mode) = batch.mode {
            self.set_mode(mode);
        }
        self.task = batch.task.or(self.task.take());
        self.revision = batch.revision.unwrap_or(self.revision);
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        if mode == Mode::Plan && self.mode != Mode::Plan {
            self.before_plan = Some(self.mode);
        }
        self.mode = mode;
    }

    /// Tokens of a turn's requests, or of all.
    fn used(&self, turn: Option<TurnNo>) -> Usage {
        let of = self.requests.iter().filter(|row| turn.is_none_or(|turn| row.turn == turn));
        of.filter_map(|row| self.ends.get(&row.no)?.usage).fold(Usage::default(), Usage::plus)
    }

    fn places(&self) -> Vec<Place> {
        self.items.iter().map(Place::of).collect()
    }

    /// The newest request that holds nothing from `before` on and is in the view.
    fn base(&self, out: &OutOfView, before: ItemNo) -> Option<&RequestRow> {
        self.requests.iter().rfind(|row| row.last_item < before && !out.contains(row.last_item))
    }

    fn epoch_of(&self, row: &RequestRow) -> &Epoch {
        self.epochs.iter().find(|epoch| epoch.no == row.epoch).unwrap()
    }

    /// What a fork that shares the items up to `until` begins with, and the last item that it shares.
    pub(super) fn fork(&self, until: ItemNo, at: Timestamp) -> (Self, ItemNo) {
        let started: BTreeSet<TurnNo> = self.turns(|body| matches!(body, EventBody::TurnStarted { .. }));
        let completed = self.turns(|body| matches!(body, EventBody::TurnCompleted { .. }));
        let running = started.difference(&completed).next().copied();
        let last = settled_end(&self.places(), until, running);
        let items: Vec<Item> = self.items.iter().filter(|item| item.no <= last).cloned().collect();
        let calls: BTreeSet<CallId> = items.iter().filter_map(call_of).collect();
        let out = OutOfView::of_items(&items);
        let requests: Vec<RequestRow> = self.requests.iter().filter(|row| row.last_item <= last).cloned().collect();
        let newest = requests.last().map(|row| row.epoch).unwrap_or_default();
        let mut epochs: Vec<Epoch> = self.epochs.iter().filter(|epoch| epoch.no <= newest).cloned().collect();
        let no = newest.next();
        match (self.base(&out, last.next()), requests.first()) {
            (Some(base), _) => epochs.push(fork::epoch(self.epoch_of(base), base, self.mode, no, at, 1)),
            (None, Some(first)) => epochs.push(fork::empty_epoch(self.epoch_of(first), no, at)),
            (None, None) => {}
        }
        let of = items.last().map(|item| item.turn).unwrap_or_default();
        let mut forked = Self {
            projections: self
                .projections
                .iter()
                .filter(|(call, _)| calls.contains(call))
                .map(|(call, shown)| (*call, shown.clone()))
                .collect(),
            ends: self
                .ends
                .iter()
                .filter(|(no, _)| requests.iter().any(|row| row.no == **no))
                .map(|(no, end)| (*no, end.clone()))
                .collect(),
            events: fork::events(self.events.iter().cloned(), last, of),
            state: Some(SessionState::Idle),
            titled: self.titled,
            mode: self.mode,
            before_plan: self.before_plan,
            task: self.task.as_ref().map(|task| task.shared(last, &calls)),
            revision: self.revision,
            items,
            requests,
            epochs,
            ..Self::default()
        };
        let ended = forked.events.iter().filter_map(|event| match event.body {
            EventBody::TaskEnded { call, .. } => Some(call),
            _ => None,
        });
        let ended: BTreeSet<CallId> = ended.collect();
        let left = self
            .operations
            .values()
            .filter(|task| task.background && calls.contains(&task.call) && !ended.contains(&task.call));
        let left: Vec<Operation> = left.cloned().collect();
        if let Some(meta) = fork::left_behind(&left, &Prompts::default()) {
            let no = last.next();
            forked.items.push(Item { no, turn: of, step: crate::id::StepNo(0), at, body: ItemBody::Meta(meta) });
            let seq = crate::id::Seq(forked.events.len() as u64 + 1);
            forked.events.push(Event { seq, at, body: EventBody::ItemAdded { item: no } });
        }
        (forked, last)
    }

    /// Goes back to before a turn. None when the view holds none of it.
    pub(super) fn rewind(&mut self, turn: TurnNo, at: Timestamp) -> Option<Batch> {
        let (places, out) = (self.places(), OutOfView::of_items(&self.items));
        let from = rewind::first_item(&places, &out, turn)?;
        let base = self.base(&out, from).map(|row| (row.clone(), self.epoch_of(row).clone(), 1));
        let stay = rewind::calls_that_stay(&places, &out, from);
        let metas: Vec<MetaMessage> = self
            .items
            .iter()
            .filter(|item| item.no >= from && !out.contains(item.no))
            .filter_map(|item| match &item.body {
                ItemBody::Meta(meta) => Some(meta.clone()),
                _ => None,
            })
            .collect();
        let point = rewind::Point {
            turn,
            from,
            base,
            first: self.requests.first().map(|row| self.epoch_of(row).clone()),
            again: rewind::told_again(&metas, &stay, turn),
        };
        Some(rewind::rewind(&self.load().counters, point, at))
    }

    fn turns(&self, is: fn(&EventBody) -> bool) -> BTreeSet<TurnNo> {
        self.events.iter().filter(|event| is(&event.body)).filter_map(|event| turn_of(&event.body)).collect()
    }

    /// What a compaction left that an epoch without a request goes on with.
    fn switched(&self, epoch: &Epoch) -> Option<&Switch> {
        let before = self.epochs.iter().rev().skip_while(|before| before.no > epoch.no);
        for before in before.take_while(|before| before.has_wire_of(epoch)) {
            if before.switch.is_some() {
                return before.switch.as_ref();
            }
            let sent = self.requests.iter().any(|row| row.epoch == before.no);
            if sent || before.base.is_some() || matches!(before.cause, EpochCause::Rewind | EpochCause::Fork) {
                return None;
            }
        }
        None
    }

    /// What is read for a compaction.
    pub(super) fn history(&self, from: ItemNo) -> History {
        let out = OutOfView::of_items(&self.items);
        let viewed = || self.items.iter().filter(|item| !out.contains(item.no));
        let items: Vec<Item> = viewed().filter(|item| item.no >= from).cloned().collect();
        History {
            said: viewed().filter_map(Said::of).collect(),
            projections: self.projections.clone(),
            items,
            transcript: "/data/s/transcript.txt".into(),
        }
    }

    /// The requests whose messages an epoch without one goes on with.
    fn carried(&self, epoch: &Epoch) -> Vec<&RequestRow> {
        let upto = |last: RequestNo| {
            let row = self.requests.iter().find(|row| row.no == last).unwrap();
            self.requests.iter().filter(|other| other.epoch == row.epoch && other.no <= last).collect()
        };
        if let Some(base) = epoch.base {
            return upto(base);
        }
        if matches!(epoch.cause, EpochCause::Rewind | EpochCause::Fork) {
            return Vec::new();
        }
        // The newest epoch with requests before it, as long as all between have the same wire.
        let before = self.epochs.iter().rev().skip_while(|before| before.no >= epoch.no);
        for before in before.take_while(|before| before.has_wire_of(epoch)) {
            let rows: Vec<&RequestRow> = self.requests.iter().filter(|row| row.epoch == before.no).collect();
            match (rows.is_empty(), before.base, before.cause) {
                (false, _, _) => return rows,
                (true, Some(base), _) => return upto(base),
                (true, None, EpochCause::Rewind | EpochCause::Fork) => break,
                (true, None, _) => {}
            }
        }
        Vec::new()
    }

    /// What a store gives when the session is opened again.
    pub(super) fn load(&self) -> Loaded {
        let out = OutOfView::of_items(&self.items);
        let viewed: Vec<Item> = self.items.iter().filter(|item| !out.contains(item.no)).cloned().collect();
        let epoch = self.epochs.last().cloned();
        let of_epoch = |row: &&RequestRow| Some(row.epoch) == epoch.as_ref().map(|epoch| epoch.no);
        let mut last_request = self.requests.iter().rfind(of_epoch).cloned();
        let mut carried = Vec::new();
        let mut carried_through = None;
        if let (None, Some(epoch)) = (&last_request, &epoch) {
            if let Some(switch) = self.switched(epoch) {
                carried.clone_from(&switch.messages);
                carried_through = Some(switch.last_item);
                last_request = self.requests.last().cloned();
            } else {
                let rows = self.carried(epoch);
                carried = rows.iter().flat_map(|row| row.tail.clone()).collect();
                last_request = rows.last().map(|row| (*row).clone());
            }
        }
        let sent = last_request.as_ref().map(|row| row.last_item).unwrap_or_default();
        let seen = carried_through.unwrap_or_default().max(sent);
        let turn = self.events.iter().filter_map(|event| turn_of(&event.body)).max().unwrap_or_default();
        let of = |is: fn(&EventBody) -> bool| {
            let found =
                self.events.iter().filter(move |event| is(&event.body)).filter_map(|event| turn_of(&event.body));
            found.collect::<std::collections::BTreeSet<_>>()
        };
        let started = of(|body| matches!(body, EventBody::TurnStarted { .. }));
        let completed = of(|body| matches!(body, EventBody::TurnCompleted { .. }));
        let queued = of(|body| matches!(body, EventBody::TurnQueued { .. }));
        let answered = |call: CallId| {
            self.items.iter().any(|item| matches!(&item.body, ItemBody::ToolResult(result) if result.call == call))
        };
        let calls = self.items.iter().filter_map(|item| match &item.body {
            ItemBody::ToolCall(call) => Some((call.call, call.tool.clone(), item.step)),
            _ => None,
        });
        let stays = |call: CallId| {
            viewed.iter().any(|item| matches!(&item.body, ItemBody::ToolCall(made) if made.call == call))
        };
        Loaded {
            counters: Counters {
                item: self.items.last().map(|item| item.no).unwrap_or_default(),
                seq: self.events.last().map(|event| event.seq).unwrap_or_default(),
                turn,
                call: calls.clone().map(|(call, ..)| call).max().unwrap_or_default(),
                ask: self.asks.keys().max().copied().unwrap_or_default(),
                request: self.requests.last().map(|row| row.no).unwrap_or_default(),
                epoch: epoch.as_ref().map(|epoch| epoch.no).unwrap_or_default(),
                side: self.sides.last().map(|row| row.no).unwrap_or_default(),
            },
            state: self.state,
            usage: self.used(None),
            turn_usage: self.used(started.difference(&completed).next().copied()),
            last_request_ended: last_request.as_ref().is_some_and(|row| self.ends.contains_key(&row.no)),
            view: StoredView {
                sent: self.requests.iter().filter(of_epoch).flat_map(|row| row.tail.clone()).collect(),
                carried,
                carried_through,
                unsent: viewed.iter().filter(|item| item.no > seen).cloned().collect(),
                rerender: viewed.iter().filter(|item| item.no <= seen).cloned().collect(),
                projections: self.projections.clone(),
                last_usage: last_request.as_ref().and_then(|row| self.ends.get(&row.no)).and_then(|end| end.usage),
                last_request,
                epoch,
            },
            operations: self.operations.values().filter(|operation| !operation.is_settled()).cloned().collect(),
            asks: self.asks.values().filter(|ask| ask.resolution.is_none()).cloned().collect(),
            grants: Vec::<Rule>::new(),
            shown: viewed
                .iter()
                .flat_map(|item| match &item.body {
                    ItemBody::User(message) => message.shown.clone(),
                    ItemBody::ToolResult(result) => {
                        self.projections.get(&result.call).map(|stored| stored.shown.clone()).unwrap_or_default()
                    }
                    _ => Vec::new(),
                })
                .collect(),
            task: self.task.clone(),
            turn_files: {
                let running = started.difference(&completed).next().copied();
                let of_turn = self.operations.values().filter(|operation| Some(operation.turn) == running);
                of_turn.flat_map(crate::ledger::changed_files).map(str::to_owned).collect()
            },
            verification: viewed.iter().rev().find_map(|item| match &item.body {
                ItemBody::ToolResult(result) => match &result.outcome.body {
                    crate::tool::outcome::Body::Tests(run) => {
                        crate::verification::Verification::of(result.call, run, item.at)
                    }
                    _ => None,
                },
                _ => None,
            }),
            todos: todos(&viewed),
            before_plan: self.before_plan,
            open_calls: calls.filter(|(call, ..)| !answered(*call)).collect(),
            running_turn: started.difference(&completed).next().copied(),
            waiting_turns: queued
                .iter()
                .filter(|turn| !started.contains(turn) && !completed.contains(turn))
                .copied()
                .collect(),
            revision: self.revision,
            untold: self
                .operations
                .values()
                .filter(|operation| operation.in_background() && !stays(operation.call))
                .map(|operation| operation.call)
                .collect(),
            titled: self.titled,
        }
    }
}

/// The list as the last result of `todo_write` among these has it.
fn todos(items: &[Item]) -> Vec<Todo> {
    let mut lists = items.iter().rev().filter_map(|item| match &item.body {
        ItemBody::ToolResult(result) => match &result.outcome.body {
            Body::Todos(todos) => Some(todos.clone()),
            _ => None,
        },
        _ => None,
    });
    lists.next().unwrap_or_default()
}

pub(super) fn turn_of(body: &EventBody) -> Option<TurnNo> {
    match body {
        EventBody::TurnStarted { turn } | EventBody::TurnQueued { turn } | EventBody::TurnCompleted { turn, .. } => {
            Some(*turn)
        }
        _ => None,
    }
}

fn call_of(item: &Item) -> Option<CallId> {
    match &item.body {
        ItemBody::ToolResult(result) => Some(result.call),
        _ => None,
    }
}
