//! Exports become the same items again, and what is no export is refused with its line.

use super::import::{Wrong, batch, read};
use super::line;
use crate::store::{SessionRow, ViewItem};
use plimsoll_core::id::{CallId, ItemNo, Revision, StepNo, TurnNo};
use plimsoll_core::prompt::Prompts;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::{Body, Outcome, Status};
use plimsoll_core::transcript::batch::{SessionState, StoredProjection};
use plimsoll_core::transcript::item::{
    AssistantText, Item, ItemBody, MetaCause, MetaMessage, Rewind, ToolCall, ToolResult, UserMessage,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

fn row() -> SessionRow {
    SessionRow {
        id: "s1".parse().unwrap(),
        title: "A title".into(),
        mode: "ask".into(),
        model: "local/small".into(),
        created_at: Timestamp(5),
        updated_at: Timestamp(9),
        state: SessionState::Idle,
        counters: crate::store::Counters::default(),
        bytes: 0,
        open_asks: Vec::new(),
        archived: false,
        origin: None,
    }
}

fn export(items: &[ViewItem], folder: &str) -> String {
    let head = line::head(&row(), &Prompts::default(), Path::new(folder), ItemNo(items.len() as u64));
    items.iter().fold(head, |text, item| text + &line::item(item).unwrap())
}

/// Turns of random texts and times, which need not rise; some call tools, some go back.
fn session() -> impl Strategy<Value = Vec<ViewItem>> {
    let turn = ("[^\0]{0,20}", any::<i32>(), 0_u64..4, any::<bool>());
    proptest::collection::vec(turn, 1..8).prop_map(|turns| {
        let mut all: Vec<ViewItem> = Vec::new();
        let (mut calls, mut begins) = (0, Vec::new());
        for ((text, at, tools, back), turn) in turns.into_iter().zip(1..) {
            let mut add = |step, body, projection| {
                let no = ItemNo(all.len() as u64 + 1);
                let item = Item { no, turn: TurnNo(turn), step: StepNo(step), at: Timestamp(i64::from(at)), body };
                all.push(ViewItem { item, projection });
                no
            };
            let user = UserMessage { text: text.clone(), additional_data: "<x>".into(), ..UserMessage::default() };
            begins.push((turn, add(0, ItemBody::User(user), None)));
            for no in calls + 1..=calls + tools {
                let (call, tool) = (CallId(no), "read_file".to_owned());
                let made = ToolCall { call, tool, arguments: text.clone(), provider_id: None };
                add(1, ItemBody::ToolCall(made), None);
            }
            for no in (calls + 1..=calls + tools).rev() {
                let (call, tool, revision) = (CallId(no), "read_file".to_owned(), Revision(no));
                let outcome = Outcome { status: Status::Ok, body: Body::Text(text.clone()) };
                let result = ToolResult { call, tool, outcome, revision, approximate: no % 2 == 0 };
                let shown = StoredProjection {
                    call,
                    text: format!("{text} /old/s1/artifacts/{call}.txt"),
                    is_error: false,
                    tokens: no,
                    partial: true,
                    whole: 2,
                    saved: 0,
                    shown: Vec::new(),
                };
                add(1, ItemBody::ToolResult(result), Some(shown));
            }
            calls += tools;
            add(2, ItemBody::Assistant(AssistantText { text: text.clone(), cut: false }), None);
            add(2, ItemBody::Meta(MetaMessage { cause: MetaCause::TodosStale, text }), None);
            if back && let Some((turn, from)) = begins.pop() {
                add(0, ItemBody::Rewind(Rewind { turn: TurnNo(turn), from }), None);
            }
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn an_export_that_is_read_and_exported_again_is_the_same(items in session()) {
        let first = export(&items, "/old/s1");
        let read = read(&first).map_err(|wrong| TestCaseError::fail(format!("{wrong:?}")))?;
        let batch = batch(read, "/new/s2");
        let shown: BTreeMap<CallId, StoredProjection> =
            batch.projections.into_iter().map(|shown| (shown.call, shown)).collect();
        let again: Vec<ViewItem> = batch
            .items
            .into_iter()
            .map(|item| {
                let projection = match &item.body {
                    ItemBody::ToolResult(result) => shown.get(&result.call).cloned(),
                    _ => None,
                };
                ViewItem { item, projection }
            })
            .collect();
        prop_assert_eq!(export(&again, "/new/s2").replace("/new/s2", "/old/s1"), first);
        let sequence: Vec<u64> = batch.events.iter().map(|event| event.seq.0).collect();
        prop_assert_eq!(sequence, (1..=batch.events.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_cut_or_changed_never_becomes_a_session(items in session(), at in any::<proptest::sample::Index>()) {
        let whole = export(&items, "/old/s1");
        let lines: Vec<&str> = whole.lines().collect();
        let missing = at.index(lines.len());
        let without: Vec<&str> =
            lines.iter().enumerate().filter(|(no, _)| *no != missing).map(|(_, line)| *line).collect();
        prop_assert!(read(&without.join("\n")).is_err());
        let bytes = at.index(whole.len() - 1);
        let end = whole.floor_char_boundary(bytes);
        prop_assert!(read(&whole[..end]).is_err());
    }
}

fn check(items: &[ViewItem], line: usize, what: &str) {
    let Err(found) = read(&export(items, "")) else { panic!("{what} was not found") };
    assert_eq!((found.line, found.what.contains(what)), (line, true), "{found:?}");
}

#[test]
fn what_does_not_fit_together_is_named_by_its_line() {
    let item = |no: u64, body: ItemBody| ViewItem {
        item: Item { no: ItemNo(no), turn: TurnNo(1), step: StepNo(0), at: Timestamp(0), body },
        projection: None,
    };
    let call = |no: u64, call: u64| {
        let made = ToolCall { call: CallId(call), tool: "t".into(), arguments: "{}".into(), provider_id: None };
        item(no, ItemBody::ToolCall(made))
    };
    let back = |no: u64, from: u64| item(no, ItemBody::Rewind(Rewind { turn: TurnNo(1), from: ItemNo(from) }));
    check(&[call(1, 1)], 2, "call c1 has no result");
    check(&[call(1, 2), call(2, 2)], 3, "call c2 is made a second time");
    check(&[call(1, 2), call(2, 1)], 3, "higher number");
    check(&[back(1, 1)], 2, "cannot go back to before item 1");
    let result = ToolResult {
        call: CallId(1),
        tool: "t".into(),
        outcome: Outcome::failed("x"),
        revision: Revision(1),
        approximate: true,
    };
    check(&[item(1, ItemBody::ToolResult(result))], 2, "a result without its projection");
    let wrong = Wrong { line: 1, what: "the export is empty".into() };
    assert_eq!(read("\n").err(), Some(wrong));
}
