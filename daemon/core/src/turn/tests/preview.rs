//! What a prompt would send is what it then sends, and every byte of it has an origin.

use super::super::input::{InputBody, Prompt};
use super::super::preview::{Preview, Sends};
use super::random::{act, dice, run_down};
use super::world::World;
use crate::context::compare::Wire;
use crate::context::explain::{Origin, Request, Tail, differences, explain, sources};
use crate::model::request::Api;
use crate::transcript::epoch::{EpochCause, Segment};
use proptest::prelude::*;

fn preview(world: &World, text: &str) -> Preview {
    let prompt = Prompt { text: text.into(), key: None, attachments: vec![], goes_on: None };
    let dry = world.machine.dry(world.now(), prompt, vec![]).expect("no turn runs");
    dry.send(world.now(), world.environment.clone())
}

/// Every byte of the request has one origin, and its messages are made of its items.
fn check_explained(world: &World, api: Api, sends: &Sends) {
    let mut items = world.stored.items.clone();
    items.extend(sends.items.iter().cloned());
    let rows = world.stored.requests.iter().filter(|row| row.epoch == sends.epoch.no);
    let rows: Vec<_> = rows.chain([&sends.request]).collect();
    let tails = Tail::of(&sends.epoch, &rows);
    let shown = &world.stored.projections;
    assert_eq!(differences(api, &tails, &items, shown, "/data/s/transcript.txt"), []);
    let sources = sources(api, &tails, &items, shown, "/data/s/transcript.txt");
    let wire = Wire {
        params: &sends.request.params,
        tools: &sends.epoch.tools,
        system: &sends.epoch.system,
        preamble: sends.epoch.preamble.len(),
        messages: &sends.messages,
    };
    let request = Request { api, wire, marks: &sends.request.marks, prompts: &sends.epoch.prompts, sources: &sources };
    assert_eq!(request.body(), sends.body);
    let parts = explain(&request, &sends.body);
    assert_eq!(parts.iter().map(|part| part.bytes).sum::<u64>(), sends.body.len() as u64);
    assert!(parts.iter().all(|part| part.origin != Origin::Message), "{parts:?}");
    let of = |segment: &Segment| segment.tokens;
    let all = wire.tools.iter().chain(wire.system).chain(wire.messages);
    assert_eq!(parts.iter().map(|part| part.tokens).sum::<u64>(), all.map(of).sum::<u64>());
    // Whatever was put before the model since the head is named by its items.
    let head = wire.tools.len() + wire.system.len() + wire.preamble;
    assert!(parts.iter().all(
        |part| part.items.is_empty() == part.segment.is_none_or(|at| at < head) || part.origin == Origin::CacheMark
    ));
}

#[test]
fn a_preview_says_why_an_epoch_would_open_and_changes_nothing() {
    let mut world = World::new(Api::AnthropicMessages);
    let Preview::Sends(sends) = preview(&world, "go") else { panic!("it fits") };
    assert_eq!(sends.opens, Some(EpochCause::SessionStart));
    check_explained(&world, Api::AnthropicMessages, &sends);
    let before = format!("{:?}", world.machine);
    preview(&world, "other");
    assert_eq!(format!("{:?}", world.machine), before);
    world.prompt("go");
    let prompt = Prompt { text: "x".into(), key: None, attachments: vec![], goes_on: None };
    assert!(world.machine.dry(world.now(), prompt, vec![]).is_none(), "a turn runs");
}

#[test]
fn a_prompt_that_would_be_refused_says_so() {
    let world = World::new(Api::OpenaiChat);
    let Preview::Refused(why) = preview(&world, &"word ".repeat(200_000)) else { panic!("it does not fit") };
    assert!(why.starts_with("The prompt was not sent: its text of 1000000 bytes"), "{why}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_preview_is_what_is_then_sent_and_all_of_it_is_explained(
        rolls in proptest::collection::vec(dice(), 1..100),
        crashes: bool,
        anthropic: bool,
    ) {
        let api = if anthropic { Api::AnthropicMessages } else { Api::OpenaiChat };
        let mut world = World::new(api);
        world.prompt("begin");
        for roll in rolls {
            act(&mut world, roll, crashes);
        }
        run_down(&mut world);
        if world.machine.is_idle() {
            world.bodies.clear();
            let Preview::Sends(sends) = preview(&world, "go on") else { panic!("it fits") };
            check_explained(&world, api, &sends);
            world.prompt("go on");
            if let Some(turn) = world.machine.running_turn() {
                let environment = Box::new(world.environment.clone());
                world.input(InputBody::Environment { turn, environment });
            }
            // A session that is being closed takes nothing any more.
            if let Some(sent) = world.bodies.first() {
                prop_assert_eq!(String::from_utf8_lossy(sent), String::from_utf8_lossy(&sends.body));
            }
        }
    }
}
