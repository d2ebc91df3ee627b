//! Decides whether a prepared call runs, asks, or is refused.

use crate::event::{AskChoice, AskOption};
use crate::tool::call::{Prepared, Zone};
use crate::tool::spec::{Class, Kind, Spec};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The permission mode of a session, as the user chose it. The order is that of freedom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Reads inside the project are free, everything else asks.
    #[default]
    Ask,
    /// Nothing asks but what lies in protected places.
    Full,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ask => "ask",
            Self::Full => "full",
        })
    }
}

/// A word that names no mode of this build.
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

/// Modes that other builds have.
const NOT_HERE: [&str; 3] = ["plan", "accept_edits", "auto"];

impl FromStr for Mode {
    type Err = UnknownMode;
    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        match word {
            "ask" => Ok(Self::Ask),
            "full" => Ok(Self::Full),
            other => {
                let shown: String = other.chars().take(40).collect();
                let problem = if NOT_HERE.contains(&other) {
                    format!("this build does not have the permission mode `{shown}`")
                } else {
                    format!("`{shown}` is not a permission mode")
                };
                Err(UnknownMode { problem, fix: "Write \"ask\" or \"full\"".to_owned() })
            }
        }
    }
}

/// What a user allowed for the rest of a session: calls that are equal to the one that was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The tool.
    pub tool: String,
    /// The exact command, for commands.
    pub command: Option<String>,
    /// The canonical paths of all targets.
    pub paths: Vec<String>,
}

impl Grant {
    /// The grant that covers exactly this call.
    pub fn of(tool: &str, prepared: &Prepared) -> Self {
        Self {
            tool: tool.to_owned(),
            command: prepared.command.clone(),
            paths: prepared.targets.iter().map(|target| target.path.clone()).collect(),
        }
    }
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Allow,
    /// A client is asked first.
    Ask {
        /// Why, for people.
        reason: String,
        /// The answers offered.
        options: Vec<AskOption>,
    },
    /// It does not run; the reason is told to the model.
    Deny(String),
}

/// Decides one call from its prepared facts.
pub fn decide(mode: Mode, spec: &Spec, prepared: &Prepared, grants: &[Grant]) -> Decision {
    if spec.kind == Kind::Host {
        return Decision::Allow;
    }
    let granted = grants.contains(&Grant::of(spec.name, prepared));
    let protected = prepared.targets.iter().find(|target| target.zone == Zone::Protected);
    let outside = prepared.targets.iter().find(|target| target.zone == Zone::Outside);
    match (mode, protected, outside, spec.class) {
        (Mode::Ask, Some(target), _, _) => Decision::Deny(format!(
            "{} is protected (Plimsoll's own folders, the insides of .git, key files) and is not opened in mode `ask`",
            target.path
        )),
        (Mode::Full, Some(target), _, _) if !granted => {
            ask(format!("{} is a protected place", target.path), spec, prepared)
        }
        (Mode::Full, _, _, _) | (Mode::Ask, None, None, Class::Read | Class::Interact) => Decision::Allow,
        (Mode::Ask, None, _, _) if granted => Decision::Allow,
        (Mode::Ask, None, Some(target), Class::Read) => {
            ask(format!("{} lies outside the project", target.path), spec, prepared)
        }
        (Mode::Ask, None, Some(target), _) => {
            ask(format!("it acts outside the project, in {}", target.path), spec, prepared)
        }
        (Mode::Ask, None, None, Class::Execute) => ask("it runs a command".to_owned(), spec, prepared),
        (Mode::Ask, None, None, Class::Write) => ask("it changes files".to_owned(), spec, prepared),
        (Mode::Ask, None, None, Class::Network) => ask("it uses the network".to_owned(), spec, prepared),
    }
}

fn ask(reason: String, spec: &Spec, prepared: &Prepared) -> Decision {
    let lasting = match &prepared.command {
        Some(command) => format!("Allow exactly `{command}` for this session"),
        None => format!("Allow {} on exactly this path for this session", spec.name),
    };
    let option = |kind, label: String| AskOption { kind, label };
    Decision::Ask {
        reason,
        options: vec![
            option(AskChoice::AllowOnce, "Allow once".to_owned()),
            option(AskChoice::AllowSession, lasting),
            option(AskChoice::Reject, "Reject".to_owned()),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::WorkspacePath;
    use crate::tool::call::Target;
    use crate::tool::spec;

    fn prepared(zone: Zone, command: Option<&str>) -> Prepared {
        Prepared {
            targets: vec![Target { path: "/p/x".to_owned(), zone }],
            command: command.map(str::to_owned),
            title: String::new(),
        }
    }

    fn check(mode: Mode, tool: &str, prepared: &Prepared, grants: &[Grant], expected: &str) {
        let word = match decide(mode, spec::find(tool).unwrap(), prepared, grants) {
            Decision::Allow => "allow",
            Decision::Ask { .. } => "ask",
            Decision::Deny(_) => "deny",
        };
        assert_eq!(word, expected, "{mode} {tool} {prepared:?}");
    }

    #[test]
    fn modes_decide_by_class_and_zone() {
        let root = || Zone::Root(WorkspacePath::new(0, "x"));
        check(Mode::Ask, "read_file", &prepared(root(), None), &[], "allow");
        check(Mode::Ask, "read_file", &prepared(Zone::Readable, None), &[], "allow");
        check(Mode::Ask, "read_file", &prepared(Zone::Outside, None), &[], "ask");
        check(Mode::Ask, "read_file", &prepared(Zone::Protected, None), &[], "deny");
        check(Mode::Ask, "run_terminal_cmd", &prepared(root(), Some("ls")), &[], "ask");
        check(Mode::Full, "run_terminal_cmd", &prepared(Zone::Outside, Some("ls")), &[], "allow");
        check(Mode::Full, "read_file", &prepared(Zone::Protected, None), &[], "ask");
    }

    #[test]
    fn a_grant_covers_the_shown_call_and_no_other() {
        let root = || Zone::Root(WorkspacePath::new(0, "x"));
        let grants = [Grant::of("run_terminal_cmd", &prepared(root(), Some("make")))];
        check(Mode::Ask, "run_terminal_cmd", &prepared(root(), Some("make")), &grants, "allow");
        check(Mode::Ask, "run_terminal_cmd", &prepared(root(), Some("make install")), &grants, "ask");
        check(Mode::Ask, "run_terminal_cmd", &prepared(root(), Some("make; rm -r .")), &grants, "ask");
    }

    #[test]
    fn modes_of_this_build_parse_and_others_name_the_two() {
        assert_eq!(("ask".parse(), "full".parse()), (Ok(Mode::Ask), Ok(Mode::Full)));
        for other in ["plan", "accept_edits", "auto", "yolo", ""] {
            let error = other.parse::<Mode>().unwrap_err();
            assert_eq!(error.fix, "Write \"ask\" or \"full\"");
            assert_eq!(error.problem.starts_with("this build does not have"), NOT_HERE.contains(&other));
        }
    }
}
