//! Layer 2, the static system text of a bundle.

use super::{
    Bundle, COMMAND_DEDICATED, COMMAND_INSTEAD, FULL_CARE, FULL_DEDICATED, FULL_DOING_TASKS, FULL_IDENTITY, FULL_INTRO,
    FULL_PARALLEL, FULL_SYSTEM, FULL_TASKS, FULL_TONE, FULL_USING_TOOLS, LEAN_IDENTITY, LEAN_SYSTEM, Prompts, Text,
};

/// Runs commands.
const COMMANDS: &str = "run_terminal_cmd";
/// Keeps the list of what is to be done.
const TODOS: &str = "todo_write";

impl Prompts {
    /// The whole text for a session with these tools.
    pub fn system(&self, tools: &[&str]) -> String {
        match self.bundle {
            Bundle::Lean => self.render(&LEAN_SYSTEM, &[("identity", self.identity(&LEAN_IDENTITY))]),
            Bundle::Full => self.full(tools),
        }
    }

    /// What the session says that the model is, else what the bundle says.
    fn identity<'a>(&'a self, own: &'a Text) -> &'a str {
        self.base.as_deref().unwrap_or_else(|| self.text(own))
    }

    fn full(&self, tools: &[&str]) -> String {
        let sections = [
            Some(self.render(&FULL_INTRO, &[("identity", self.identity(&FULL_IDENTITY))])),
            Some(self.text(&FULL_SYSTEM).to_owned()),
            Some(self.text(&FULL_DOING_TASKS).to_owned()),
            Some(self.text(&FULL_CARE).to_owned()),
            self.using(tools),
            Some(self.text(&FULL_TONE).to_owned()),
        ];
        sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    /// What is to be said of these tools; nothing where there is none.
    fn using(&self, tools: &[&str]) -> Option<String> {
        let there = |tool: &str| tools.contains(&tool);
        let instead = instead(self.text(&COMMAND_INSTEAD), tools);
        let subjects = [
            (there(COMMANDS) && !instead.is_empty(), &FULL_DEDICATED),
            (there(TODOS), &FULL_TASKS),
            (tools.len() > 1, &FULL_PARALLEL),
        ];
        let subjects: Vec<&str> =
            subjects.into_iter().filter(|(said, _)| *said).map(|(_, text)| self.text(text)).collect();
        let section = || self.render(&FULL_USING_TOOLS, &[("subjects", &subjects.join("\n"))]);
        (!subjects.is_empty()).then(section)
    }

    /// Which work is for which of these tools and not for the shell, as a sentence; empty where none of them is there.
    pub fn dedicated(&self, tools: &[&str]) -> String {
        let list = instead(self.text(&COMMAND_INSTEAD), tools).join(", ");
        let mut letters = list.chars();
        match letters.next() {
            Some(first) => {
                let list = first.to_uppercase().chain(letters).collect::<String>();
                self.render(&COMMAND_DEDICATED, &[("list", &list)])
            }
            None => String::new(),
        }
    }
}

/// The lines of [`COMMAND_INSTEAD`] with those of their tools that are there; a line without one is left out.
fn instead(lines: &str, tools: &[&str]) -> Vec<String> {
    let line = |line: &str| {
        let (work, named) = line.split_once(" with ")?;
        let present: Vec<&str> = named.split(',').map(str::trim).filter(|tool| tools.contains(tool)).collect();
        let named = match present.as_slice() {
            [] => return None,
            [one] => (*one).to_owned(),
            [before @ .., last] => format!("{} or {last}", before.join(", ")),
        };
        Some(format!("{work} with {named}"))
    };
    lines.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[&str] = &["read_file", "grep", "string_replace", "write", "run_terminal_cmd", "todo_write"];

    fn full() -> Prompts {
        Prompts { bundle: Bundle::Full, ..Prompts::default() }
    }

    fn headings(text: &str) -> Vec<&str> {
        text.lines().filter(|line| line.starts_with('#')).collect()
    }

    #[test]
    fn lean_text_is_short_and_says_six_things_of_the_harness() {
        let text = Prompts::default().system(ALL);
        assert!(text.chars().count() <= 1200, "{}", text.chars().count());
        assert_eq!(headings(&text), ["# Harness"]);
        assert_eq!(text.matches("\n- ").count(), 6);
        assert_eq!(Prompts::default().system(&[]), text);
    }

    #[test]
    fn full_text_has_its_sections_in_order_and_no_other() {
        let using = "# Using your tools";
        let all = ["# System", "# Doing tasks", "# Executing actions with care", using, "# Tone and style"];
        let text = full().system(ALL);
        assert_eq!(headings(&text), all);
        let none = full().system(&[]);
        assert_eq!(headings(&none), [all[0], all[1], all[2], all[4]]);
        let points = |heading: &str| {
            let after = text.split_once(heading).map(|(_, after)| after).unwrap_or_default();
            after.split("\n# ").next().unwrap_or_default().matches("\n- ").count()
        };
        assert_eq!([points("# System"), points(using), points("# Tone and style")], [7, 3, 4]);
        assert!(text.contains("Never invent a URL"));
        assert!(!text.contains("{{"), "{text}");
    }

    #[test]
    fn the_base_prompt_takes_the_place_of_the_identity_in_both_bundles() {
        for bundle in [Bundle::Lean, Bundle::Full] {
            let text = Prompts { bundle, base: Some("You are X.".to_owned()), ..Prompts::default() }.system(ALL);
            assert!(text.starts_with("You are X.\n\nHelp"), "{text}");
            assert!(!text.contains("You are a coding agent"));
        }
    }

    #[test]
    fn only_tools_that_are_there_are_spoken_of() {
        let said = |tools: &[&str]| {
            let text = full().using(tools).unwrap_or_default();
            ["instead of `run_terminal_cmd`", "`todo_write`", "in one message"].map(|piece| text.contains(piece))
        };
        assert_eq!(said(ALL), [true, true, true]);
        assert_eq!(said(&["run_terminal_cmd"]), [false, false, false]);
        assert_eq!(said(&["run_terminal_cmd", "todo_write"]), [false, true, true]);
        assert_eq!(said(&["read_file", "grep"]), [false, false, true]);
        assert_eq!(full().using(&["read_file"]), None);
        assert_eq!(
            full().dedicated(ALL),
            "Read with read_file, search with grep, change files with string_replace or write; use this for the rest."
        );
        assert_eq!(full().dedicated(&["run_terminal_cmd"]), "");
    }
}
