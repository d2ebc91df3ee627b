//! What a change of mode or policy in the middle of a turn means for it.

use super::super::input::InputBody;
use super::behaviour::{call, collect, finish, prepare, reply, running, text, world};
use super::world::World;
use crate::event::{AskChoice, AskOption};
use crate::id::{AskId, CallId};
use crate::ledger::OpState;
use crate::model::event::StopReason;
use crate::permission::policy::{Mode, Policy};
use crate::permission::rule::{Rule, Scope, Verdict};

/// A turn whose model calls this command twice, the first of them prepared.
fn two_commands(mode: Mode) -> World {
    let mut world = world();
    world.machine.set_mode(mode);
    world.prompt("go");
    collect(&mut world);
    let make = || call("run_terminal_cmd", r#"{"command":"make"}"#);
    reply(&mut world, vec![make(), make()], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    world
}

fn rule(verdict: Verdict, scope: Scope, text: &str) -> Rule {
    Rule { verdict, scope, matcher: text.parse().expect("a rule") }
}

fn policy(rules: Vec<Rule>) -> Policy {
    Policy { rules, ..Policy::default() }
}

fn answer(world: &mut World, choice: AskChoice) {
    let ask = world.open_asks()[0];
    world.input(InputBody::Answer { ask, choice, advice: None });
}

#[test]
fn a_mode_holds_from_the_next_decision_on() {
    let mut world = two_commands(Mode::Full);
    assert_eq!((running(&world), world.open_asks()), (vec![CallId(1)], vec![]));
    world.machine.set_mode(Mode::Ask);
    assert_eq!(running(&world), [CallId(1)], "what runs goes on");
    finish(&mut world, CallId(1));
    prepare(&mut world, Some("make"));
    assert_eq!((running(&world), world.open_asks()), (vec![], vec![AskId(1)]));
    world.machine.set_mode(Mode::Full);
    assert_eq!(world.open_asks(), [AskId(1)], "a question stays one");
    answer(&mut world, AskChoice::AllowOnce);
    assert_eq!(running(&world), [CallId(2)]);
    finish(&mut world, CallId(2));
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    world.check_settled();
}

#[test]
fn a_write_is_denied_once_the_mode_is_lowered_to_plan() {
    let mut world = world();
    world.machine.set_mode(Mode::Full);
    world.prompt("go");
    collect(&mut world);
    let write = || call("write", r#"{"file_path":"a","contents":"x"}"#);
    reply(&mut world, vec![write(), write()], StopReason::ToolCalls);
    prepare(&mut world, None);
    assert_eq!(running(&world), [CallId(1)]);
    world.machine.set_mode(Mode::Plan);
    finish(&mut world, CallId(1));
    prepare(&mut world, None);
    assert_eq!((running(&world), world.open_asks()), (vec![], vec![]));
    let states: Vec<_> = world.stored.operations.values().map(|operation| operation.state).collect();
    assert_eq!(states, [OpState::Succeeded, OpState::Denied]);
    reply(&mut world, vec![text("not done")], StopReason::EndTurn);
    world.check_settled();
}

#[test]
fn a_policy_holds_from_the_next_decision_on() {
    let mut world = two_commands(Mode::Ask);
    answer(&mut world, AskChoice::AllowOnce);
    let make = "run_terminal_cmd(make)";
    world.machine.set_policy(policy(vec![rule(Verdict::Allow, Scope::Project, make)]));
    finish(&mut world, CallId(1));
    prepare(&mut world, Some("make"));
    assert_eq!((running(&world), world.open_asks()), (vec![CallId(2)], vec![]));
    world.machine.set_policy(Policy::default());
    finish(&mut world, CallId(2));
    reply(&mut world, vec![call("run_terminal_cmd", r#"{"command":"make"}"#)], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    assert_eq!(world.open_asks(), [AskId(2)], "what was revoked is asked about again");
}

/// What is answered to the first of two equal commands, and whether the second one is asked about, without and with a policy
/// that is set meanwhile.
fn asked_again(choice: AskChoice, changed: bool) -> bool {
    let mut world = two_commands(Mode::Ask);
    let mut ask = world.stored.asks[&AskId(1)].clone();
    ask.options = vec![AskOption { kind: choice, label: String::new(), rules: vec!["run_terminal_cmd(make)".into()] }];
    world.machine.offer(ask);
    answer(&mut world, choice);
    if changed {
        world.machine.set_policy(Policy::default());
    }
    finish(&mut world, CallId(1));
    prepare(&mut world, Some("make"));
    !world.open_asks().is_empty()
}

#[test]
fn what_is_allowed_for_the_session_outlives_a_policy_and_what_is_allowed_for_good_is_the_policys() {
    assert!(!asked_again(AskChoice::AllowSession, false));
    assert!(!asked_again(AskChoice::AllowSession, true));
    assert!(!asked_again(AskChoice::AllowAlways, false));
    assert!(asked_again(AskChoice::AllowAlways, true));
    assert!(asked_again(AskChoice::AllowOnce, false));
}
