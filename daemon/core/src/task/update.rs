//! What the model proposes for a task: taken entry by entry, and what cannot be taken is told with its reason.
//!
//! Lists are added to, never cut. A constraint is the user's words or nothing, and evidence is a result that is there.

use super::{Confirmed, Hypothesis, HypothesisStatus, Phase, Task, forbidden};
use crate::id::{EvidenceId, ItemNo};
use serde::Deserialize;

/// Most constraints of a task.
pub const CONSTRAINTS: usize = 50;
/// Most hypotheses, refuted ones included.
pub const HYPOTHESES: usize = 100;
/// Most confirmed claims.
pub const CONFIRMED: usize = 200;
/// Most results that one claim rests on.
pub const EVIDENCE: usize = 20;
/// Longest goal, next step and quote, in bytes.
pub const TEXT: usize = 2_000;
/// Longest claim, in bytes.
pub const CLAIM: usize = 1_000;

/// What a call gives. Nothing of it has been checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Update {
    /// Another goal.
    pub goal: Option<String>,
    /// What the user demanded or forbade.
    pub constraints: Vec<Quoted>,
    /// Explanations.
    pub hypotheses: Vec<Claim>,
    /// What is established.
    pub confirmed: Vec<Claim>,
    /// Another phase.
    pub phase: Option<Phase>,
    /// What comes next.
    pub next: Option<String>,
}

/// Words of the user, as a call gives them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Quoted {
    /// The words.
    pub quote: String,
    /// The message that holds them.
    #[serde(default)]
    pub item: Option<u64>,
}

/// A claim, as a call gives it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Claim {
    /// What it says.
    pub claim: String,
    /// What became of it; of confirmed ones none.
    #[serde(default)]
    pub status: Option<HypothesisStatus>,
    /// Evidence ids.
    #[serde(default)]
    pub evidence: Vec<String>,
}

/// What was found out about what an update cites.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Evidence that does not resolve, with why.
    pub unresolved: Vec<(EvidenceId, String)>,
    /// For each constraint of the update, the user's message that holds it.
    pub items: Vec<Option<ItemNo>>,
}

/// What came of an update.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// The task from now on. Its phase is the one before when `done` was asked for: the gate decides that.
    pub task: Task,
    /// What was taken, each as a few words.
    pub taken: Vec<String>,
    /// What was not, each with its reason.
    pub refused: Vec<String>,
    /// Whether `done` was asked for.
    pub done: bool,
}

impl Update {
    /// Evidence ids that are well formed.
    pub fn evidence(&self) -> Vec<EvidenceId> {
        let claims = self.hypotheses.iter().chain(&self.confirmed);
        let mut ids: Vec<EvidenceId> = Vec::new();
        for id in claims.flat_map(|claim| &claim.evidence).filter_map(|text| text.trim().parse().ok()) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// The quotes in order.
    pub fn quotes(&self) -> Vec<(String, Option<ItemNo>)> {
        self.constraints.iter().map(|quoted| (quoted.quote.clone(), quoted.item.map(ItemNo))).collect()
    }

    /// Whether it asks for the end of the task.
    pub fn wants_done(&self) -> bool {
        self.phase == Some(Phase::Done)
    }

    /// Whether it gives nothing at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Takes an update into a task.
pub fn merge(before: &Task, update: &Update, found: &Found) -> Merged {
    let mut merged = Merged { task: before.clone(), ..Merged::default() };
    for (name, text) in [("goal", &update.goal), ("next", &update.next)] {
        let Some(text) = text else { continue };
        match bounded(text, TEXT) {
            Ok(()) if name == "goal" => merged.task.goal.clone_from(text),
            Ok(()) => merged.task.next.clone_from(text),
            Err(why) => {
                merged.refused.push(format!("{name}: {why}"));
                continue;
            }
        }
        merged.taken.push(name.to_owned());
    }
    for (at, quoted) in update.constraints.iter().enumerate() {
        let item = found.items.get(at).copied().flatten();
        let result = constraint(&mut merged.task, quoted, item);
        merged.note("constraint", &quoted.quote, result);
    }
    for claim in &update.hypotheses {
        let result = hypothesis(&mut merged.task, claim, found);
        merged.note("hypothesis", &claim.claim, result);
    }
    for claim in &update.confirmed {
        let result = confirmed(&mut merged.task, claim, found);
        merged.note("confirmed", &claim.claim, result);
    }
    match update.phase {
        Some(Phase::Done) => merged.done = true,
        Some(phase) => {
            merged.task.phase = phase;
            merged.taken.push(format!("phase {}", phase.word()));
        }
        None => {}
    }
    merged
}

impl Merged {
    fn note(&mut self, kind: &str, text: &str, result: Result<String, String>) {
        let text = super::shown::short(text);
        match result {
            Ok(what) => self.taken.push(format!("{kind} {text:?}{what}")),
            Err(why) => self.refused.push(format!("{kind} {text:?}: {why}")),
        }
    }
}

fn bounded(text: &str, most: usize) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("it is blank".to_owned());
    }
    if text.len() > most {
        return Err(format!("it has {} bytes, and at most {most} are kept; say it shorter", text.len()));
    }
    Ok(())
}

fn room(count: usize, most: usize, what: &str) -> Result<(), String> {
    if count < most { Ok(()) } else { Err(format!("a task holds at most {most} {what}")) }
}

/// Words of the user that a message of theirs holds. What they forbid is denied from then on.
fn constraint(task: &mut Task, quoted: &Quoted, item: Option<ItemNo>) -> Result<String, String> {
    bounded(&quoted.quote, TEXT)?;
    let Some(item) = item else {
        return Err(match quoted.item {
            Some(no) => format!(
                "item {no} is no message of the user that holds these words exactly; leave `item` out, or quote what \
                 stands there"
            ),
            None => "no message of the user holds these words exactly; quote a part of one as it stands, with every \
                     character and blank"
                .to_owned(),
        });
    };
    if let Some(known) = task.constraints.iter().find(|known| known.quote == quoted.quote) {
        return Ok(format!(" is constraint {} already", known.id));
    }
    let gone = |removed: &super::Removed| removed.quote == quoted.quote && removed.item.is_none_or(|of| item <= of);
    if task.removed.iter().any(gone) {
        return Err("the user took this constraint away".to_owned());
    }
    room(task.constraints.len(), CONSTRAINTS, "constraints")?;
    let bound = forbidden::bind(&quoted.quote);
    let count = bound.denies.len();
    let id = task.constrain(quoted.quote.clone(), Some(item), bound.denies);
    let until = if bound.conditional { ", until the user lifts it" } else { "" };
    Ok(match count {
        0 => format!(" as {id}"),
        1 => format!(" as {id}, enforced by 1 rule{until}"),
        count => format!(" as {id}, enforced by {count} rules{until}"),
    })
}

/// The results that a claim cites, all of which are there.
fn resolved(claim: &Claim, found: &Found) -> Result<Vec<EvidenceId>, String> {
    let mut ids = Vec::new();
    for text in &claim.evidence {
        let id: EvidenceId = text.trim().parse().map_err(|error: crate::id::ParseIdError| error.to_string())?;
        if let Some((_, why)) = found.unresolved.iter().find(|(unresolved, _)| *unresolved == id) {
            return Err(format!("{id} does not resolve: {why}"));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// Adds what is new, up to the bound.
fn add(known: &mut Vec<EvidenceId>, ids: Vec<EvidenceId>) -> Result<(), String> {
    let mut all = known.clone();
    for id in ids {
        if !all.contains(&id) {
            all.push(id);
        }
    }
    if all.len() > EVIDENCE {
        return Err(format!("a claim rests on at most {EVIDENCE} results"));
    }
    *known = all;
    Ok(())
}

fn hypothesis(task: &mut Task, claim: &Claim, found: &Found) -> Result<String, String> {
    bounded(&claim.claim, CLAIM)?;
    let status = claim.status.unwrap_or(HypothesisStatus::Open);
    let ids = resolved(claim, found)?;
    let at = task.hypotheses.iter().position(|known| known.claim == claim.claim);
    let mut next = if let Some(known) = at.and_then(|at| task.hypotheses.get(at)) {
        known.clone()
    } else {
        room(task.hypotheses.len(), HYPOTHESES, "hypotheses")?;
        Hypothesis { claim: claim.claim.clone(), status, evidence: Vec::new() }
    };
    next.status = status;
    add(&mut next.evidence, ids)?;
    if status == HypothesisStatus::Confirmed && next.evidence.is_empty() {
        return Err("a confirmed one rests on at least one result: give `evidence`, such as e/c7@r42".to_owned());
    }
    match at.and_then(|at| task.hypotheses.get_mut(at)) {
        Some(known) => *known = next,
        None => task.hypotheses.push(next),
    }
    Ok(format!(", {}", status.word()))
}

fn confirmed(task: &mut Task, claim: &Claim, found: &Found) -> Result<String, String> {
    bounded(&claim.claim, CLAIM)?;
    let ids = resolved(claim, found)?;
    if let Some(known) = task.confirmed.iter_mut().find(|known| known.claim == claim.claim) {
        return add(&mut known.evidence, ids).map(|()| String::new());
    }
    if ids.is_empty() {
        return Err("it rests on at least one result: give `evidence`, such as e/c7@r42".to_owned());
    }
    room(task.confirmed.len(), CONFIRMED, "confirmed claims")?;
    let mut evidence = Vec::new();
    add(&mut evidence, ids)?;
    task.confirmed.push(Confirmed { claim: claim.claim.clone(), evidence });
    Ok(String::new())
}
