//! Random sessions of many turns: the surroundings change, the daemon is started again, hours pass, another build or model
//! goes on. Whatever happens, what was sent stays as it was sent, and whoever reads it knows how things are.

use super::super::machine::Settings;
use super::random::{Dice, act, dice, run_down};
use super::reader::{Beliefs, beliefs, statements, truth};
use super::world::{World, settings};
use crate::model::request::Api;
use crate::permission::policy::{Policy, Sandbox};
use crate::transcript::epoch::{Epoch, EpochCause, RequestRow, Segment};
use crate::workspace::{EditorFile, EditorState, GitBlock, GitHead, GitStatus, InstructionSource, LayoutDir};
use proptest::prelude::*;
use serde_json::Value;
use std::sync::Arc;

pub(super) const APIS: [Api; 2] = [Api::OpenaiChat, Api::AnthropicMessages];

pub(super) fn world(api: Api) -> World {
    let mut world = World::new(api);
    world.environment.layout =
        vec![LayoutDir { name: "/w".into(), files: vec!["a".into(), "b".into()], ..LayoutDir::default() }];
    world.environment.user_info.date = "day 0".into();
    branch(&mut world, 0);
    world
}

pub(super) fn branch(world: &mut World, no: u8) {
    world.environment.git = vec![GitBlock::Status(GitStatus {
        head: GitHead::Branch(format!("branch-{no}")),
        upstream: None,
        operation: None,
        staged: vec![],
        unstaged: vec![],
        untracked: vec![],
        conflicted: vec![],
        commits: vec![],
        incomplete: false,
        age_ms: None,
    })];
}

/// Something changes around the session.
pub(super) fn change(world: &mut World, settings: &mut Settings, dice: Dice) {
    let environment = &mut world.environment;
    match dice.1 % 12 {
        0 => environment.instructions[0].text = format!("Rule {}.", dice.2 % 4),
        1 => {
            // A second file comes, changes, goes.
            environment.instructions.truncate(1);
            if !dice.2.is_multiple_of(3) {
                let text = format!("Other {}.", dice.2 % 3);
                environment.instructions.push(InstructionSource { path: "lib/AGENTS.md".into(), text });
            }
        }
        2 => branch(world, dice.2 % 3),
        3 => {
            let names = ["a", "b", "c"].into_iter().enumerate();
            let there = names.filter(|(at, _)| dice.2 >> at & 1 == 1).map(|(_, name)| name.to_owned());
            environment.layout[0].files = there.collect();
        }
        4 => environment.user_info.date = format!("day {}", dice.2 % 3),
        5 => {
            let file = EditorFile { path: format!("f{}", dice.2 % 3), ..EditorFile::default() };
            let files = if dice.2.is_multiple_of(4) { vec![] } else { vec![file] };
            environment.editor = EditorState { files };
        }
        6 => {
            let sandbox = Sandbox { files: dice.2.is_multiple_of(2), network: false };
            settings.policy = Policy { sandbox, ..Policy::default() };
            world.machine.set_policy(settings.policy.clone());
        }
        7 => world.wait(i64::from(dice.2) * 10),
        8 => {
            // Another build has other texts.
            let text = format!("You are build {}.\n", dice.2);
            settings.prompts.overrides = Arc::new([("lean/identity.md".to_owned(), text)].into());
            world.crash_into(settings.clone());
        }
        9 => {
            let api = APIS[usize::from(dice.2) % 2];
            settings.model = super::world::settings(api).model;
            world.crash_into(settings.clone());
        }
        10 => {
            settings.model.max_output = 1_000 + u32::from(dice.2) % 2;
            world.crash_into(settings.clone());
        }
        _ => world.crash_into(settings.clone()),
    }
}

/// A body without its cache marks: what stands before the messages, then each message.
pub(super) fn blocks(body: &[u8]) -> (String, Vec<String>) {
    let mut body: Value = serde_json::from_slice(body).unwrap();
    unmark(&mut body);
    let messages = body["messages"].take();
    (body.to_string(), messages.as_array().unwrap().iter().map(Value::to_string).collect())
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            for value in fields.values_mut() {
                unmark(value);
            }
        }
        Value::Array(values) => {
            for value in values {
                unmark(value);
            }
        }
        _ => {}
    }
}

/// Everything that a request says, in order, and of that what the requests before it had not said.
pub(super) fn said(world: &World, epoch: &Epoch, row: &RequestRow) -> (Vec<Segment>, usize) {
    let rows = world.stored.requests.iter().filter(|other| other.epoch == epoch.no && other.no <= row.no);
    let messages: Vec<Segment> = rows.flat_map(|row| row.tail.clone()).collect();
    let head = epoch.system.iter().chain(&epoch.preamble).cloned();
    (head.chain(messages).collect(), row.tail.len())
}

/// How many messages of history a request had.
fn history(world: &World, row: &RequestRow) -> usize {
    let rows = world.stored.requests.iter().filter(|other| other.epoch == row.epoch && other.no <= row.no);
    rows.map(|row| row.tail.len()).sum()
}

/// Each epoch has a cause that holds.
fn check_causes(world: &World) {
    let last_before = |epoch: &Epoch| world.stored.requests.iter().rfind(|row| row.epoch < epoch.no);
    for (at, epoch) in world.stored.epochs.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &world.stored.epochs[at]);
        match (epoch.cause, before) {
            (EpochCause::SessionStart, None) => {}
            (EpochCause::ModelChanged, Some(before)) => assert_ne!(epoch.params, before.params),
            (EpochCause::ToolsChanged, Some(before)) => assert_ne!(epoch.tool_facts, before.tool_facts),
            (EpochCause::Cold, Some(before)) => {
                assert!(epoch.at.0 - last_before(epoch).unwrap().at.0 > 300_000);
                assert_ne!(
                    (&epoch.tools, &epoch.system, &epoch.preamble),
                    (&before.tools, &before.system, &before.preamble)
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

/// No request marks more than providers take, and each names the entry that the one before it in its epoch made.
pub(super) fn check_marks(world: &World) {
    for body in &world.bodies {
        assert!(String::from_utf8_lossy(body).matches("cache_control").count() <= 4);
    }
    for pair in world.stored.requests.windows(2).filter(|pair| pair[0].epoch == pair[1].epoch) {
        assert!(pair[1].marks.contains(pair[0].marks.last().unwrap()), "request {}", pair[1].no);
    }
}

/// Whoever has read a turn's first request knows how things are, and was told nothing that the request said already.
fn check_told(world: &World) {
    let mut turn = None;
    let mut before: Option<&RequestRow> = None;
    for row in &world.stored.requests {
        let begins = turn.replace(row.turn) != Some(row.turn);
        let epoch = world.stored.epochs.iter().find(|epoch| epoch.no == row.epoch).unwrap();
        let old = before.and_then(|row| world.stored.epochs.iter().find(|epoch| epoch.no == row.epoch));
        let kept = before.filter(|_| old.is_some_and(|old| old.has_wire_of(epoch))).map(|row| history(world, row));
        before = Some(row);
        let Some(environment) = world.collected.get(&row.turn).filter(|_| begins) else { continue };
        let (all, tail) = said(world, epoch, row);
        let known = beliefs(&all);
        assert_eq!(known, truth(environment, &known), "turn {}", row.turn);
        // What is new in this request, where that can be told.
        let first = world.stored.requests.iter().all(|other| other.epoch != row.epoch || other.no >= row.no);
        let new = match (first, kept) {
            (false, _) => tail,
            (true, Some(kept)) => tail - kept,
            (true, None) => continue,
        };
        let (old, new) = all.split_at(all.len() - new);
        let (believed, mut told) = (beliefs(old), statements(new));
        if first {
            // Each epoch says once in full how the repository stands.
            told.retain(|(subject, _)| subject != "branch");
        }
        let needed: Beliefs = truth(environment, &known)
            .into_iter()
            .filter(|(subject, text)| believed.get(subject) != Some(text) && !(first && subject == "branch"))
            .collect();
        let count = told.len();
        assert_eq!(told.into_iter().collect::<Beliefs>(), needed, "turn {}", row.turn);
        assert_eq!(count, needed.len(), "each once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_was_sent_stays_and_says_how_things_are(
        rolls in proptest::collection::vec((any::<bool>(), dice()), 1..140),
        api in proptest::sample::select(APIS.to_vec()),
    ) {
        let mut world = world(api);
        let mut settings = settings(api);
        world.prompt("begin");
        for (around, roll) in rolls {
            if around && roll.0 % 3 == 0 {
                change(&mut world, &mut settings, roll);
            } else {
                act(&mut world, roll, false);
            }
        }
        run_down(&mut world);
        world.prompt("how does it stand?");
        run_down(&mut world);
        world.check_settled();
        check_causes(&world);
        check_told(&world);
        check_marks(&world);
        let row = |at: usize| world.stored.requests.iter().find(|row| row.no == world.numbers[at]).unwrap();
        let mut sent = world.bodies.iter().map(|body| blocks(body)).enumerate();
        let mut before = sent.next();
        for (at, (head, messages)) in sent {
            let (from, (old_head, old)) = before.replace((at, (head.clone(), messages.clone()))).unwrap();
            let epoch = |at| world.stored.epochs.iter().find(|epoch| epoch.no == row(at).epoch).unwrap();
            let (was, is) = (epoch(from), epoch(at));
            if was.no == is.no {
                prop_assert_eq!(old_head, head);
                prop_assert!(messages.starts_with(&old), "request {} goes on from the one before", row(at).no);
            } else if was.has_wire_of(is) && is.api == Api::AnthropicMessages {
                let (old, new) = (&old[was.preamble.len()..], &messages[is.preamble.len()..]);
                prop_assert!(new.starts_with(old), "the history of request {} is the one that was sent", row(at).no);
            }
        }
    }
}
