//! What a view shows in short since a compaction: the fold of the items takes it into account, and nothing else changes.
//!
//! A shape only says what is shortened; the texts are made from the items, each time the same. It belongs to an epoch, and
//! the next compaction goes on from it.

use crate::id::{CallId, ItemNo, StepNo, TurnNo};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// See the module's head.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shape {
    /// Results that are shown cut.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub snipped: BTreeMap<CallId, Snip>,
    /// Up to here answers, calls and results are shown as one line per turn. What the user said stays whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<Through>,
    /// What stands for everything up to a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// Images before this place are shown by name only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pictures: Option<PicturePlace>,
    /// Restatements of earlier compactions that a later one took the place of.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub replaced: BTreeSet<ItemNo>,
}

/// Where an image stands: its item, and which of the item's images it is, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PicturePlace {
    /// The user's message, or the observation that gathers images of results.
    pub item: ItemNo,
    /// Its number there.
    pub nth: usize,
}

/// How far a result is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Snip {
    /// Of a large one head and tail are left.
    Large,
    /// A few lines of each are left.
    Small,
}

/// The end of a part of the history: a whole turn, or a step of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Through {
    /// The last turn that it reaches into.
    pub turn: TurnNo,
    /// The last step of it; none: all of the turn. Of a turn that is parted, what the user said stays where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNo>,
}

impl Through {
    /// All of a turn, and of those before it.
    pub fn turn(turn: TurnNo) -> Self {
        Self { turn, step: None }
    }

    /// Whether what belongs to that step is in the part.
    pub fn holds(self, turn: TurnNo, step: StepNo) -> bool {
        turn < self.turn || turn == self.turn && self.step.is_none_or(|last| step <= last)
    }

    /// Whether all of a turn is in the part.
    pub fn holds_turn(self, turn: TurnNo) -> bool {
        turn < self.turn || turn == self.turn && self.step.is_none()
    }

    /// Whether this one reaches further.
    pub fn is_beyond(self, other: Self) -> bool {
        let key = |through: Self| (through.turn, through.step.map_or(u64::MAX, |step| step.0));
        key(self) > key(other)
    }
}

/// The summary of the beginning of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// All of it, as the model reads it.
    pub text: String,
    /// What it stands for.
    pub through: Through,
    /// The last item of that: later ones are needed to fold the view, earlier ones are not, but for what the user said in a
    /// turn that is parted.
    pub last_item: ItemNo,
}
