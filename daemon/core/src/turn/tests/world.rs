//! A world for the machine: a store in memory, and everything that was asked for and has not been answered.

use super::super::effect::{Consult, Effect};
use super::super::input::{Citations, Input, InputBody, Prompt};
use super::super::load::Loaded;
use super::super::machine::{Machine, Settings};
use super::super::recover::Cut;
use super::disk::Disk;
use super::stored::{Stored, turn_of};
use crate::event::{AskResolution, Delta, EventBody};
use crate::id::{AskId, CallId, ItemNo, RequestNo, SideNo, StepNo, TurnNo};
use crate::ledger::OpState;
use crate::model::catalog::ModelProfile;
use crate::model::request::Api;
use crate::permission::policy::{Mode, Policy};
use crate::prompt::Prompts;
use crate::task::quote;
use crate::time::Timestamp;
use crate::tool::call::Call;
use crate::tool::projection::Budget;
use crate::transcript::item::ItemBody;
use crate::transcript::rewound::OutOfView;
use crate::workspace::{Environment, GitBlock, InstructionSource, UserInfo};
use std::collections::BTreeMap;

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
    Consult(CallId, Consult),
    /// The history from that item on.
    History(ItemNo),
    /// A request beside the conversation, with its body.
    Side(SideNo, Vec<u8>),
    Timer(super::super::input::TimerId),
    /// A command in the background, which ends some time.
    Task(CallId),
}

/// See the module's head.
#[derive(Debug, Clone)]
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
    pub(super) disk: Disk,
    /// How often a turn was suspended.
    pub(super) suspended: usize,
    /// What became of compactions that were asked for.
    pub(super) taken: Vec<Result<(), String>>,
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
        compaction: crate::compaction::Settings::default(),
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
            disk: Disk::default(),
            suspended: 0,
            taken: Vec::new(),
            clock: 0,
        }
    }

    pub(super) fn prompt(&mut self, text: &str) {
        self.input(InputBody::Prompt(Prompt { text: text.into(), key: None, attachments: vec![], goes_on: None }));
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
                Effect::Run { call, prepared, .. } => {
                    self.disk.begins(call.id, &prepared.changes);
                    let executes = matches!(call.tool.as_str(), "run_terminal_cmd" | "apply_patch");
                    let recorded = self.stored.operations.get(&call.id).map(|operation| operation.state);
                    assert!(!executes || recorded == Some(OpState::Running), "no effect before its record");
                    self.pending.push(Pending::Run(call));
                }
                Effect::StopTool(call) => self.stopping.push(call),
                Effect::LoadResult { call, .. } => self.pending.push(Pending::Load(call)),
                Effect::SaveText { call, .. } => self.pending.push(Pending::Save(call)),
                Effect::ReadPlan { call } => self.pending.push(Pending::Plan(call)),
                Effect::Consult { call, question } => self.pending.push(Pending::Consult(call, question)),
                Effect::LoadHistory { from } => self.pending.push(Pending::History(from)),
                Effect::CallSide(call) => {
                    assert!(self.stored.sides.iter().any(|row| row.no == call.no), "no request before its record");
                    self.pending.push(Pending::Side(call.no, call.body));
                }
                Effect::StopSide(no) => {
                    self.pending.retain(|pending| !matches!(pending, Pending::Side(of, _) if *of == no));
                }
                Effect::CompactionTaken(taken) => self.taken.push(taken),
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

    /// What of these quotes the user has said, as a store finds it.
    pub(super) fn citations(&self, quotes: &[(String, Option<ItemNo>)]) -> Citations {
        let out = OutOfView::of_items(&self.stored.items);
        let said: Vec<(ItemNo, String)> = self
            .stored
            .items
            .iter()
            .filter(|item| !out.contains(item.no))
            .filter_map(|item| match &item.body {
                ItemBody::User(message) => Some((item.no, message.text.clone())),
                _ => None,
            })
            .collect();
        Citations {
            items: quotes.iter().map(|(text, item)| quote::find(&said, text, *item)).collect(),
            roots: vec!["/w".into()],
            revision: self.stored.revision,
            ..Citations::default()
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

    /// A session that shares this one's items up to `until`, as it begins, and the last item that it shares. What runs here
    /// goes on here.
    pub(super) fn fork(&self, until: ItemNo) -> (Self, ItemNo) {
        let (stored, last) = self.stored.fork(until, self.now());
        let settings = Settings { mode: stored.mode, ..self.machine.settings.clone() };
        let environment = self.environment.clone();
        let mut forked = Self { environment, clock: self.clock, ..Self::new(settings.model.api) };
        let begun = stored.load().counters.turn;
        forked.collected = self.collected.range(..=begun).map(|(turn, found)| (*turn, found.clone())).collect();
        let shared = |no: &RequestNo| stored.requests.iter().any(|row| row.no == *no);
        for (no, body) in self.numbers.iter().zip(&self.bodies).filter(|(no, _)| shared(no)) {
            forked.numbers.push(*no);
            forked.bodies.push(body.clone());
        }
        forked.machine = Machine::load(stored.load(), settings);
        forked.stored = stored;
        (forked, last)
    }

    /// The conversation goes back to before that turn; whether it did: it does not while a turn runs, nor to one that the
    /// view does not hold.
    pub(super) fn rewind(&mut self, turn: TurnNo) -> bool {
        if !self.machine.is_idle() {
            return false;
        }
        let Some(batch) = self.stored.rewind(turn, self.now()) else { return false };
        self.stored.commit(batch);
        self.take_up();
        true
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
        self.disk.crash(self.clock.unsigned_abs() / 1_000);
        let seen = self.disk.seen(&loaded);
        if let Some(batch) = super::super::recover::settle(&loaded, &seen, Timestamp(self.clock), &Cut::Crash) {
            self.stored.commit(batch);
        }
        let loaded = self.stored.load();
        assert_eq!(
            super::super::recover::settle(&loaded, &seen, Timestamp(self.clock), &Cut::Crash),
            None,
            "settling twice adds nothing"
        );
        let (api, model) = (settings.model.api, &settings.model.name);
        let other = loaded.view.epoch.as_ref().is_some_and(|epoch| epoch.api != api || epoch.model != *model);
        if other && loaded.is_suspended() {
            // Another model cannot go on in the middle of a turn.
            let batch = super::super::recover::settle(&loaded, &[], Timestamp(self.clock), &Cut::Model);
            self.stored.commit(batch.expect("a turn that is open has an end"));
        }
        let loaded = self.stored.load();
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
            self.disk.check(operation);
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
