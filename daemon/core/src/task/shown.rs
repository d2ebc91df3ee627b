//! A task as the model reads it: compact, one line an entry.

use super::{Constraint, Task};
use crate::id::EvidenceId;
use std::fmt;

/// Longest text inside a sentence or a line, in characters.
const SHORT: usize = 160;

/// A text on one line, cut where it is long.
pub(super) fn short(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.by_ref().take(SHORT).map(|c| if c == '\n' { ' ' } else { c }).collect();
    if chars.next().is_some() {
        out.push('\u{2026}');
    }
    out
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "phase: {}", self.phase.word())?;
        for (name, text) in [("goal", &self.goal), ("next", &self.next)] {
            if !text.is_empty() {
                write!(f, "\n{name}: {}", short(text))?;
            }
        }
        if self.waived {
            f.write_str("\ntests: waived by the user")?;
        }
        for constraint in &self.constraints {
            write!(f, "\nconstraint {}: {:?}{}", constraint.id, short(&constraint.quote), enforced(constraint))?;
        }
        for hypothesis in &self.hypotheses {
            write!(f, "\n{}: {}{}", hypothesis.status.word(), short(&hypothesis.claim), cited(&hypothesis.evidence))?;
        }
        for confirmed in &self.confirmed {
            write!(f, "\nestablished: {}{}", short(&confirmed.claim), cited(&confirmed.evidence))?;
        }
        Ok(())
    }
}

/// What of a constraint the host enforces.
fn enforced(constraint: &Constraint) -> String {
    match constraint.denies.as_slice() {
        [] => String::new(),
        [one] => format!(", enforced: {one} is denied"),
        [first, second] => format!(", enforced: {first} and {second} are denied"),
        [first, second, rest @ ..] => format!(", enforced: {first}, {second} and {} more are denied", rest.len()),
    }
}

fn cited(evidence: &[EvidenceId]) -> String {
    if evidence.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = evidence.iter().map(ToString::to_string).collect();
    format!(" [{}]", ids.join(", "))
}
