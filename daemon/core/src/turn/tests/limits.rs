//! Limits: whoever is there is asked, and where nobody is the turn ends.

use super::super::input::InputBody;
use super::super::machine::Machine;
use super::behaviour::{call, collect, last_end, prepare, reply, running, text, world};
use super::world::World;
use crate::event::{AskChoice, TurnEnd};
use crate::id::{CallId, Revision, StepNo};
use crate::model::catalog::Price;
use crate::model::event::{BlockContent, ModelEvent, StopReason};
use crate::model::usage::Usage;
use crate::tool::outcome::{Body, Outcome, Status};
use crate::transcript::batch::SessionState;

const READ: &str = r#"{"target_file":"a"}"#;

/// The model reads a file, and gets this.
fn step(world: &mut World, arguments: &str, result: &str) {
    reply(world, vec![call("read_file", arguments)], StopReason::ToolCalls);
    prepare(world, None);
    let id = running(world)[0];
    world.pending.retain(|pending| !matches!(pending, super::world::Pending::Run(_)));
    let outcome = Outcome { status: Status::Ok, body: Body::Text(result.into()) };
    world.input(InputBody::ToolFinished { call: id, outcome, revision: Revision(1) });
}

fn begun(attended: bool) -> World {
    let mut world = world();
    world.machine.set_attended(attended);
    world.prompt("read on");
    collect(&mut world);
    world
}

fn answer(world: &mut World, choice: AskChoice) {
    let ask = world.open_asks()[0];
    world.input(InputBody::Answer { ask, choice, advice: None });
    assert_eq!(world.answers.last(), Some(&(ask, true)));
}

fn shown(world: &World, id: u64) -> &str {
    &world.stored.projections[&CallId(id)].text
}

#[test]
fn at_the_limit_of_steps_the_user_decides_and_nobody_ends_the_turn() {
    for (attended, choice) in [(false, None), (true, Some(AskChoice::Reject)), (true, Some(AskChoice::AllowOnce))] {
        let mut world = begun(attended);
        for no in 0..20 {
            step(&mut world, &format!(r#"{{"target_file":"f{no}"}}"#), "text");
        }
        assert_eq!(world.step_of_last_request(), StepNo(20));
        if let Some(choice) = choice {
            assert_eq!((last_end(&world), world.stored.state), (None, Some(SessionState::Waiting)));
            let ask = world.stored.asks.values().next().unwrap();
            assert_eq!((ask.tool.as_str(), ask.call), ("turn", CallId(20)));
            assert_eq!(ask.reason, "The turn reached its limit of 20 steps (limits.max_steps_per_turn).");
            answer(&mut world, choice);
        }
        if choice == Some(AskChoice::AllowOnce) {
            assert_eq!(world.stored.state, Some(SessionState::Running));
            for no in 20..40 {
                step(&mut world, &format!(r#"{{"target_file":"f{no}"}}"#), "text");
            }
            assert_eq!((world.step_of_last_request(), world.open_asks().len()), (StepNo(40), 1));
            answer(&mut world, AskChoice::Reject);
        }
        assert_eq!(last_end(&world), Some(TurnEnd::MaxSteps));
        world.check_settled();
    }
}

#[test]
fn an_interrupt_reaches_the_question_whether_to_go_on() {
    let mut world = begun(true);
    for no in 0..20 {
        step(&mut world, &format!(r#"{{"target_file":"f{no}"}}"#), "text");
    }
    world.input(InputBody::Cancel);
    assert_eq!(last_end(&world), Some(TurnEnd::Cancelled));
    world.check_settled();
}

#[test]
fn the_same_call_with_the_same_result_is_told_from_the_third_time_and_asked_at_the_tenth() {
    for attended in [true, false] {
        let mut world = begun(attended);
        for _ in 0..9 {
            step(&mut world, READ, "text");
        }
        assert!(!shown(&world, 2).contains("in a row"));
        assert!(shown(&world, 3).ends_with(
            "\n[the same call gave this same result 3 times in a row: take another way, or say what stands in the way]"
        ));
        assert!(shown(&world, 9).contains("9 times in a row"));
        assert_eq!(world.open_asks(), []);
        step(&mut world, READ, "text");
        if attended {
            answer(&mut world, AskChoice::AllowOnce);
            step(&mut world, READ, "text");
            assert!(!shown(&world, 11).contains("in a row"), "the count begins anew");
            assert_eq!(last_end(&world), None);
        } else {
            assert_eq!(last_end(&world), Some(TurnEnd::Limit));
        }
    }
    let mut world = begun(true);
    for no in 0..12 {
        step(&mut world, READ, &format!("text {no}"));
    }
    assert!((1..=12).all(|id| !shown(&world, id).contains("in a row")), "another result is no repetition");
    assert_eq!(world.open_asks(), []);
}

/// The model answers with this many tokens.
fn paid(world: &mut World, output: u64, content: BlockContent, stop: StopReason) {
    let at = world.pending.iter().position(|pending| matches!(pending, super::world::Pending::Model(..))).unwrap();
    let super::world::Pending::Model(request, _) = world.pending.remove(at) else { unreachable!() };
    let usage = Usage { output, ..Usage::default() };
    for event in [ModelEvent::BlockDone { block: 0, content }, ModelEvent::Usage(usage), ModelEvent::Finished(stop)] {
        world.input(InputBody::Model { request, event });
    }
}

#[test]
fn a_session_that_has_cost_its_limit_asks_before_the_next_request() {
    for attended in [true, false] {
        let mut world = world();
        let mut settings = super::world::settings(crate::model::request::Api::OpenaiChat);
        // A dollar for a thousand tokens.
        settings.model.price =
            Some(Price { input: 0.0, cache_read: 0.0, cache_write: 0.0, output: 1_000.0, as_of: "x".into() });
        settings.session_cost = Some(2.0);
        world.machine = Machine::load(world.stored.load(), settings);
        world.machine.set_attended(attended);
        world.prompt("spend");
        collect(&mut world);
        paid(&mut world, 1_500, text("One."), StopReason::EndTurn);
        world.take_up();
        world.machine.set_attended(attended);
        world.prompt("more");
        collect(&mut world);
        paid(&mut world, 1_500, text("Two."), StopReason::EndTurn);
        assert_eq!(world.bodies.len(), 2, "what is running is not cut");
        world.prompt("more");
        collect(&mut world);
        assert_eq!(world.bodies.len(), 2);
        if attended {
            let reason = &world.stored.asks.values().next().unwrap().reason;
            assert_eq!(reason, "The session has cost $3.00, and its limit is $2.00 (limits.session_cost).");
            answer(&mut world, AskChoice::AllowOnce);
            assert_eq!(world.bodies.len(), 3);
            paid(&mut world, 10, text("Three."), StopReason::EndTurn);
            world.prompt("more");
            world.pending.retain(|pending| matches!(pending, super::world::Pending::Collect(_)));
            collect(&mut world);
            assert_eq!(world.bodies.len(), 4, "as much again before it asks again");
        } else {
            assert_eq!(last_end(&world), Some(TurnEnd::Limit));
            world.check_settled();
        }
    }
}
