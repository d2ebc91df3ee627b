//! Permission modes.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The permission mode of a session, as the user chose it. The order is that of freedom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Looks and plans; nothing but the plan file is changed.
    Plan,
    /// Reads inside the project are free, everything else asks.
    #[default]
    Ask,
    /// As `ask`, but files in the roots are changed without asking.
    AcceptEdits,
    /// Everything that the sandbox can hold in is free, without network.
    Auto,
    /// Nothing asks but what lies in protected places.
    Full,
}

impl Mode {
    /// Every mode, from the least free.
    pub const ALL: [Self; 5] = [Self::Plan, Self::Ask, Self::AcceptEdits, Self::Auto, Self::Full];

    /// The word for it in files and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::AcceptEdits => "accept_edits",
            Self::Auto => "auto",
            Self::Full => "full",
        }
    }

    /// What it means, in one line for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Plan => "Looks and plans, changes nothing",
            Self::Ask => "Asks before it changes a file, runs a command or looks outside the project",
            Self::AcceptEdits => "Changes files in the project without asking, asks for the rest",
            Self::Auto => "Works without asking inside the sandbox, without network",
            Self::Full => "Asks nothing and has no limits on files and network",
        }
    }
}

/// Between which modes a session may be, as far as the administrator leaves the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    /// The least free.
    pub least: Mode,
    /// The freest.
    pub most: Mode,
}

impl Default for Modes {
    fn default() -> Self {
        Self { least: Mode::Plan, most: Mode::Full }
    }
}

impl Modes {
    /// The mode that counts where this one was chosen.
    pub fn hold(self, mode: Mode) -> Mode {
        mode.min(self.most).max(self.least)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A word that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}. {fix}")]
pub struct UnknownMode {
    /// What is wrong.
    pub problem: String,
    /// What to write.
    pub fix: String,
}

impl From<UnknownMode> for (String, String) {
    fn from(error: UnknownMode) -> Self {
        (error.problem, error.fix)
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;
    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.word() == word).ok_or_else(|| UnknownMode {
            problem: format!("`{}` is not a permission mode", word.chars().take(40).collect::<String>()),
            fix: "Write \"plan\", \"ask\", \"accept_edits\", \"auto\" or \"full\"".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_written_as_they_are_read_and_ordered_by_freedom() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert_eq!(serde_json::to_string(&mode).unwrap(), format!("\"{mode}\""));
        }
        assert!(Mode::ALL.is_sorted());
        assert_eq!("yolo".parse::<Mode>().unwrap_err().problem, "`yolo` is not a permission mode");
    }
}
