//! When an epoch ends and another begins, what that costs, and what is said anew then.

use super::super::input::{InputBody, Prompt};
use super::background::{begun, end};
use super::behaviour::{call, collect, finish, prepare, reply, running, text};
use super::reader::{beliefs, statements};
use super::world::{World, settings};
use crate::model::event::StopReason;
use crate::model::request::Api;
use crate::permission::policy::{Policy, Sandbox};
use crate::prompt::Prompts;
use crate::tool::outcome::Exit;
use crate::transcript::epoch::{Epoch, EpochCause, Price, Segment};
use crate::workspace::{EditorFile, EditorState, InstructionSource, LayoutDir};
use std::sync::Arc;

fn world() -> World {
    let mut world = World::new(Api::OpenaiChat);
    world.environment.layout =
        vec![LayoutDir { name: "/w".into(), files: vec!["a".into(), "b".into()], ..LayoutDir::default() }];
    world
}

fn turn(world: &mut World) {
    world.prompt("go");
    collect(world);
    reply(world, vec![text("done")], StopReason::EndTurn);
}

fn last(world: &World) -> &Epoch {
    world.stored.epochs.last().unwrap()
}

/// Commands can be held to where they write, or no longer: the description of the tool that runs them says so.
fn hold(world: &mut World, files: bool) {
    world.machine.set_policy(Policy { sandbox: Sandbox { files, network: false }, ..Policy::default() });
}

/// The messages of the last request after its epoch's preamble, and all of them.
fn history(world: &World) -> Vec<Segment> {
    let epoch = last(world).no;
    world.stored.requests.iter().filter(|row| row.epoch == epoch).flat_map(|row| row.tail.clone()).collect()
}

/// What the last request says of the surroundings that the one before it did not, by subject.
fn told(world: &World, before: usize) -> Vec<String> {
    statements(&history(world)[before..]).into_iter().map(|(subject, text)| format!("{subject} {text}")).collect()
}

#[test]
fn other_tools_begin_an_epoch_at_the_next_turn_and_keep_what_was_sent() {
    let mut world = world();
    turn(&mut world);
    world.prompt("work");
    collect(&mut world);
    hold(&mut world, true);
    reply(&mut world, vec![call("read_file", r#"{"target_file":"a"}"#)], StopReason::ToolCalls);
    prepare(&mut world, None);
    let id = running(&world)[0];
    finish(&mut world, id);
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    assert_eq!(world.stored.epochs.len(), 1, "never inside a turn");
    let before = history(&world);
    turn(&mut world);
    let epoch = last(&world);
    assert_eq!((world.stored.epochs.len(), epoch.cause), (2, EpochCause::ToolsChanged));
    // What stands before the changed definition is still cached.
    let first = &world.stored.epochs[0];
    let all: u64 =
        first.tools.iter().chain(&first.system).chain(&first.preamble).chain(&before).map(|part| part.tokens).sum();
    let same = first.tools.iter().zip(&epoch.tools).take_while(|(old, new)| old == new);
    let kept: u64 = same.map(|(old, _)| old.tokens).sum();
    assert_eq!(epoch.price, Price { kept, given_up: all - kept });
    assert!(kept > 100 && kept < all);
    assert!(history(&world).starts_with(&before), "not one byte of the history moved");
    turn(&mut world);
    assert_eq!(world.stored.epochs.len(), 2);
}

#[test]
fn a_cold_head_is_refreshed_only_when_that_changes_it() {
    let mut world = world();
    turn(&mut world);
    world.wait(400);
    turn(&mut world);
    assert_eq!(world.stored.epochs.len(), 1, "the same head once more would give nothing");
    let before = history(&world);
    world.wait(400);
    world.environment.user_info.date = "tomorrow".into();
    turn(&mut world);
    assert_eq!((world.stored.epochs.len(), last(&world).cause), (2, EpochCause::Cold));
    assert_eq!(last(&world).price, Price::default(), "nothing was cached any more");
    assert!(history(&world).starts_with(&before));
    assert_eq!(told(&world, before.len()), Vec::<String>::new(), "the head says it");
    // Warm, the same is said at the tail.
    let before = history(&world).len();
    world.environment.user_info.date = "later".into();
    turn(&mut world);
    assert_eq!((world.stored.epochs.len(), told(&world, before)), (2, vec!["date later".to_owned()]));
}

#[test]
fn another_build_goes_on_with_the_head_until_the_cache_is_cold() {
    let mut world = world();
    turn(&mut world);
    let mut newer = settings(Api::OpenaiChat);
    newer.prompts = Prompts {
        overrides: Arc::new([("lean/identity.md".to_owned(), "Another sentence.\n".to_owned())].into()),
        ..Prompts::default()
    };
    world.crash_into(newer);
    turn(&mut world);
    assert_eq!(world.stored.epochs.len(), 1);
    world.wait(301);
    turn(&mut world);
    assert_eq!((world.stored.epochs.len(), last(&world).cause), (2, EpochCause::Cold));
    assert!(last(&world).system[0].text.contains("Another sentence."));
}

#[test]
fn other_parameters_begin_an_epoch_and_keep_what_was_sent() {
    let mut world = world();
    turn(&mut world);
    let before = history(&world);
    let mut other = settings(Api::OpenaiChat);
    other.model.max_output = 2_000;
    world.crash_into(other);
    turn(&mut world);
    assert_eq!((world.stored.epochs.len(), last(&world).cause), (2, EpochCause::ModelChanged));
    assert!(history(&world).starts_with(&before));
    assert_eq!(last(&world).price.kept, 0, "parameters stand before everything");
}

#[test]
fn what_the_history_says_otherwise_than_the_new_head_is_said_again_by_one_message() {
    let mut world = world();
    let rule = |path: &str, text: &str| InstructionSource { path: path.into(), text: text.into() };
    world.environment.instructions = vec![rule("A", "one"), rule("B", "one"), rule("C", "one"), rule("D", "one")];
    turn(&mut world);
    // A and B get another text, C goes, D stays; an editor shows a file; an entry goes.
    world.environment.instructions = vec![rule("A", "two"), rule("B", "two"), rule("D", "one")];
    world.environment.editor = EditorState { files: vec![EditorFile { path: "x".into(), ..EditorFile::default() }] };
    world.environment.layout[0].files = vec!["b".into()];
    turn(&mut world);
    let before = history(&world);
    // A gets a third text, B the first one again, C comes back, D changes; the editor is closed; the entry is back.
    world.environment.instructions = vec![rule("A", "three"), rule("B", "one"), rule("C", "one"), rule("D", "two")];
    world.environment.editor = EditorState::default();
    world.environment.layout[0].files = vec!["a".into(), "b".into()];
    hold(&mut world, true);
    turn(&mut world);
    let mut now = told(&world, before.len());
    now.sort();
    let expected = ["instructions:A three", "instructions:B one", "instructions:C one", "layout:a there", "open none"];
    assert_eq!(now, expected, "D was said by the old head only, and the new one says it");
    let reminders =
        history(&world)[before.len()..].iter().filter(|message| message.text.contains("supersedes")).count();
    assert_eq!(reminders, 1);
    let all: Vec<Segment> = last(&world).preamble.iter().cloned().chain(history(&world)).collect();
    assert_eq!(beliefs(&all).get("instructions:D").map(String::as_str), Some("two"));
    let before = history(&world).len();
    turn(&mut world);
    assert_eq!(told(&world, before), Vec::<String>::new());
}

#[test]
fn a_prompt_that_is_refused_leaves_an_epoch_that_goes_on_after_a_restart() {
    let mut bodies = Vec::new();
    for restarted in [false, true] {
        let mut world = world();
        turn(&mut world);
        hold(&mut world, true);
        world.input(InputBody::Prompt(Prompt {
            text: "x".repeat(600_000),
            key: None,
            attachments: vec![],
            goes_on: None,
        }));
        collect(&mut world);
        assert_eq!((world.stored.epochs.len(), world.stored.requests.len()), (2, 1));
        if restarted {
            world.crash(Api::OpenaiChat);
            hold(&mut world, true);
        }
        turn(&mut world);
        assert_eq!(world.stored.epochs.len(), 2);
        bodies.push(String::from_utf8(world.bodies.last().unwrap().clone()).unwrap());
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[test]
fn causes_of_one_turn_stand_in_their_order_before_the_prompt() {
    let mut world = begun();
    reply(&mut world, vec![text("it runs")], StopReason::EndTurn);
    let before = history(&world).len();
    world.environment.instructions[0].text = "Be long.".into();
    world.environment.user_info.date = "tomorrow".into();
    world.prompt("next");
    world.input(end(Some(Exit::Code(0))));
    collect(&mut world);
    let new: Vec<String> = history(&world)[before..].iter().map(|segment| segment.text.to_string()).collect();
    let at = |what: &str| {
        let found: Vec<usize> = (0..new.len()).filter(|at| new[*at].contains(what)).collect();
        assert_eq!(found.len(), 1, "{what} once: {new:#?}");
        found[0]
    };
    assert!(at("have ended") < at("<user_query>") && at("supersedes") < at("<user_query>"));
    assert_eq!(at("Date: tomorrow"), at("<user_query>"), "collected state stands with the prompt");
    assert_eq!(at("<user_query>"), new.len() - 1, "the prompt comes last");
}
