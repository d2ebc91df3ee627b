//! Turns that wait for answers only: they outlive patience, the session's close and the daemon.

use super::super::input::InputBody;
use super::super::recover::{Cut, settle};
use super::behaviour::{call, collect, facts, finish, last_end, prepare, reply, running, text, world};
use super::random::in_background;
use super::world::{Pending, World, check_strict};
use crate::event::{AskChoice, AskResolution, EventBody, TurnEnd};
use crate::id::{CallId, Revision, TurnNo};
use crate::ledger::OpState;
use crate::model::event::StopReason;
use crate::model::request::Api;
use crate::time::Timestamp;
use crate::tool::outcome::{Exit, Outcome, Status, TaskEnd};
use crate::transcript::batch::SessionState;

/// A turn with a read that is done, a command that is asked about, and one behind it that waits.
fn asking() -> World {
    let mut world = world();
    world.prompt("do it");
    collect(&mut world);
    let calls = vec![
        call("read_file", r#"{"target_file":"a"}"#),
        call("run_terminal_cmd", r#"{"command":"make"}"#),
        call("run_terminal_cmd", r#"{"command":"make"}"#),
    ];
    reply(&mut world, calls, StopReason::ToolCalls);
    prepare(&mut world, None);
    finish(&mut world, CallId(1));
    prepare(&mut world, Some("make"));
    assert_eq!(world.open_asks().len(), 1);
    world
}

fn fire(world: &mut World) {
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Timer(_))).expect("a timer");
    let Pending::Timer(id) = world.pending.remove(at) else { unreachable!() };
    world.input(InputBody::Timer(id));
}

fn answer(world: &mut World, choice: AskChoice) {
    let ask = world.open_asks()[0];
    world.input(InputBody::Answer { ask, choice, advice: None });
    assert_eq!(world.answers.last(), Some(&(ask, true)));
}

fn is_open(world: &World) {
    assert_eq!(world.stored.state, Some(SessionState::Waiting));
    assert_eq!((last_end(world), world.open_asks().len()), (None, 1));
    assert_eq!(world.machine.running_turn(), Some(TurnNo(1)));
    assert!(running(world).is_empty());
}

#[test]
fn without_anybody_there_a_question_suspends_its_turn_after_a_while() {
    let mut world = asking();
    world.machine.set_attended(true);
    fire(&mut world);
    assert_eq!(world.suspended, 0, "somebody is there");
    world.machine.set_attended(false);
    fire(&mut world);
    assert_eq!(world.suspended, 1);
    is_open(&world);
}

#[test]
fn what_was_suspended_goes_on_with_the_answer() {
    type Way = fn(&mut World);
    let ways: [Way; 3] = [fire, |world| world.input(InputBody::Close), |world| world.crash(Api::OpenaiChat)];
    for way in ways {
        let mut world = asking();
        way(&mut world);
        is_open(&world);
        answer(&mut world, AskChoice::AllowOnce);
        assert!(running(&world).is_empty(), "its facts are collected anew first");
        prepare(&mut world, Some("make"));
        assert_eq!(running(&world), [CallId(2)], "it is not asked again");
        assert_eq!(world.stored.operations[&CallId(2)].state, OpState::Running);
        finish(&mut world, CallId(2));
        prepare(&mut world, Some("make"));
        answer(&mut world, AskChoice::Reject);
        reply(&mut world, vec![text("Done.")], StopReason::EndTurn);
        assert_eq!(last_end(&world), Some(TurnEnd::EndTurn));
        world.check_settled();
        world.check_settled_calls(3);
        check_strict(world.bodies.last().unwrap());
    }
}

#[test]
fn what_is_no_longer_what_was_asked_is_asked_again() {
    let mut world = asking();
    world.crash(Api::OpenaiChat);
    answer(&mut world, AskChoice::AllowOnce);
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Prepare(_))).unwrap();
    world.pending.remove(at);
    let mut other = facts(Some("make"));
    other.targets[0].path = "/elsewhere".into();
    world.input(InputBody::Prepared { call: CallId(2), result: Ok(other) });
    assert_eq!((running(&world), world.open_asks().len()), (vec![], 1));
    assert_eq!(world.stored.asks.values().last().unwrap().paths, ["/elsewhere"]);
}

#[test]
fn a_rejection_and_an_interrupt_reach_a_suspended_turn() {
    let mut world = asking();
    world.crash(Api::OpenaiChat);
    answer(&mut world, AskChoice::Reject);
    assert_eq!(world.stored.operations[&CallId(2)].state, OpState::Denied);
    prepare(&mut world, Some("make"));
    world.crash(Api::OpenaiChat);
    is_open(&world);
    world.input(InputBody::Cancel);
    assert_eq!(last_end(&world), Some(TurnEnd::Cancelled));
    world.check_settled();
    // An interrupt without a machine ends it just so.
    let mut world = asking();
    let batch = settle(&world.stored.load(), &[], Timestamp(9), &Cut::User).unwrap();
    world.stored.commit(batch);
    assert_eq!((last_end(&world), world.stored.state), (Some(TurnEnd::Cancelled), Some(SessionState::Idle)));
    assert_eq!(world.stored.asks.values().next().unwrap().resolution, Some(AskResolution::Void));
    assert_eq!(settle(&world.stored.load(), &[], Timestamp(9), &Cut::User), None);
    world.check_settled();
}

#[test]
fn a_turn_of_which_something_ran_is_cut_as_ever() {
    let mut world = world();
    world.prompt("do it");
    collect(&mut world);
    reply(&mut world, vec![call("run_terminal_cmd", r#"{"command":"make"}"#)], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    answer(&mut world, AskChoice::AllowOnce);
    world.crash(Api::OpenaiChat);
    assert_eq!(last_end(&world), Some(TurnEnd::Crashed));
    world.check_settled();
}

#[test]
fn what_waits_behind_a_suspended_turn_is_told_as_ended() {
    let mut world = asking();
    world.prompt("then this");
    fire(&mut world);
    let ended = |world: &World, turn| {
        world
            .stored
            .events
            .iter()
            .any(|event| matches!(event.body, EventBody::TurnCompleted { turn: of, .. } if of == turn))
    };
    assert_eq!((ended(&world, TurnNo(1)), ended(&world, TurnNo(2))), (false, true));
    // What is said afterwards waits for the turn, as it always does.
    world.prompt("and that");
    assert_eq!((world.machine.running_turn(), world.machine.queued()), (Some(TurnNo(1)), 1));
    assert!(!ended(&world, TurnNo(3)));
}

#[test]
fn a_session_that_closes_waits_for_the_end_of_its_commands_in_the_background() {
    let mut world = asking();
    answer(&mut world, AskChoice::AllowOnce);
    let outcome = Outcome { status: Status::Ok, body: in_background(CallId(2)) };
    world.pending.retain(|pending| !matches!(pending, Pending::Run(_)));
    world.input(InputBody::ToolFinished { call: CallId(2), outcome, revision: Revision(1) });
    prepare(&mut world, Some("make"));
    world.input(InputBody::Close);
    assert_eq!((world.suspended, world.open_asks().len()), (0, 1));
    let end = TaskEnd { call: CallId(2), exit: Some(Exit::Cancelled), duration_ms: 1, told: false };
    world.input(InputBody::TaskEnded(end));
    assert_eq!((world.suspended, world.stored.operations[&CallId(2)].state), (1, OpState::Cancelled));
    is_open(&world);
}
