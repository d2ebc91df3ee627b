//! Plan mode: what follows the head. That the head is the same in every mode is asserted, not shown.

use super::session::{Session, call, json, settings};
use expect_test::{expect, expect_file};
use plimsoll_core::event::AskChoice;
use plimsoll_core::id::AskId;
use plimsoll_core::model::request::Api;
use plimsoll_core::permission::policy::Mode;
use plimsoll_core::turn::input::InputBody;
use plimsoll_core::turn::machine::Settings;
use plimsoll_core::workspace::{Environment, GitBlock};
use serde_json::Value;
use std::fmt::Write as _;

fn session(api: Api) -> Session {
    Session::new(Settings {
        mode: Mode::Ask,
        plan_file: "/data/projects/app/plans/<s1>.md".into(),
        session_dir: "/data/projects/app/s1".into(),
        ..settings(api)
    })
}

fn environment(plan_file_exists: bool) -> Environment {
    Environment { git: vec![GitBlock::NotARepository], plan_file_exists, ..Environment::default() }
}

/// What the last request says behind its head, which all requests share.
fn shown(session: &Session, scenario: &str) -> String {
    let bodies: Vec<Value> = session.bodies.iter().map(|body| json(body)).collect();
    for body in &bodies {
        assert_eq!(head(body), head(&bodies[0]), "no mode changes the head");
    }
    let mut out = format!("{scenario}\n");
    let messages = bodies.last().expect("a request")["messages"].as_array().expect("messages");
    for message in messages.iter().filter(|message| message["role"] != "system") {
        let role = message["role"].as_str().expect("a role");
        for text in texts(message) {
            let _ = writeln!(out, "\n--- {role}\n{text}");
        }
    }
    out
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
        (Api::OpenaiChat, expect_file!["../golden/requests/plan_entered.openai-chat.txt"]),
        (Api::AnthropicMessages, expect_file!["../golden/requests/plan_entered.anthropic-messages.txt"]),
    ] {
        let mut session = session(api);
        session.prompt("What does `main` do?", environment(false));
        session.say("It starts the server.");
        session.machine.set_mode(Mode::Plan);
        session.prompt("Make the port configurable.", environment(false));
        golden.assert_eq(&shown(&session, "The user chose plan mode before the second prompt."));
    }
}

#[test]
fn what_the_model_entered_left_and_entered_again_is_told_each_time_behind_the_results() {
    let mut session = session(Api::OpenaiChat);
    session.prompt("Make the port configurable.", environment(false));
    session.reply(vec![call("enter_plan_mode", "{}")]);
    session.reply(vec![call("exit_plan_mode", r#"{"plan":"1. Read PORT."}"#)]);
    session.input(InputBody::Answer { ask: AskId(1), choice: AskChoice::AllowOnce, advice: None });
    session.say("The port is read from PORT.");
    session.prompt("Now the host.", environment(true));
    session.reply(vec![call("enter_plan_mode", "{}")]);
    let told = shown(
        &session,
        "The model entered plan mode, the user approved its plan, and in the next turn, with a plan file there, it entered again.",
    );
    expect_file!["../golden/requests/plan_left_and_entered_again.openai-chat.txt"].assert_eq(&told);
}

#[test]
fn over_26_turns_the_user_says_little_and_the_model_is_told_seldom() {
    let mut session = session(Api::OpenaiChat);
    session.machine.set_mode(Mode::Plan);
    let mut turns = String::new();
    for turn in 1..=26 {
        session.prompt("Go on.", environment(false));
        if let Some(word) = reminder(&session.last()) {
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
    let told = shown(&session, "26 turns in plan mode.");
    expect_file!["../golden/requests/plan_throttled.openai-chat.txt"].assert_eq(&told);
}
