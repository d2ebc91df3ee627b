//! Golden stored forms, one file per kind and kind of result.

use super::*;
use crate::event::{Event, EventBody, TurnEnd, TurnFacts};
use crate::id::{CallId, ItemNo, Revision, Seq, TurnNo};
use crate::media::Image;
use crate::model::request::{Api, Reasoning};
use crate::model::usage::Usage;
use crate::time::Timestamp;
use crate::tool::outcome::{
    Body, CommandRun, Entries, Entry, EntryKind, Exit, FileMatches, FileRead, LongLine, MatchLine, MatchMode, Matches,
    Outcome, Output, Status, Tail, Todo, TodoStatus,
};
use crate::tool::projection::Shown;
use crate::transcript::item::{
    AssistantText, MetaCause, MetaMessage, Notice, NoticeCause, Observation, Rewind, ToolCall, ToolResult, UserMessage,
};

fn golden_path(name: &str) -> String {
    format!("{}/tests/golden/items/{name}.v1.json", env!("CARGO_MANIFEST_DIR"))
}

/// The body is written as the golden file says, and the golden file is read as the body.
fn check(name: &str, body: &ItemBody) {
    let stored = encode(body).unwrap();
    expect_test::expect_file![golden_path(name)].assert_eq(&format!("{}\n", stored.json));
    let golden = std::fs::read_to_string(golden_path(name)).unwrap();
    assert_eq!(decode(stored.kind, 1, &golden).unwrap(), *body, "{name}");
}

fn image(name: &str) -> Image {
    let (name, mime, version) = (name.to_owned(), "image/png".to_owned(), "0".repeat(32));
    Image { name, mime, width: 2, height: 3, bytes: 4, version, data: "AAECAw==".into() }
}

fn check_result(name: &str, status: Status, body: Body) {
    let result = ToolResult {
        call: CallId(7),
        tool: "some_tool".into(),
        outcome: Outcome { status, body },
        revision: Revision(42),
        approximate: false,
    };
    check(name, &ItemBody::ToolResult(result));
}

#[test]
fn every_kind_has_its_golden_form() {
    check(
        "user",
        &ItemBody::User(UserMessage {
            text: "fix \"it\"\n#1 now".into(),
            additional_data: "<git_status>\n</git_status>".into(),
            ..UserMessage::default()
        }),
    );
    check(
        "user_attached",
        &ItemBody::User(UserMessage {
            text: "see".into(),
            images: vec![image("shot.png")],
            shown: vec![Shown {
                path: "/w/a.rs".into(),
                version: "ab".into(),
                lines: vec![(1, 2)],
                cut: vec![],
                total: 2,
            }],
            ..UserMessage::default()
        }),
    );
    let text = "<system-reminder>\nThese images belong to the results above.\n</system-reminder>".into();
    check("observation", &ItemBody::Observation(Observation { text, calls: vec![CallId(3), CallId(4)] }));
    check_result("result_image", Status::Ok, Body::Image(image("shot.png")));
    check(
        "meta",
        &ItemBody::Meta(MetaMessage {
            cause: MetaCause::InstructionsChanged,
            text: "<system-reminder>AGENTS.md changed</system-reminder>".into(),
        }),
    );
    for (name, cause) in [
        ("meta_plan_mode", MetaCause::PlanMode),
        ("meta_plan_mode_still", MetaCause::PlanModeStill),
        ("meta_plan_mode_left", MetaCause::PlanModeLeft),
        ("meta_todos_stale", MetaCause::TodosStale),
        ("meta_goes_on", MetaCause::GoesOn),
    ] {
        check(name, &ItemBody::Meta(MetaMessage { cause, text: "<system-reminder>\n.\n</system-reminder>".into() }));
    }
    check("assistant", &ItemBody::Assistant(AssistantText { text: "done \u{1F600}".into(), cut: true }));
    check(
        "reasoning",
        &ItemBody::Reasoning(Reasoning {
            text: "first, look".into(),
            signature: Some("sig==".into()),
            redacted: None,
            api: Api::AnthropicMessages,
        }),
    );
    check(
        "tool_call",
        &ItemBody::ToolCall(ToolCall {
            call: CallId(7),
            tool: "read_file".into(),
            arguments: "{\"target_file\":\"a.rs\"".into(),
            provider_id: Some("call_1".into()),
        }),
    );
    check("notice", &ItemBody::Notice(Notice { cause: NoticeCause::Retry, text: "trying again".into() }));
    check("rewind", &ItemBody::Rewind(Rewind { turn: TurnNo(2), from: ItemNo(9) }));
}

#[test]
fn every_kind_of_result_has_its_golden_form() {
    check_result("result_text", Status::Failed, Body::Text("no such file".into()));
    check_result(
        "result_file",
        Status::Ok,
        Body::File(FileRead {
            path: "src/a.rs".into(),
            version: "00112233445566778899aabbccddeeff".into(),
            encoding: "utf-8".into(),
            eol: "lf".into(),
            lossy: false,
            total_lines: 2,
            total_bytes: 9,
            first_line: 1,
            lines: vec!["one".into(), "two".into()],
            asked_range: false,
            bytes: None,
            long_lines: vec![LongLine { line: 2, chars: 2_500, cut_at: 2_004, end: 2_504 }],
            tail: Some(Tail { first_line: 9, lines: vec!["nine".into()] }),
            asked_until: Some(9),
            expected: Some("ffffffffffffffffffffffffffffffff".into()),
            unended: false,
            grows: false,
        }),
    );
    check_result(
        "result_entries",
        Status::Ok,
        Body::Entries(Entries {
            base: ".".into(),
            pattern: Some("*.rs".into()),
            entries: vec![Entry { path: "a.rs".into(), kind: EntryKind::File, size: Some(3) }],
            ignored: 1,
            notes: vec!["b: permission denied".into()],
            args: serde_json::Value::Null,
        }),
    );
    check_result(
        "result_matches",
        Status::Ok,
        Body::Matches(Matches {
            mode: MatchMode::Content,
            files: vec![FileMatches {
                path: "a.rs".into(),
                count: 1,
                lines: vec![MatchLine { line: 3, text: "fn main".into(), cut: None, is_match: true }],
                source: None,
            }],
            total: 1,
            more: false,
            head_limit: Some(20),
            notes: vec![],
            pattern: "fn".into(),
            base: Some("src".into()),
            args: serde_json::Value::Null,
        }),
    );
    check_result(
        "result_command",
        Status::Cancelled,
        Body::Command(CommandRun {
            command: "make".into(),
            cwd: ".".into(),
            exit: Exit::Signal(15),
            duration_ms: 1234,
            output: Output { head: "a\n".into(), omitted: 5, tail: "z\n".into(), total_bytes: 9, omitted_lines: 1 },
            stderr: Output::default(),
            log: Some("/data/c7.log".into()),
            left_running: vec![99],
            limits: None,
        }),
    );
    check_result(
        "result_todos",
        Status::Ok,
        Body::Todos(vec![Todo { id: "1".into(), content: "look".into(), status: TodoStatus::InProgress }]),
    );
}

#[test]
fn a_form_of_a_newer_build_is_a_typed_error() {
    let unknown = decode("hologram", 1, "{}").unwrap_err();
    assert!(matches!(&unknown, CodecError::UnknownKind { kind } if kind == "hologram"), "{unknown}");
    let newer = decode("user", 2, "{}").unwrap_err();
    assert!(matches!(newer, CodecError::NewerVersion { found: 2, known: 1, .. }), "{newer}");
    let damaged = decode("user", 1, "{\"text\":").unwrap_err();
    assert!(matches!(damaged, CodecError::Malformed { .. }), "{damaged}");
}

#[test]
fn records_come_back_as_they_were() {
    let event = Event {
        seq: Seq(9),
        at: Timestamp(5),
        body: EventBody::TurnCompleted {
            turn: TurnNo(2),
            reason: TurnEnd::EndTurn,
            usage: Usage { input: 9, cache_read: 8, cache_write: 1, output: 2 },
            cost: Some(0.25),
            unsettled: vec![CallId(3)],
            message: None,
            facts: TurnFacts::default(),
        },
    };
    let json = encode_record("event", &event).unwrap();
    assert_eq!(decode_record::<Event>("event", 1, &json).unwrap(), event);
    let newer = decode_record::<Event>("event", 7, &json).unwrap_err();
    assert!(matches!(newer, CodecError::NewerVersion { found: 7, .. }), "{newer}");
}
