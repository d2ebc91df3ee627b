//! Where a transcript may be cut: no call is parted from its result, no answer from its parts, no prompt from its answer.

use super::item::{Item, ItemBody};
use crate::id::{CallId, ItemNo, StepNo, TurnNo};
use std::collections::BTreeSet;

/// What of an item decides where a transcript may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Text or reasoning of an answer.
    Answer,
    /// A call, which is part of an answer.
    Call(CallId),
    /// The result of a call.
    Result(CallId),
    /// Images of results.
    Observation,
    /// The prompt of a turn.
    Prompt,
    /// Anything else.
    Other,
}

/// An item's place and part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The item.
    pub no: ItemNo,
    /// Its turn.
    pub turn: TurnNo,
    /// Its step.
    pub step: StepNo,
    /// What it is.
    pub part: Part,
}

impl Place {
    /// Of an item.
    pub fn of(item: &Item) -> Self {
        let part = match &item.body {
            ItemBody::Assistant(_) | ItemBody::Reasoning(_) => Part::Answer,
            ItemBody::ToolCall(call) => Part::Call(call.call),
            ItemBody::ToolResult(result) => Part::Result(result.call),
            ItemBody::Observation(_) => Part::Observation,
            ItemBody::User(_) if item.step == StepNo(0) => Part::Prompt,
            ItemBody::User(_) | ItemBody::Meta(_) | ItemBody::Notice(_) | ItemBody::Rewind(_) => Part::Other,
        };
        Self { no: item.no, turn: item.turn, step: item.step, part }
    }

    fn is_of_an_answer(&self) -> bool {
        !matches!(self.part, Part::Prompt | Part::Other)
    }
}

/// The last settled end at or before `until`: the end of an answer with the results of all its calls, or of a turn. 0 when
/// there is none. `places` are all items of the session from its first; `running` is the turn that is not over.
pub fn settled_end(places: &[Place], until: ItemNo, running: Option<TurnNo>) -> ItemNo {
    let mut open: BTreeSet<CallId> = BTreeSet::new();
    let mut answered: Option<TurnNo> = None;
    let mut end = ItemNo(0);
    for (at, place) in places.iter().enumerate().take_while(|(_, place)| place.no <= until) {
        match place.part {
            Part::Call(call) => drop(open.insert(call)),
            Part::Result(call) => drop(open.remove(&call)),
            Part::Answer | Part::Observation | Part::Prompt | Part::Other => {}
        }
        if place.is_of_an_answer() {
            answered = Some(place.turn);
        }
        let next = places.get(at + 1);
        let goes_on =
            next.is_some_and(|next| next.is_of_an_answer() && (next.turn, next.step) == (place.turn, place.step));
        let is_turns_last = next.is_none_or(|next| next.turn != place.turn) && running != Some(place.turn);
        if open.is_empty() && !goes_on && (is_turns_last || answered == Some(place.turn)) {
            end = place.no;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items in their order: turn, step, and a letter: `u`ser, `a`nswer, `c`all, `r`esult, `o`bservation. Calls and
    /// results are numbered within the turn by the digit behind them.
    fn places(items: &[(u64, u64, &str)]) -> Vec<Place> {
        let place = |(no, (turn, step, what)): (u64, &(u64, u64, &str))| {
            let (kind, digits) = what.split_at(1);
            let call = CallId(turn * 10 + digits.parse().unwrap_or(0));
            let part = match kind {
                "a" => Part::Answer,
                "c" => Part::Call(call),
                "r" => Part::Result(call),
                "o" => Part::Observation,
                "u" => Part::Prompt,
                _ => Part::Other,
            };
            Place { no: ItemNo(no), turn: TurnNo(*turn), step: StepNo(*step), part }
        };
        (1..).zip(items).map(place).collect()
    }

    fn check(items: &[(u64, u64, &str)], running: Option<u64>, ends: &[u64]) {
        let places = places(items);
        let found: Vec<u64> =
            (0..=items.len() as u64).map(|until| settled_end(&places, ItemNo(until), running.map(TurnNo)).0).collect();
        assert_eq!(found, ends);
    }

    #[test]
    fn a_prompt_is_not_parted_from_its_answer_nor_a_call_from_its_result() {
        let turn = [(1, 0, "u"), (1, 1, "a"), (1, 1, "c1"), (1, 1, "c2"), (1, 1, "r2"), (1, 1, "r1"), (1, 1, "o")];
        check(&turn, None, &[0, 0, 0, 0, 0, 0, 0, 7]);
        let two = [(1, 0, "u"), (1, 1, "a"), (2, 0, "u"), (2, 1, "c1"), (2, 1, "r1"), (2, 2, "a")];
        check(&two, None, &[0, 0, 2, 2, 2, 5, 6]);
        // A turn that was cut before its answer is over where it ends.
        check(&[(1, 0, "u"), (1, 0, "n"), (2, 0, "u"), (2, 1, "a")], None, &[0, 0, 2, 2, 4]);
    }

    #[test]
    fn of_a_running_turn_only_whole_answers_are_settled() {
        let items = [(1, 0, "u"), (1, 1, "a"), (2, 0, "u"), (2, 1, "c1"), (2, 1, "r1"), (2, 2, "c2")];
        check(&items, Some(2), &[0, 0, 2, 2, 2, 5, 5]);
        check(&[(1, 0, "u")], Some(1), &[0, 0]);
    }
}
