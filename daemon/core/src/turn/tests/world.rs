//! A world for the machine: a store in memory, and everything that was asked for and has not been answered.

use super::super::effect::Effect;
use super::super::input::{Input, InputBody, Prompt};
use super::super::load::Loaded;
use super::super::machine::{Counters, Machine, Settings};
use super::super::recover::Cut;
use crate::context::view::StoredView;
use crate::event::{Ask, AskResolution, Delta, Event, EventBody};
use crate::id::{AskId, CallId, RequestNo, Revision, StepNo, TurnNo};
use crate::ledger::{OpState, Operation};
use crate::model::catalog::ModelProfile;
use crate::model::request::Api;
use crate::model::usage::Usage;
use crate::permission::policy::{Mode, Policy};
use crate::permission::rule::Rule;
use crate::prompt::Prompts;
use crate::time::Timestamp;
use crate::tool::call::Call;
use crate::tool::outcome::{Body, Todo};
use crate::tool::projection::Budget;
use crate::transcript::batch::{Batch, SessionState, StoredProjection};
use crate::transcript::epoch::{Epoch, RequestEnd, RequestRow};
use crate::transcript::item::{Item, ItemBody};
use crate::workspace::{Environment, GitBlock, InstructionSource, UserInfo};
use std::collections::BTreeMap;

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
    pub(super) events: Vec<Event>,
    pub(super) state: Option<SessionState>,
    pub(super) titled: bool,
    pub(super) mode: Mode,
    pub(super) before_plan: Option<Mode>,
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
                assert!(!before.state.is_settled(), "a settled operation stays settled: {before:?} -> {operation:?}");
            }
            self.operations.insert(operation.call, operation);
        }
        self.projections.extend(batch.projections.into_iter().map(|shown| (shown.call, shown)));
        self.asks.extend(batch.asks.into_iter().map(|ask| (ask.id, ask)));
        self.epochs.extend(batch.epoch);
        self.requests.extend(batch.request);
        self.ends.extend(batch.request_end.map(|end| (end.no, end)));
        self.state = batch.state.or(self.state);
        self.titled |= batch.title.is_some();
        if let Some(mode) = batch.mode {
            self.set_mode(mode);
        }
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

    /// The list as the last result of `todo_write` has it.
    fn todos(&self) -> Vec<Todo> {
        let lists = self.items.iter().rev().filter_map(|item| match &item.body {
            ItemBody::ToolResult(result) => match &result.outcome.body {
                Body::Todos(todos) => Some(todos.clone()),
                _ => None,
            },
            _ => None,
        });
        lists.into_iter().next().unwrap_or_default()
    }

    /// What a store gives when the session is opened again.
    pub(super) fn load(&self) -> Loaded {
        let epoch = self.epochs.last().cloned();
        let of_epoch = |row: &&RequestRow| Some(row.epoch) == epoch.as_ref().map(|epoch| epoch.no);
        let mut last_request = self.requests.iter().rfind(of_epoch).cloned();
        let mut carried = Vec::new();
        if let (None, Some(epoch)) = (&last_request, &epoch) {
            // The newest epoch with requests before it, as long as all between have the same wire.
            let before = self.epochs.iter().rev().skip(1).take_while(|before| before.has_wire_of(epoch));
            let requests = before.map(|before| self.requests.iter().filter(|row| row.epoch == before.no));
            if let Some(rows) = requests.map(Iterator::collect::<Vec<_>>).find(|rows| !rows.is_empty()) {
                carried = rows.iter().flat_map(|row| row.tail.clone()).collect();
                last_request = rows.last().map(|row| (*row).clone());
            }
        }
        let seen = last_request.as_ref().map(|row| row.last_item).unwrap_or_default();
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
        Loaded {
            counters: Counters {
                item: self.items.last().map(|item| item.no).unwrap_or_default(),
                seq: self.events.last().map(|event| event.seq).unwrap_or_default(),
                turn,
                call: calls.clone().map(|(call, ..)| call).max().unwrap_or_default(),
                ask: self.asks.keys().max().copied().unwrap_or_default(),
                request: self.requests.last().map(|row| row.no).unwrap_or_default(),
                epoch: epoch.as_ref().map(|epoch| epoch.no).unwrap_or_default(),
            },
            state: self.state,
            usage: self.used(None),
            turn_usage: self.used(started.difference(&completed).next().copied()),
            last_request_ended: last_request.as_ref().is_some_and(|row| self.ends.contains_key(&row.no)),
            view: StoredView {
                sent: self.requests.iter().filter(of_epoch).flat_map(|row| row.tail.clone()).collect(),
                carried,
                unsent: self.items.iter().filter(|item| item.no > seen).cloned().collect(),
                rerender: self.items.iter().filter(|item| item.no <= seen).cloned().collect(),
                projections: self.projections.clone(),
                last_usage: last_request.as_ref().and_then(|row| self.ends.get(&row.no)).and_then(|end| end.usage),
                last_request,
                epoch,
            },
            operations: self.operations.values().filter(|operation| !operation.state.is_settled()).cloned().collect(),
            asks: self.asks.values().filter(|ask| ask.resolution.is_none()).cloned().collect(),
            grants: Vec::<Rule>::new(),
            shown: self
                .items
                .iter()
                .flat_map(|item| match &item.body {
                    ItemBody::User(message) => message.shown.clone(),
                    ItemBody::ToolResult(result) => {
                        self.projections.get(&result.call).map(|stored| stored.shown.clone()).unwrap_or_default()
                    }
                    _ => Vec::new(),
                })
                .collect(),
            todos: self.todos(),
            before_plan: self.before_plan,
            open_calls: calls.filter(|(call, ..)| !answered(*call)).collect(),
            running_turn: started.difference(&completed).next().copied(),
            waiting_turns: queued
                .iter()
                .filter(|turn| !started.contains(turn) && !completed.contains(turn))
                .copied()
                .collect(),
            revision: self.revision,
            titled: self.titled,
        }
    }
}

fn turn_of(body: &EventBody) -> Option<TurnNo> {
    match body {
        EventBody::TurnStarted { turn } | EventBody::TurnQueued { turn } | EventBody::TurnCompleted { turn, .. } => {
            Some(*turn)
        }
        _ => None,
    }
}

/// What was asked for and has no answer yet.
#[derive(Debug, Clone)]
pub(super) enum Pending {
    Collect(TurnNo),
    Model(RequestNo, Vec<u8>),
    Prepare(Call),
    Run(Call),
    Load(CallId),
    Save(CallId),
    Plan(CallId),
    Timer(super::super::input::TimerId),
    /// A command in the background, which ends some time.
    Task(CallId),
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct World {
    pub(super) machine: Machine,
    pub(super) stored: Stored,
    pub(super) pending: Vec<Pending>,
    /// Calls that were told to end.
    pub(super) stopping: Vec<CallId>,
    pub(super) bodies: Vec<Vec<u8>>,
    /// The request that each of them is of.
    pub(super) numbers: Vec<RequestNo>,
    pub(super) text: String,
    /// Turns with whether they were told as waiting.
    pub(super) accepted: Vec<(TurnNo, bool)>,
    pub(super) answers: Vec<(AskId, bool)>,
    pub(super) environment: Environment,
    /// What turns were given as their surroundings.
    pub(super) collected: BTreeMap<TurnNo, Environment>,
    pub(super) fail_commits: bool,
    /// How often a turn was suspended.
    pub(super) suspended: usize,
    clock: i64,
}

pub(super) fn settings(api: Api) -> Settings {
    Settings {
        model: ModelProfile {
            provider: "test".into(),
            name: format!("{api:?}"),
            api,
            context_window: 100_000,
            max_output: 1_000,
            temperature: None,
            cache_lifetime_s: 300,
            price: None,
            images: true,
        },
        mode: Mode::Ask,
        policy: Policy::default(),
        max_steps: 20,
        session_cost: None,
        prompts: Prompts::default(),
        language: None,
        projection: Budget::default(),
        plan_file: "/data/plans/s.md".into(),
        session_dir: "/data/s".into(),
    }
}

impl World {
    pub(super) fn new(api: Api) -> Self {
        Self {
            machine: Machine::load(Loaded::default(), settings(api)),
            stored: Stored::default(),
            pending: Vec::new(),
            stopping: Vec::new(),
            bodies: Vec::new(),
            numbers: Vec::new(),
            text: String::new(),
            accepted: Vec::new(),
            answers: Vec::new(),
            environment: Environment {
                user_info: UserInfo { roots: vec!["/w".into()], ..UserInfo::default() },
                git: vec![GitBlock::NotARepository],
                instructions: vec![InstructionSource { path: "AGENTS.md".into(), text: "Be brief.".into() }],
                ..Environment::default()
            },
            collected: BTreeMap::new(),
            fail_commits: false,
            suspended: 0,
            clock: 0,
        }
    }

    pub(super) fn prompt(&mut self, text: &str) {
        self.input(InputBody::Prompt(Prompt { text: text.into(), key: None, attachments: vec![] }));
    }

    pub(super) fn input(&mut self, body: InputBody) {
        self.clock += 1_000;
        let effects = self.machine.step(Input { at: Timestamp(self.clock), body });
        for effect in effects {
            match effect {
                Effect::Collect { turn, .. } => self.pending.push(Pending::Collect(turn)),
                Effect::Commit(_) if self.fail_commits => {
                    self.input(InputBody::CommitFailed("disk full".into()));
                    return;
                }
                Effect::Commit(batch) => self.stored.commit(*batch),
                Effect::Emit(Delta::Text { text, .. }) => self.text.push_str(&text),
                Effect::Emit(_) | Effect::Grant { .. } => {}
                Effect::CallModel(call) => {
                    assert!(self.stored.requests.iter().any(|row| row.no == call.no), "no request before its record");
                    self.bodies.push(call.body.clone());
                    self.numbers.push(call.no);
                    self.pending.push(Pending::Model(call.no, call.body));
                }
                Effect::StopModel(no) => {
                    self.pending.retain(|pending| !matches!(pending, Pending::Model(of, _) if *of == no));
                }
                Effect::Prepare(call) => self.pending.push(Pending::Prepare(call)),
                Effect::Run { call, .. } => {
                    let executes = call.tool == "run_terminal_cmd";
                    let recorded = self.stored.operations.get(&call.id).map(|operation| operation.state);
                    assert!(!executes || recorded == Some(OpState::Running), "no effect before its record");
                    self.pending.push(Pending::Run(call));
                }
                Effect::StopTool(call) => self.stopping.push(call),
                Effect::LoadResult { call, .. } => self.pending.push(Pending::Load(call)),
                Effect::SaveText { call, .. } => self.pending.push(Pending::Save(call)),
                Effect::ReadPlan { call } => self.pending.push(Pending::Plan(call)),
                Effect::StartTimer { id, .. } => self.pending.push(Pending::Timer(id)),
                Effect::Accepted { turn, queued } => self.accepted.push((turn, queued)),
                // Taken up again at once: whoever loads the session finds it in the middle of its turn.
                Effect::Suspend => {
                    self.suspended += 1;
                    self.take_up();
                }
                Effect::AnswerTaken { ask, taken } => self.answers.push((ask, taken)),
            }
        }
    }

    /// The user chooses a mode; stored at once, as the session's record is.
    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.stored.set_mode(mode);
        self.machine.set_mode(mode);
        self.input(InputBody::SessionChanged);
    }

    /// The time of the next input.
    pub(super) fn now(&self) -> Timestamp {
        Timestamp(self.clock + 1_000)
    }

    pub(super) fn open_asks(&self) -> Vec<AskId> {
        self.stored.asks.values().filter(|ask| ask.resolution.is_none()).map(|ask| ask.id).collect()
    }

    /// The session is loaded from what was committed; commands in the background go on.
    pub(super) fn take_up(&mut self) {
        self.pending.retain(|pending| matches!(pending, Pending::Task(_)));
        self.stopping.clear();
        self.machine = Machine::load(self.stored.load(), self.machine.settings.clone());
    }

    /// Time passes.
    pub(super) fn wait(&mut self, seconds: i64) {
        self.clock += seconds * 1_000;
    }

    /// The daemon dies and is started again: only what was committed is left.
    pub(super) fn crash(&mut self, api: Api) {
        self.crash_into(settings(api));
    }

    /// The same, with other settings or another build.
    pub(super) fn crash_into(&mut self, settings: Settings) {
        self.pending.clear();
        self.stopping.clear();
        let loaded = self.stored.load();
        if let Some(batch) = super::super::recover::settle(&loaded, Timestamp(self.clock), &Cut::Crash) {
            self.stored.commit(batch);
        }
        let loaded = self.stored.load();
        assert_eq!(
            super::super::recover::settle(&loaded, Timestamp(self.clock), &Cut::Crash),
            None,
            "settling twice adds nothing"
        );
        self.machine = Machine::load(loaded, Settings { mode: self.stored.mode, ..settings });
    }

    /// Every call has exactly one result, every question an end, nothing still runs.
    pub(super) fn check_settled(&self) {
        let mut results: BTreeMap<CallId, usize> = BTreeMap::new();
        for item in &self.stored.items {
            if let ItemBody::ToolResult(result) = &item.body {
                *results.entry(result.call).or_default() += 1;
            }
        }
        for item in &self.stored.items {
            if let ItemBody::ToolCall(call) = &item.body {
                assert_eq!(results.remove(&call.call), Some(1), "one result for {}", call.call);
            }
        }
        assert_eq!(results, BTreeMap::new(), "no result without a call");
        for operation in self.stored.operations.values() {
            assert!(operation.state.is_settled() || operation.state == OpState::Unknown, "{operation:?}");
        }
        for ask in self.stored.asks.values() {
            assert!(matches!(ask.resolution, Some(AskResolution::Answered { .. } | AskResolution::Void)), "{ask:?}");
        }
        let queued: Vec<TurnNo> = self.turns(|body| matches!(body, EventBody::TurnQueued { .. }));
        let started: Vec<TurnNo> = self.turns(|body| matches!(body, EventBody::TurnStarted { .. }));
        let mut completed: Vec<TurnNo> = self.turns(|body| matches!(body, EventBody::TurnCompleted { .. }));
        assert!(
            queued.iter().all(|turn| completed.contains(turn)),
            "who was told that a turn waits is told of its end"
        );
        // Prompts that waited when the daemon died never began; they are told as ended all the same.
        completed.retain(|turn| started.contains(turn) || !queued.contains(turn));
        assert_eq!(started, completed, "turns end in order, none inside another");
    }

    /// As many results as this stand in the transcript, each for its own call.
    pub(super) fn check_settled_calls(&self, calls: usize) {
        let results = self.stored.items.iter().filter_map(|item| match &item.body {
            ItemBody::ToolResult(result) => Some(result.call),
            _ => None,
        });
        assert_eq!(results.collect::<std::collections::BTreeSet<_>>().len(), calls);
    }

    fn turns(&self, is: impl Fn(&EventBody) -> bool) -> Vec<TurnNo> {
        self.stored.events.iter().filter(|event| is(&event.body)).filter_map(|event| turn_of(&event.body)).collect()
    }

    pub(super) fn step_of_last_request(&self) -> StepNo {
        self.stored.requests.last().map(|row| row.step).unwrap_or_default()
    }
}

/// Every assistant call has exactly one result directly behind it, and nothing else has one: the rule of the strict
/// provider, on a Chat Completions body.
pub(super) fn check_strict(body: &[u8]) {
    let body: serde_json::Value = serde_json::from_slice(body).expect("the body is JSON");
    let messages = body["messages"].as_array().expect("messages").clone();
    let mut seen = std::collections::BTreeSet::new();
    let mut at = 0;
    while at < messages.len() {
        let message = &messages[at];
        let calls: Vec<&str> = message["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| call["id"].as_str().expect("an id"))
            .collect();
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str().expect("arguments");
            assert!(
                serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_ok(),
                "{arguments}"
            );
            assert!(seen.insert(call["id"].to_string()), "unique id {}", call["id"]);
        }
        assert!(message["role"] != "tool", "a result without its call: {message}");
        at += 1;
        for id in calls {
            assert_eq!(messages[at]["role"], "tool", "a result directly behind its call");
            assert_eq!(messages[at]["tool_call_id"], id);
            at += 1;
        }
    }
}

/// The text of the body up to the end of its last message.
pub(super) fn open_end(body: &[u8]) -> &[u8] {
    body.strip_suffix(b"]}").expect("messages come last")
}
