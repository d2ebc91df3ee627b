//! The task of a session: the state of the work, kept outside the conversation.

use crate::id::{EvidenceId, ItemNo};
use serde::{Deserialize, Serialize};

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
