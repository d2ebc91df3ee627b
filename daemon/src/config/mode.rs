//! The permission modes that this build knows.

use std::fmt;
use std::str::FromStr;

/// How much is done without asking. The order is that of freedom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PermissionMode {
    /// Reading is free, everything else asks.
    #[default]
    Ask,
    /// Nothing asks.
    Full,
}

impl PermissionMode {
    /// As the configuration writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no mode of this build.
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

/// Modes of Plimsoll's specification that this build does not have.
const NOT_YET: [&str; 3] = ["plan", "accept_edits", "auto"];

impl FromStr for PermissionMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        match text {
            "ask" => Ok(Self::Ask),
            "full" => Ok(Self::Full),
            _ => {
                let shown: String = text.chars().take(40).collect();
                let problem = if NOT_YET.contains(&text) {
                    format!("this build does not have the permission mode `{shown}`")
                } else {
                    format!("`{shown}` is not a permission mode")
                };
                Err(UnknownMode { problem, fix: "Write \"ask\" or \"full\"".to_owned() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_this_build_parse_and_others_name_the_two() {
        assert_eq!("ask".parse(), Ok(PermissionMode::Ask));
        assert_eq!("full".parse(), Ok(PermissionMode::Full));
        for other in ["plan", "accept_edits", "auto", "yolo", ""] {
            let error = other.parse::<PermissionMode>().unwrap_err();
            assert_eq!(error.fix, "Write \"ask\" or \"full\"");
            assert_eq!(error.problem.starts_with("this build does not have"), NOT_YET.contains(&other));
        }
    }
}
