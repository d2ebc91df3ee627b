//! Golden requests of plan mode: one scenario each, then what follows the head, as the model gets it. That the head is the
//! same in every mode is asserted, not shown. A changed file is read line by line before it is accepted
//! (`UPDATE_EXPECT=1`).

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has nothing better to do than to fail"
)]

use expect_test::{expect, expect_file};
use plimsoll_core::event::AskChoice;
use plimsoll_core::id::{AskId, RequestNo};
use plimsoll_core::model::catalog::ModelProfile;
use plimsoll_core::model::event::{BlockContent, ModelEvent, StopReason};
use plimsoll_core::model::request::Api;
use plimsoll_core::permission::policy::{Mode, Policy};
use plimsoll_core::prompt::Prompts;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::projection::Budget;
use plimsoll_core::turn::effect::Effect;
use plimsoll_core::turn::input::{Input, InputBody, Prompt};
use plimsoll_core::turn::load::Loaded;
use plimsoll_core::turn::machine::{Machine, Settings};
use plimsoll_core::workspace::{Environment, GitBlock};
use serde_json::Value;
use std::fmt::Write as _;

struct Session {
    machine: Machine,
    now: i64,
    bodies: Vec<Value>,
    plan_file_exists: bool,
}

impl Session {
    fn new(api: Api) -> Self {
        let model = ModelProfile {
            provider: "test".into(),
            name: "model-1".into(),
            api,
            context_window: 100_000,
            max_output: 4_096,
            temperature: None,
            cache_lifetime_s: 300,
            price: None,
            images: false,
        };
        let settings = Settings {
            model,
            mode: Mode::Ask,
            policy: Policy::default(),
            max_steps: 100,
            session_cost: None,
            prompts: Prompts::default(),
            language: None,
            projection: Budget::default(),
            plan_file: "/data/projects/app/plans/<s1>.md".into(),
            session_dir: "/data/projects/app/s1".into(),
        };
        let machine = Machine::load(Loaded::default(), settings);
        Self { machine, now: 1_861_956_000_000, bodies: vec![], plan_file_exists: false }
    }

    fn input(&mut self, body: InputBody) {
        self.now += 1_000;
        for effect in self.machine.step(Input { at: Timestamp(self.now), body }) {
            if let Effect::CallModel(call) = effect {
                self.bodies.push(serde_json::from_slice(&call.body).expect("JSON"));
            }
        }
    }

    fn prompt(&mut self, text: &str) {
        self.input(InputBody::Prompt(Prompt { text: text.into(), key: None, attachments: vec![] }));
        let turn = self.machine.running_turn().expect("a turn begins");
        let environment = Environment {
            git: vec![GitBlock::NotARepository],
            plan_file_exists: self.plan_file_exists,
            ..Environment::default()
        };
        self.input(InputBody::Environment { turn, environment: Box::new(environment) });
    }

    fn reply(&mut self, blocks: Vec<BlockContent>) {
        let request = RequestNo(self.bodies.len() as u64);
        for (block, content) in (0..).zip(blocks) {
            self.input(InputBody::Model { request, event: ModelEvent::BlockDone { block, content } });
        }
        self.input(InputBody::Model { request, event: ModelEvent::Finished(StopReason::EndTurn) });
    }

    fn say(&mut self, text: &str) {
        self.reply(vec![BlockContent::Text(text.into())]);
    }

    fn call(&mut self, name: &str, arguments: &str) {
        let provider_id = Some("x".into());
        self.reply(vec![BlockContent::Call { provider_id, name: name.into(), arguments: arguments.into() }]);
    }

    fn approve(&mut self, ask: u64) {
        self.input(InputBody::Answer { ask: AskId(ask), choice: AskChoice::AllowOnce, advice: None });
    }

    /// What the last request says behind its head, which all requests share.
    fn shown(&self, scenario: &str) -> String {
        for body in &self.bodies {
            assert_eq!(head(body), head(&self.bodies[0]), "no mode changes the head");
        }
        let mut out = format!("{scenario}\n");
        let messages = self.bodies.last().expect("a request")["messages"].as_array().expect("messages");
        for message in messages.iter().filter(|message| message["role"] != "system") {
            let role = message["role"].as_str().expect("a role");
            for text in texts(message) {
                let _ = writeln!(out, "\n--- {role}\n{text}");
            }
        }
        out
    }
}

/// Parameters, tools and system text.
fn head(body: &Value) -> Value {
    let mut head = body.clone();
    let messages = body["messages"].as_array().expect("messages");
    head["messages"] = messages.iter().take_while(|message| message["role"] == "system").cloned().collect();
    head
}

fn texts(message: &Value) -> Vec<String> {
    let mut texts: Vec<String> = match &message["content"] {
        Value::Array(blocks) => blocks
            .iter()
            .map(|block| match block["type"].as_str() {
                Some("text") => block["text"].as_str().expect("text").to_owned(),
                Some("tool_use") => format!("calls {} {}", block["name"], block["input"]),
                Some("tool_result") => format!("result: {}", block["content"][0]["text"].as_str().expect("text")),
                _ => block.to_string(),
            })
            .collect(),
        content => content.as_str().map(str::to_owned).into_iter().collect(),
    };
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        texts.push(format!("calls {} {}", call["function"]["name"], call["function"]["arguments"]));
    }
    texts
}

/// The full and the short reminders of a request's last message, as words.
fn reminder(body: &Value) -> Option<&'static str> {
    let text = texts(body["messages"].as_array()?.last()?).pop()?;
    [("full", "Plan mode is on."), ("short", "Plan mode is still on"), ("left", "Plan mode is over")]
        .into_iter()
        .find_map(|(word, begin)| text.contains(begin).then_some(word))
}

#[test]
fn plan_mode_is_told_in_full_when_the_user_chose_it_over_both_apis() {
    for (api, golden) in [
        (Api::OpenaiChat, expect_file!["./golden/requests/plan_entered.openai-chat.txt"]),
        (Api::AnthropicMessages, expect_file!["./golden/requests/plan_entered.anthropic-messages.txt"]),
    ] {
        let mut session = Session::new(api);
        session.prompt("What does `main` do?");
        session.say("It starts the server.");
        session.machine.set_mode(Mode::Plan);
        session.prompt("Make the port configurable.");
        golden.assert_eq(&session.shown("The user chose plan mode before the second prompt."));
    }
}

#[test]
fn what_the_model_entered_left_and_entered_again_is_told_each_time_behind_the_results() {
    let mut session = Session::new(Api::OpenaiChat);
    session.prompt("Make the port configurable.");
    session.call("enter_plan_mode", "{}");
    session.call("exit_plan_mode", r#"{"plan":"1. Read PORT."}"#);
    session.approve(1);
    session.say("The port is read from PORT.");
    session.plan_file_exists = true;
    session.prompt("Now the host.");
    session.call("enter_plan_mode", "{}");
    let shown = session.shown(
        "The model entered plan mode, the user approved its plan, and in the next turn, with a plan file there, it entered again.",
    );
    expect_file!["./golden/requests/plan_left_and_entered_again.openai-chat.txt"].assert_eq(&shown);
}

#[test]
fn over_26_turns_the_user_says_little_and_the_model_is_told_seldom() {
    let mut session = Session::new(Api::OpenaiChat);
    session.machine.set_mode(Mode::Plan);
    let mut turns = String::new();
    for turn in 1..=26 {
        session.prompt("Go on.");
        if let Some(word) = reminder(session.bodies.last().expect("a request")) {
            let _ = writeln!(turns, "turn {turn}: {word}");
        }
        session.say("Yes.");
    }
    expect![[r"
        turn 1: full
        turn 6: short
        turn 11: short
        turn 16: short
        turn 21: short
        turn 26: full
    "]]
    .assert_eq(&turns);
    let shown = session.shown("26 turns in plan mode.");
    expect_file!["./golden/requests/plan_throttled.openai-chat.txt"].assert_eq(&shown);
}
