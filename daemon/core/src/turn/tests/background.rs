//! Commands in the background: their end is told once, at the tail, and their operation runs until then.

use super::super::input::InputBody;
use super::behaviour::{call, collect, prepare, reply, running, text, world};
use super::random::in_background;
use super::world::{World, check_strict, open_end};
use crate::event::{AskChoice, EventBody, TurnEnd};
use crate::id::{CallId, Revision};
use crate::ledger::OpState;
use crate::model::event::StopReason;
use crate::model::request::Api;
use crate::tool::outcome::{Body, Exit, Outcome, Status, TaskEnd};
use crate::transcript::item::{ItemBody, MetaCause};

/// A turn whose only call so far went on in the background; the next request is out.
pub(super) fn begun() -> World {
    let mut world = world();
    world.prompt("start it");
    collect(&mut world);
    reply(&mut world, vec![call("run_terminal_cmd", r#"{"command":"serve"}"#)], StopReason::ToolCalls);
    prepare(&mut world, Some("serve"));
    let ask = world.open_asks()[0];
    world.input(InputBody::Answer { ask, choice: AskChoice::AllowOnce, advice: None });
    let id = running(&world)[0];
    world.pending.clear();
    let outcome = Outcome { status: Status::Ok, body: in_background(id) };
    world.input(InputBody::ToolFinished { call: id, outcome, revision: Revision(1) });
    world
}

pub(super) fn end(exit: Option<Exit>) -> InputBody {
    InputBody::TaskEnded(TaskEnd { call: CallId(1), exit, duration_ms: 2_500, told: false })
}

fn state(world: &World) -> OpState {
    world.stored.operations[&CallId(1)].state
}

/// What the model was told of ends, and how often clients were.
fn told(world: &World) -> (Vec<String>, usize) {
    let reminders = world.stored.items.iter().filter_map(|item| match &item.body {
        ItemBody::Meta(meta) if meta.cause == MetaCause::TaskEnded => Some(meta.text.clone()),
        _ => None,
    });
    let events = world.stored.events.iter().filter(|event| matches!(event.body, EventBody::TaskEnded { .. }));
    (reminders.collect(), events.count())
}

fn reminder(how: &str) -> String {
    format!("<system-reminder>\nThese commands in the background have ended:\n- c1 serve: {how}\n</system-reminder>")
}

fn last_unsettled(world: &World) -> Vec<CallId> {
    let ends = world.stored.events.iter().rev().find_map(|event| match &event.body {
        EventBody::TurnCompleted { unsettled, .. } => Some(unsettled.clone()),
        _ => None,
    });
    ends.expect("an ended turn")
}

#[test]
fn an_end_between_turns_is_told_at_the_next_request_and_nothing_sent_changes() {
    let mut world = begun();
    assert_eq!(state(&world), OpState::Running);
    reply(&mut world, vec![text("It runs.")], StopReason::EndTurn);
    assert_eq!((state(&world), last_unsettled(&world)), (OpState::Running, vec![]));
    world.input(end(Some(Exit::Code(1))));
    world.input(end(Some(Exit::Code(0))));
    assert_eq!(state(&world), OpState::Failed);
    assert_eq!(told(&world), (vec![reminder("exit code 1 after 2.5 s")], 1));
    world.prompt("and now?");
    world.pending.retain(|pending| matches!(pending, super::world::Pending::Collect(_)));
    collect(&mut world);
    let last = String::from_utf8(world.bodies.last().unwrap().clone()).unwrap();
    assert!(last.find("have ended").unwrap() < last.find("and now?").unwrap());
    assert!(world.bodies.windows(2).all(|pair| pair[1].starts_with(open_end(&pair[0]))));
    check_strict(world.bodies.last().unwrap());
}

#[test]
fn an_end_while_the_model_answers_is_told_behind_the_answer() {
    let mut world = begun();
    world.input(end(Some(Exit::Signal(9))));
    assert_eq!((state(&world), told(&world)), (OpState::Running, (vec![], 0)));
    reply(&mut world, vec![text("It runs.")], StopReason::EndTurn);
    assert_eq!(state(&world), OpState::Failed);
    assert_eq!(told(&world), (vec![reminder("exit code 137, ended by signal 9 (KILL) after 2.5 s")], 1));
    let last = world.stored.items.last().unwrap();
    assert!(matches!(&last.body, ItemBody::Meta(_)));
}

#[test]
fn what_a_result_has_told_is_not_told_again() {
    for by_result in [true, false] {
        let mut world = begun();
        reply(&mut world, vec![call("task_output", r#"{"id":"c1"}"#)], StopReason::ToolCalls);
        prepare(&mut world, None);
        let Body::Task(mut task) = in_background(CallId(1)) else { unreachable!() };
        task.run.exit = Exit::Code(0);
        let outcome = Outcome { status: Status::Ok, body: Body::Task(task) };
        if by_result {
            world.input(InputBody::ToolFinished { call: CallId(2), outcome, revision: Revision(1) });
            reply(&mut world, vec![text("Done.")], StopReason::EndTurn);
            world.input(end(Some(Exit::Code(0))));
        } else {
            let told = TaskEnd { call: CallId(1), exit: Some(Exit::Cancelled), duration_ms: 1, told: true };
            world.input(InputBody::TaskEnded(told));
        }
        assert_eq!(told(&world), (vec![], 1), "{by_result}");
        let expected = if by_result { OpState::Succeeded } else { OpState::Cancelled };
        assert_eq!(state(&world), expected);
    }
}

#[test]
fn a_death_of_the_daemon_ends_it_and_says_so_once() {
    let mut world = begun();
    reply(&mut world, vec![text("It runs.")], StopReason::EndTurn);
    let before = world.stored.state;
    world.crash(Api::OpenaiChat);
    assert_eq!((state(&world), world.stored.state), (OpState::Unknown, before));
    let how = "the daemon ended, and this command with it; how far it had come was not seen";
    assert_eq!(told(&world), (vec![reminder(how)], 1));
    world.prompt("and now?");
    collect(&mut world);
    reply(&mut world, vec![text("It is gone.")], StopReason::EndTurn);
    assert_eq!(last_unsettled(&world), [CallId(1)]);
    assert_eq!(told(&world).0.len(), 1);
}

#[test]
fn a_session_that_is_loaded_again_still_knows_what_runs() {
    let mut world = begun();
    reply(&mut world, vec![text("It runs.")], StopReason::EndTurn);
    world.take_up();
    assert_eq!(world.machine.in_background(), [CallId(1)]);
    world.input(end(None));
    assert_eq!((world.machine.in_background(), state(&world)), (vec![], OpState::Unknown));
    assert_eq!(told(&world), (vec![reminder("its end was not seen; it does not run any more")], 1));
    assert_eq!(super::behaviour::last_end(&world), Some(TurnEnd::EndTurn));
}
