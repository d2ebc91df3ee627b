//! What a client changes of a task, on the user's behalf: all of it or nothing.

use super::update::{CONSTRAINTS, TEXT};
use super::{Phase, Removed, Task, forbidden};
use crate::permission::rule::Matcher;

/// Constraints that were taken away and are remembered; the oldest are forgotten first.
const REMOVED: usize = 200;

/// Most rules that one constraint binds.
pub const DENIES: usize = 200;

/// See the module's head.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// Another goal.
    pub goal: Option<String>,
    /// Another phase.
    pub phase: Option<Phase>,
    /// What comes next.
    pub next: Option<String>,
    /// Constraints in the user's words, with the rules that they bind; none: those that follow from the words.
    pub add: Vec<(String, Option<Vec<String>>)>,
    /// Numbers of constraints that are taken away.
    pub remove: Vec<u32>,
    /// Whether the work counts as done without tests.
    pub waive: Option<bool>,
}

/// The task after a change; the error names the parameter and what would be right.
pub fn apply(before: &Task, change: &Change) -> Result<Task, String> {
    let mut task = before.clone();
    for (name, text) in [("goal", &change.goal), ("next", &change.next)] {
        let Some(text) = text else { continue };
        if text.len() > TEXT {
            return Err(format!("`{name}` has {} bytes; at most {TEXT} are kept", text.len()));
        }
        let place = if name == "goal" { &mut task.goal } else { &mut task.next };
        place.clone_from(text);
    }
    for id in &change.remove {
        let Some(at) = task.constraints.iter().position(|constraint| constraint.id == *id) else {
            return Err(format!("`removeConstraints`: the task has no constraint {id}"));
        };
        let constraint = task.constraints.remove(at);
        task.removed.push(Removed { quote: constraint.quote, item: constraint.item });
        if task.removed.len() > REMOVED {
            task.removed.remove(0);
        }
    }
    for (quote, denies) in &change.add {
        let wrong = |why: String| format!("`addConstraints`: {why}");
        if quote.trim().is_empty() || quote.len() > TEXT {
            return Err(wrong(format!("a quote has 1 to {TEXT} bytes")));
        }
        let denies = match denies {
            Some(rules) if rules.len() > DENIES => {
                return Err(wrong(format!("at most {DENIES} rules, not {}", rules.len())));
            }
            Some(rules) => {
                for rule in rules {
                    rule.parse::<Matcher>().map_err(|error| wrong(error.to_string()))?;
                }
                rules.clone()
            }
            None => forbidden::bind(quote).denies,
        };
        if task.constraints.len() >= CONSTRAINTS {
            return Err(wrong(format!("a task holds at most {CONSTRAINTS}; take some away first")));
        }
        task.removed.retain(|removed| removed.quote != *quote);
        task.constrain(quote.clone(), None, denies);
    }
    task.waived = change.waive.unwrap_or(task.waived);
    task.phase = change.phase.unwrap_or(task.phase);
    Ok(task)
}
