//! The task inside a turn: what it takes in, what it denies, and that it outlives the machine.

use super::super::effect::Consult;
use super::super::input::{Citations, Consulted, InputBody};
use super::behaviour::{call, collect, finish, prepare, reply, running, text, world};
use super::world::{Pending, World};
use crate::event::EventBody;
use crate::id::{CallId, ItemNo, Revision};
use crate::ledger::OpState;
use crate::model::event::{BlockContent, StopReason};
use crate::permission::policy::Mode;
use crate::task::change::{Change, apply};
use crate::task::deed::Deed;
use crate::task::{Phase, Task};
use crate::tool::outcome::{Body, Status};
use crate::transcript::item::{ItemBody, ToolResult};

/// A turn of a session in mode `full`, after the user's words.
fn said(words: &str) -> World {
    let mut world = world();
    world.machine.set_mode(Mode::Full);
    world.prompt(words);
    collect(&mut world);
    world
}

fn update(arguments: &str) -> BlockContent {
    call("update_task", arguments)
}

/// The model calls this, and what it cites is looked up.
fn calls(world: &mut World, arguments: &str) {
    calls_with(world, arguments, Citations::default());
}

fn calls_with(world: &mut World, arguments: &str, known: Citations) {
    reply(world, vec![update(arguments)], StopReason::ToolCalls);
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Consult(..))).expect("it asks");
    let Pending::Consult(call, Consult::Citations { quotes, .. }) = world.pending.remove(at) else { panic!() };
    let found = Citations { items: world.citations(&quotes).items, ..known };
    world.input(InputBody::Consulted { call, result: Ok(Consulted::Citations(found)) });
}

fn last_result(world: &World) -> (Status, String) {
    let result = world.stored.items.iter().rev().find_map(|item| match &item.body {
        ItemBody::ToolResult(ToolResult { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    });
    let outcome = result.expect("a result");
    let Body::Text(text) = outcome.body else { panic!("{:?}", outcome.body) };
    (outcome.status, text)
}

fn task(world: &World) -> Task {
    world.stored.task.clone().unwrap_or_default()
}

fn changes(world: &World) -> usize {
    world.stored.events.iter().filter(|event| event.body == EventBody::TaskChanged).count()
}

#[test]
fn words_of_the_user_deny_in_mode_full_also_after_a_restart_until_a_client_lifts_them() {
    let mut world = said("Fix it. Do not commit.");
    calls(&mut world, r#"{"goal":"Fix it","constraints":[{"quote":"Do not commit"},{"quote":"do not push"}]}"#);
    let (status, told) = last_result(&world);
    assert_eq!(status, Status::Ok);
    assert!(told.contains("Taken: goal; constraint \"Do not commit\" as 1, enforced by 11 rules."), "{told}");
    assert!(told.contains("- constraint \"do not push\": no message of the user holds these words exactly"), "{told}");
    assert_eq!((task(&world).constraints.len(), changes(&world)), (1, 1));
    let commit = || call("run_terminal_cmd", r#"{"command":"git commit -m x"}"#);
    let denied = |world: &mut World| {
        reply(world, vec![commit()], StopReason::ToolCalls);
        prepare(world, Some("git commit -m x"));
        last_result(world)
    };
    let (status, told) = denied(&mut world);
    assert_eq!(status, Status::Denied);
    let expected = "Not run: the user's rule for this session `run_terminal_cmd(git commit *)` denies it, because the user \
                    said \"Do not commit\" (constraint 1 of the task). Take another way.";
    assert_eq!(told, expected);
    assert_eq!(world.stored.operations[&CallId(2)].state, OpState::Denied);
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    world.take_up();
    world.prompt("and?");
    collect(&mut world);
    assert_eq!(denied(&mut world).0, Status::Denied);
    let lifted = apply(&task(&world), &Change { remove: vec![1], ..Change::default() }).unwrap();
    world.input(InputBody::SetTask(Box::new(lifted)));
    assert_eq!((task(&world).constraints.len(), changes(&world)), (0, 2));
    reply(&mut world, vec![commit()], StopReason::ToolCalls);
    prepare(&mut world, Some("git commit -m x"));
    assert_eq!(running(&world), [CallId(4)]);
    finish(&mut world, CallId(4));
    // What the user took away does not come back by the model.
    calls(&mut world, r#"{"constraints":[{"quote":"Do not commit"}]}"#);
    assert!(last_result(&world).1.contains("the user took this constraint away"));
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    world.check_settled();
}

#[test]
fn done_is_refused_with_what_is_missing_and_taken_back_by_a_change() {
    let mut world = said("Fix it.");
    let changed = Deed {
        item: ItemNo(2),
        call: CallId(1),
        tool: "write".into(),
        command: None,
        paths: vec!["/w/a".into()],
        took_effect: true,
        changed: true,
    };
    let known = Citations { deeds: vec![changed], revision: Revision(5), ..Citations::default() };
    calls_with(&mut world, r#"{"phase":"done"}"#, known.clone());
    let (status, told) = last_result(&world);
    assert_eq!((status, task(&world).phase, changes(&world)), (Status::Failed, Phase::Investigate, 0));
    assert!(told.contains("- phase done: files were changed and no tests ran"), "{told}");
    assert_eq!(world.stored.revision, Revision(5));
    let waived = apply(&task(&world), &Change { waive: Some(true), ..Change::default() }).unwrap();
    world.input(InputBody::SetTask(Box::new(waived)));
    calls_with(&mut world, r#"{"phase":"done","next":"rest"}"#, known);
    assert_eq!((last_result(&world).0, task(&world).phase), (Status::Ok, Phase::Done));
    // A command that leaves the files as they are changes nothing; one that does not, does.
    let make = |world: &mut World, no: u64, revision: u64| {
        reply(world, vec![call("run_terminal_cmd", r#"{"command":"make"}"#)], StopReason::ToolCalls);
        prepare(world, Some("make"));
        let at = world.pending.iter().position(|pending| matches!(pending, Pending::Run(_))).expect("it runs");
        world.pending.remove(at);
        let outcome = crate::tool::outcome::Outcome { status: Status::Ok, body: Body::Text("ok".into()) };
        world.input(InputBody::ToolFinished { call: CallId(no), outcome, revision: Revision(revision) });
        task(world).phase
    };
    assert_eq!(make(&mut world, 3, 5), Phase::Done);
    assert_eq!(make(&mut world, 4, 6), Phase::Implement);
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    world.check_settled();
}

#[test]
fn what_cannot_be_looked_up_or_read_changes_nothing() {
    let mut world = said("Fix it.");
    reply(&mut world, vec![update(r#"{"goal":"x"}"#)], StopReason::ToolCalls);
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Consult(..))).expect("it asks");
    let Pending::Consult(call, _) = world.pending.remove(at) else { panic!() };
    world.input(InputBody::Consulted { call, result: Err("the store is away".into()) });
    assert_eq!(last_result(&world), (Status::Failed, "the store is away".into()));
    reply(&mut world, vec![update("{}")], StopReason::ToolCalls);
    assert!(last_result(&world).1.starts_with("The task was not changed: give what is to change"));
    assert_eq!(world.stored.task, None);
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    world.check_settled();
}
