//! A machine whose requests are kept, with a model and tools that do as they are told.

use plimsoll_core::compaction::history::{History, Said};
use plimsoll_core::id::{RequestNo, Revision, SideNo};
use plimsoll_core::model::catalog::ModelProfile;
use plimsoll_core::model::event::{BlockContent, ModelEvent, StopReason};
use plimsoll_core::model::request::Api;
use plimsoll_core::path::WorkspacePath;
use plimsoll_core::permission::policy::{Mode, Policy};
use plimsoll_core::prompt::Prompts;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::call::{Call, Prepared, Target, Zone};
use plimsoll_core::tool::outcome::Outcome;
use plimsoll_core::tool::projection::Budget;
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::turn::effect::Effect;
use plimsoll_core::turn::input::{Input, InputBody, Prompt};
use plimsoll_core::turn::load::Loaded;
use plimsoll_core::turn::machine::{Machine, Settings};
use plimsoll_core::workspace::Environment;
use serde_json::Value;

/// What a session works with unless its test says otherwise.
pub(crate) fn settings(api: Api) -> Settings {
    Settings {
        model: ModelProfile {
            provider: "test".into(),
            name: "model-1".into(),
            api,
            context_window: 100_000,
            max_output: 4_096,
            temperature: None,
            cache_lifetime_s: 300,
            price: None,
            images: false,
        },
        mode: Mode::Full,
        policy: Policy::default(),
        max_steps: 100,
        session_cost: None,
        prompts: Prompts::default(),
        language: None,
        projection: Budget::default(),
        compaction: plimsoll_core::compaction::Settings::default(),
        plan_file: "/data/plans/s.md".into(),
        session_dir: "/data/s".into(),
    }
}

/// See the module's head.
pub(crate) struct Session {
    pub(crate) machine: Machine,
    /// Every request's body, in order.
    pub(crate) bodies: Vec<Vec<u8>>,
    /// Every body of a request beside the conversation, in order.
    pub(crate) beside: Vec<Vec<u8>>,
    /// The transcript, with what the view shows of results.
    history: History,
    now: i64,
    todo: Vec<Effect>,
}

impl Session {
    pub(crate) fn new(settings: Settings) -> Self {
        let machine = Machine::load(Loaded::default(), settings);
        let history = History { transcript: "/data/s/transcript.txt".into(), ..History::default() };
        Self { machine, bodies: vec![], beside: vec![], history, now: 1_861_956_000_000, todo: vec![] }
    }

    pub(crate) fn input(&mut self, body: InputBody) {
        self.now += 1_000;
        for effect in self.machine.step(Input { at: Timestamp(self.now), body }) {
            match effect {
                Effect::CallModel(call) => self.bodies.push(call.body),
                Effect::Prepare(_) | Effect::Run { .. } => self.todo.push(effect),
                Effect::Commit(batch) => self.store(*batch),
                Effect::LoadHistory { .. } => self.input(InputBody::History(Box::new(Ok(self.history.clone())))),
                Effect::CallSide(call) => self.beside.push(call.body),
                _ => {}
            }
        }
    }

    fn store(&mut self, batch: Batch) {
        self.history.said.extend(batch.items.iter().filter_map(Said::of));
        self.history.items.extend(batch.items);
        self.history.projections.extend(batch.projections.into_iter().map(|shown| (shown.call, shown)));
    }

    /// The model writes the last summary that was asked for.
    pub(crate) fn summarise(&mut self, text: &str) {
        let no = SideNo(self.beside.len() as u64);
        let content = BlockContent::Text(text.into());
        self.input(InputBody::Side { no, event: ModelEvent::BlockDone { block: 0, content } });
        self.input(InputBody::Side { no, event: ModelEvent::Finished(StopReason::EndTurn) });
    }

    pub(crate) fn prompt(&mut self, text: &str, environment: Environment) {
        self.input(InputBody::Prompt(Prompt { text: text.into(), key: None, attachments: vec![], goes_on: None }));
        let turn = self.machine.running_turn().expect("a turn begins");
        self.input(InputBody::Environment { turn, environment: Box::new(environment) });
    }

    /// The model answers the last request.
    pub(crate) fn reply(&mut self, blocks: Vec<BlockContent>) {
        let request = RequestNo(self.bodies.len() as u64);
        for (block, content) in (0..).zip(blocks) {
            self.input(InputBody::Model { request, event: ModelEvent::BlockDone { block, content } });
        }
        self.input(InputBody::Model { request, event: ModelEvent::Finished(StopReason::EndTurn) });
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.reply(vec![BlockContent::Text(text.into())]);
    }

    /// Prepares and runs all calls.
    pub(crate) fn work(&mut self, prepare: impl Fn(&Call) -> Prepared, run: impl Fn(&Call) -> Outcome) {
        while let Some(effect) = self.todo.pop() {
            match effect {
                Effect::Prepare(call) => {
                    self.input(InputBody::Prepared { call: call.id, result: Ok(prepare(&call)) });
                }
                Effect::Run { call, .. } => {
                    self.input(InputBody::ToolFinished { call: call.id, outcome: run(&call), revision: Revision(4) });
                }
                _ => unreachable!(),
            }
        }
    }

    /// The body of the last request.
    pub(crate) fn last(&self) -> Value {
        json(self.bodies.last().expect("a request"))
    }
}

pub(crate) fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).expect("JSON")
}

/// A call as the model makes it.
pub(crate) fn call(name: &str, arguments: &str) -> BlockContent {
    BlockContent::Call { provider_id: Some("x".into()), name: name.into(), arguments: arguments.into() }
}

/// What is found out about a call that touches this path in the first root.
pub(crate) fn touches(path: &str) -> Prepared {
    let zone = Zone::Root(WorkspacePath::new(0, "x"));
    Prepared { targets: vec![Target { path: path.into(), zone }], title: "t".into(), ..Prepared::default() }
}
