//! Tests of what is asked and what answers mean.

use super::*;
use plimsoll_core::event::AskOption;
use plimsoll_core::id::{AskId, CallId, TurnNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::call::{Diff, FileChange};
use serde_json::json;
use serde_json::value::RawValue;

fn ask() -> Ask {
    let option = |kind, label: &str| AskOption { kind, label: label.into(), rules: Vec::new() };
    Ask {
        id: AskId(1),
        call: CallId(4),
        turn: TurnNo(2),
        at: Timestamp(0),
        tool: "run_terminal_cmd".into(),
        title: "run make".into(),
        command: Some("make".into()),
        paths: vec![],
        changes: Vec::new(),
        plan: None,
        reason: "commands are asked for".into(),
        repeats: None,
        options: vec![
            option(AskChoice::AllowOnce, "Allow once"),
            option(AskChoice::AllowSession, "Allow `make`"),
            option(AskChoice::Reject, "Reject"),
        ],
        resolution: None,
    }
}

#[test]
fn a_question_is_asked_with_all_its_options() {
    let option = |id: &str, name: &str, kind: &str| json!({"optionId": id, "name": name, "kind": kind});
    assert_eq!(
        serde_json::to_value(request(&"s1".parse().unwrap(), &ask(), "`make`")).unwrap(),
        json!({
            "sessionId": "s1",
            "toolCall": {
                "toolCallId": "c4", "title": "`make`", "kind": "execute", "status": "pending",
                "content": [{"type": "content", "content": {"type": "text", "text": "commands are asked for"}}],
            },
            "options": [
                option("allow_once", "Allow once", "allow_once"),
                option("allow_session", "Allow `make`", "allow_always"),
                option("reject", "Reject", "reject_once"),
            ],
        })
    );
}

#[test]
fn a_question_about_an_edit_shows_the_difference_and_every_lasting_choice_is_its_own_option() {
    let change = FileChange {
        path: "/w/a".into(),
        before: Some("1".into()),
        after: Some("2".into()),
        touches: vec![(3, 1)],
        diff: Diff { text: "@@ -3 +3 @@\n-b\n+c\n".into(), added: 1, removed: 1, cut: 0 },
        ..FileChange::default()
    };
    let mut ask = Ask { tool: "string_replace".into(), command: None, changes: vec![change], ..ask() };
    let option = |kind, label: &str| AskOption { kind, label: label.into(), rules: Vec::new() };
    ask.options.push(option(AskChoice::AllowAlways, "Always"));
    let asked = serde_json::to_value(request(&"s1".parse().unwrap(), &ask, "Edit a")).unwrap();
    let call = &asked["toolCall"];
    assert_eq!((&call["kind"], &call["locations"]), (&json!("edit"), &json!([{"path": "/w/a", "line": 3}])));
    assert_eq!(call["content"][1], json!({"type": "diff", "path": "/w/a", "oldText": "b\n", "newText": "c\n"}));
    let ids: Vec<_> = asked["options"].as_array().unwrap().iter().map(|option| option["optionId"].clone()).collect();
    assert_eq!(ids, ["allow_once", "allow_session", "reject", "allow_always"]);
    let chosen = RawValue::from_string(r#"{"outcome":{"outcome":"selected","optionId":"allow_always"}}"#.into());
    assert_eq!(decision(&Ok(chosen.unwrap()), &ask), Decision::Choice(AskChoice::AllowAlways));
}

#[test]
fn a_plan_is_shown_whole_and_each_way_to_approve_it_counts_once() {
    let asked = Ask { tool: "exit_plan_mode".into(), command: None, plan: Some("1. Look\n2. Fix".into()), ..ask() };
    let asked = serde_json::to_value(request(&"s1".parse().unwrap(), &asked, "Plan to be approved")).unwrap();
    let text = |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
    assert_eq!(
        asked["toolCall"],
        json!({
            "toolCallId": "c4", "title": "Plan to be approved", "kind": "switch_mode", "status": "pending",
            "content": [text("commands are asked for"), text("1. Look\n2. Fix")],
        })
    );
    let kinds: Vec<_> = asked["options"].as_array().unwrap().iter().map(|option| option["kind"].clone()).collect();
    assert_eq!(kinds, ["allow_once", "allow_once", "reject_once"]);
}

#[test]
fn answers_have_their_meaning_and_nonsense_has_none() {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let check = |text: &str, expected| assert_eq!(decision(&Ok(raw(text)), &ask()), expected, "{text}");
    check(
        r#"{"outcome":{"outcome":"selected","optionId":"allow_session"}}"#,
        Decision::Choice(AskChoice::AllowSession),
    );
    check(r#"{"outcome":{"outcome":"selected","optionId":"reject"}}"#, Decision::Choice(AskChoice::Reject));
    check(r#"{"outcome":{"outcome":"cancelled"}}"#, Decision::Interrupt);
    check(r#"{"outcome":{"outcome":"selected","optionId":"sudo"}}"#, Decision::Nothing);
    check("null", Decision::Nothing);
    assert_eq!(decision(&Err(raw(r#"{"code":-32603,"message":"no"}"#)), &ask()), Decision::Nothing);
}
