//! How far back a compaction may reach: the newest turns stay as they are, and of the current turn, where it alone is too
//! large, what the user said and the newest step.

use super::Settings;
use super::costs::item_tokens;
use super::history::History;
use crate::id::{StepNo, TurnNo};
use crate::transcript::shape::Through;
use std::collections::BTreeMap;

/// Per cent of the window that guarded turns may fill, but for the current one.
const SHARE: u64 = 30;

/// The places up to which a compaction may reach, from the oldest on: the end of each turn outside the guard, then, when the
/// current turn alone is too large, the end of each of its own steps but the newest. `turn` is the current turn, which may
/// have no items yet. `window` is in tokens as they are estimated. `guard` is how many turns are guarded at most.
pub(super) fn places(history: &History, turn: TurnNo, window: u64, guard: u64) -> Vec<Through> {
    let mut sizes: BTreeMap<TurnNo, u64> = BTreeMap::from([(turn, 0)]);
    let items = &history.items;
    for item in items.iter().filter(|item| item.turn <= turn) {
        *sizes.entry(item.turn).or_default() += item_tokens(item, history);
    }
    let (mut guarded, mut sum) = (0, 0_u64);
    let mut first_guarded = turn;
    for (no, size) in sizes.iter().rev() {
        sum = sum.saturating_add(*size);
        if guarded > 0 && (guarded >= guard || sum > window * SHARE / 100) {
            break;
        }
        first_guarded = *no;
        guarded += 1;
    }
    let mut places: Vec<Through> =
        sizes.keys().filter(|no| **no < first_guarded && no.0 > 0).map(|no| Through::turn(*no)).collect();
    let own = sizes.get(&turn).copied().unwrap_or_default();
    if first_guarded == turn && own > window * SHARE / 100 {
        let steps: std::collections::BTreeSet<StepNo> =
            items.iter().filter(|item| item.turn == turn && item.step.0 > 0).map(|item| item.step).collect();
        let newest = steps.last().copied();
        let own_steps = steps.into_iter().filter(|step| Some(*step) != newest);
        places.extend(own_steps.map(|step| Through { turn, step: Some(step) }));
    }
    places
}

/// [`places`] under these settings, with fewer guarded turns than they say.
pub(super) fn fewer(settings: &Settings, less: u64) -> u64 {
    settings.tail_guard_turns.saturating_sub(less).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ItemNo;
    use crate::time::Timestamp;
    use crate::transcript::item::{AssistantText, Item, ItemBody, UserMessage};

    /// Turns of so many steps, each step with an answer of about `size` tokens.
    fn turns(steps: &[u64], size: usize) -> Vec<Item> {
        let mut items = Vec::new();
        for (turn, steps) in (1..).zip(steps) {
            let mut add = |step, body| {
                let no = ItemNo(items.len() as u64 + 1);
                items.push(Item { no, turn: TurnNo(turn), step: StepNo(step), at: Timestamp(0), body });
            };
            add(0, ItemBody::User(UserMessage { text: "go".into(), ..UserMessage::default() }));
            for step in 1..=*steps {
                let text = "word ".repeat(size);
                add(step, ItemBody::Assistant(AssistantText { text, cut: false }));
            }
        }
        items
    }

    fn check(items: &[Item], turn: u64, guard: u64, expected: &[(u64, Option<u64>)]) {
        let history = History { items: items.to_vec(), ..History::default() };
        let places = places(&history, TurnNo(turn), 10_000, guard);
        let found: Vec<_> = places.iter().map(|place| (place.turn.0, place.step.map(|step| step.0))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_newest_turns_are_guarded_unless_they_are_heavy() {
        let items = turns(&[1, 1, 1, 1, 1], 100);
        check(&items, 5, 3, &[(1, None), (2, None)]);
        // The current turn counts before it has any item.
        check(&items, 6, 3, &[(1, None), (2, None), (3, None)]);
        check(&items, 5, 1, &[(1, None), (2, None), (3, None), (4, None)]);
        check(&items, 5, 9, &[]);
        // Each about 2,100 tokens: only one fits 30 % of 10,000.
        let heavy = turns(&[1, 1, 1], 2_100);
        check(&heavy, 3, 3, &[(1, None), (2, None)]);
    }

    #[test]
    fn a_current_turn_that_is_too_large_gives_its_own_steps_but_the_newest() {
        let items = turns(&[1, 4], 1_000);
        check(&items, 2, 3, &[(1, None), (2, Some(1)), (2, Some(2)), (2, Some(3))]);
        check(&turns(&[4], 1_000), 1, 3, &[(1, Some(1)), (1, Some(2)), (1, Some(3))]);
        check(&turns(&[1], 9_000), 1, 3, &[]);
    }
}
