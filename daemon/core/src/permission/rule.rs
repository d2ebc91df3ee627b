//! Rules: what a user, an administrator or a grant allows, has asked, or denies.
//!
//! The text form is `<tool>` or `<tool>(<pattern>)`; the pattern is everything up to the last character, which is `)`.
//!
//! For `run_terminal_cmd` the pattern is one simple command, word for word, quoted as in the shell; a last word `*` stands for
//! any further words. A pattern that begins with `=` is the exact text of a whole command, whatever that holds. What allows
//! covers no more than these words; what asks or denies covers every command that begins with them, also inside others.
//!
//! What a rule for `run_terminal_cmd` says of a command holds also where `run_tests` would run it; a rule for `run_tests` is about
//! that tool alone, and is written in the same way.
//!
//! For tools with paths the pattern is a [`glob`](super::glob) over the canonical path when it begins with `/`, else over the
//! path from a root.

use super::command::word;
use super::glob;
use crate::tool::call::{Target, Zone};
use crate::tool::spec::{self, Class};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A client is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// Who made a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The administrator.
    Managed,
    /// The user's own configuration.
    User,
    /// An answer of the user, for this project from then on.
    Project,
    /// An answer of the user, for one session.
    Session,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// What it says.
    pub verdict: Verdict,
    /// Who made it.
    pub scope: Scope,
    /// Which calls it is about.
    pub matcher: Matcher,
}

/// Which calls a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matcher {
    /// The tool's name.
    pub tool: String,
    /// See the module's head; none covers every call of the tool.
    pub pattern: Option<String>,
}

/// A pattern for commands, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commands {
    /// Every command.
    All,
    /// The command with exactly this text.
    Text(String),
    /// One simple command.
    Words {
        /// Its words.
        words: Vec<String>,
        /// Whether any words may follow.
        more: bool,
    },
}

/// A text that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a rule: {problem}")]
pub struct BadRule {
    /// The text.
    pub text: String,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

impl FromStr for Matcher {
    type Err = BadRule;
    fn from_str(text: &str) -> Result<Self, BadRule> {
        let bad = |problem: String| BadRule { text: text.to_owned(), problem };
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => {
                let pattern = rest.strip_suffix(')');
                let pattern = pattern.ok_or_else(|| bad("its last character must be `)`".to_owned()))?;
                (tool, Some(pattern.to_owned()))
            }
            None => (text, None),
        };
        let Some(spec) = spec::find(tool) else {
            let known: Vec<&str> = spec::SPECS.iter().map(|spec| spec.name).collect();
            return Err(bad(format!("there is no tool `{tool}`; there are {}", known.join(", "))));
        };
        let matcher = Self { tool: tool.to_owned(), pattern };
        match (&matcher.pattern, spec.class) {
            (Some(_), Class::Execute) => drop(matcher.commands().map_err(bad)?),
            (Some(pattern), Class::Read | Class::Write) => {
                if let Some(problem) = glob::problem(pattern) {
                    return Err(bad(problem));
                }
            }
            (Some(_), Class::Network | Class::Interact) => {
                return Err(bad(format!("`{tool}` has nothing that a pattern could be about; write `{tool}`")));
            }
            (None, _) => {}
        }
        Ok(matcher)
    }
}

impl Matcher {
    /// The rule for exactly this text of a command.
    pub fn text(command: &str) -> Self {
        Self { tool: COMMAND.to_owned(), pattern: Some(format!("={command}")) }
    }

    /// The rule for one simple command of exactly these words.
    pub fn words(words: &[&str]) -> Self {
        let quoted: Vec<String> = words.iter().map(|text| word::quote(text)).collect();
        Self { tool: COMMAND.to_owned(), pattern: Some(quoted.join(" ")) }
    }

    /// The rule for calls of a tool on exactly this target.
    pub fn path(tool: &str, target: &Target) -> Self {
        Self { tool: tool.to_owned(), pattern: Some(glob::exactly(&target.path)) }
    }

    /// Reads the pattern as one for commands; the error is a clause that says what would be right.
    pub fn commands(&self) -> Result<Commands, String> {
        let Some(pattern) = &self.pattern else { return Ok(Commands::All) };
        if let Some(text) = pattern.strip_prefix('=') {
            return Ok(Commands::Text(text.to_owned()));
        }
        let exact = || format!("for the exact text of a command write `{}`", Self::text(pattern));
        let mut words = word::split(pattern).map_err(|error| format!("{error}; {}", exact()))?;
        let more = words.last().is_some_and(|word| word.source == "*");
        if more {
            words.pop();
        }
        let literal = |word: &word::Word| {
            word.literal().map(str::to_owned).ok_or_else(|| {
                let star = "a `*` for any further words is a word of its own, and the last one".to_owned();
                format!("`{word}` is not a plain word: {star}; {}", exact())
            })
        };
        let words = words.iter().map(literal).collect::<Result<Vec<String>, String>>()?;
        match words.first() {
            None => Err(format!("it names no program; write `{COMMAND}` to cover all commands")),
            Some(first) if assigns(first) => Err(format!("it sets a variable; {}", exact())),
            Some(_) => Ok(Commands::Words { words, more }),
        }
    }

    /// Whether this is a rule of that tool about that target. A rule without a pattern is about all targets.
    pub fn is_about(&self, tool: &str, target: &Target) -> bool {
        if self.tool != tool {
            return false;
        }
        match (&self.pattern, &target.zone) {
            (None, _) => true,
            (Some(pattern), _) if pattern.starts_with('/') => glob::covers(pattern, &target.path),
            (Some(pattern), Zone::Root(path)) => glob::covers(pattern, &path.rel),
            (Some(_), Zone::Readable | Zone::Plan | Zone::Protected | Zone::Outside) => false,
        }
    }
}

/// The tool that runs commands.
pub const COMMAND: &str = "run_terminal_cmd";

/// The tool that runs the project's tests: a command that the project chooses.
pub const TESTS: &str = "run_tests";

fn assigns(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: Result<Commands, &str>) {
        let read = text.parse::<Matcher>().map_err(|error| error.problem).and_then(|matcher| matcher.commands());
        match (read, expected) {
            (Err(problem), Err(part)) => assert!(problem.contains(part), "{text}: {problem}"),
            (read, expected) => assert_eq!(read, expected.map_err(str::to_owned), "{text}"),
        }
    }

    fn words(words: &[&str], more: bool) -> Commands {
        Commands::Words { words: words.iter().map(|word| (*word).to_owned()).collect(), more }
    }

    #[test]
    fn patterns_for_commands_are_words_or_exact_texts() {
        check("run_terminal_cmd", Ok(Commands::All));
        check("run_terminal_cmd(git status)", Ok(words(&["git", "status"], false)));
        check("run_terminal_cmd(cargo test *)", Ok(words(&["cargo", "test"], true)));
        check("run_terminal_cmd(git commit -m 'a (b)')", Ok(words(&["git", "commit", "-m", "a (b)"], false)));
        check("run_terminal_cmd(rm '*')", Ok(words(&["rm", "*"], false)));
        check("run_terminal_cmd(=rm *)", Ok(Commands::Text("rm *".into())));
        check("run_terminal_cmd(=ls | (sh)\n)", Ok(Commands::Text("ls | (sh)\n".into())));
    }

    #[test]
    fn bad_rules_say_what_would_be_right() {
        check("run_terminal_cmd(git status", Err("its last character must be `)`"));
        check("run_terminal_cmd()", Err("it names no program"));
        check("run_terminal_cmd(*)", Err("write `run_terminal_cmd` to cover all commands"));
        check("run_terminal_cmd(npm run test:*)", Err("a word of its own"));
        check("run_terminal_cmd(ls; rm x)", Err("write `run_terminal_cmd(=ls; rm x)`"));
        check("run_terminal_cmd(echo $HOME)", Err("write `run_terminal_cmd(=echo $HOME)`"));
        check("run_terminal_cmd(A=b ls)", Err("it sets a variable"));
        check("bash(ls)", Err("there is no tool `bash`"));
        check("write(~/x)", Err("write the absolute path"));
        check("write(a[b)", Err("write `\\[` for the character"));
        check("stop_task(x)", Err("write `stop_task`"));
    }

    proptest! {
        #[test]
        fn any_text_of_a_command_is_read_as_it_was_written(command in "(?s).{0,60}") {
            let matcher = Matcher::text(&command);
            prop_assert_eq!(matcher.to_string().parse::<Matcher>().unwrap(), matcher.clone());
            prop_assert_eq!(matcher.commands().unwrap(), Commands::Text(command));
        }

        #[test]
        fn any_words_are_read_as_they_were_written(first in "[a-z]{1,5}", rest in proptest::collection::vec("(?s).{0,12}", 0..5)) {
            let mut words = vec![first.as_str()];
            words.extend(rest.iter().map(String::as_str));
            let matcher = Matcher::words(&words);
            prop_assert_eq!(matcher.to_string().parse::<Matcher>().unwrap(), matcher.clone());
            let expected = words.iter().map(|word| (*word).to_owned()).collect();
            prop_assert_eq!(matcher.commands().unwrap(), Commands::Words { words: expected, more: false });
        }

        #[test]
        fn any_text_is_a_rule_or_a_clear_error(text in "(?s)(run_terminal_cmd|write)?.{0,30}") {
            if let Ok(matcher) = text.parse::<Matcher>() {
                prop_assert_eq!(matcher.to_string(), text);
            }
        }
    }
}
