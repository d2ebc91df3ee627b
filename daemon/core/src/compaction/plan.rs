//! What a compaction would do, worked out before anything is done.

use super::Settings;
use super::costs::{Costs, item_tokens};
use super::guard::{fewer, places};
use super::history::History;
use crate::context::load::Room;
use crate::id::TurnNo;
use crate::model::calibration::Calibration;
use crate::tokens::tokens;
use crate::transcript::epoch::Level;
use crate::transcript::hidden::pictures;
use crate::transcript::item::{Item, ItemBody, MetaCause};
use crate::transcript::shape::{PicturePlace, Shape, Snip, Summary, Through};
use crate::transcript::shaped::is_whole;
use crate::transcript::short::turn_line;
use std::collections::{BTreeMap, BTreeSet};

/// Per cent of load to which each level brings a conversation.
pub const MARKS: [u64; 3] = [50, 60, 40];

/// What would free less of the window than these per cent is not done.
pub const WORTH_PERCENT: u64 = 10;

/// Of a result this much more than its short form leaves, in per cent, or it is not cut.
const OVER_PERCENT: u64 = 20;

/// Characters that a token takes, about.
const CHARS_PER_TOKEN: u64 = 4;

/// From so many turns that are shown as a line and that no summary tells of, one is due.
const UNSUMMARISED_TURNS: usize = 10;

/// Or from so many per cent of the window in such lines.
const UNSUMMARISED_PERCENT: u64 = 2;

/// What a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct Basis<'a> {
    /// The conversation.
    pub history: &'a History,
    /// What of it is shown in short already.
    pub shape: &'a Shape,
    /// The settings.
    pub settings: &'a Settings,
    /// The model's window.
    pub room: Room,
    /// Estimated tokens, uncalibrated, that fill the window; of one that a request was refused by as too long, at most those.
    pub window: u64,
    /// What estimates are multiplied by.
    pub calibration: Calibration,
    /// Tokens of the next request as it would be now.
    pub now: u64,
    /// The current turn.
    pub turn: TurnNo,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Nothing helps, or nothing is worth it yet.
    Nothing,
    /// The view is folded anew with this shape.
    Shorten(Draft),
    /// That cannot reach its mark: a summary is needed, of everything up to a place.
    Summarize {
        /// The end of what it stands for.
        through: Through,
        /// The best that can be done without it, when that is worth it.
        without: Option<Draft>,
    },
}

/// A shape that could be had at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The shape.
    pub shape: Shape,
    /// What was done for it.
    pub levels: Vec<Level>,
    /// Tokens of the next request then.
    pub after: u64,
}

impl Basis<'_> {
    fn percent(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(100) / self.room.usable().max(1)
    }

    /// Tokens of the next request at a level's mark. A request that was refused as too long shows that the window is smaller
    /// than it is known to be: the mark is a share of what was refused then.
    fn mark(&self, level: Level, aim: Aim) -> u64 {
        let full = if aim == Aim::TooLong { self.room.usable().min(self.now) } else { self.room.usable() };
        let [snip, prune, summarize] = MARKS;
        let percent = match level {
            Level::Snip => snip,
            Level::Prune => prune,
            Level::Summarize => summarize,
        };
        full * percent / 100
    }

    fn is_worth(&self, after: u64) -> bool {
        self.now.saturating_sub(after).saturating_mul(100) >= self.room.window.saturating_mul(WORTH_PERCENT)
    }

    fn places(&self, guard: u64) -> Vec<Through> {
        let places = places(self.history, self.turn, self.window, guard);
        // What a summary stands for is gone already.
        let beyond = |place: &Through| self.shape.summary.as_ref().is_none_or(|old| place.is_beyond(old.through));
        places.into_iter().filter(beyond).collect()
    }
}

/// What a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// As the load says.
    Load,
    /// The provider's cache is cold: whatever is due soon costs nothing now.
    Cold,
    /// A request was refused as too long: anything that makes it smaller is done.
    TooLong,
    /// The user asks, or so many turns have passed: the beginning is summarised.
    Summary,
}

/// Works out what to do. `candidate` is a summary that was prepared and may be used.
pub fn plan(basis: &Basis<'_>, aim: Aim, candidate: Option<&Summary>) -> Plan {
    let after = after(basis);
    let planner = Planner { basis, after: &after };
    let [snip, prune, _] = basis.settings.lines.map(u64::from);
    let load = basis.percent(basis.now);
    let (mut base, lighter) = lighter(basis, aim);
    let mut levels = Vec::new();
    if let Some(summary) = candidate {
        base = summarised(&base, summary.clone());
        levels.push(Level::Summarize);
    }
    if lighter {
        levels.push(Level::Snip);
        return Plan::Shorten(planner.draft(base, levels));
    }
    let guard = fewer(basis.settings, 0);
    match aim {
        Aim::Load if load < snip => Plan::Nothing,
        Aim::Load if load < prune => match planner.shorten(&base, levels, basis.mark(Level::Snip, aim), guard, false) {
            Tried { draft, reaches: true } if basis.is_worth(draft.after) => Plan::Shorten(draft),
            Tried { .. } => Plan::Nothing,
        },
        Aim::Cold => match planner.shorten(&base, levels, basis.mark(Level::Snip, aim), guard, load >= prune) {
            Tried { draft, .. } if basis.is_worth(draft.after) => Plan::Shorten(draft),
            Tried { .. } => Plan::Nothing,
        },
        Aim::Load | Aim::TooLong => {
            let worth = |draft: &Draft| basis.is_worth(draft.after) || aim == Aim::TooLong && draft.after < basis.now;
            // With a summary the prefix breaks at its very beginning: as much as may be is done at once.
            let level = if candidate.is_some() { Level::Summarize } else { Level::Prune };
            match planner.shorten(&base, levels, basis.mark(level, aim), guard, true) {
                Tried { draft, reaches: true } if worth(&draft) => {
                    // Where none is written beside the work it is written now: what turns that are about to be a line each
                    // said still stands in the last request.
                    let now = !basis.settings.prepare && candidate.is_none() && draft.levels.contains(&Level::Prune);
                    match planner.through(None).filter(|_| now) {
                        Some(through) => Plan::Summarize { through, without: Some(draft) },
                        None => Plan::Shorten(draft),
                    }
                }
                Tried { reaches: true, .. } => Plan::Nothing,
                Tried { draft, reaches: false } => {
                    let without = Some(draft).filter(worth);
                    match planner.through(candidate) {
                        Some(through) => Plan::Summarize { through, without },
                        None => without.map_or(Plan::Nothing, Plan::Shorten),
                    }
                }
            }
        }
        Aim::Summary => match (planner.through(candidate), candidate) {
            (Some(through), None) => Plan::Summarize { through, without: None },
            (_, Some(_)) => {
                Plan::Shorten(planner.shorten(&base, levels, basis.mark(Level::Summarize, aim), guard, true).draft)
            }
            (None, None) => Plan::Nothing,
        },
    }
}

/// The best that can be done with this summary, whatever it reaches: a last level is always done.
pub fn with_summary(basis: &Basis<'_>, aim: Aim, summary: &Summary) -> Draft {
    let after = after(basis);
    let planner = Planner { basis, after: &after };
    let base = summarised(&lighter(basis, aim).0, summary.clone());
    let guard = fewer(basis.settings, 0);
    planner.shorten(&base, vec![Level::Summarize], basis.mark(Level::Summarize, aim), guard, true).draft
}

/// The shape without images that a request which was refused as too long can do without: all but the newest, or that one when
/// it is the last; and whether they were most of the request.
fn lighter(basis: &Basis<'_>, aim: Aim) -> (Shape, bool) {
    let mut shape = basis.shape.clone();
    if aim != Aim::TooLong {
        return (shape, false);
    }
    let known = shape.pictures;
    let shown: Vec<_> = pictures(&basis.history.items)
        .filter(|(place, _)| known.is_none_or(|known| *place >= known))
        .map(|(place, image)| (place, image.data.len() as u64))
        .collect();
    let Some((newest, _)) = shown.last().copied() else { return (shape, false) };
    let (before, size) = match shown.split_last() {
        Some((_, older)) if !older.is_empty() => (newest, older.iter().map(|(_, size)| size).sum::<u64>()),
        _ => (PicturePlace { nth: newest.nth + 1, ..newest }, shown.iter().map(|(_, size)| size).sum()),
    };
    shape.pictures = Some(before);
    (shape, size > basis.now.saturating_mul(CHARS_PER_TOKEN))
}

/// Tokens of the next request in another shape.
fn after<'a>(basis: &'a Basis<'a>) -> impl Fn(&Shape) -> u64 + 'a {
    let costs = Costs::of(basis.history);
    let before = basis.calibration.of(costs.measure(basis.shape));
    move |shape| basis.now.saturating_sub(before).saturating_add(basis.calibration.of(costs.measure(shape)))
}

/// The shape with a summary in the place of everything up to its end.
fn summarised(shape: &Shape, summary: Summary) -> Shape {
    let pruned = shape.pruned.filter(|pruned| pruned.is_beyond(summary.through));
    Shape { pruned, summary: Some(summary), ..shape.clone() }
}

/// The best shape that was found, and whether it is down at its mark.
struct Tried {
    draft: Draft,
    reaches: bool,
}

struct Planner<'a> {
    basis: &'a Basis<'a>,
    after: &'a dyn Fn(&Shape) -> u64,
}

impl Planner<'_> {
    fn draft(&self, shape: Shape, levels: Vec<Level>) -> Draft {
        let after = (self.after)(&shape);
        Draft { shape: self.clean(shape), levels, after }
    }

    /// Cuts results, then shortens turns where that is allowed, until the mark is reached; the most that can be done when it
    /// is not.
    fn shorten(&self, base: &Shape, mut levels: Vec<Level>, mark: u64, guard: u64, prune: bool) -> Tried {
        let draft = |shape: Shape, levels: &[Level]| self.draft(shape, levels.to_vec());
        let reaches = |draft: &Draft| draft.after <= mark;
        let short = |draft: Draft| Tried { draft, reaches: false };
        if base != self.basis.shape {
            let first = draft(base.clone(), &levels);
            if reaches(&first) {
                return Tried { draft: first, reaches: true };
            }
        }
        let places = self.basis.places(guard);
        let Some(last) = places.last().copied() else { return short(draft(base.clone(), &levels)) };
        let mut snipped = base.clone();
        for snip in [Snip::Large, Snip::Small] {
            self.cut(&mut snipped, snip, last);
            if snip == Snip::Large {
                snipped.pictures = self.pictures(base, last);
            }
            if snipped != *base && !levels.contains(&Level::Snip) {
                levels.push(Level::Snip);
            }
            let made = draft(snipped.clone(), &levels);
            if reaches(&made) {
                return Tried { draft: made, reaches: true };
            }
        }
        let best = draft(snipped.clone(), &levels);
        if !prune {
            return short(best);
        }
        let gone = snipped.summary.as_ref().map(|summary| summary.through);
        let further: Vec<Through> = places
            .into_iter()
            .filter(|place| snipped.pruned.is_none_or(|old| place.is_beyond(old)))
            .filter(|place| gone.is_none_or(|old| place.is_beyond(old)))
            .collect();
        let pruned = |place: Through| Shape { pruned: Some(place), ..snipped.clone() };
        let Some(furthest) = further.last().copied() else { return short(best) };
        levels.push(Level::Prune);
        // The further it goes the less is left: the first place that suffices.
        let enough = further.partition_point(|place| (self.after)(&pruned(*place)) > mark);
        match further.get(enough) {
            Some(place) => Tried { draft: draft(pruned(*place), &levels), reaches: true },
            None => short(draft(pruned(furthest), &levels)),
        }
    }

    /// Images up to `last` are shown by name.
    fn pictures(&self, base: &Shape, last: Through) -> Option<PicturePlace> {
        let items = &self.basis.history.items;
        let Some(later) = items.iter().find(|item| !last.holds(item.turn, item.step)) else { return base.pictures };
        let place = PicturePlace { item: later.no, nth: 0 };
        let gone = pictures(items).any(|(at, _)| at < place && base.pictures.is_none_or(|known| at >= known));
        if gone { Some(place).max(base.pictures) } else { base.pictures }
    }

    /// Cuts every result up to `last` that is larger than what the cut leaves of it.
    fn cut(&self, shape: &mut Shape, snip: Snip, last: Through) {
        let History { items, projections, .. } = self.basis.history;
        for item in items.iter().filter(|item| last.holds(item.turn, item.step)) {
            let ItemBody::ToolResult(result) = &item.body else { continue };
            if !is_whole(item, shape) {
                continue;
            }
            let large = projections
                .get(&result.call)
                .is_some_and(|shown| shown.tokens * 100 > snip.budget() * (100 + OVER_PERCENT));
            if large && shape.snipped.get(&result.call).is_none_or(|cut| *cut < snip) {
                shape.snipped.insert(result.call, snip);
            }
        }
    }

    /// The end of what a summary would stand for: everything outside the guard, which shrinks down to one turn when what it
    /// holds alone is over the mark. None when a summary is there that stands for all of it.
    fn through(&self, candidate: Option<&Summary>) -> Option<Through> {
        let basis = self.basis;
        let mut found = None;
        for guard in (1..=basis.settings.tail_guard_turns.max(1)).rev() {
            let place = basis.places(guard).last().copied();
            let place = place.filter(|place| candidate.is_none_or(|known| place.is_beyond(known.through)));
            found = place.or(found);
            if place.is_some_and(|place| self.left(place) <= basis.mark(Level::Summarize, Aim::Summary)) {
                break;
            }
        }
        found
    }

    /// Tokens of the next request without what stands before `place`, and without a summary of it.
    fn left(&self, place: Through) -> u64 {
        let history = self.basis.history;
        let gone: u64 = history
            .items
            .iter()
            .filter(|item| place.holds(item.turn, item.step) && is_whole(item, self.basis.shape))
            .map(|item| item_tokens(item, history))
            .sum();
        self.basis.now.saturating_sub(self.basis.calibration.of(gone))
    }

    /// The shape without what it need not say any more, and without restatements that the next one takes the place of.
    fn clean(&self, mut shape: Shape) -> Shape {
        let History { items, .. } = self.basis.history;
        shape.replaced = items
            .iter()
            .filter(|item| matches!(&item.body, ItemBody::Meta(meta) if meta.cause == MetaCause::Compacted))
            .map(|item| item.no)
            .collect();
        let results: BTreeSet<_> = items
            .iter()
            .filter(|item| is_whole(item, &shape))
            .filter_map(|item| match &item.body {
                ItemBody::ToolResult(result) => Some(result.call),
                _ => None,
            })
            .collect();
        shape.snipped.retain(|call, _| results.contains(call));
        shape
    }
}

/// The end of what a summary should tell of, when turns that are shown as a line are many enough, or their lines long enough.
pub fn unsummarised(history: &History, shape: &Shape, window: u64) -> Option<Through> {
    let pruned = shape.pruned?;
    let told = shape.summary.as_ref().map(|summary| summary.through);
    let mut turns: BTreeMap<TurnNo, Vec<&Item>> = BTreeMap::new();
    for item in history.items.iter().filter(|item| pruned.holds(item.turn, item.step)) {
        if told.is_none_or(|told| !told.holds(item.turn, item.step)) {
            turns.entry(item.turn).or_default().push(item);
        }
    }
    let lines =
        || turns.iter().map(|(turn, items)| tokens(&turn_line(*turn, items, &history.projections))).sum::<u64>();
    let many = turns.len() > UNSUMMARISED_TURNS;
    (many || lines().saturating_mul(100) > window.saturating_mul(UNSUMMARISED_PERCENT)).then_some(pruned)
}
