//! Edits need what they touch to have been shown, also after the daemon was started again.

use super::super::input::InputBody;
use super::behaviour::{call, collect, reply, running, world};
use super::world::{Pending, World};
use crate::event::AskChoice;
use crate::id::{CallId, Revision};
use crate::model::event::StopReason;
use crate::model::request::Api;
use crate::path::WorkspacePath;
use crate::tool::call::{FileChange, Prepared, Target, Zone};
use crate::tool::outcome::{Body, Edited, EditedFile, FileRead, Outcome, Status};
use crate::tool::projection::Shown;
use crate::transcript::item::ItemBody;

fn prepared(changes: Vec<FileChange>) -> Prepared {
    Prepared {
        targets: vec![Target { path: "/w/a".into(), zone: Zone::Root(WorkspacePath::new(0, "a")) }],
        title: "a".into(),
        changes,
        ..Prepared::default()
    }
}

fn change(before: &str, after: &str, touches: (u64, u64)) -> FileChange {
    FileChange {
        path: "/w/a".into(),
        shown: "a".into(),
        before: Some(before.into()),
        after: Some(after.into()),
        touches: vec![touches],
        lines_before: 9,
        ..FileChange::default()
    }
}

/// The model makes one call, which is prepared so.
fn calls(world: &mut World, tool: &str, arguments: &str, changes: Vec<FileChange>) -> CallId {
    reply(world, vec![call(tool, arguments)], StopReason::ToolCalls);
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Prepare(_))).expect("a call");
    let Pending::Prepare(call) = world.pending.remove(at) else { unreachable!() };
    world.input(InputBody::Prepared { call: call.id, result: Ok(prepared(changes)) });
    call.id
}

fn ends(world: &mut World, id: CallId, body: Body) {
    world.pending.retain(|pending| !matches!(pending, Pending::Run(call) if call.id == id));
    let outcome = Outcome { status: Status::Ok, body };
    world.input(InputBody::ToolFinished { call: id, outcome, revision: Revision(2) });
}

fn read(world: &mut World, lines: &[&str]) {
    let id = calls(world, "read_file", r#"{"target_file":"a"}"#, Vec::new());
    let file = FileRead {
        path: "a".into(),
        version: "v1".into(),
        total_lines: 9,
        first_line: 3,
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        asked_range: true,
        ..FileRead::default()
    };
    ends(world, id, Body::File(file));
}

const REPLACE: &str = r#"{"file_path":"a","old_string":"x","new_string":"y"}"#;

fn last_result(world: &World) -> String {
    let result = world.stored.items.iter().rev().find_map(|item| match &item.body {
        ItemBody::ToolResult(result) => Some(result.outcome.clone()),
        _ => None,
    });
    match result {
        Some(Outcome { status: Status::Failed, body: Body::Text(text) }) => text,
        other => format!("{other:?}"),
    }
}

#[test]
fn an_edit_of_lines_that_were_not_shown_is_refused_before_anybody_is_asked() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    calls(&mut world, "string_replace", REPLACE, vec![change("v1", "v2", (4, 1))]);
    assert_eq!((world.open_asks().len(), running(&world)), (0, vec![]));
    assert!(last_result(&world).starts_with("Not run: a was not shown in this session."), "{}", last_result(&world));
    read(&mut world, &["three", "four"]);
    calls(&mut world, "string_replace", REPLACE, vec![change("v1", "v2", (4, 2))]);
    assert!(
        last_result(&world).starts_with("Not run: of a line 5 must be shown before the edit:"),
        "{}",
        last_result(&world)
    );
    calls(&mut world, "string_replace", REPLACE, vec![change("v1", "v2", (4, 1))]);
    assert_eq!(world.open_asks().len(), 1);
}

#[test]
fn what_was_shown_and_written_is_known_after_a_restart() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    read(&mut world, &["three", "four"]);
    let id = calls(&mut world, "string_replace", REPLACE, vec![change("v1", "v2", (4, 1))]);
    let ask = world.open_asks()[0];
    world.input(InputBody::Answer { ask, choice: AskChoice::AllowSession, advice: None });
    let file = EditedFile { change: change("v1", "v2", (4, 1)), lines_after: 10, wrote: vec![(4, 2)] };
    ends(&mut world, id, Body::Edit(Edited { files: vec![file], notes: Vec::new() }));
    let stored: Vec<Shown> = world.stored.projections.values().flat_map(|stored| stored.shown.clone()).collect();
    let shown = |version: &str, lines, total| Shown {
        path: "/w/a".into(),
        version: version.into(),
        lines: vec![(3, lines)],
        cut: Vec::new(),
        total,
    };
    assert_eq!(stored, [shown("v1", 2, 9), shown("v2", 3, 10)]);
    world.crash(Api::OpenaiChat);
    world.prompt("on");
    collect(&mut world);
    calls(&mut world, "string_replace", REPLACE, vec![change("v1", "v3", (4, 1))]);
    assert!(last_result(&world).starts_with("Not run: a has changed since it was shown"), "{}", last_result(&world));
    calls(&mut world, "string_replace", REPLACE, vec![change("v2", "v3", (6, 1))]);
    assert!(last_result(&world).starts_with("Not run: of a line 6 must be shown"), "{}", last_result(&world));
    let asks = world.open_asks().len();
    calls(&mut world, "string_replace", REPLACE, vec![change("v2", "v3", (3, 3))]);
    assert_eq!(world.open_asks().len() + running(&world).len(), asks + 1);
}
