//! Rules about files: told once, when such a file is first touched, also over a restart; and fetched by name.

use super::super::input::InputBody;
use super::behaviour::{call, collect, finish, reply, text, world};
use super::world::{Pending, World};
use crate::event::AskChoice;
use crate::id::CallId;
use crate::model::event::StopReason;
use crate::model::request::Api;
use crate::path::WorkspacePath;
use crate::tool::call::{Prepared, Target, Zone};
use crate::transcript::item::{ItemBody, MetaCause};
use crate::workspace::{InstructionSource, Rule};

fn rule(name: &str, globs: &[&str], text: &str) -> Rule {
    Rule {
        name: name.into(),
        path: format!("/w/.plimsoll/rules/{name}.md"),
        root: Some(0),
        description: None,
        globs: globs.iter().map(|glob| (*glob).into()).collect(),
        text: text.into(),
    }
}

fn begun() -> World {
    let mut world = world();
    world.environment.user_info.roots = vec!["/w".into()];
    world.environment.rules = vec![rule("rust", &["*.rs"], "Rust: no unwrap.\n"), rule("release", &[], "Tag it.\n")];
    world.prompt("go");
    collect(&mut world);
    world
}

/// Answers what waits to be prepared: it touches this path, with these instruction files on the way.
fn touch(world: &mut World, path: &str, nested: &[InstructionSource], command: Option<&str>) {
    while let Some(at) = world.pending.iter().position(|pending| matches!(pending, Pending::Prepare(_))) {
        let Pending::Prepare(call) = world.pending.remove(at) else { unreachable!() };
        let prepared = Prepared {
            targets: vec![Target { path: path.into(), zone: Zone::Root(WorkspacePath::new(0, "x")) }],
            command: command.map(str::to_owned),
            nested: nested.to_vec(),
            ..Prepared::default()
        };
        world.input(InputBody::Prepared { call: call.id, result: Ok(prepared) });
    }
}

/// One step in which a file is read.
fn read(world: &mut World, path: &str, nested: &[InstructionSource]) {
    reply(world, vec![call("read_file", r#"{"target_file":"a"}"#)], StopReason::ToolCalls);
    touch(world, path, nested, None);
    let id = world.machine.next_call();
    finish(world, CallId(id.0 - 1));
}

fn told(world: &World) -> Vec<String> {
    let told = world.stored.items.iter().filter_map(|item| match &item.body {
        ItemBody::Meta(meta) if meta.cause == MetaCause::RuleApplies => Some(meta.text.clone()),
        _ => None,
    });
    told.collect()
}

#[test]
fn a_rule_is_told_before_the_next_request_and_once() {
    let mut world = begun();
    read(&mut world, "/w/README.md", &[]);
    assert_eq!(told(&world), Vec::<String>::new());
    read(&mut world, "/w/src/a.rs", &[]);
    assert_eq!(told(&world).len(), 1);
    assert!(told(&world)[0].contains("Rust: no unwrap."), "{:?}", told(&world));
    assert!(String::from_utf8_lossy(world.bodies.last().unwrap()).contains("Rust: no unwrap."));
    read(&mut world, "/w/src/b.rs", &[]);
    assert_eq!(told(&world).len(), 1);
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    // Over a restart what was told is known.
    world.crash(Api::OpenaiChat);
    world.prompt("more");
    collect(&mut world);
    read(&mut world, "/w/src/a.rs", &[]);
    assert_eq!(told(&world).len(), 1);
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    // Another text is told at the turn's start, without a touch.
    world.environment.rules[0].text = "Rust: unwrap in tests.\n".into();
    world.prompt("more");
    collect(&mut world);
    assert!(String::from_utf8_lossy(world.bodies.last().unwrap()).contains("Rust: unwrap in tests."));
}

#[test]
fn the_instructions_of_a_folder_are_told_when_something_in_it_is_touched() {
    let mut world = begun();
    let mut nested = InstructionSource { path: "/w/src/AGENTS.md".into(), text: "Nested.\n".into() };
    read(&mut world, "/w/src/a.txt", std::slice::from_ref(&nested));
    read(&mut world, "/w/src/b.txt", std::slice::from_ref(&nested));
    assert_eq!(told(&world).len(), 1);
    nested.text = "Changed.\n".into();
    read(&mut world, "/w/src/b.txt", std::slice::from_ref(&nested));
    assert!(told(&world)[1].contains("Changed.") && told(&world)[1].contains("supersedes"), "{:?}", told(&world));
}

#[test]
fn rules_are_given_by_name() {
    let mut world = begun();
    reply(&mut world, vec![call("fetch_rules", r#"{"rule_names":["release"]}"#)], StopReason::ToolCalls);
    let shown = &world.stored.projections[&CallId(1)];
    assert!(shown.text.contains("Tag it.") && !shown.is_error, "{}", shown.text);
    reply(&mut world, vec![call("fetch_rules", r#"{"rule_names":["releas"]}"#)], StopReason::ToolCalls);
    let shown = &world.stored.projections[&CallId(2)];
    assert!(shown.is_error && shown.text.contains("Near: release. There are: rust, release."), "{}", shown.text);
}

#[test]
fn a_turn_that_was_taken_up_finds_its_rules_again() {
    let mut world = begun();
    let calls =
        vec![call("run_terminal_cmd", r#"{"command":"make"}"#), call("fetch_rules", r#"{"rule_names":["release"]}"#)];
    reply(&mut world, calls, StopReason::ToolCalls);
    touch(&mut world, "/w/src/a.rs", &[], Some("make"));
    let ask = world.open_asks()[0];
    world.take_up();
    world.input(InputBody::Answer { ask, choice: AskChoice::AllowOnce, advice: None });
    touch(&mut world, "/w/src/a.rs", &[], Some("make"));
    finish(&mut world, CallId(1));
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Collect(_))).expect("it looks around");
    let Pending::Collect(turn) = world.pending.remove(at) else { unreachable!() };
    let environment = Box::new(world.environment.clone());
    world.input(InputBody::Environment { turn, environment });
    assert!(world.stored.projections[&CallId(2)].text.contains("Tag it."));
    assert_eq!(told(&world).len(), 1);
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    world.check_settled();
}
