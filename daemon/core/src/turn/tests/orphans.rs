//! Calls that never got their result, in the middle of a history: cases G01 and G02.

use super::behaviour::{collect, finish, prepare, reply, running, text};
use super::world::{World, check_strict};
use crate::model::event::{BlockContent, StopReason};
use crate::model::request::Api;
use serde_json::Value;

/// A turn in which the model makes these calls, the first `done` of which end, and the machine dies.
fn cut(world: &mut World, calls: usize, done: usize) {
    world.prompt("Do it.");
    collect(world);
    // As providers that count anew in each turn send them.
    let call = |no: usize| BlockContent::Call {
        provider_id: Some(format!("call_{no}")),
        name: "read_file".into(),
        arguments: format!(r#"{{"target_file":"src/file_{no}.rs"}}"#),
    };
    reply(world, (0..calls).map(call).collect(), StopReason::ToolCalls);
    prepare(world, None);
    for id in running(world).into_iter().take(done) {
        finish(world, id);
    }
}

fn say(world: &mut World, prompt: &str) {
    world.prompt(prompt);
    collect(world);
    reply(world, vec![text("Yes.")], StopReason::EndTurn);
}

fn messages(world: &World) -> Vec<Value> {
    let body: Value = serde_json::from_slice(world.bodies.last().expect("a request")).expect("JSON");
    body["messages"].as_array().expect("messages").clone()
}

/// Of each message with calls: its results, which follow it at once, and whether they say that the end is not known.
fn results(messages: &[Value]) -> Vec<Vec<bool>> {
    let calls = |message: &Value| message["tool_calls"].as_array().map_or(0, Vec::len);
    let at = messages.iter().enumerate().filter(|(_, message)| calls(message) > 0);
    at.map(|(at, message)| {
        let behind = messages.iter().skip(at + 1).take(calls(message));
        behind
            .map(|result| {
                assert_eq!(result["role"], "tool");
                result["content"].as_str().expect("text").contains("unknown")
            })
            .collect()
    })
    .collect()
}

#[test]
fn a_call_that_was_cut_has_its_place_in_every_later_request() {
    let mut world = World::new(Api::OpenaiChat);
    cut(&mut world, 2, 1);
    world.crash(Api::OpenaiChat);
    say(&mut world, "go on");
    let before = messages(&world);
    say(&mut world, "more");
    let now = messages(&world);
    check_strict(world.bodies.last().expect("a request"));
    assert_eq!(results(&now), [[false, true]]);
    assert!(now.starts_with(&before), "nothing else is moved");
    // Once is enough.
    let items = world.stored.items.len();
    world.crash(Api::OpenaiChat);
    assert_eq!(world.stored.items.len(), items);
    say(&mut world, "and more");
    assert!(messages(&world).starts_with(&now));
}

#[test]
fn a_call_with_the_same_id_as_an_older_one_is_still_an_orphan() {
    let mut world = World::new(Api::OpenaiChat);
    cut(&mut world, 1, 1);
    reply(&mut world, vec![text("Done.")], StopReason::EndTurn);
    cut(&mut world, 1, 0);
    world.crash(Api::OpenaiChat);
    say(&mut world, "go on");
    check_strict(world.bodies.last().expect("a request"));
    assert_eq!(results(&messages(&world)), [[false], [true]]);
}
