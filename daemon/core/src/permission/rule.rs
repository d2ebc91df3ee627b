//! Rules: what a user, an administrator or a grant allows, has asked, or denies.
//!
//! The text form is `<tool>` or `<tool>(<pattern>)`. For `run_terminal_cmd` the pattern is one simple command, word for
//! word; a last word `*` stands for any further words. For tools with paths it is a glob over the canonical path, or over
//! the path from a root when it does not begin with `/`.

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
        let bad = |problem: &str| BadRule { text: text.to_owned(), problem: problem.to_owned() };
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => {
                let pattern = rest.strip_suffix(')').ok_or_else(|| bad("its last character must be `)`"))?;
                (tool, Some(pattern.to_owned()))
            }
            None => (text, None),
        };
        if crate::tool::spec::find(tool).is_none() {
            return Err(bad(&format!("there is no tool `{tool}`")));
        }
        Ok(Self { tool: tool.to_owned(), pattern })
    }
}
