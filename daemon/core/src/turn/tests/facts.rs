//! What is said at a turn's end of the files that it changed and of the tests, whatever the model says.

use super::super::input::InputBody;
use super::behaviour::{call, collect, reply, running, text, world};
use super::world::{Pending, World};
use crate::event::{EventBody, TurnFacts, Verified};
use crate::id::{CallId, Revision};
use crate::model::event::StopReason;
use crate::model::request::Api;
use crate::permission::mode::Mode;
use crate::tool::call::{FileChange, Prepared};
use crate::tool::outcome::{Body, Outcome, Status};
use crate::tool::test_report::{TestReport, TestRun, tests::run};

/// Lets the model make this call, which is prepared in this way.
fn begin(world: &mut World, tool: &str, arguments: &str, prepared: Prepared) -> CallId {
    reply(world, vec![call(tool, arguments)], StopReason::ToolCalls);
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Prepare(_))).expect("a call");
    let Pending::Prepare(call) = world.pending.remove(at) else { unreachable!() };
    world.input(InputBody::Prepared { call: call.id, result: Ok(prepared) });
    assert_eq!(running(world), [call.id]);
    call.id
}

fn end(world: &mut World, call: CallId, outcome: Outcome, revision: u64) {
    world.pending.retain(|pending| !matches!(pending, Pending::Run(running) if running.id == call));
    world.input(InputBody::ToolFinished { call, outcome, revision: Revision(revision) });
}

fn write(world: &mut World, path: &str, status: Status, revision: u64) {
    let change =
        FileChange { path: path.into(), after: Some(format!("v{revision}")), whole: true, ..FileChange::default() };
    let prepared = Prepared { changes: vec![change], title: "t".into(), ..super::behaviour::facts(None) };
    let arguments = format!(r#"{{"file_path":"{path}","contents":"x"}}"#);
    let call = begin(world, "write", &arguments, prepared);
    end(world, call, Outcome { status, body: Body::Text("done".into()) }, revision);
}

fn test(world: &mut World, code: i32, void: bool, revision: u64) -> CallId {
    let prepared = super::behaviour::facts(Some("make test"));
    let call = begin(world, "run_tests", "{}", prepared);
    let report = Some(TestReport { passed: 3, failed: u64::from(code != 0), ..TestReport::default() });
    let (before, after) = (Revision(revision - 1), Revision(revision));
    let run = TestRun { report, before, after, void: void.then(|| "a.c changed".into()), ..run(code) };
    let status = if code == 0 { Status::Ok } else { Status::Failed };
    end(world, call, Outcome { status, body: Body::Tests(Box::new(run)) }, revision);
    call
}

fn last(world: &World) -> TurnFacts {
    let facts = world.stored.events.iter().rev().find_map(|event| match &event.body {
        EventBody::TurnCompleted { facts, .. } => Some(facts.clone()),
        _ => None,
    });
    facts.expect("a turn that ended")
}

fn begun() -> World {
    let mut world = world();
    world.set_mode(Mode::Full);
    world.prompt("go");
    collect(&mut world);
    world
}

fn done(world: &mut World) -> TurnFacts {
    reply(world, vec![text("Done.")], StopReason::EndTurn);
    last(world)
}

#[test]
fn a_turn_says_which_files_it_changed_and_what_the_tests_say_of_them() {
    let mut world = begun();
    write(&mut world, "/w/b", Status::Ok, 3);
    write(&mut world, "/w/a", Status::Ok, 4);
    write(&mut world, "/w/failed", Status::Failed, 4);
    let call = test(&mut world, 0, false, 6);
    let verified = |call, passed, revision, current| {
        Some(Verified { call, passed, revision: Revision(revision), current, partial: false })
    };
    let files = vec!["/w/a".to_owned(), "/w/b".to_owned()];
    assert_eq!(done(&mut world), TurnFacts { files, verification: verified(call, true, 6, true) });

    // The next turn's own files, and tests that are not of now.
    world.prompt("more");
    collect(&mut world);
    write(&mut world, "/w/c", Status::Ok, 7);
    assert_eq!(
        done(&mut world),
        TurnFacts { files: vec!["/w/c".into()], verification: verified(call, true, 6, false) }
    );

    world.prompt("test");
    collect(&mut world);
    let failed = test(&mut world, 1, false, 8);
    assert_eq!(done(&mut world), TurnFacts { files: vec![], verification: verified(failed, false, 8, true) });
    world.prompt("test");
    collect(&mut world);
    let void = test(&mut world, 0, true, 9);
    assert_eq!(done(&mut world), TurnFacts { files: vec![], verification: verified(void, false, 9, false) });
    world.check_settled();
}

#[test]
fn a_turn_that_is_cut_says_so_too() {
    let mut world = begun();
    write(&mut world, "/w/a", Status::Ok, 3);
    let call = test(&mut world, 0, false, 4);
    world.crash(Api::OpenaiChat);
    let verification = Some(Verified { call, passed: true, revision: Revision(4), current: true, partial: false });
    assert_eq!(last(&world), TurnFacts { files: vec!["/w/a".into()], verification });
}
