//! Decides whether a prepared call runs, asks, or is refused.

use super::leave::Leave;
pub use super::mode::{Mode, Modes, UnknownMode};
use super::rule::{COMMAND, Rule, Scope, TESTS, Verdict};
use super::{commands, paths};
use crate::event::AskOption;
use crate::tool::call::Prepared;
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
    /// What commands are run by.
    pub shell: Shell,
    /// Between which modes a session may be.
    pub modes: Modes,
}

/// The shell that runs commands. Commands are understood as bash does; where it is missing, each is asked about, and only
/// its exact text can be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shell {
    /// Bash.
    #[default]
    Bash,
    /// Another shell, or none.
    Other,
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
    let about = |rule: &&Rule| match rule.matcher.tool.as_str() {
        TESTS if spec.name == TESTS => policy.trusted || !is_blank_cheque(rule),
        // Tests are a command, whichever tool runs it.
        COMMAND => matches!(spec.name, COMMAND | TESTS),
        tool => tool == spec.name,
    };
    let rules = Rules { all: policy.rules.iter().chain(grants).filter(about).collect() };
    match (spec.class, &prepared.command) {
        (Class::Execute, Some(command)) => {
            let writes = policy.rules.iter().chain(grants).filter(|rule| paths::writes(rule)).collect();
            let chosen = if spec.name == TESTS { Chosen::ByProject } else { Chosen::ByModel };
            commands::decide(mode, policy, &rules, &Rules { all: writes }, prepared, (command, chosen))
        }
        (Class::Read | Class::Write | Class::Execute | Class::Network | Class::Interact, _) => {
            paths::decide(mode, &rules, spec, prepared)
        }
    }
}

/// Whether a rule allows whatever command a project names for its tests, and was not made for one project: of a project that
/// the user does not trust it says nothing.
fn is_blank_cheque(rule: &Rule) -> bool {
    let of_any_project = matches!(rule.scope, Scope::Managed | Scope::User);
    rule.verdict == Verdict::Allow && rule.matcher.pattern.is_none() && of_any_project
}

/// Who chose a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    /// The model wrote it.
    ByModel,
    /// The project's files say it, and it runs the project's own code.
    ByProject,
}

/// The rules that are about one tool.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    pub(super) all: Vec<&'a Rule>,
}

impl<'a> Rules<'a> {
    /// Those with this verdict.
    pub(super) fn with(&self, verdict: Verdict) -> impl Iterator<Item = &'a Rule> {
        self.all.iter().copied().filter(move |rule| rule.verdict == verdict)
    }
}

/// Names a rule and who made it, for a sentence.
pub(super) fn cited(rule: &Rule) -> String {
    let whose = match rule.scope {
        Scope::Managed => "the administrator's rule",
        Scope::User => "the user's rule",
        Scope::Project => "the user's rule for this project",
        Scope::Session => "the user's rule for this session",
    };
    format!("{whose} `{}`", rule.matcher)
}

/// What a call that runs may do in a mode, once it may run. Network is what an approval gives.
pub(super) fn leave(mode: Mode) -> Leave {
    use super::leave::Files;
    match mode {
        Mode::Full => Leave::FREE,
        Mode::Auto | Mode::Plan => Leave { files: Files::Roots, network: false },
        Mode::Ask | Mode::AcceptEdits => Leave { files: Files::Roots, network: true },
    }
}

/// The grants that an answer that lasts stands for.
pub fn grants(option: &AskOption, scope: Scope) -> Vec<Rule> {
    let rules = option.rules.iter().filter_map(|rule| rule.parse().ok());
    rules.map(|matcher| Rule { verdict: Verdict::Allow, scope, matcher }).collect()
}
