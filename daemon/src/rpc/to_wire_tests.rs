//! Tests of the mapping by values.

use super::*;
use crate::session::api::TranscriptPage;
use plimsoll_core::event::{AskOption, Event, TurnFacts};
use plimsoll_core::id::{AskId, CallId, ItemNo, Revision, Seq, StepNo, TurnNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::{CommandRun, Outcome, Output, Status};
use plimsoll_core::transcript::item::{AssistantText, ToolResult, UserMessage};
use plimsoll_core::transcript::rewound::OutOfView;
use std::collections::BTreeMap;

fn item_of(no: u64, body: ItemBody) -> Item {
    Item { no: ItemNo(no), turn: TurnNo(1), step: StepNo(2), at: Timestamp(9), body }
}

fn result(no: u64, call: u64, body: Body) -> Item {
    item_of(
        no,
        ItemBody::ToolResult(ToolResult {
            call: CallId(call),
            tool: "t".into(),
            outcome: Outcome { status: Status::Failed, body },
            revision: Revision(4),
            approximate: false,
        }),
    )
}

fn command() -> Body {
    Body::Command(CommandRun {
        command: "false".into(),
        cwd: ".".into(),
        exit: Exit::Code(1),
        duration_ms: 5,
        output: Output { head: "o".into(), omitted: 0, tail: String::new(), total_bytes: 1, omitted_lines: 0 },
        stderr: Output::default(),
        log: None,
        left_running: vec![],
        limits: None,
    })
}

fn event_of(body: EventBody) -> ResolvedEvent {
    ResolvedEvent {
        event: Event { seq: Seq(3), at: Timestamp(8), body },
        item: None,
        projection: None,
        ask: None,
        given_up: None,
    }
}

fn check(resolved: ResolvedEvent, expected: Value) {
    let sent = update("s1", &Update::Event(Box::new(resolved)), None).unwrap();
    let json = serde_json::to_value(&sent).unwrap();
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<event::SessionEvent>(json).unwrap(), sent);
}

#[test]
fn a_result_carries_status_text_and_data() {
    let mut resolved = event_of(EventBody::ItemAdded { item: ItemNo(7) });
    resolved.item = Some(result(7, 2, command()));
    resolved.projection = Some("exit 1".into());
    check(
        resolved,
        json!({
            "session": "s1", "seq": 3, "at": 8, "type": "itemAdded",
            "item": {
                "no": 7, "turn": 1, "step": 2, "at": 9, "kind": "toolResult", "call": "c2", "tool": "t",
                "status": "failed", "text": "exit 1", "revision": "r4", "approximate": false,
                "data": {
                    "kind": "command", "command": "false", "cwd": ".", "exit": {"type": "code", "code": 1},
                    "durationMs": 5, "log": null, "leftRunning": [],
                    "output": {"head": "o", "omitted": 0, "tail": "", "totalBytes": 1},
                },
            },
        }),
    );
}

#[test]
fn events_have_their_words() {
    check(
        event_of(EventBody::StepStarted { turn: TurnNo(1), step: StepNo(2), tokens: 50, window: 200 }),
        json!({"session": "s1", "seq": 3, "at": 8, "type": "stepStarted", "turn": 1, "step": 2, "tokens": 50, "window": 200, "load": 0.25}),
    );
    check(
        event_of(EventBody::TurnCompleted {
            turn: TurnNo(1),
            reason: TurnEnd::ModelError,
            usage: Usage { input: 1, cache_read: 2, cache_write: 3, output: 4 },
            cost: Some(0.5),
            unsettled: vec![CallId(9)],
            message: Some("no".into()),
            facts: TurnFacts::default(),
        }),
        json!({
            "session": "s1", "seq": 3, "at": 8, "type": "turnCompleted", "turn": 1, "stopReason": "modelError",
            "usage": {"input": 1, "cacheRead": 2, "cacheWrite": 3, "output": 4}, "cost": 0.5, "unsettled": ["c9"],
            "message": "no",
        }),
    );
    let mut asked = event_of(EventBody::PermissionAsked { ask: AskId(1), call: CallId(2) });
    asked.ask = Some(Ask {
        id: AskId(1),
        call: CallId(2),
        turn: TurnNo(1),
        at: Timestamp(1),
        tool: "run_terminal_cmd".into(),
        title: "run make".into(),
        command: Some("make".into()),
        paths: vec!["/w".into()],
        changes: Vec::new(),
        plan: None,
        reason: "it runs a program".into(),
        repeats: None,
        options: vec![AskOption {
            kind: AskChoice::AllowSession,
            label: "allow `make`".into(),
            rules: vec!["run_terminal_cmd(make)".into()],
        }],
        resolution: Some(AskResolution::Answered { choice: AskChoice::Reject, advice: None }),
    });
    check(
        asked,
        json!({
            "session": "s1", "seq": 3, "at": 8, "type": "permissionAsked",
            "ask": {
                "id": "a1", "call": "c2", "turn": 1, "at": 1, "tool": "run_terminal_cmd", "title": "run make",
                "command": "make", "paths": ["/w"], "reason": "it runs a program",
                "options": [{"kind": "allowSession", "label": "allow `make`", "rules": ["run_terminal_cmd(make)"]}],
                "resolution": {"type": "answered", "choice": "reject"},
            },
        }),
    );
    let mut planned = event_of(EventBody::PlanChanged { call: CallId(5) });
    let todo = Todo { id: "1".into(), content: "x".into(), status: TodoStatus::InProgress };
    planned.item = Some(result(2, 5, Body::Todos(vec![todo])));
    check(
        planned,
        json!({"session": "s1", "seq": 3, "at": 8, "type": "planChanged", "call": "c5", "todos": [{"id": "1", "content": "x", "status": "inProgress"}]}),
    );
}

#[test]
fn deltas_have_an_offset_and_no_seq() {
    let delta = Delta::Text { turn: TurnNo(1), step: StepNo(2), block: 3, text: "abc".into() };
    let sent = update("s1", &Update::Delta { delta, offset: 40 }, None).unwrap();
    assert_eq!(
        serde_json::to_value(&sent).unwrap(),
        json!({"session": "s1", "type": "textDelta", "turn": 1, "step": 2, "block": 3, "offset": 40, "text": "abc"})
    );
}

#[test]
fn an_event_whose_item_is_gone_says_so() {
    let gone = event_of(EventBody::ItemAdded { item: ItemNo(7) });
    let error = update("s1", &Update::Event(Box::new(gone)), None).unwrap_err();
    assert_eq!(error.to_string(), "item 7 could not be read");
}

#[test]
fn a_page_is_cut_at_its_far_end_and_never_empty() {
    let user = |no: u64| {
        let text = "x".repeat(1000);
        item_of(no, ItemBody::User(UserMessage { text, ..UserMessage::default() }))
    };
    let stored = TranscriptPage {
        items: (1..=5).map(user).collect(),
        projections: BTreeMap::new(),
        last: ItemNo(5),
        out: OutOfView::default(),
    };
    let numbers = |forward, bytes| page(&stored, forward, bytes).items.iter().map(|item| item.no).collect::<Vec<_>>();
    assert_eq!(numbers(true, 2500), [1, 2]);
    assert_eq!(numbers(false, 2500), [4, 5]);
    assert_eq!(numbers(true, 1), [1]);
    assert_eq!(numbers(false, 1), [5]);
    assert_eq!(numbers(true, 100_000), [1, 2, 3, 4, 5]);
}

#[test]
fn pages_carry_the_text_of_results() {
    let stored = TranscriptPage {
        items: vec![
            item_of(1, ItemBody::Assistant(AssistantText { text: "hi".into(), cut: true })),
            result(2, 3, Body::Text("boom".into())),
        ],
        projections: BTreeMap::from([(CallId(3), "error: boom".into())]),
        last: ItemNo(2),
        out: OutOfView::default(),
    };
    assert_eq!(
        serde_json::to_value(page(&stored, true, 10_000)).unwrap(),
        json!({
            "last": 2,
            "items": [
                {"no": 1, "turn": 1, "step": 2, "at": 9, "kind": "assistant", "text": "hi", "cut": true},
                {
                    "no": 2, "turn": 1, "step": 2, "at": 9, "kind": "toolResult", "call": "c3", "tool": "t",
                    "status": "failed", "text": "error: boom", "data": {"kind": "text", "text": "boom"},
                    "revision": "r4", "approximate": false,
                },
            ],
        })
    );
}
