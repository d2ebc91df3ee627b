//! Plan mode: who brings a session into it and out of it, and what the model is told, when.

use super::super::input::InputBody;
use super::super::machine::Machine;
use super::behaviour::{call, collect, last_end, prepare, reply, running, text, world};
use super::world::{Pending, World, open_end};
use crate::event::{Ask, AskChoice, TurnEnd};
use crate::model::event::StopReason;
use crate::model::request::Api;
use crate::permission::policy::{Mode, Modes, Policy};
use crate::tool::outcome::Status;
use crate::transcript::batch::SessionState;
use crate::transcript::item::{ItemBody, MetaCause};

/// What was told of the mode and the todo list so far, each with its turn.
fn told(world: &World) -> Vec<(u64, MetaCause)> {
    let told = world.stored.items.iter().filter_map(|item| match &item.body {
        ItemBody::Meta(meta) => Some((item.turn.0, meta.cause)),
        _ => None,
    });
    told.collect()
}

/// A whole turn without calls.
fn turn(world: &mut World) {
    world.prompt("go on");
    collect(world);
    reply(world, vec![text("Yes.")], StopReason::EndTurn);
}

fn exit(arguments: &str) -> Vec<crate::model::event::BlockContent> {
    vec![call("exit_plan_mode", arguments)]
}

/// A turn in plan mode, entered from `before`, whose model hands this plan in.
fn handed_in(before: Mode) -> World {
    let mut world = world();
    world.set_mode(before);
    world.set_mode(Mode::Plan);
    world.prompt("plan it");
    collect(&mut world);
    reply(&mut world, exit(r#"{"plan":"1. Look."}"#), StopReason::ToolCalls);
    world
}

fn asked(world: &World) -> Ask {
    world.stored.asks[&world.open_asks()[0]].clone()
}

fn answer(world: &mut World, choice: AskChoice, advice: Option<&str>) {
    let ask = world.open_asks()[0];
    world.input(InputBody::Answer { ask, choice, advice: advice.map(str::to_owned) });
    assert_eq!(world.answers.last(), Some(&(ask, true)));
}

/// The last result with its status.
fn result(world: &World) -> (Status, String) {
    let results = world.stored.items.iter().rev().filter_map(|item| match &item.body {
        ItemBody::ToolResult(result) => {
            Some((result.outcome.status, world.stored.projections[&result.call].text.clone()))
        }
        _ => None,
    });
    results.into_iter().next().expect("a result")
}

fn choices(ask: &Ask) -> Vec<AskChoice> {
    ask.options.iter().map(|option| option.kind).collect()
}

#[test]
fn an_approval_goes_back_to_the_mode_that_the_user_had_chosen() {
    use AskChoice::{AllowOnce, AllowSession, Reject};
    for (before, choice, offered, after) in [
        (Mode::Ask, AllowOnce, vec![AllowOnce, AllowSession, Reject], Mode::Ask),
        (Mode::Ask, AllowSession, vec![AllowOnce, AllowSession, Reject], Mode::AcceptEdits),
        (Mode::AcceptEdits, AllowOnce, vec![AllowOnce, Reject], Mode::AcceptEdits),
        (Mode::Full, AllowOnce, vec![AllowOnce, Reject], Mode::Full),
    ] {
        let mut world = handed_in(before);
        let ask = asked(&world);
        assert_eq!((ask.plan.as_deref(), choices(&ask)), (Some("1. Look."), offered), "{before}");
        assert_eq!(world.stored.state, Some(SessionState::Waiting));
        answer(&mut world, choice, None);
        assert_eq!(world.stored.mode, after, "{before}");
        assert_eq!(result(&world).0, Status::Ok);
        assert!(result(&world).1.contains(&format!("the mode is `{after}` now")), "{}", result(&world).1);
        reply(&mut world, vec![text("Done.")], StopReason::EndTurn);
        assert_eq!(told(&world), [(1, MetaCause::PlanMode), (1, MetaCause::PlanModeLeft)]);
        world.check_settled();
    }
}

#[test]
fn a_refusal_and_advice_keep_plan_mode() {
    let mut world = handed_in(Mode::Ask);
    answer(&mut world, AskChoice::Reject, Some("Leave the tests alone."));
    assert_eq!((result(&world).0, world.stored.mode), (Status::Denied, Mode::Plan));
    assert!(result(&world).1.contains("says: Leave the tests alone."), "{}", result(&world).1);
    reply(&mut world, exit(r#"{"plan":"2. Look."}"#), StopReason::ToolCalls);
    answer(&mut world, AskChoice::Reject, Some("  "));
    assert!(result(&world).1.contains("did not approve"), "{}", result(&world).1);
    reply(&mut world, vec![text("What else?")], StopReason::EndTurn);
    assert_eq!((last_end(&world), told(&world)), (Some(TurnEnd::EndTurn), vec![(1, MetaCause::PlanMode)]));
    world.check_settled();
}

#[test]
fn an_open_plan_outlives_the_daemon_and_counts_as_it_was_shown() {
    for choice in [AskChoice::AllowOnce, AskChoice::Reject] {
        let mut world = handed_in(Mode::AcceptEdits);
        world.crash(Api::OpenaiChat);
        assert_eq!(
            (world.stored.state, asked(&world).plan.as_deref()),
            (Some(SessionState::Waiting), Some("1. Look."))
        );
        answer(&mut world, choice, None);
        let after = if choice == AskChoice::Reject { Mode::Plan } else { Mode::AcceptEdits };
        assert_eq!(world.stored.mode, after, "nothing is looked up again, and the mode before is still known");
        reply(&mut world, vec![text("Done.")], StopReason::EndTurn);
        assert_eq!(last_end(&world), Some(TurnEnd::EndTurn));
        world.check_settled();
    }
}

#[test]
fn the_plan_file_counts_when_the_call_has_no_plan() {
    let mut world = world();
    world.set_mode(Mode::Plan);
    world.prompt("plan it");
    collect(&mut world);
    let read = |world: &mut World, result| {
        let at = world.pending.iter().position(|pending| matches!(pending, Pending::Plan(_))).expect("a look");
        let Pending::Plan(call) = world.pending.remove(at) else { unreachable!() };
        world.input(InputBody::PlanRead { call, result });
    };
    reply(&mut world, exit("{}"), StopReason::ToolCalls);
    read(&mut world, Ok(None));
    assert_eq!(result(&world).0, Status::Failed);
    assert!(result(&world).1.contains("write it to /data/plans/s.md"), "{}", result(&world).1);
    reply(&mut world, exit(r#"{"plan":" "}"#), StopReason::ToolCalls);
    read(&mut world, Ok(Some("From the file.".into())));
    assert_eq!(asked(&world).plan.as_deref(), Some("From the file."));
    world.input(InputBody::Cancel);
    assert_eq!((last_end(&world), world.stored.mode), (Some(TurnEnd::Cancelled), Mode::Plan));
    world.check_settled();
}

#[test]
fn out_of_plan_mode_there_is_nothing_to_hand_in() {
    let mut world = world();
    world.prompt("do it");
    collect(&mut world);
    reply(&mut world, exit(r#"{"plan":"x"}"#), StopReason::ToolCalls);
    assert_eq!((result(&world).0, world.open_asks()), (Status::Failed, vec![]));
    reply(&mut world, vec![text("Done.")], StopReason::EndTurn);
    assert_eq!(told(&world), []);
}

#[test]
fn a_mode_that_the_user_chose_meanwhile_is_newer_than_an_approval() {
    let mut world = handed_in(Mode::Full);
    world.set_mode(Mode::Ask);
    answer(&mut world, AskChoice::AllowOnce, None);
    assert_eq!((world.stored.mode, result(&world).0), (Mode::Ask, Status::Ok));
}

#[test]
fn the_model_enters_plan_mode_by_itself_and_later_calls_are_decided_in_it() {
    let mut world = world();
    world.set_mode(Mode::Full);
    world.prompt("do it");
    collect(&mut world);
    let write = call("write", r#"{"file_path":"a","contents":"x"}"#);
    reply(&mut world, vec![call("enter_plan_mode", ""), write], StopReason::ToolCalls);
    prepare(&mut world, None);
    assert_eq!((running(&world), world.stored.mode), (vec![], Mode::Plan));
    assert_eq!((result(&world).0, told(&world)), (Status::Denied, vec![(1, MetaCause::PlanMode)]));
    reply(&mut world, exit(r#"{"plan":"1. Look."}"#), StopReason::ToolCalls);
    answer(&mut world, AskChoice::AllowOnce, None);
    assert_eq!(world.stored.mode, Mode::Full);
    world.check_settled_calls(3);
}

#[test]
fn the_administrators_bounds_hold_for_both_ways() {
    let bounded = |least, most| Policy { modes: Modes { least, most }, ..Policy::default() };
    let mut world = handed_in(Mode::Full);
    world.machine.set_policy(bounded(Mode::Plan, Mode::Ask));
    answer(&mut world, AskChoice::AllowOnce, None);
    assert_eq!(world.stored.mode, Mode::Ask);
    world.machine.set_policy(bounded(Mode::Ask, Mode::Ask));
    reply(&mut world, vec![call("enter_plan_mode", "{}")], StopReason::ToolCalls);
    assert_eq!((world.stored.mode, result(&world).0), (Mode::Ask, Status::Failed));
}

#[test]
fn what_is_told_of_plan_mode_comes_again_every_fifth_turn_of_the_user_and_is_full_every_fifth_time() {
    let mut world = world();
    world.set_mode(Mode::Plan);
    for no in 1..=26 {
        world.prompt("go on");
        collect(&mut world);
        // Steps and steering are no turns.
        world.input(InputBody::Steer("quickly".into()));
        reply(&mut world, vec![call("read_file", "{broken")], StopReason::ToolCalls);
        reply(&mut world, vec![text("Yes.")], StopReason::EndTurn);
        if no % 4 == 0 {
            world.crash(Api::OpenaiChat);
        }
    }
    let still = MetaCause::PlanModeStill;
    let full = MetaCause::PlanMode;
    assert_eq!(told(&world), [(1, full), (6, still), (11, still), (16, still), (21, still), (26, full)]);
}

#[test]
fn what_was_entered_and_left_between_two_requests_is_not_told() {
    let mut world = world();
    turn(&mut world);
    world.set_mode(Mode::Plan);
    world.set_mode(Mode::Ask);
    turn(&mut world);
    assert_eq!(told(&world), []);
    world.set_mode(Mode::Plan);
    turn(&mut world);
    world.set_mode(Mode::Ask);
    world.set_mode(Mode::Plan);
    turn(&mut world);
    world.set_mode(Mode::Full);
    turn(&mut world);
    turn(&mut world);
    assert_eq!(told(&world), [(3, MetaCause::PlanMode), (5, MetaCause::PlanModeLeft)]);
}

#[test]
fn a_mode_changes_neither_head_nor_anything_that_was_sent() {
    let mut world = world();
    for mode in Mode::ALL.into_iter().chain([Mode::Plan, Mode::Full, Mode::Plan]) {
        world.set_mode(mode);
        turn(&mut world);
    }
    assert_eq!(world.stored.epochs.len(), 1);
    for pair in world.bodies.windows(2) {
        assert!(pair[1].starts_with(open_end(&pair[0])), "each request is a prefix of the next");
    }
}

#[test]
fn a_question_whether_to_go_on_does_not_tell_twice() {
    let mut world = world();
    let mut settings = super::world::settings(Api::OpenaiChat);
    (settings.max_steps, settings.mode) = (1, Mode::Plan);
    world.stored.mode = Mode::Plan;
    world.machine = Machine::load(world.stored.load(), settings);
    world.machine.set_attended(true);
    world.prompt("go");
    collect(&mut world);
    world.set_mode(Mode::Ask);
    reply(&mut world, vec![call("read_file", "{broken")], StopReason::ToolCalls);
    assert_eq!(world.open_asks().len(), 1);
    answer(&mut world, AskChoice::AllowOnce, None);
    reply(&mut world, vec![text("Done.")], StopReason::EndTurn);
    assert_eq!(told(&world), [(1, MetaCause::PlanMode), (1, MetaCause::PlanModeLeft)]);
}

#[test]
fn another_model_counts_anew_what_its_history_holds() {
    let mut world = world();
    world.set_mode(Mode::Plan);
    turn(&mut world);
    turn(&mut world);
    world.crash(Api::AnthropicMessages);
    turn(&mut world);
    assert_eq!(world.stored.epochs.len(), 2);
    assert_eq!(told(&world), [(1, MetaCause::PlanMode)], "its full text is still in the view");
    assert_eq!(world.stored.requests.last().unwrap().stated.told.plan.unwrap().turns, 2);
}

#[test]
fn a_todo_list_that_nobody_writes_is_told_after_ten_turns_and_again_after_ten_more() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    let todos = r#"{"merge":false,"todos":[{"id":"1","content":"look\nwell","status":"pending"},{"id":"2","content":"x","status":"completed"}]}"#;
    reply(&mut world, vec![call("todo_write", todos)], StopReason::ToolCalls);
    reply(&mut world, vec![text("Yes.")], StopReason::EndTurn);
    for no in 2..=23 {
        turn(&mut world);
        if no % 3 == 0 {
            world.crash(Api::OpenaiChat);
        }
    }
    assert_eq!(told(&world), [(12, MetaCause::TodosStale), (22, MetaCause::TodosStale)]);
    let reminder = world.stored.items.iter().find_map(|item| match &item.body {
        ItemBody::Meta(meta) => Some(meta.text.clone()),
        _ => None,
    });
    assert!(reminder.unwrap().contains("for 10 turns. Still open on it:\n- look well\nIf"));
}

#[test]
fn a_todo_list_with_nothing_open_is_not_told() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    let todos = r#"{"merge":false,"todos":[{"id":"1","content":"x","status":"completed"},{"id":"2","content":"y","status":"cancelled"}]}"#;
    reply(&mut world, vec![call("todo_write", todos)], StopReason::ToolCalls);
    reply(&mut world, vec![text("Yes.")], StopReason::EndTurn);
    (0..15).for_each(|_| turn(&mut world));
    assert_eq!(told(&world), []);
}
