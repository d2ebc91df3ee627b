//! Summaries that are written beside the work, and when they are not.

use super::super::input::InputBody;
use super::behaviour::{call, collect, prepare, reply, running, text};
use super::compaction::{RULE, check, ends, good, in_window, settle, side_answers, switches, turn, waited, world};
use super::world::{Pending, World};
use crate::event::TurnEnd;
use crate::id::{Revision, SideNo};
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::{ModelEvent, StopReason};
use crate::tool::outcome::{Body, Outcome, Status};
use crate::transcript::epoch::{CompactionCause, SummarySource};

/// Turns until a summary is being written beside the work, which is not answered.
fn until_a_summary_is_written(world: &mut World) {
    let mut written = false;
    for no in 0..60 {
        world.prompt(&format!("{RULE} {no}"));
        collect(world);
        settle(world, &mut |_, _| written = true);
        if written {
            return;
        }
        reply(world, vec![text("I look."), call("read_file", r#"{"target_file":"a"}"#)], StopReason::ToolCalls);
        prepare(world, None);
        for id in running(world) {
            world.pending.retain(|pending| !matches!(pending, Pending::Run(call) if call.id == id));
            let body = Body::Text("let value = compute();\n".repeat(200));
            let outcome = Outcome { status: Status::Ok, body };
            world.input(InputBody::ToolFinished { call: id, outcome, revision: Revision(2) });
        }
        settle(world, &mut |_, _| written = true);
        if written {
            return;
        }
        reply(world, vec![text("That is how it is.")], StopReason::EndTurn);
    }
    panic!("none is written");
}

#[test]
fn a_summary_beside_the_work_gives_way_when_the_provider_limits_requests() {
    let mut world = world(in_window(32_000));
    until_a_summary_is_written(&mut world);
    let written = world.stored.sides.last().expect("a row").no;
    assert!(!world.stored.side_ends.contains_key(&written));
    let Some(Pending::Model(request, _)) = world.pending.pop() else { panic!("the turn's request is out") };
    world.input(InputBody::ModelFailed { request, error: ModelError::new(ErrorClass::RateLimited, "slow down") });
    let end = &world.stored.side_ends[&written];
    assert!(end.error.as_deref().is_some_and(|why| why.contains("limits requests")), "{end:?}");
    // Its answer comes too late, and none other is asked for in this turn.
    let sides = world.stored.sides.len();
    world.input(InputBody::Side { no: written, event: ModelEvent::Finished(StopReason::EndTurn) });
    let Some(Pending::Timer(timer)) = world.pending.pop() else { panic!("it waits") };
    world.input(InputBody::Timer(timer));
    reply(&mut world, vec![text("Well.")], StopReason::EndTurn);
    assert_eq!((world.stored.sides.len(), ends(&world).last()), (sides, Some(&TurnEnd::EndTurn)));
}

#[test]
fn where_requests_come_one_at_a_time_no_summary_is_written_beside_the_work() {
    let mut settings = in_window(32_000);
    settings.compaction.prepare = false;
    let mut world = world(settings);
    let mut waiting = 0;
    let mut summarise = |world: &mut World, no: SideNo| {
        assert!(!world.pending.iter().any(|pending| matches!(pending, Pending::Model(..))), "nothing else is asked");
        waiting += 1;
        side_answers(world, no, vec![text(&good(3))], StopReason::EndTurn);
    };
    for no in 0..120 {
        turn(&mut world, &format!("{RULE} {no}"), 2, 60, &mut summarise);
    }
    assert!(waiting > 0);
    assert_eq!(ends(&world), vec![TurnEnd::EndTurn; 120]);
    assert!(world.stored.sides.iter().all(|row| row.base.is_some()), "all are on the prefix");
    check(&world, &[(0, RULE.to_owned())]);
}

#[test]
fn after_so_many_turns_a_summary_is_written_beside_the_work() {
    let by_turns = || {
        let mut settings = in_window(100_000);
        settings.compaction.every_turns = Some(4);
        settings.compaction.tail_guard_turns = 1;
        world(settings)
    };
    let causes = |world: &World| -> Vec<_> {
        switches(world).iter().map(|facts| (facts.cause, facts.summary.expect("a summary"))).collect()
    };
    let mut world = by_turns();
    let mut good_one =
        |world: &mut World, no: SideNo| side_answers(world, no, vec![text(&good(3))], StopReason::EndTurn);
    for no in 1..=16 {
        turn(&mut world, &format!("{RULE} {no}"), 1, 60, &mut good_one);
    }
    assert_eq!(world.stored.sides.len(), 3, "one in each of the turns 5, 9 and 13");
    assert_eq!(causes(&world), [(CompactionCause::Turns, SummarySource::Fork); 3]);
    assert_eq!(waited(&world), 0, "no request waits for a summary");
    check(&world, &[(0, RULE.to_owned())]);

    // Where no model gives one beside the work, the next turn waits, and has one in any case.
    let mut world = by_turns();
    for no in 1..=8 {
        turn(&mut world, &format!("{RULE} {no}"), 1, 60, &mut |world, no| {
            let error = ModelError::new(ErrorClass::Unavailable, "500");
            world.input(InputBody::SideFailed { no, error });
        });
    }
    assert_eq!(causes(&world), [(CompactionCause::Turns, SummarySource::Host)]);
    assert_eq!(ends(&world), vec![TurnEnd::EndTurn; 8]);
    check(&world, &[(0, RULE.to_owned())]);
}
