//! Decides whether a prepared call runs, asks, or is refused.

use super::leave::{Files, Leave};
pub use super::mode::{Mode, UnknownMode};
use super::rule::{Matcher, Rule, Scope, Verdict};
use crate::event::{AskChoice, AskOption};
use crate::tool::call::{Prepared, Zone};
use crate::tool::spec::{Class, Kind, Spec};

/// What decisions are made with, besides the mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Rules of the configuration and lasting grants of the user, in no particular order.
    pub rules: Vec<Rule>,
    /// Whether the user trusts the project, so that its own programs may run without being asked about where the mode
    /// says so.
    pub trusted: bool,
    /// What this machine can hold a command to.
    pub sandbox: Sandbox,
}

/// What the kernel can enforce here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// Where a command writes.
    pub files: bool,
    /// That a command has no network.
    pub network: bool,
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Allow(Leave),
    /// A client is asked first.
    Ask {
        /// Why, for people.
        reason: String,
        /// The answers offered.
        options: Vec<AskOption>,
        /// What it may do when it is allowed.
        leave: Leave,
    },
    /// It does not run; the reason is told to the model.
    Deny(String),
}

/// Decides one call from its prepared facts. `grants` are the session's own.
pub fn decide(mode: Mode, policy: &Policy, grants: &[Rule], spec: &Spec, prepared: &Prepared) -> Decision {
    if spec.kind == Kind::Host {
        return Decision::Allow(Leave::default());
    }
    let granted = policy
        .rules
        .iter()
        .chain(grants)
        .any(|rule| rule.verdict == Verdict::Allow && exact(spec, prepared).contains(&rule.matcher));
    let protected = prepared.targets.iter().find(|target| target.zone == Zone::Protected);
    let outside = prepared.targets.iter().find(|target| target.zone == Zone::Outside);
    let leave = match mode {
        Mode::Full => Leave::FREE,
        Mode::Auto | Mode::Plan => Leave { files: Files::Roots, network: false },
        Mode::Ask | Mode::AcceptEdits => Leave { files: Files::Roots, network: true },
    };
    let allow = Decision::Allow(leave);
    match (mode, protected, outside, spec.class) {
        (Mode::Full, Some(target), _, _) if !granted => {
            ask(format!("{} is a protected place", target.path), spec, prepared, leave)
        }
        (Mode::Full, _, _, _) => allow,
        (_, Some(target), _, _) => Decision::Deny(format!(
            "{} is protected (Plimsoll's own folders, the insides of .git, key files) and is not opened in mode `{mode}`",
            target.path
        )),
        (_, None, None, Class::Read | Class::Interact) => allow,
        (_, None, _, _) if granted => allow,
        (_, None, Some(target), Class::Read) => {
            ask(format!("{} lies outside the project", target.path), spec, prepared, leave)
        }
        (_, None, Some(target), _) => {
            ask(format!("it acts outside the project, in {}", target.path), spec, prepared, leave)
        }
        (_, None, None, Class::Execute) => ask("it runs a command".to_owned(), spec, prepared, leave),
        (_, None, None, Class::Write) => ask("it changes files".to_owned(), spec, prepared, leave),
        (_, None, None, Class::Network) => ask("it uses the network".to_owned(), spec, prepared, leave),
    }
}

/// The rules that cover exactly this call.
fn exact(spec: &Spec, prepared: &Prepared) -> Vec<Matcher> {
    let matcher = |pattern: &String| Matcher { tool: spec.name.to_owned(), pattern: Some(pattern.clone()) };
    match &prepared.command {
        Some(command) => vec![matcher(command)],
        None => prepared.targets.iter().map(|target| matcher(&target.path)).collect(),
    }
}

/// The grants that an answer that lasts stands for.
pub fn grants(option: &AskOption, scope: Scope) -> Vec<Rule> {
    let rules = option.rules.iter().filter_map(|rule| rule.parse().ok());
    rules.map(|matcher| Rule { verdict: Verdict::Allow, scope, matcher }).collect()
}

fn ask(reason: String, spec: &Spec, prepared: &Prepared, leave: Leave) -> Decision {
    let rules: Vec<String> = exact(spec, prepared).iter().map(ToString::to_string).collect();
    let lasting = match &prepared.command {
        Some(command) => format!("Allow exactly `{command}` for this session"),
        None => format!("Allow {} on exactly this path for this session", spec.name),
    };
    let option = |kind, label: String, rules| AskOption { kind, label, rules };
    Decision::Ask {
        reason,
        options: vec![
            option(AskChoice::AllowOnce, "Allow once".to_owned(), Vec::new()),
            option(AskChoice::AllowSession, lasting, rules),
            option(AskChoice::Reject, "Reject".to_owned(), Vec::new()),
        ],
        leave,
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
            ..Prepared::default()
        }
    }

    fn check(mode: Mode, tool: &str, prepared: &Prepared, grants: &[Rule], expected: &str) {
        let word = match decide(mode, &Policy::default(), grants, spec::find(tool).unwrap(), prepared) {
            Decision::Allow(_) => "allow",
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
        let matcher = "run_terminal_cmd(make)".parse().unwrap();
        let grants = [Rule { verdict: Verdict::Allow, scope: Scope::Session, matcher }];
        check(Mode::Ask, "run_terminal_cmd", &prepared(root(), Some("make")), &grants, "allow");
        check(Mode::Ask, "run_terminal_cmd", &prepared(root(), Some("make install")), &grants, "ask");
        check(Mode::Ask, "run_terminal_cmd", &prepared(root(), Some("make; rm -r .")), &grants, "ask");
    }
}
