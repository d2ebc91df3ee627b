//! Lists that stand before the conversation and change beside it: cut by whole lines where they are long, and told as
//! changed lines only.

use super::cut::{difference, fitting};
use std::fmt::Write as _;

/// A list of lines, and what is said of those that are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct List {
    /// One entry each; nothing in them opens one of Plimsoll's tags.
    pub(super) lines: Vec<String>,
    /// The call that shows the entries that do not fit.
    pub(super) rest: String,
}

impl List {
    /// All lines: what an epoch or a request keeps of the list.
    pub(super) fn stated(&self) -> String {
        self.lines.join("\n")
    }

    /// As many lines as fit into about `budget` tokens, at least one, with what is missing; none when there is no line.
    pub(super) fn shown(&self, budget: u64) -> Option<String> {
        if self.lines.is_empty() {
            return None;
        }
        Some(fit(&self.lines, budget, &self.rest))
    }
}

fn fit(lines: &[String], budget: u64, rest: &str) -> String {
    let mut left = budget;
    let fit = fitting(lines.iter().map(String::as_str), &mut left).max(1);
    let mut shown = lines.get(..fit).unwrap_or(lines).join("\n");
    if fit < lines.len() {
        // Writing to a String cannot fail.
        let _ = write!(shown, "\n[{fit} of {} lines shown; the others: {rest}]", lines.len());
    }
    shown
}

/// Which lines are new and which are gone, under `name`; none when it says the same. Cut to about `budget` tokens.
pub(super) fn changed(name: &str, before: &str, after: &List, budget: u64) -> Option<String> {
    let now = after.stated();
    let (gone, new) = difference(before, &now);
    let gone = gone.iter().filter(|line| !line.is_empty()).map(|line| format!("gone: {line}"));
    let lines: Vec<String> = gone.chain(new.iter().map(|line| format!("new: {line}"))).collect();
    if lines.is_empty() {
        return None;
    }
    Some(format!("{name}:\n{}", fit(&lines, budget, &after.rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(lines: &[&str]) -> List {
        List { lines: lines.iter().map(|line| (*line).to_owned()).collect(), rest: "list_dir {}".to_owned() }
    }

    #[test]
    fn what_does_not_fit_is_counted_with_the_call_that_shows_it() {
        assert_eq!(list(&[]).shown(10), None);
        assert_eq!(list(&["- a", "- b"]).shown(10).as_deref(), Some("- a\n- b"));
        let cut = list(&["- a", "- b", "- c"]).shown(2);
        assert_eq!(cut.as_deref(), Some("- a\n- b\n[2 of 3 lines shown; the others: list_dir {}]"));
        assert_eq!(list(&["a long line"]).shown(0).as_deref(), Some("a long line"));
    }

    #[test]
    fn only_changed_lines_are_told() {
        assert_eq!(changed("Memories", "", &list(&[]), 100), None);
        assert_eq!(changed("Memories", "- a\n- b", &list(&["- b", "- a"]), 100), None);
        let told = changed("Memories", "- a\n- b", &list(&["- a", "- c"]), 100);
        assert_eq!(told.as_deref(), Some("Memories:\ngone: - b\nnew: - c"));
    }
}
