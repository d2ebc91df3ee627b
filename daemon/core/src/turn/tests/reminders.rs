//! What the harness tells the model of its own accord: each reminder has one condition, and comes once.
//! Plan mode and the todo list are [`plan`](super::plan)'s, commands in the background [`background`](super::background)'s.

use super::super::input::InputBody;
use super::behaviour::{call, collect, prepare, reply, text, world};
use super::world::{Pending, World};
use crate::id::{CallId, Revision, TurnNo};
use crate::ledger::{OpState, Operation};
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::{ModelEvent, StopReason};
use crate::model::request::Api;
use crate::permission::policy::Mode;
use crate::time::Timestamp;
use crate::transcript::item::{ItemBody, MetaCause};

/// A turn whose request waits for its answer.
fn asked() -> World {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    world
}

/// What was told is this one thing, and nothing more is told in the turn that follows.
fn check(mut world: World, cause: MetaCause, words: &str) {
    if !world.machine.is_idle() {
        reply(&mut world, vec![text("Yes.")], StopReason::EndTurn);
    }
    world.prompt("and now?");
    collect(&mut world);
    reply(&mut world, vec![text("Now this.")], StopReason::EndTurn);
    let told = world.stored.items.iter().filter_map(|item| match &item.body {
        ItemBody::Meta(meta) => Some(meta.clone()),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told.iter().map(|meta| meta.cause).collect::<Vec<_>>(), [cause]);
    assert!(told[0].text.contains(words), "{}", told[0].text);
    let sent = String::from_utf8_lossy(world.bodies.last().unwrap()).into_owned();
    assert_eq!(sent.matches("<system-reminder>\\n").count(), 2, "the instruction file and this");
}

#[test]
fn an_interrupt_is_told() {
    let mut world = asked();
    world.input(InputBody::Cancel);
    check(world, MetaCause::Interrupted, "The user interrupted the previous turn");
}

#[test]
fn a_crash_is_told() {
    let mut world = asked();
    world.crash(Api::OpenaiChat);
    check(world, MetaCause::Interrupted, "broke off because the daemon ended");
}

#[test]
fn a_crash_in_the_middle_of_an_effect_is_told_with_what_is_unknown() {
    let mut world = world();
    world.set_mode(Mode::Full);
    world.prompt("go");
    collect(&mut world);
    reply(&mut world, vec![call("run_terminal_cmd", r#"{"command":"make"}"#)], StopReason::ToolCalls);
    prepare(&mut world, Some("make"));
    world.crash(Api::OpenaiChat);
    check(
        world,
        MetaCause::UnknownOperations,
        "- c1 run_terminal_cmd make: cannot tell whether, or how far, it took effect\n",
    );
}

#[test]
fn an_answer_at_the_output_limit_is_told() {
    let mut world = asked();
    reply(&mut world, vec![text("Half")], StopReason::MaxTokens);
    check(world, MetaCause::OutputLimit, "reached the output limit");
}

#[test]
fn an_answer_that_the_connection_cut_is_told() {
    let mut world = asked();
    let Pending::Model(request, _) = world.pending.remove(0) else { panic!("a request") };
    world.input(InputBody::Model { request, event: ModelEvent::TextDelta { block: 0, text: "Half".into() } });
    world.input(InputBody::ModelFailed { request, error: ModelError::new(ErrorClass::Connection, "cut") });
    check(world, MetaCause::ContinueCut, "The connection broke while you were answering");
}

#[test]
fn what_the_user_undid_is_told() {
    let mut world = asked();
    reply(&mut world, vec![text("Yes.")], StopReason::EndTurn);
    let operation = Operation {
        call: CallId(9),
        turn: TurnNo(1),
        tool: "undo".into(),
        class: "write".into(),
        target: "/w/a".into(),
        command: None,
        state: OpState::Succeeded,
        at: Timestamp(1),
        revision: Revision(1),
        files: vec![],
        process: None,
        background: false,
        finding: None,
        repeats: 0,
    };
    let reminder = crate::prompt::Prompts::default().reminder_undone("call c1", &["a: as before".into()]);
    world.input(InputBody::Undo { operation, told: Some(("Undone.".into(), reminder)) });
    check(world, MetaCause::Undone, "The user undid call c1");
}

#[test]
fn a_changed_instruction_file_is_told() {
    let mut world = asked();
    reply(&mut world, vec![text("Yes.")], StopReason::EndTurn);
    world.environment.instructions[0].text = "Be long.".into();
    check(world, MetaCause::InstructionsChanged, "supersedes whatever was said earlier under the same path");
}
