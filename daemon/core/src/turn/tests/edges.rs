//! Facts about turns at their edges: interrupts, what waits, what is too large, what cut them.

use super::super::input::{InputBody, Prompt};
use super::super::machine::{MAX_QUEUED, Machine};
use super::super::recover::{Cut, settle};
use super::behaviour::{call, collect, facts, finish, last_end, prepare, reply, running, text, world};
use super::world::{Pending, World, settings};
use crate::event::{AskChoice, AskResolution, EventBody, TurnEnd};
use crate::id::{CallId, Revision, TurnNo};
use crate::ledger::OpState;
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::{ModelEvent, StopReason};
use crate::model::request::Api;
use crate::model::usage::Usage;
use crate::permission::policy::Mode;
use crate::time::Timestamp;
use crate::tool::outcome::{Body, Outcome, Status};
use crate::transcript::batch::SessionState;
use crate::transcript::item::ItemBody;

fn keyed(world: &mut World, text: &str, key: &str) {
    world.input(InputBody::Prompt(Prompt {
        text: text.into(),
        key: Some(key.into()),
        attachments: vec![],
        goes_on: None,
    }));
}

fn ends(world: &World) -> Vec<(TurnNo, TurnEnd)> {
    let of = |event: &crate::event::Event| match event.body {
        EventBody::TurnCompleted { turn, reason, .. } => Some((turn, reason)),
        _ => None,
    };
    world.stored.events.iter().filter_map(of).collect()
}

fn said(world: &World) -> Vec<(String, bool)> {
    let of = |item: &crate::transcript::item::Item| match &item.body {
        ItemBody::User(message) => Some((message.text.clone(), message.steering)),
        _ => None,
    };
    world.stored.items.iter().filter_map(of).collect()
}

fn command() -> crate::model::event::BlockContent {
    call("run_terminal_cmd", r#"{"command":"make"}"#)
}

#[test]
fn an_interrupt_before_the_surroundings_are_known_ends_the_turn_at_once() {
    let mut world = world();
    world.prompt("one");
    world.prompt("two");
    world.input(InputBody::Cancel);
    assert_eq!(ends(&world), [(TurnNo(1), TurnEnd::Cancelled)]);
    assert_eq!(said(&world), [("one".to_owned(), false)]);
    // The surroundings of the first come late: the second has its own.
    collect(&mut world);
    assert_eq!(world.bodies.len(), 0);
    collect(&mut world);
    let body = String::from_utf8(world.bodies[0].clone()).unwrap();
    assert!(body.contains("interrupted the previous turn") && body.contains("two"), "{body}");
    reply(&mut world, vec![text("2")], StopReason::EndTurn);
    world.check_settled();
}

#[test]
fn an_interrupt_reaches_a_pause_and_its_timer_is_then_nothing() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    let Some(Pending::Model(request, _)) = world.pending.pop() else { panic!("a request") };
    world.input(InputBody::ModelFailed { request, error: ModelError::new(ErrorClass::Unavailable, "overloaded") });
    world.input(InputBody::Cancel);
    assert_eq!(last_end(&world), Some(TurnEnd::Cancelled));
    let Some(Pending::Timer(timer)) = world.pending.pop() else { panic!("a timer") };
    world.input(InputBody::Timer(timer));
    assert_eq!((world.bodies.len(), world.machine.is_idle()), (1, true));
    let completed = |event: &&crate::event::Event| matches!(event.body, EventBody::StepCompleted { .. });
    assert_eq!(world.stored.events.iter().filter(completed).count(), 1, "a step that started has an end");
    assert!(world.stored.ends.contains_key(&request));
}

#[test]
fn an_interrupt_reaches_what_is_prepared_asked_and_loaded() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    let page = call("grep", r#"{"pattern":"x","cursor":"c1:5"}"#);
    let read = call("read_file", r#"{"target_file":"a"}"#);
    reply(&mut world, vec![page, read, command()], StopReason::ToolCalls);
    world.input(InputBody::Cancel);
    assert_eq!(last_end(&world), Some(TurnEnd::Cancelled));
    world.check_settled();
    for late in std::mem::take(&mut world.pending) {
        match late {
            Pending::Prepare(call) => world.input(InputBody::Prepared { call: call.id, result: Ok(facts(None)) }),
            Pending::Load(call) => world.input(InputBody::ResultLoaded { call, result: Err("late".into()) }),
            other => panic!("{other:?}"),
        }
    }
    assert!(world.pending.is_empty());
    world.prompt("again");
    collect(&mut world);
    reply(&mut world, vec![command()], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    let ask = world.open_asks()[0];
    world.input(InputBody::Cancel);
    world.input(InputBody::Answer { ask, choice: AskChoice::AllowOnce, advice: None });
    assert_eq!((world.answers.clone(), running(&world)), (vec![(ask, false)], vec![]));
    let stored = &world.stored.asks[&ask];
    assert_eq!((stored.resolution.clone(), stored.options.len()), (Some(AskResolution::Void), 4));
    world.check_settled();
}

#[test]
fn usage_of_an_interrupted_answer_counts() {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    let Some(Pending::Model(request, _)) = world.pending.pop() else { panic!("a request") };
    let usage = Usage { input: 700, output: 3, ..Usage::default() };
    world.input(InputBody::Model { request, event: ModelEvent::Usage(usage) });
    world.input(InputBody::Cancel);
    let told = world.stored.events.iter().find_map(|event| match &event.body {
        EventBody::TurnCompleted { usage, .. } => Some(*usage),
        _ => None,
    });
    assert_eq!(told, Some(usage));
}

#[test]
fn the_same_key_is_the_same_turn_while_it_waits_and_while_it_begins() {
    let mut world = world();
    keyed(&mut world, "one", "k1");
    keyed(&mut world, "two", "k2");
    assert_eq!(world.machine.turn_of_key("k1"), Some((TurnNo(1), false)));
    assert_eq!(world.machine.turn_of_key("k2"), Some((TurnNo(2), true)));
    assert_eq!((world.machine.turn_of_key("k3"), world.machine.next_turn()), (None, TurnNo(3)));
    collect(&mut world);
    assert_eq!(world.machine.turn_of_key("k1"), None, "the store has it now");
}

#[test]
fn a_full_queue_takes_nothing_more_and_loses_nothing() {
    let mut world = world();
    world.prompt("first");
    for at in 0..MAX_QUEUED + 3 {
        world.prompt(&format!("p{at}"));
    }
    assert_eq!((world.machine.queued(), world.machine.next_turn()), (MAX_QUEUED, TurnNo(MAX_QUEUED as u64 + 2)));
    for _ in 0..=MAX_QUEUED {
        collect(&mut world);
        reply(&mut world, vec![text("ok")], StopReason::EndTurn);
    }
    assert_eq!((ends(&world).len(), world.machine.is_idle()), (MAX_QUEUED + 1, true));
    assert_eq!(world.stored.state, Some(SessionState::Idle));
    world.check_settled();
}

#[test]
fn a_closed_session_ends_what_runs_and_what_waits() {
    let mut world = world();
    world.machine.set_mode(Mode::Full);
    world.prompt("one");
    world.prompt("two");
    world.prompt("three");
    collect(&mut world);
    reply(&mut world, vec![command()], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    world.input(InputBody::Close);
    assert_eq!((world.stopping.clone(), world.machine.is_idle()), (vec![CallId(1)], false));
    finish(&mut world, CallId(1));
    let cancelled = |turn| (TurnNo(turn), TurnEnd::Cancelled);
    assert_eq!(ends(&world), [cancelled(2), cancelled(3), cancelled(1)]);
    assert_eq!((world.machine.is_idle(), world.stored.state), (true, Some(SessionState::Idle)));
}

#[test]
fn prompts_that_waited_are_told_as_ended_wherever_the_daemon_died() {
    // While the first turn begins; between two turns.
    for answered in [false, true] {
        let mut world = world();
        world.prompt("one");
        world.prompt("two");
        world.prompt("three");
        if answered {
            collect(&mut world);
            reply(&mut world, vec![text("1")], StopReason::EndTurn);
        }
        world.crash(Api::OpenaiChat);
        let crashed: Vec<TurnNo> =
            ends(&world).into_iter().filter(|(_, end)| *end == TurnEnd::Crashed).map(|(turn, _)| turn).collect();
        assert_eq!(crashed, [TurnNo(2), TurnNo(3)], "{answered}");
        assert_eq!(world.stored.state, Some(SessionState::Interrupted));
        world.prompt("four");
        assert_eq!(world.machine.running_turn(), Some(TurnNo(4)), "{answered}");
        collect(&mut world);
        assert!(!String::from_utf8_lossy(&world.bodies[world.bodies.len() - 1]).contains("broke off"));
    }
}

#[test]
fn steering_between_calls_is_stored_at_once_behind_their_results() {
    let mut world = world();
    world.machine.set_mode(Mode::Full);
    world.prompt("go");
    collect(&mut world);
    reply(&mut world, vec![command()], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    world.input(InputBody::Steer("use tabs".into()));
    assert_eq!(said(&world), [("go".to_owned(), false), ("use tabs".to_owned(), true)]);
    finish(&mut world, CallId(1));
    let body: serde_json::Value = serde_json::from_slice(&world.bodies[1]).unwrap();
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles[roles.len() - 3..], ["assistant", "tool", "user"]);
}

#[test]
fn steering_that_no_step_took_up_is_kept_however_the_turn_ends() {
    let failed = |world: &mut World| {
        let Some(Pending::Model(request, _)) = world.pending.pop() else { panic!("a request") };
        world.input(InputBody::ModelFailed { request, error: ModelError::new(ErrorClass::Auth, "wrong key") });
    };
    let cancelled = |world: &mut World| world.input(InputBody::Cancel);
    for end in [&failed as &dyn Fn(&mut World), &cancelled] {
        let mut world = world();
        world.prompt("go");
        collect(&mut world);
        world.input(InputBody::Steer("use tabs".into()));
        end(&mut world);
        assert!(last_end(&world).is_some());
        assert_eq!(said(&world)[1..], [("use tabs".to_owned(), true)]);
        world.pending.clear();
        world.prompt("again");
        collect(&mut world);
        assert!(String::from_utf8_lossy(world.bodies.last().unwrap()).contains("use tabs"));
    }
}

#[test]
fn steering_an_interrupted_turn_is_a_prompt_of_its_own() {
    let mut world = world();
    world.machine.set_mode(Mode::Full);
    world.prompt("go");
    collect(&mut world);
    reply(&mut world, vec![command()], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    assert!(world.machine.takes_steering());
    world.input(InputBody::Cancel);
    assert!(!world.machine.takes_steering());
    world.input(InputBody::Steer("then this".into()));
    assert_eq!(world.accepted.last(), Some(&(TurnNo(2), true)));
    finish(&mut world, CallId(1));
    assert_eq!(world.machine.running_turn(), Some(TurnNo(2)));
}

#[test]
fn an_ended_command_is_stored_although_the_next_call_is_still_prepared() {
    let mut world = world();
    world.machine.set_mode(Mode::Full);
    world.prompt("go");
    collect(&mut world);
    reply(&mut world, vec![command(), command()], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    finish(&mut world, CallId(1));
    assert!(matches!(world.pending.as_slice(), [Pending::Prepare(_)]));
    assert_eq!(world.stored.operations[&CallId(1)].state, OpState::Succeeded);
    world.crash(Api::OpenaiChat);
    assert_eq!(world.stored.operations[&CallId(1)].state, OpState::Succeeded);
}

#[test]
fn a_call_whose_end_was_not_seen_is_told_as_unsettled() {
    let mut world = world();
    world.machine.set_mode(Mode::Full);
    world.prompt("go");
    collect(&mut world);
    reply(&mut world, vec![command()], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    world.pending.clear();
    let outcome = Outcome { status: Status::Unknown, body: Body::Text("lost".into()) };
    world.input(InputBody::ToolFinished { call: CallId(1), outcome, revision: Revision(2) });
    reply(&mut world, vec![text("hm")], StopReason::EndTurn);
    let unsettled = world.stored.events.iter().find_map(|event| match &event.body {
        EventBody::TurnCompleted { unsettled, .. } => Some(unsettled.clone()),
        _ => None,
    });
    assert_eq!(unsettled, Some(vec![CallId(1)]));
}

#[test]
fn a_thousand_calls_in_one_message_all_get_their_results() {
    let mut world = world();
    world.machine.settings.compaction.auto = false;
    world.prompt("go");
    collect(&mut world);
    let calls = (0..1_000)
        .map(|at| match at % 3 {
            0 => call("read_file", r#"{"target_file":"a"}"#),
            1 => call("no_such_tool", "{}"),
            _ => call("grep", r#"{"pattern":"x"}"#),
        })
        .collect();
    reply(&mut world, calls, StopReason::ToolCalls);
    while world.bodies.len() == 1 {
        prepare(&mut world, None);
        let runs = running(&world);
        assert!((1..=8).contains(&runs.len()), "{} at a time", runs.len());
        for id in runs {
            finish(&mut world, id);
        }
    }
    world.check_settled_calls(1_000);
    super::world::check_strict(&world.bodies[1]);
}

#[test]
fn a_prompt_larger_than_the_window_is_kept_and_not_sent_and_the_session_lives() {
    let mut world = world();
    let big = "word ".repeat(1 << 20);
    world.prompt(&big);
    collect(&mut world);
    assert_eq!((world.bodies.len(), last_end(&world)), (0, Some(TurnEnd::ModelError)));
    let message = world.stored.events.iter().find_map(|event| match &event.body {
        EventBody::TurnCompleted { message, .. } => message.clone(),
        _ => None,
    });
    let message = message.unwrap();
    assert!(message.contains("5242880 bytes") && message.contains("99000") && message.contains("file"), "{message}");
    assert!(matches!(&world.stored.items[0].body, ItemBody::User(kept) if kept.refused && kept.text == big));
    for reload in [false, true] {
        if reload {
            world.crash(Api::OpenaiChat);
        }
        world.prompt("a small one");
        collect(&mut world);
        reply(&mut world, vec![text("ok")], StopReason::EndTurn);
        assert_eq!(last_end(&world), Some(TurnEnd::EndTurn));
    }
    assert!(world.bodies.iter().all(|body| body.len() < 100_000));
}

#[test]
fn a_conversation_that_fills_the_window_ends_the_turn_and_says_what_to_do() {
    let mut world = world();
    world.machine.settings.compaction.auto = false;
    world.prompt("go");
    collect(&mut world);
    let Some(Pending::Model(request, _)) = world.pending.pop() else { panic!("a request") };
    let event = |event| InputBody::Model { request, event };
    let content = call("read_file", r#"{"target_file":"a"}"#);
    world.input(event(ModelEvent::BlockDone { block: 0, content }));
    world.input(event(ModelEvent::Usage(Usage { input: 98_980, output: 20, ..Usage::default() })));
    world.input(event(ModelEvent::Finished(StopReason::ToolCalls)));
    prepare(&mut world, None);
    finish(&mut world, CallId(1));
    assert_eq!((world.bodies.len(), last_end(&world)), (1, Some(TurnEnd::ModelError)));
    let message = world.stored.events.iter().find_map(|event| match &event.body {
        EventBody::TurnCompleted { message, .. } => message.clone(),
        _ => None,
    });
    assert!(message.as_ref().is_some_and(|text| text.contains("new session")), "{message:?}");
    world.check_settled();
    world.prompt("and now?");
    collect(&mut world);
    assert_eq!((world.bodies.len(), ends(&world).len()), (1, 2));
}

#[test]
fn reported_usage_anchors_the_size_and_an_answer_is_not_counted_twice() {
    let sizes = |world: &World| -> Vec<u64> {
        let of = |event: &crate::event::Event| match event.body {
            EventBody::StepStarted { tokens, .. } => Some(tokens),
            _ => None,
        };
        world.stored.events.iter().filter_map(of).collect()
    };
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    let Some(Pending::Model(request, _)) = world.pending.pop() else { panic!("a request") };
    let event = |event| InputBody::Model { request, event };
    let answer = "a long answer ".repeat(500);
    world.input(event(ModelEvent::BlockDone { block: 0, content: text(&answer) }));
    world.input(event(ModelEvent::Usage(Usage { input: 5_000, output: 1_500, ..Usage::default() })));
    world.input(event(ModelEvent::Finished(StopReason::EndTurn)));
    let stored = world.stored.clone();
    world.prompt("next");
    collect(&mut world);
    let live = sizes(&world)[1];
    assert!((6_500..6_600).contains(&live), "{live}");
    world.stored = stored;
    world.crash(Api::OpenaiChat);
    world.prompt("next");
    world.pending.drain(..world.pending.len() - 1);
    collect(&mut world);
    assert_eq!(sizes(&world)[1], live, "a session that was taken up again counts the same");
}

#[test]
fn what_cut_a_turn_is_what_its_end_says() {
    for (cut, end, words) in [
        (Cut::Crash, TurnEnd::Crashed, "daemon ended"),
        (Cut::Store("disk full".into()), TurnEnd::StoreError, "disk full"),
        (Cut::Fault, TurnEnd::Internal, "fault"),
    ] {
        let mut world = world();
        world.prompt("go");
        collect(&mut world);
        let batch = settle(&world.stored.load(), &[], Timestamp(1), &cut).unwrap();
        world.stored.commit(batch);
        assert_eq!(ends(&world), [(TurnNo(1), end)]);
        let told = world.stored.items.iter().any(
            |item| matches!(&item.body, ItemBody::Notice(notice) if notice.text.contains(words) && !notice.text.contains("..")),
        );
        assert!(told, "{cut:?}");
        world.machine = Machine::load(world.stored.load(), settings(Api::OpenaiChat));
        world.check_settled();
    }
}
