//! The summary that stands for the older part of a conversation. Pure; called by the turn machine.
//!
//! The host writes what it knows ([`Host`]), a model what needs judgement ([`Model`], asked for by [`ask`]). What a model
//! wrote is never trusted: it is taken apart ([`parse`]), checked ([`check`]) and put beside the host's parts
//! ([`compose`]), marked as what it is. When no answer can be used, [`from_store`] makes the summary from the record alone.
//! [`accept`] is parse, check and compose in one.
//!
//! What a model writes creates no authority: the user's words, and with them whatever stands, are taken from the user's
//! messages each time anew, never from a summary.

pub mod ask;
mod budget;
mod check;
mod compose;
mod host;
mod model;
mod pieces;
mod problem;
mod said;
mod standing;
#[cfg(test)]
mod tests;

pub use budget::Budget;
pub use check::{Against, accept, check};
pub use compose::{BEGINS, compose, from_store};
pub use host::Host;
pub use model::{Model, parse};
pub use pieces::pieces;
pub use problem::Problem;
pub use standing::standing;

use super::history::Said;
use crate::id::{CallId, EvidenceId, ItemNo, TurnNo};
use crate::task::{Constraint, HypothesisStatus, Task};
use std::collections::BTreeSet;

/// A section of the summary; ordered as they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// What is wanted.
    Intent,
    /// What must be known.
    Concepts,
    /// Files.
    Files,
    /// What failed.
    Errors,
    /// What was found out.
    Solving,
    /// The user's words; the host's alone.
    Said,
    /// What is not finished.
    Pending,
    /// What was being done.
    Current,
    /// What comes next, and where everything can be read.
    Next,
}

impl Section {
    /// All, in order.
    pub const ALL: [Self; 9] = [
        Self::Intent,
        Self::Concepts,
        Self::Files,
        Self::Errors,
        Self::Solving,
        Self::Said,
        Self::Pending,
        Self::Current,
        Self::Next,
    ];

    /// Those that a model writes in, in order.
    pub fn models() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|section| *section != Self::Said)
    }

    /// Its number, from 1.
    pub fn number(self) -> u8 {
        match self {
            Self::Intent => 1,
            Self::Concepts => 2,
            Self::Files => 3,
            Self::Errors => 4,
            Self::Solving => 5,
            Self::Said => 6,
            Self::Pending => 7,
            Self::Current => 8,
            Self::Next => 9,
        }
    }

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Intent => "Primary request and intent",
            Self::Concepts => "Key technical concepts",
            Self::Files => "Files and code sections",
            Self::Errors => "Errors and fixes",
            Self::Solving => "Problem solving",
            Self::Said => "All user messages",
            Self::Pending => "Pending tasks",
            Self::Current => "Current work",
            Self::Next => "Next step and where to look",
        }
    }

    /// The line that it stands under.
    pub fn heading(self) -> String {
        format!("## {}. {}", self.number(), self.title())
    }
}

/// What a summary stands for: first and last of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Covers {
    /// Turns.
    pub turns: (TurnNo, TurnNo),
    /// Items.
    pub items: (ItemNo, ItemNo),
}

/// What the host knows. Texts are as they are; nothing is escaped.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// What the task is to reach; may be empty.
    pub goal: String,
    /// What the user demanded or forbade.
    pub constraints: Vec<Constraint>,
    /// Files with the version that the model last saw, oldest first.
    pub files: Vec<(String, String)>,
    /// What is established, each with what it rests on.
    pub confirmed: Vec<(String, Vec<EvidenceId>)>,
    /// Explanations that do not hold, with what shows it.
    pub refuted: Vec<(String, Vec<EvidenceId>)>,
    /// Everything the user said that leaves the view, from the session's first item on, oldest first.
    pub said: Vec<Said>,
    /// Operations whose end was not seen, each with its line.
    pub unsettled: Vec<(CallId, String)>,
    /// The last tests: what they gave, and on which revision.
    pub tests: Option<String>,
    /// The todo list, a line each.
    pub todos: Vec<String>,
    /// Absolute path of the session's mirror in text form.
    pub transcript: String,
    /// What the summary stands for, from the session's beginning.
    pub covers: Covers,
    /// The calls that have a result: evidence of others resolves to nothing.
    pub calls: BTreeSet<CallId>,
    /// The model's window, in tokens as they are estimated here.
    pub window: u64,
    /// The summary that this one takes the place of.
    pub earlier: Option<String>,
    /// Names of the tools that the session has.
    pub tools: Vec<String>,
}

impl Facts {
    /// With what a task holds: goal, constraints, what is established and what is refuted.
    #[must_use]
    pub fn with_task(self, task: &Task) -> Self {
        let of = |status: HypothesisStatus| {
            let held = task.hypotheses.iter().filter(move |hypothesis| hypothesis.status == status);
            held.map(|hypothesis| (hypothesis.claim.clone(), hypothesis.evidence.clone()))
        };
        let established = task.confirmed.iter().map(|confirmed| (confirmed.claim.clone(), confirmed.evidence.clone()));
        let mut confirmed: Vec<_> = established.collect();
        for held in of(HypothesisStatus::Confirmed) {
            if !confirmed.contains(&held) {
                confirmed.push(held);
            }
        }
        Self {
            goal: task.goal.clone(),
            constraints: task.constraints.clone(),
            confirmed,
            refuted: of(HypothesisStatus::Refuted).collect(),
            ..self
        }
    }
}

/// One turn in the record, for a summary that no model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnLine {
    /// The turn.
    pub turn: TurnNo,
    /// Its first and last item.
    pub items: (ItemNo, ItemNo),
    /// What was done in it.
    pub line: String,
}
