//! Random sessions that are forked and go back: whatever happens, what was sent stays as it was sent, a fork and a
//! conversation that went back begin with a whole earlier request, and whoever reads a request knows how things are.

use super::random::{Dice, act, dice, run_down};
use super::reader::{beliefs, truth};
use super::sessions::{APIS, blocks, branch, change, check_marks, said, world};
use super::world::{World, check_strict, settings};
use crate::id::{ItemNo, RequestNo, TurnNo};
use crate::model::request::Api;
use crate::transcript::epoch::{Epoch, EpochCause};
use crate::transcript::item::ItemBody;
use crate::transcript::rewound::OutOfView;
use proptest::prelude::*;

fn body(world: &World, no: RequestNo) -> Option<&[u8]> {
    let at = world.numbers.iter().position(|number| *number == no)?;
    Some(&world.bodies[at])
}

/// The body of an epoch's first request.
fn first_body<'a>(world: &'a World, epoch: &Epoch) -> Option<&'a [u8]> {
    body(world, world.stored.requests.iter().find(|row| row.epoch == epoch.no)?.no)
}

/// What goes on with an earlier request begins with all of it.
fn check_bases(world: &World) -> usize {
    let mut checked = 0;
    for epoch in &world.stored.epochs {
        let Some(base) = epoch.base else { continue };
        assert!(matches!(epoch.cause, EpochCause::Fork | EpochCause::Rewind));
        let (Some(base), Some(first)) = (body(world, base), first_body(world, epoch)) else { continue };
        let ((base_head, base), (head, messages)) = (blocks(base), blocks(first));
        assert_eq!(base_head, head, "epoch {}", epoch.no);
        assert!(messages.starts_with(&base), "epoch {} goes on with its base", epoch.no);
        checked += 1;
    }
    checked
}

fn check_prefixes(world: &World) {
    let epoch = |no: &RequestNo| world.stored.requests.iter().find(|row| row.no == *no).unwrap().epoch;
    for (pair, numbers) in world.bodies.windows(2).zip(world.numbers.windows(2)) {
        if epoch(&numbers[0]) == epoch(&numbers[1]) {
            let ((old_head, old), (head, messages)) = (blocks(&pair[0]), blocks(&pair[1]));
            assert_eq!(old_head, head);
            assert!(messages.starts_with(&old), "request {} goes on from the one before", numbers[1]);
        }
    }
}

/// Whoever has read a turn's first request knows how things are.
fn check_known(world: &World) {
    let mut turn = None;
    for row in &world.stored.requests {
        let begins = turn.replace(row.turn) != Some(row.turn);
        let epoch = world.stored.epochs.iter().find(|epoch| epoch.no == row.epoch).unwrap();
        let Some(environment) = world.collected.get(&row.turn).filter(|_| begins) else { continue };
        let known = beliefs(&said(world, epoch, row).0);
        assert_eq!(known, truth(environment, &known), "turn {}", row.turn);
    }
}

/// The view of the last request holds the prompts that are in it, and no other.
fn check_view(world: &World) {
    let out = OutOfView::of_items(&world.stored.items);
    let (Some(body), Some(row)) = (world.bodies.last(), world.stored.requests.last()) else { return };
    if out.contains(row.last_item) {
        return;
    }
    let text = blocks(body).1.concat();
    let prompts =
        world.stored.items.iter().filter(|item| item.no <= row.last_item).filter_map(|item| match &item.body {
            ItemBody::User(message) if !message.refused && !out.contains(item.no) => Some(message.text.as_str()),
            _ => None,
        });
    assert_eq!(text.matches(r"<user_query>\n").count(), prompts.count());
}

fn check(world: &World) {
    check_view(world);
    check_prefixes(world);
    check_bases(world);
    check_known(world);
    check_marks(world);
}

fn api_of(world: &World) -> Api {
    world.machine.settings.model.api
}

fn next_bodies(mut world: World) -> Vec<String> {
    let before = world.bodies.len();
    world.prompt("go on");
    run_down(&mut world);
    world.bodies[before..].iter().map(|body| String::from_utf8_lossy(body).into_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn forks_and_rewinds_begin_with_what_was_sent(
        rolls in proptest::collection::vec((0_u8..12, dice()), 1..140),
        api in proptest::sample::select(APIS.to_vec()),
    ) {
        let mut world = world(api);
        let mut settings = settings(api);
        world.prompt("begin");
        for (kind, roll) in rolls {
            match kind {
                0 | 1 if roll.0 % 3 == 0 => change(&mut world, &mut settings, roll),
                2 => {
                    let begun = world.stored.load().counters.turn.0;
                    world.rewind(TurnNo(u64::from(roll.1) % (begun + 2)));
                }
                3 if world.stored.items.len() > 2 => {
                    let until = ItemNo(u64::from(roll.1) % (world.stored.items.len() as u64 + 2));
                    let (mut fork, last) = world.fork(until);
                    prop_assert!(last <= until);
                    fork.prompt("in the fork");
                    if roll.2 & 1 == 0 {
                        run_down(&mut fork);
                        check(&fork);
                    } else {
                        world = fork;
                    }
                }
                _ => act(&mut world, roll, false),
            }
        }
        run_down(&mut world);
        world.prompt("how does it stand?");
        run_down(&mut world);
        world.check_settled();
        check(&world);
        if api_of(&world) == Api::OpenaiChat {
            // Bodies of another wire are not looked at.
            let epoch = |no: RequestNo| world.stored.requests.iter().find(|row| row.no == no).unwrap().epoch;
            for (at, body) in world.bodies.iter().enumerate() {
                let of = epoch(world.numbers[at]);
                if world.stored.epochs.iter().any(|epoch| epoch.no == of && epoch.api == Api::OpenaiChat) {
                    check_strict(body);
                }
            }
        }
    }

    #[test]
    fn a_fork_or_a_rewind_taken_up_again_sends_the_same_bytes(
        rolls in proptest::collection::vec((0_u8..12, dice()), 1..100),
        back in any::<u8>(),
    ) {
        let mut world = world(Api::AnthropicMessages);
        world.prompt("begin");
        for (kind, roll) in rolls {
            match kind {
                0 => drop(world.rewind(TurnNo(u64::from(roll.1) % 6))),
                1 => world = world.fork(ItemNo(u64::from(roll.1))).0,
                _ => act(&mut world, roll, false),
            }
        }
        run_down(&mut world);
        world.rewind(TurnNo(u64::from(back) % 4));
        let live = world.clone();
        world.crash(Api::AnthropicMessages);
        prop_assert_eq!(next_bodies(world), next_bodies(live));
    }
}

fn say(world: &mut World, rolls: &[Dice], text: &str) {
    world.prompt(text);
    for roll in rolls {
        act(world, *roll, false);
    }
    run_down(world);
}

#[test]
fn what_is_folded_from_items_is_as_it_was_before_the_turn() {
    let mut world = world(Api::AnthropicMessages);
    // The environment is collected, then the model answers with calls that are prepared and run.
    let busy: Vec<Dice> = (0..60).map(|no| Dice(11 + no % 12, 19, no * 4 + 1)).collect();
    say(&mut world, &busy[..9], "one");
    say(&mut world, &busy[3..5], "two");
    let facts = |world: &World| {
        let loaded = world.stored.load();
        let machine = super::super::machine::Machine::load(loaded.clone(), settings(Api::AnthropicMessages));
        (loaded.todos, format!("{:?}", machine.seen), machine.view.told(), machine.view.stated().clone())
    };
    let before = facts(&world);
    branch(&mut world, 1);
    say(&mut world, &busy, "three");
    say(&mut world, &busy[5..], "four");
    assert_ne!(facts(&world), before);
    assert!(world.rewind(TurnNo(3)));
    assert_eq!(facts(&world), before);
    // A turn that left the view is no place to go back to; one before that is.
    assert!(!world.rewind(TurnNo(4)));
    say(&mut world, &busy, "five");
    assert!(world.rewind(TurnNo(2)));
    say(&mut world, &[], "six");
    assert_eq!(check_bases(&world), 2);
    let last = blocks(world.bodies.last().unwrap()).1.concat();
    for (text, there) in [("one", true), ("two", false), ("three", false), ("five", false), ("six", true)] {
        assert_eq!(last.contains(&format!("<user_query>\\n{text}\\n")), there, "{text}");
    }
}

#[test]
fn a_session_can_go_back_to_its_beginning() {
    let mut world = world(Api::AnthropicMessages);
    say(&mut world, &[], "one");
    say(&mut world, &[], "two");
    assert!(world.rewind(TurnNo(1)));
    say(&mut world, &[], "three");
    let (first, last) = (blocks(&world.bodies[0]), blocks(world.bodies.last().unwrap()));
    assert_eq!(first.0, last.0, "the head is the one that was sent");
    assert_eq!(last.1.len(), first.1.len(), "and only the new prompt stands behind it");
}
