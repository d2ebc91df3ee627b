//! Single facts about turns.

use super::super::input::InputBody;
use super::world::{Pending, World};
use crate::event::{AskChoice, EventBody, TurnEnd};
use crate::id::{CallId, Revision, StepNo, TurnNo};
use crate::ledger::OpState;
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::{BlockContent, ModelEvent, StopReason};
use crate::model::request::Api;
use crate::path::WorkspacePath;
use crate::tool::call::{Prepared, Target, Zone};
use crate::tool::outcome::{Body, Outcome, Status};
use crate::transcript::item::{ItemBody, MetaCause};

pub(super) fn world() -> World {
    World::new(Api::OpenaiChat)
}

pub(super) fn collect(world: &mut World) {
    let Pending::Collect(turn) = world.pending.remove(0) else { panic!("a turn that begins") };
    let environment = Box::new(world.environment.clone());
    world.input(InputBody::Environment { turn, environment });
}

/// The model answers the pending request with these blocks.
pub(super) fn reply(world: &mut World, blocks: Vec<BlockContent>, stop: StopReason) {
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Model(..))).expect("a request");
    let Pending::Model(request, _) = world.pending.remove(at) else { unreachable!() };
    for (block, content) in (0..).zip(blocks) {
        world.input(InputBody::Model { request, event: ModelEvent::BlockDone { block, content } });
    }
    world.input(InputBody::Model { request, event: ModelEvent::Finished(stop) });
}

pub(super) fn text(text: &str) -> BlockContent {
    BlockContent::Text(text.into())
}

pub(super) fn call(name: &str, arguments: &str) -> BlockContent {
    BlockContent::Call { provider_id: None, name: name.into(), arguments: arguments.into() }
}

pub(super) fn facts(command: Option<&str>) -> Prepared {
    Prepared {
        targets: vec![Target { path: "/w".into(), zone: Zone::Root(WorkspacePath::new(0, "")) }],
        command: command.map(str::to_owned),
        title: "t".into(),
        ..Prepared::default()
    }
}

/// All calls that wait for their facts get them.
pub(super) fn prepare(world: &mut World, command: Option<&str>) {
    while let Some(at) = world.pending.iter().position(|pending| matches!(pending, Pending::Prepare(_))) {
        let Pending::Prepare(call) = world.pending.remove(at) else { unreachable!() };
        world.input(InputBody::Prepared { call: call.id, result: Ok(facts(command)) });
    }
}

pub(super) fn running(world: &World) -> Vec<CallId> {
    world
        .pending
        .iter()
        .filter_map(|pending| match pending {
            Pending::Run(call) => Some(call.id),
            _ => None,
        })
        .collect()
}

pub(super) fn finish(world: &mut World, id: CallId) {
    world.pending.retain(|pending| !matches!(pending, Pending::Run(call) if call.id == id));
    let outcome = Outcome { status: Status::Ok, body: Body::Text(format!("out {id}")) };
    world.input(InputBody::ToolFinished { call: id, outcome, revision: Revision(2) });
}

pub(super) fn last_end(world: &World) -> Option<TurnEnd> {
    world.stored.events.iter().rev().find_map(|event| match event.body {
        EventBody::TurnCompleted { reason, .. } => Some(reason),
        _ => None,
    })
}

#[test]
fn a_turn_is_stored_before_it_is_accepted_and_sent() {
    let mut world = world();
    world.prompt("hello");
    assert_eq!((world.stored.items.len(), world.accepted.len()), (0, 0));
    collect(&mut world);
    assert_eq!(world.accepted, vec![(TurnNo(1), false)]);
    assert_eq!(world.stored.items.len(), 1);
    reply(&mut world, vec![text("hi")], StopReason::EndTurn);
    assert_eq!(last_end(&world), Some(TurnEnd::EndTurn));
    world.check_settled();
}

#[test]
fn reads_run_side_by_side_and_a_command_waits_for_them() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    let read = || call("read_file", r#"{"target_file":"a"}"#);
    let calls = vec![read(), read(), call("run_terminal_cmd", r#"{"command":"make"}"#), read()];
    reply(&mut world, calls, StopReason::ToolCalls);
    prepare(&mut world, None);
    assert_eq!(running(&world), vec![CallId(1), CallId(2)]);
    finish(&mut world, CallId(2));
    finish(&mut world, CallId(1));
    prepare(&mut world, Some("make"));
    assert_eq!((running(&world), world.open_asks().len()), (vec![], 1));
    let ask = world.open_asks()[0];
    world.input(InputBody::Answer { ask, choice: AskChoice::AllowOnce, advice: None });
    world.input(InputBody::Answer { ask, choice: AskChoice::Reject, advice: None });
    assert_eq!(world.answers, vec![(ask, true), (ask, false)]);
    assert_eq!(running(&world), vec![CallId(3)], "the read behind the command waits for it");
    finish(&mut world, CallId(3));
    prepare(&mut world, None);
    finish(&mut world, CallId(4));
    assert_eq!(world.step_of_last_request(), StepNo(2));
    let order: Vec<CallId> = world
        .stored
        .items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::ToolResult(result) => Some(result.call),
            _ => None,
        })
        .collect();
    assert_eq!(order, [2, 1, 3, 4].map(CallId), "items are numbered as calls finish");
    let body = String::from_utf8(world.bodies[1].clone()).unwrap();
    let place = |id: &str| body.find(&format!("\"tool_call_id\":\"{id}\"")).expect(id);
    assert!(place("c1") < place("c2") && place("c2") < place("c3"), "the view shows them in call order");
}

#[test]
fn a_refused_call_does_not_run_and_its_advice_reaches_the_model() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    reply(&mut world, vec![call("run_terminal_cmd", r#"{"command":"make"}"#)], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    let ask = world.open_asks()[0];
    world.input(InputBody::Answer { ask, choice: AskChoice::Reject, advice: Some("use ninja".into()) });
    assert_eq!(running(&world), vec![]);
    assert_eq!(world.stored.operations[&CallId(1)].state, OpState::Denied);
    assert!(String::from_utf8_lossy(&world.bodies[1]).contains("use ninja"));
}

#[test]
fn an_equal_call_is_not_asked_again_after_a_grant_for_the_session() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    for round in 1..=2 {
        reply(&mut world, vec![call("run_terminal_cmd", r#"{"command":"make"}"#)], StopReason::ToolCalls);
        prepare(&mut world, Some("make"));
        if round == 1 {
            let ask = world.open_asks()[0];
            world.input(InputBody::Answer { ask, choice: AskChoice::AllowSession, advice: None });
        }
        assert_eq!(running(&world), vec![CallId(round)]);
        finish(&mut world, CallId(round));
    }
}

#[test]
fn an_interrupt_waits_for_what_runs_and_answers_what_does_not() {
    let mut world = world();
    world.machine.set_mode(crate::permission::policy::Mode::Full);
    world.prompt("go");
    collect(&mut world);
    let command = || call("run_terminal_cmd", r#"{"command":"make"}"#);
    reply(&mut world, vec![command(), command()], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    world.input(InputBody::Cancel);
    assert_eq!(world.stopping, vec![CallId(1)]);
    assert_eq!(last_end(&world), None, "the running call still reports");
    finish(&mut world, CallId(1));
    assert_eq!(last_end(&world), Some(TurnEnd::Cancelled));
    assert_eq!(world.bodies.len(), 1, "no request after an interrupt");
    world.check_settled();
    let last = world.stored.items.last().map(|item| item.body.clone());
    assert!(matches!(last, Some(ItemBody::Meta(meta)) if meta.cause == MetaCause::Interrupted));
}

#[test]
fn steering_joins_at_the_next_step_and_keeps_the_turn_alive() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    world.input(InputBody::Steer("use tabs".into()));
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    assert_eq!(last_end(&world), None);
    assert!(String::from_utf8_lossy(&world.bodies[1]).contains("use tabs"));
    reply(&mut world, vec![text("with tabs")], StopReason::EndTurn);
    assert_eq!(last_end(&world), Some(TurnEnd::EndTurn));
}

#[test]
fn steering_of_a_turn_that_fails_is_kept_for_the_next_request() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    world.input(InputBody::Steer("use tabs".into()));
    let Some(Pending::Model(request, _)) = world.pending.pop() else { panic!("no request") };
    let error = ModelError { class: ErrorClass::Auth, message: "key".into(), status: Some(401), retry_after_ms: None };
    world.input(InputBody::ModelFailed { request, error });
    assert_eq!(last_end(&world), Some(TurnEnd::ModelError));
    world.prompt("again");
    collect(&mut world);
    assert!(String::from_utf8_lossy(&world.bodies[1]).contains("use tabs"));
    reply(&mut world, vec![text("with tabs")], StopReason::EndTurn);
    world.check_settled();
}

#[test]
fn a_second_prompt_waits_for_the_first_turn() {
    let mut world = world();
    world.prompt("one");
    world.prompt("two");
    collect(&mut world);
    reply(&mut world, vec![text("1")], StopReason::EndTurn);
    collect(&mut world);
    reply(&mut world, vec![text("2")], StopReason::EndTurn);
    world.check_settled();
    assert_eq!(world.accepted, vec![(TurnNo(2), true), (TurnNo(1), false), (TurnNo(2), false)]);
}

#[test]
fn a_cut_stream_keeps_its_text_drops_its_calls_and_goes_on() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    let Pending::Model(request, _) = world.pending.remove(0) else { panic!("a request") };
    world.input(InputBody::Model { request, event: ModelEvent::TextDelta { block: 0, text: "half".into() } });
    let content = call("run_terminal_cmd", r#"{"command":"make"}"#);
    world.input(InputBody::Model { request, event: ModelEvent::BlockDone { block: 1, content } });
    world.input(InputBody::ModelFailed { request, error: ModelError::new(ErrorClass::Connection, "cut") });
    assert_eq!(world.bodies.len(), 2);
    assert!(matches!(&world.stored.items[1].body, ItemBody::Assistant(text) if text.cut && text.text == "half"));
    assert!(!world.stored.items.iter().any(|item| matches!(item.body, ItemBody::ToolCall(_))));
}

#[test]
fn a_failure_before_any_content_is_tried_again_with_the_same_bytes_and_not_for_ever() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    for _ in 0..50 {
        match world.pending.pop() {
            Some(Pending::Model(request, _)) => {
                let error = ModelError::new(ErrorClass::Unavailable, "overloaded");
                world.input(InputBody::ModelFailed { request, error });
            }
            Some(Pending::Timer(id)) => world.input(InputBody::Timer(id)),
            _ => break,
        }
    }
    assert_eq!(world.bodies.len(), 6);
    assert!(world.bodies.iter().all(|body| *body == world.bodies[0]));
    assert_eq!(last_end(&world), Some(TurnEnd::ModelError));
    world.check_settled();
}

#[test]
fn a_wrong_key_ends_the_turn_at_once() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    let Some(Pending::Model(request, _)) = world.pending.pop() else { panic!("a request") };
    world.input(InputBody::ModelFailed { request, error: ModelError::new(ErrorClass::Auth, "wrong key") });
    assert_eq!((world.bodies.len(), last_end(&world)), (1, Some(TurnEnd::ModelError)));
}

#[test]
fn the_same_failing_call_ends_the_turn_the_third_time() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    for _ in 0..3 {
        reply(&mut world, vec![call("search_files", "{}")], StopReason::ToolCalls);
    }
    assert_eq!((world.bodies.len(), last_end(&world)), (3, Some(TurnEnd::ModelError)));
    world.check_settled();
}

#[test]
fn empty_answers_end_the_turn_and_leave_no_message() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    for _ in 0..10 {
        match world.pending.pop() {
            Some(Pending::Model(request, _)) => {
                world.input(InputBody::Model { request, event: ModelEvent::Finished(StopReason::EndTurn) });
            }
            Some(Pending::Timer(id)) => world.input(InputBody::Timer(id)),
            _ => break,
        }
    }
    assert_eq!((world.bodies.len(), last_end(&world)), (3, Some(TurnEnd::ModelError)));
    assert!(!world.stored.items.iter().any(|item| matches!(item.body, ItemBody::Assistant(_))));
}

#[test]
fn a_crash_in_a_command_is_told_as_unknown_and_never_runs_it_again() {
    let mut world = world();
    world.machine.set_mode(crate::permission::policy::Mode::Full);
    world.prompt("go");
    collect(&mut world);
    reply(&mut world, vec![call("run_terminal_cmd", r#"{"command":"make"}"#)], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    assert_eq!(running(&world), vec![CallId(1)]);
    world.crash(Api::OpenaiChat);
    assert_eq!(world.stored.operations[&CallId(1)].state, OpState::Unknown);
    assert_eq!(last_end(&world), Some(TurnEnd::Crashed));
    world.prompt("go on");
    assert!(running(&world).is_empty());
    collect(&mut world);
    super::world::check_strict(world.bodies.last().unwrap());
    assert!(String::from_utf8_lossy(world.bodies.last().unwrap()).contains("outcome is unknown"));
}

#[test]
fn a_failed_commit_stops_everything_that_was_to_follow() {
    let mut world = world();
    world.prompt("go");
    world.fail_commits = true;
    collect(&mut world);
    assert_eq!((world.bodies.len(), world.accepted.len()), (0, 0));
    assert!(world.machine.is_broken());
}

#[test]
fn another_model_begins_an_epoch_with_the_whole_history() {
    let mut world = world();
    world.prompt("one");
    collect(&mut world);
    reply(&mut world, vec![text("first answer")], StopReason::EndTurn);
    world.crash(Api::AnthropicMessages);
    world.prompt("two");
    collect(&mut world);
    assert_eq!(world.stored.epochs.len(), 2);
    let body = String::from_utf8(world.bodies.last().unwrap().clone()).unwrap();
    assert!(body.contains("first answer") && body.contains("cache_control"), "{body}");
}

#[test]
fn a_changed_session_is_told_at_once_unless_something_is_held() {
    let mut world = world();
    let told = |world: &World| {
        let changes = world.stored.events.iter().filter(|event| event.body == EventBody::SessionChanged);
        changes.count()
    };
    world.input(InputBody::SessionChanged);
    assert_eq!(told(&world), 1);
    world.prompt("go");
    collect(&mut world);
    assert_eq!(told(&world), 2, "the title");
    reply(&mut world, vec![call("run_terminal_cmd", r#"{"command":"make"}"#)], StopReason::ToolCalls);
    world.input(InputBody::SessionChanged);
    assert_eq!(told(&world), 2, "the answer is held until its call is prepared");
    prepare(&mut world, Some("make"));
    assert_eq!(told(&world), 3);
}
