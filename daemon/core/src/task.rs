//! The task of a session: the state of the work, kept outside the conversation.
//!
//! The model proposes ([`update`]), clients decide ([`change`]), the host says what is missing before it counts as done
//! ([`gate`]) and what a constraint forbids ([`forbidden`]). Pure.

pub mod change;
pub mod deed;
pub mod forbidden;
pub mod gate;
pub mod quote;
mod shown;
pub mod update;

#[cfg(test)]
mod disguises;
#[cfg(test)]
mod tests;

use crate::id::{CallId, EvidenceId, ItemNo};
use crate::permission::rule::{Rule, Scope, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// See the module's head. Stored whole at each change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Task {
    /// What is to be reached.
    #[serde(default)]
    pub goal: String,
    /// What the user demanded or forbade, in the order in which it was taken up.
    #[serde(default)]
    pub constraints: Vec<Constraint>,
    /// Explanations with their state; refuted ones stay.
    #[serde(default)]
    pub hypotheses: Vec<Hypothesis>,
    /// What is established.
    #[serde(default)]
    pub confirmed: Vec<Confirmed>,
    /// How far the work is.
    #[serde(default)]
    pub phase: Phase,
    /// What comes next.
    #[serde(default)]
    pub next: String,
    /// The user said that the work counts as done without tests on the present revision.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waived: bool,
    /// The highest number that a constraint ever had.
    #[serde(default)]
    pub last_constraint: u32,
    /// Constraints that the user took away: the model cannot bring the same words back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Removed>,
}

/// A constraint that the user took away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// Its words.
    pub quote: String,
    /// The message that held them; none when a client had set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemNo>,
}

impl Task {
    /// The rules that deny because of its constraints. A text that is no rule was refused when it was set.
    pub fn rules(&self) -> Vec<Rule> {
        self.constraints.iter().flat_map(Constraint::rules).collect()
    }

    /// What of it holds in a session that shares the items up to `last` and the results of `calls`: what rests on other
    /// results is left behind, and constraints stay.
    #[must_use]
    pub fn shared(&self, last: ItemNo, calls: &BTreeSet<CallId>) -> Self {
        let known = |evidence: &[EvidenceId]| evidence.iter().all(|cited| calls.contains(&cited.call));
        let mut task = self.clone();
        task.hypotheses.retain(|hypothesis| known(&hypothesis.evidence));
        task.confirmed.retain(|confirmed| known(&confirmed.evidence));
        for constraint in &mut task.constraints {
            constraint.item = constraint.item.filter(|item| *item <= last);
        }
        task
    }

    /// Appends a constraint under a number of its own.
    fn constrain(&mut self, quote: String, item: Option<ItemNo>, denies: Vec<String>) -> u32 {
        self.last_constraint += 1;
        let id = self.last_constraint;
        self.constraints.push(Constraint { id, quote, item, denies });
        id
    }
}

impl Constraint {
    /// The rules that deny because of it.
    pub fn rules(&self) -> Vec<Rule> {
        let matchers = self.denies.iter().filter_map(|text| text.parse().ok());
        matchers.map(|matcher| Rule { verdict: Verdict::Deny, scope: Scope::Session, matcher }).collect()
    }
}

/// Something that the user demanded or forbade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// Its number within the task, from 1; never given twice.
    pub id: u32,
    /// The user's words: an exact part of a message, or what a client set.
    pub quote: String,
    /// The user's message that holds them; none when a client set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemNo>,
    /// The rules, in their text form, that are denied because of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denies: Vec<String>,
}

/// An explanation that is looked into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// What it says; its identity.
    pub claim: String,
    /// What became of it.
    pub status: HypothesisStatus,
    /// The results that this rests on.
    #[serde(default)]
    pub evidence: Vec<EvidenceId>,
}

/// What became of a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HypothesisStatus {
    /// Not decided.
    Open,
    /// It holds.
    Confirmed,
    /// It does not hold.
    Refuted,
}

/// Something established.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// What it says; its identity.
    pub claim: String,
    /// The results that this rests on.
    pub evidence: Vec<EvidenceId>,
}

impl HypothesisStatus {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
        }
    }
}

/// How far the work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Finding out what is the case.
    #[default]
    Investigate,
    /// Making the change.
    Implement,
    /// Checking it.
    Verify,
    /// Nothing is left to do.
    Done,
}

impl Phase {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Investigate => "investigate",
            Self::Implement => "implement",
            Self::Verify => "verify",
            Self::Done => "done",
        }
    }
}
