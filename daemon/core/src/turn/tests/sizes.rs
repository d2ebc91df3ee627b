//! How near the size that is told before a request comes to what a provider counts afterwards, with simulated tokenizers.

use super::super::input::InputBody;
use super::behaviour::{call, collect, prepare, running, text, world};
use super::world::{Pending, World};
use crate::event::EventBody;
use crate::id::Revision;
use crate::model::event::{BlockContent, ModelEvent, StopReason};
use crate::model::usage::Usage;
use crate::tool::outcome::{Body, Outcome, Status};
use proptest::prelude::*;
use serde_json::Value;

/// What a provider counts for a text.
type Tokenizer = fn(&str) -> u64;

fn by_bytes(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// A token for each word of up to six letters, for further six, and for each other character but blanks.
fn by_words(text: &str) -> u64 {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let others = text.chars().filter(|c| !c.is_alphanumeric() && *c != ' ').count() as u64;
    words.map(|word| word.chars().count().div_ceil(6) as u64).sum::<u64>() + others / 2
}

/// All texts of a body, with a few tokens for the frame of each message.
fn count(body: &[u8], tokenizer: Tokenizer) -> u64 {
    fn walk(value: &Value, tokenizer: Tokenizer) -> u64 {
        match value {
            Value::String(text) => tokenizer(text),
            Value::Array(values) => values.iter().map(|value| walk(value, tokenizer)).sum(),
            Value::Object(fields) => fields.iter().map(|(name, value)| tokenizer(name) + walk(value, tokenizer)).sum(),
            _ => 1,
        }
    }
    walk(&serde_json::from_slice(body).unwrap(), tokenizer)
}

/// Source text of this crate: what sessions are mostly made of.
const SOURCE: &str = concat!(
    include_str!("../machine.rs"),
    include_str!("../recover.rs"),
    include_str!("../../context/view.rs"),
    include_str!("../../tool/outcome.rs"),
    include_str!("../../../prompts/lean/system.md")
);

fn piece(at: usize, len: usize) -> String {
    SOURCE.chars().cycle().skip(at % SOURCE.len()).take(len).collect()
}

/// The model answers the pending request, whose tokens, and the answer's, are reported.
fn answer(world: &mut World, blocks: Vec<BlockContent>, tokenizer: Tokenizer) {
    let at = world.pending.iter().position(|pending| matches!(pending, Pending::Model(..))).expect("a request");
    let Pending::Model(request, body) = world.pending.remove(at) else { unreachable!() };
    let output = blocks.iter().map(|block| match block {
        BlockContent::Text(text) => tokenizer(text),
        BlockContent::Call { name, arguments, .. } => tokenizer(name) + tokenizer(arguments) + 8,
        BlockContent::Reasoning(_) => 0,
    });
    let usage = Usage { input: count(&body, tokenizer), output: output.sum(), ..Usage::default() };
    for (block, content) in (0..).zip(blocks) {
        world.input(InputBody::Model { request, event: ModelEvent::BlockDone { block, content } });
    }
    world.input(InputBody::Model { request, event: ModelEvent::Usage(usage) });
    world.input(InputBody::Model { request, event: ModelEvent::Finished(StopReason::EndTurn) });
}

/// Told and counted size of each request.
fn sizes(world: &World, tokenizer: Tokenizer) -> Vec<(u64, u64)> {
    let told = world.stored.events.iter().filter_map(|event| match event.body {
        EventBody::StepStarted { tokens, .. } => Some(tokens),
        _ => None,
    });
    told.zip(world.bodies.iter().map(|body| count(body, tokenizer))).collect()
}

fn run(turns: &[(usize, usize, usize)], tokenizer: Tokenizer, reload: bool) -> Vec<(u64, u64)> {
    let mut world = world();
    for (at, answered, shown) in turns {
        world.prompt(&piece(*at, 80));
        collect(&mut world);
        answer(&mut world, vec![text(&piece(*at, *answered)), call("read_file", "{\"target_file\":\"a\"}")], tokenizer);
        prepare(&mut world, None);
        for id in running(&world) {
            world.pending.retain(|pending| !matches!(pending, Pending::Run(call) if call.id == id));
            let outcome = Outcome { status: Status::Ok, body: Body::Text(piece(at + 7_000, *shown)) };
            world.input(InputBody::ToolFinished { call: id, outcome, revision: Revision(2) });
        }
        answer(&mut world, vec![text(&piece(at + 3_000, *answered))], tokenizer);
        let learned = world.machine.take_learned().map(|(_, learned)| learned).unwrap_or_default();
        if reload {
            world.take_up();
        }
        world.machine.calibrate(learned);
    }
    sizes(&world, tokenizer)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn after_the_first_turn_the_size_is_within_two_hundredths(
        turns in prop::collection::vec((0_usize..40_000, 20_usize..600, 100_usize..600), 3..8),
        reload: bool,
    ) {
        for tokenizer in [by_bytes as Tokenizer, by_words] {
            let sizes = run(&turns, tokenizer, reload);
            for (told, counted) in sizes.iter().skip(2) {
                prop_assert!(told.abs_diff(*counted) * 50 <= *counted, "{told} told, {counted} counted: {sizes:?}");
            }
        }
    }
}

#[test]
fn a_new_session_with_a_model_that_is_known_begins_near_the_truth() {
    for tokenizer in [by_bytes as Tokenizer, by_words] {
        let mut known = world();
        known.prompt("look");
        collect(&mut known);
        answer(&mut known, vec![text("done")], tokenizer);
        let (_, learned) = known.machine.take_learned().expect("something was learned");
        assert!(known.machine.take_learned().is_none(), "it is told once");
        let mut next = world();
        next.machine.calibrate(learned);
        next.prompt(&piece(0, 2_000));
        collect(&mut next);
        let (told, counted) = sizes(&next, tokenizer)[0];
        assert!(told.abs_diff(counted) * 20 <= counted, "{told} told, {counted} counted");
    }
}
