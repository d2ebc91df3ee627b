//! Budgets for blocks of lines, and the difference between two renderings of a block.
//!
//! Used by the renderers of this folder only. Nothing is cut inside a line.

use std::collections::HashSet;

/// Tokens of a text, as a budget counts them.
pub(super) fn tokens(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX).div_ceil(4)
}

/// A text from outside as one line: tags escaped, controls and line ends turned into blanks.
pub(super) fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    crate::escape::data(&line).into_owned()
}

/// How many of `lines`, from the first, fit into what is left of `budget`, which shrinks by what they take. A line
/// feed counts as part of its line.
pub(super) fn fitting<'a>(lines: impl IntoIterator<Item = &'a str>, budget: &mut u64) -> usize {
    let mut fit = 0;
    for line in lines {
        let cost = tokens(line).saturating_add(u64::from(line.len() % 4 == 0));
        if cost > *budget {
            break;
        }
        *budget -= cost;
        fit += 1;
    }
    fit
}

/// Lines of `before` that `after` no longer has, and lines of `after` that `before` had not, each in its order.
pub(super) fn difference<'a>(before: &'a str, after: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let old: HashSet<&str> = before.lines().collect();
    let new: HashSet<&str> = after.lines().collect();
    let gone = before.lines().filter(|line| !new.contains(line)).collect();
    let added = after.lines().filter(|line| !old.contains(line)).collect();
    (gone, added)
}
