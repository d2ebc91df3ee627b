//! Operations whose end was not seen: what is told of them, what is held back, what settles them.

use super::super::effect::Consult;
use super::super::input::{Consulted, InputBody, Prompt};
use super::behaviour::{call, collect, facts, finish, last_end, prepare, reply, running, text, world};
use super::world::{Pending, World};
use crate::event::{AskChoice, EventBody, TurnEnd};
use crate::id::{CallId, Revision};
use crate::ledger::{FoundBy, OpState, SeenFile, Verdict};
use crate::model::event::StopReason;
use crate::model::request::Api;
use crate::path::WorkspacePath;
use crate::permission::policy::Mode;
use crate::tool::call::{FileChange, Prepared, Target, Zone};
use crate::tool::outcome::{Body, Outcome, Status};
use crate::transcript::item::{ItemBody, MetaCause};

/// A turn in full mode whose request waits for its answer.
fn asked() -> World {
    let mut world = world();
    world.set_mode(Mode::Full);
    next(&mut world);
    world
}

fn next(world: &mut World) {
    world.prompt("go");
    collect(world);
}

fn command(world: &mut World, line: &str) {
    reply(world, vec![call("run_terminal_cmd", r#"{"command":"x"}"#)], StopReason::ToolCalls);
    prepare(world, Some(line));
}

/// A command that ran when the daemon died; the next turn's request waits for its answer.
fn unknown_command() -> World {
    let mut world = asked();
    command(&mut world, "make");
    world.crash(Api::OpenaiChat);
    world.set_mode(Mode::Full);
    next(&mut world);
    world
}

fn edit(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    let (before, after) = (before.map(str::to_owned), after.map(str::to_owned));
    FileChange { path: path.into(), shown: path.into(), before, after, ..FileChange::default() }
}

/// The model makes one call, which is prepared so.
fn edits(world: &mut World, tool: &str, changes: Vec<FileChange>) {
    let arguments = match tool {
        "delete_file" => r#"{"target_file":"a"}"#,
        "write" => r#"{"file_path":"a","contents":"x"}"#,
        _ => r#"{"patch":"x"}"#,
    };
    reply(world, vec![call(tool, arguments)], StopReason::ToolCalls);
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Prepare(_))).expect("a call");
    let Pending::Prepare(call) = world.pending.remove(at) else { unreachable!() };
    let zone = Zone::Root(WorkspacePath::new(0, "a"));
    let targets = changes.iter().map(|change| Target { path: change.path.clone(), zone: zone.clone() }).collect();
    let prepared = Prepared { targets, changes, title: "a".into(), ..Prepared::default() };
    world.input(InputBody::Prepared { call: call.id, result: Ok(prepared) });
}

fn result(world: &World, id: u64) -> (Status, String) {
    let found = world.stored.items.iter().find_map(|item| match &item.body {
        ItemBody::ToolResult(result) if result.call == CallId(id) => match &result.outcome.body {
            Body::Text(text) => Some((result.outcome.status, text.clone())),
            other => panic!("{other:?}"),
        },
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no result of c{id}"))
}

fn reminders(world: &World) -> Vec<String> {
    let of = |item: &crate::transcript::item::Item| match &item.body {
        ItemBody::Meta(meta) if meta.cause == MetaCause::UnknownOperations => Some(meta.text.clone()),
        _ => None,
    };
    world.stored.items.iter().filter_map(of).collect()
}

fn verdict(world: &World, id: u64) -> Option<(Verdict, FoundBy)> {
    world.stored.operations[&CallId(id)].finding.as_ref().map(|finding| (finding.verdict, finding.by))
}

fn unsettled(world: &World) -> Vec<CallId> {
    let last = world.stored.events.iter().rev().find_map(|event| match &event.body {
        EventBody::TurnCompleted { unsettled, .. } => Some(unsettled.clone()),
        _ => None,
    });
    last.unwrap_or_default()
}

fn changed(world: &World) -> Vec<CallId> {
    let of = |event: &crate::event::Event| match event.body {
        EventBody::OperationChanged { call } => Some(call),
        _ => None,
    };
    world.stored.events.iter().filter_map(of).collect()
}

/// An edit of one file that was cut by a crash, after which the file is so.
fn cut_edit(done: u64) -> World {
    let mut world = asked();
    // Of what a crash leaves, `chance + call` decides: see `Disk::crash`.
    edits(&mut world, "write", vec![edit("/w/a", None, Some("a1"))]);
    assert_eq!(running(&world), [CallId(1)]);
    let mut disk = world.disk.clone();
    disk.crash(done - 1);
    world.disk = disk;
    world.crash(Api::OpenaiChat);
    world
}

#[test]
fn a_cut_edit_is_told_with_its_verdict_and_only_what_is_open_is_unsettled() {
    for (done, expected, words) in [
        (6, Verdict::NotApplied, "not applied: the file is as it was before (nothing is there)."),
        (1, Verdict::Applied, "applied: the file is as it was intended (version a1). Do not do it again."),
        (4, Verdict::Changed, "changed by someone else: neither as before nor as intended /w/a."),
        (5, Verdict::CannotTell, "cannot tell: not readable /w/a."),
    ] {
        let world = cut_edit(done);
        let operation = &world.stored.operations[&CallId(1)];
        assert_eq!(operation.state, OpState::Unknown, "what was not seen is never said to have ended");
        assert_eq!(verdict(&world, 1), Some((expected, FoundBy::Recovery)));
        let (status, text) = result(&world, 1);
        assert_eq!(status, Status::Unknown);
        assert!(text.contains(words) && text.starts_with("While this ran the daemon ended"), "{text}");
        assert_eq!(text.contains("inspect_operation"), !expected.decides(), "{text}");
        let told = reminders(&world);
        assert!(told.len() == 1 && told[0].contains(words.trim_end_matches('.')), "{told:#?}");
        let open = if expected.decides() { vec![] } else { vec![CallId(1)] };
        assert_eq!(unsettled(&world), open);
        assert_eq!(world.machine.unsettled().iter().map(|one| one.call).collect::<Vec<_>>(), open);
        world.disk.check(operation);
    }
}

#[test]
fn what_is_open_is_told_at_the_beginning_of_each_turn_until_it_is_settled() {
    let mut world = unknown_command();
    assert_eq!(reminders(&world).len(), 1, "what the crash has told is not told again at once");
    for turn in 2..4 {
        reply(&mut world, vec![text("Hm.")], StopReason::EndTurn);
        assert_eq!(unsettled(&world), [CallId(1)]);
        if turn == 3 {
            // Also by one that was taken up again.
            world.take_up();
        }
        next(&mut world);
        let told = reminders(&world);
        assert_eq!(told.len(), turn);
        assert!(told[turn - 1].contains("- c1 run_terminal_cmd make: cannot tell"), "{told:#?}");
        assert!(told[turn - 1].contains("still open"), "{told:#?}");
    }
    reply(&mut world, vec![text("Hm.")], StopReason::EndTurn);
    let operation = world.machine.unsettled()[0].clone();
    let settled = operation.resolved(crate::ledger::Resolution::Applied, None, world.now(), Revision(1));
    world.input(InputBody::Found(Box::new(settled)));
    assert_eq!((verdict(&world, 1), changed(&world)), (Some((Verdict::Applied, FoundBy::User)), vec![CallId(1)]));
    next(&mut world);
    assert_eq!(reminders(&world).len(), 3);
    reply(&mut world, vec![text("Done.")], StopReason::EndTurn);
    assert_eq!(unsettled(&world), []);
    world.check_settled();
}

#[test]
fn the_same_command_is_held_back_once_and_then_asked_about_in_every_mode() {
    let mut world = unknown_command();
    command(&mut world, "make");
    assert_eq!((running(&world), world.open_asks().len()), (vec![], 0));
    let (status, text) = result(&world, 2);
    assert_eq!(status, Status::Denied);
    assert!(text.contains("c1 (run_terminal_cmd make)") && text.contains("`inspect_operation`"), "{text}");
    let states = |world: &World, id: u64| world.stored.operations[&CallId(id)].state;
    assert_eq!((states(&world, 2), world.stored.operations[&CallId(1)].repeats), (OpState::Denied, 1));
    // Another command is free.
    command(&mut world, "make install");
    assert_eq!(running(&world), [CallId(3)]);
    finish(&mut world, CallId(3));

    // What was told counts after a restart too.
    reply(&mut world, vec![super::behaviour::text("Hm.")], StopReason::EndTurn);
    world.take_up();
    next(&mut world);
    command(&mut world, "make");
    let ask = world.stored.asks.values().last().expect("a question").clone();
    assert!(ask.reason.contains("c1 (run_terminal_cmd make)") && ask.resolution.is_none(), "{}", ask.reason);
    assert_eq!(
        ask.options.iter().map(|option| option.kind).collect::<Vec<_>>(),
        [AskChoice::AllowOnce, AskChoice::Reject]
    );
    world.input(InputBody::Answer { ask: ask.id, choice: AskChoice::Reject, advice: None });
    assert_eq!((states(&world, 4), unsettled_now(&world)), (OpState::Denied, vec![CallId(1)]));

    command(&mut world, "make");
    let ask = *world.open_asks().last().expect("a question");
    world.input(InputBody::Answer { ask, choice: AskChoice::AllowOnce, advice: None });
    assert_eq!((running(&world), unsettled_now(&world)), (vec![CallId(5)], vec![]));
    assert_eq!(verdict(&world, 1), Some((Verdict::CannotTell, FoundBy::User)));
    assert_eq!(states(&world, 1), OpState::Unknown);
    finish(&mut world, CallId(5));
    // Nothing is open, so nothing is held back.
    command(&mut world, "make");
    assert_eq!(running(&world), [CallId(6)]);
    finish(&mut world, CallId(6));
    reply(&mut world, vec![super::behaviour::text("Done.")], StopReason::EndTurn);
    world.check_settled();
}

fn unsettled_now(world: &World) -> Vec<CallId> {
    world.machine.unsettled().iter().map(|operation| operation.call).collect()
}

#[test]
fn what_one_answer_proposes_several_times_is_held_back_each_time() {
    let mut world = unknown_command();
    let run = || call("run_terminal_cmd", r#"{"command":"x"}"#);
    reply(&mut world, vec![run(), run()], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    assert_eq!((running(&world), world.open_asks().len()), (vec![], 0));
    for id in [2, 3] {
        assert!(result(&world, id).1.contains("propose it once more"));
    }
}

#[test]
fn a_question_about_a_repeat_outlives_the_daemon_and_settles_when_it_is_allowed() {
    let mut world = unknown_command();
    command(&mut world, "make");
    command(&mut world, "make");
    let ask = world.open_asks()[0];
    world.crash(Api::OpenaiChat);
    assert_eq!(world.open_asks(), [ask]);
    world.input(InputBody::Answer { ask, choice: AskChoice::AllowOnce, advice: None });
    prepare(&mut world, Some("make"));
    assert_eq!((running(&world), unsettled_now(&world)), (vec![CallId(3)], vec![]));
}

#[test]
fn a_refused_call_counts_as_no_repeat() {
    let mut world = unknown_command();
    world.set_mode(Mode::Plan);
    command(&mut world, "make");
    assert!(!result(&world, 2).1.contains("c1"), "{}", result(&world, 2).1);
    assert_eq!(world.stored.operations[&CallId(1)].repeats, 0);
}

#[test]
fn a_later_edit_settles_the_earlier_one_when_its_hash_proves_it() {
    for (before, expected) in [
        (Some("a1"), Some((Verdict::Applied, FoundBy::Later(CallId(2))))),
        (None, Some((Verdict::NotApplied, FoundBy::Later(CallId(2))))),
        (Some("mine"), Some((Verdict::CannotTell, FoundBy::Recovery))),
    ] {
        // The file could not be read when the daemon came back.
        let mut world = cut_edit(5);
        world.set_mode(Mode::Full);
        next(&mut world);
        edits(&mut world, "delete_file", vec![edit("/w/a", before, None)]);
        assert_eq!(unsettled_now(&world), [CallId(1)], "what has not ended proves nothing");
        finish(&mut world, CallId(2));
        assert_eq!(verdict(&world, 1), expected, "{before:?}");
        assert_eq!(changed(&world).is_empty(), before == Some("mine"));
    }
}

/// The model asks, and this is found; gives the result of the call.
fn inspects(world: &mut World, id: u64, arguments: &str, seen: &[(&str, Option<&str>)]) -> (Status, String) {
    reply(world, vec![call("inspect_operation", arguments)], StopReason::ToolCalls);
    let asked = world.pending.iter().position(|pending| matches!(pending, Pending::Consult(..)));
    if let Some(at) = asked {
        let Pending::Consult(call, Consult::Operation { of, target }) = world.pending.remove(at) else {
            panic!("an operation")
        };
        let look = |(path, version): &(&str, Option<&str>)| SeenFile {
            path: (*path).to_owned(),
            version: Ok(version.map(str::to_owned)),
        };
        let seen: Vec<SeenFile> = seen.iter().map(look).collect();
        let found = Consulted::Operation {
            operation: world.stored.operations.get(&of).cloned().map(Box::new),
            target: target.and_then(|target| seen.iter().find(|seen| seen.path == target).cloned()),
            seen,
            lines: vec!["A line of the shell.".into()],
            revision: Revision(9),
        };
        world.input(InputBody::Consulted { call, result: Ok(found) });
    }
    result(world, id)
}

#[test]
fn inspecting_tells_and_records_what_is_found() {
    let mut world = cut_edit(5);
    world.set_mode(Mode::Full);
    next(&mut world);
    let (status, text) = inspects(&mut world, 2, r#"{"operation_id":"c1"}"#, &[("/w/a", Some("mine"))]);
    assert_eq!(status, Status::Ok);
    assert!(text.contains("changed by someone else") && text.contains("at revision r9"), "{text}");
    assert!(text.contains("/w/a is neither as before nor as intended (version mine)\nA line of the shell."), "{text}");
    assert!(text.ends_with("before you do it again."), "{text}");
    assert_eq!(verdict(&world, 1), Some((Verdict::Changed, FoundBy::Inspection)));

    let (_, text) = inspects(&mut world, 3, r#"{"operation_id":" `c1` "}"#, &[("/w/a", Some("a1"))]);
    assert!(
        text.starts_with("c1 write /w/a\nVerdict: applied: ") && !text.contains("before you do it again"),
        "{text}"
    );
    assert_eq!((verdict(&world, 1), unsettled_now(&world)), (Some((Verdict::Applied, FoundBy::Inspection)), vec![]));
    assert_eq!(changed(&world), [CallId(1), CallId(1)]);

    // What is settled is told as it was settled, with the files as they are.
    let (_, text) =
        inspects(&mut world, 4, r#"{"operation_id":"c1","target":"/w/b"}"#, &[("/w/a", None), ("/w/b", None)]);
    assert!(text.contains("Verdict: applied") && text.contains("/w/b is not there; it is not a file of c1"), "{text}");
    assert_eq!(changed(&world).len(), 2);
    reply(&mut world, vec![super::behaviour::text("Done.")], StopReason::EndTurn);
    assert_eq!(unsettled(&world), []);
    world.check_settled();
}

#[test]
fn an_id_that_is_none_is_told_with_those_that_are_open() {
    let mut world = unknown_command();
    for (id, arguments, words) in [
        (
            2,
            r#"{"operation_id":"make"}"#,
            "`make` is no operation; ids look like c7. Open are: c1 (run_terminal_cmd make).",
        ),
        (3, r#"{"operation_id":"c99"}"#, "This session has no operation c99. Open are: c1 (run_terminal_cmd make)."),
    ] {
        assert_eq!(inspects(&mut world, id, arguments, &[]), (Status::Failed, words.to_owned()));
    }
}

#[test]
fn an_operation_whose_end_was_seen_is_told_as_it_ended() {
    let mut world = asked();
    command(&mut world, "make");
    finish(&mut world, CallId(1));
    let (_, text) = inspects(&mut world, 2, r#"{"operation_id":"c1"}"#, &[]);
    assert!(text.contains("Its end was seen: it is succeeded."), "{text}");
    assert_eq!(changed(&world), []);
}

#[test]
fn a_turn_goes_on_with_one_that_was_cut_without_a_prompt() {
    let mut world = asked();
    world.input(InputBody::Cancel);
    let goes_on = last_end(&world);
    assert_eq!(goes_on, Some(TurnEnd::Cancelled));
    world.pending.clear();
    world.input(InputBody::Prompt(Prompt { text: String::new(), key: None, attachments: vec![], goes_on }));
    collect(&mut world);
    let body = String::from_utf8_lossy(world.bodies.last().unwrap()).into_owned();
    assert!(body.contains("go on with the turn before, which was cut: the user had interrupted it"), "{body}");
    reply(&mut world, vec![text("Done.")], StopReason::EndTurn);
    let prompts = world.stored.items.iter().filter(|item| matches!(item.body, ItemBody::User(_))).count();
    assert_eq!((prompts, last_end(&world)), (1, Some(TurnEnd::EndTurn)));
    world.check_settled();
}

#[test]
fn facts_without_a_command_repeat_no_command() {
    let mut world = unknown_command();
    reply(&mut world, vec![call("run_terminal_cmd", r#"{"command":"x"}"#)], StopReason::ToolCalls);
    let Some(Pending::Prepare(asked)) = world.pending.pop() else { panic!("a call") };
    world.input(InputBody::Prepared { call: asked.id, result: Ok(facts(Some("make clean"))) });
    assert_eq!(running(&world), [CallId(2)]);
    let outcome = Outcome { status: Status::Unknown, body: Body::Text("lost".into()) };
    world.input(InputBody::ToolFinished { call: CallId(2), outcome, revision: Revision(2) });
    assert_eq!(unsettled_now(&world), [CallId(1), CallId(2)]);
}
