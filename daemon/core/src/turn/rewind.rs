//! The conversation goes back to before a turn. Pure; the result is one batch, which adds and takes nothing away: an item
//! that says what left the view, and an epoch that goes on with the newest request of what stays.

use super::state::Counters;
use crate::context::reopen::{begun_anew, reopened};
use crate::event::{Event, EventBody};
use crate::id::{CallId, ItemNo, Seq, StepNo, TurnNo};
use crate::time::Timestamp;
use crate::transcript::batch::{Batch, SessionState};
use crate::transcript::epoch::{Epoch, EpochCause, RequestRow};
use crate::transcript::item::{Item, ItemBody, MetaCause, MetaMessage, Rewind};
use crate::transcript::rewound::OutOfView;
use crate::transcript::settled::{Part, Place};
use std::collections::BTreeSet;

/// Where a conversation goes back to, as the store found it.
#[derive(Debug, Clone, Default)]
pub struct Point {
    /// The first turn that leaves the view.
    pub turn: TurnNo,
    /// The first item that leaves it.
    pub from: ItemNo,
    /// The newest request that holds nothing of what leaves, with its epoch and its estimated tokens.
    pub base: Option<(RequestRow, Epoch, u64)>,
    /// The epoch of the session's first request, for when there is no such request.
    pub first: Option<Epoch>,
    /// Messages that leave the view and speak of what stays.
    pub again: Vec<MetaMessage>,
}

/// The first item of a turn that the view holds; none when it holds no prompt of it.
pub fn first_item(places: &[Place], out: &OutOfView, turn: TurnNo) -> Option<ItemNo> {
    let mut seen = places.iter().filter(|place| !out.contains(place.no));
    let begins = |place: &&Place| place.turn == turn && place.part == Part::Prompt;
    seen.clone().any(|place| begins(&place)).then(|| seen.find(|place| place.turn >= turn).map(|place| place.no))?
}

/// Calls that stay in the view when everything from `from` on leaves it.
pub fn calls_that_stay(places: &[Place], out: &OutOfView, from: ItemNo) -> BTreeSet<CallId> {
    let stays = places.iter().filter(|place| place.no < from && !out.contains(place.no));
    stays.filter_map(|place| if let Part::Call(call) = place.part { Some(call) } else { None }).collect()
}

/// Of the messages that leave the view, those that tell of calls that stay what is true whatever was said: that a command in
/// the background has ended, that files were undone.
pub fn told_again<'a>(
    leaving: impl IntoIterator<Item = &'a MetaMessage>,
    stay: &BTreeSet<CallId>,
    turn: TurnNo,
) -> Vec<MetaMessage> {
    let names = |text: &str| {
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let of_call = |word: &&str| word.parse().is_ok_and(|call: CallId| stay.contains(&call));
        let of_turn = |pair: &[&str]| match pair {
            ["turn", no] => no.parse().is_ok_and(|no: u64| no < turn.0),
            _ => false,
        };
        words.iter().any(of_call) || words.windows(2).any(of_turn)
    };
    let holds =
        |meta: &&MetaMessage| matches!(meta.cause, MetaCause::TaskEnded | MetaCause::Undone) && names(&meta.text);
    leaving.into_iter().filter(holds).cloned().collect()
}

/// What is written, in one commit, for the view to be as it was before that turn. No turn runs.
pub fn rewind(counters: &Counters, point: Point, now: Timestamp) -> Batch {
    let rewind = ItemBody::Rewind(Rewind { turn: point.turn, from: point.from });
    let bodies = std::iter::once(rewind).chain(point.again.into_iter().map(ItemBody::Meta));
    let mut batch = Batch { state: Some(SessionState::Idle), ..Batch::default() };
    for ((no, seq), body) in (counters.item.0 + 1..).zip(counters.seq.0 + 1..).zip(bodies) {
        batch.items.push(Item { no: ItemNo(no), turn: counters.turn, step: StepNo(0), at: now, body });
        batch.events.push(Event { seq: Seq(seq), at: now, body: EventBody::ItemAdded { item: ItemNo(no) } });
    }
    let seq = Seq(counters.seq.0 + 1 + batch.events.len() as u64);
    batch.events.push(Event { seq, at: now, body: EventBody::SessionChanged });
    let no = counters.epoch.next();
    batch.epoch = match (point.base, point.first) {
        (Some((base, epoch, tokens)), _) => Some(reopened(&epoch, &base, EpochCause::Rewind, no, now, tokens)),
        (None, first) => first.map(|first| begun_anew(&first, EpochCause::Rewind, no, now)),
    };
    batch
}
