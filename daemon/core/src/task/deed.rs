//! What the calls of a session have done, as its transcript has it, and whether a constraint forbade it.

use super::{Constraint, Task};
use crate::id::{CallId, ItemNo};
use crate::path::WorkspacePath;
use crate::permission::mode::Mode;
use crate::permission::policy::{Decision, Policy, Shell, decide};
use crate::permission::rule::Rule;
use crate::tool::call::{Prepared, Target, Zone};
use crate::tool::spec::{self, Spec};

/// A call that had, or may have had, an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// The item of the call.
    pub item: ItemNo,
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The command line, for commands.
    pub command: Option<String>,
    /// Canonical absolute paths that it wrote, in text form.
    pub paths: Vec<String>,
    /// Whether it is known to have taken effect.
    pub took_effect: bool,
    /// Whether files of the project are other than before.
    pub changed: bool,
}

impl Deed {
    /// What it did, for a sentence.
    fn what(&self) -> String {
        match &self.command {
            Some(command) => format!("{} ran `{}`", self.call, super::shown::short(command)),
            None => format!("{} ({}) wrote {}", self.call, self.tool, self.paths.join(", ")),
        }
    }

    /// Its facts as a decision wants them. The roots are absolute paths in text form.
    fn prepared(&self, roots: &[String]) -> Prepared {
        let targets = match (&self.command, roots.first()) {
            (Some(_), Some(root)) => vec![target(root, roots)],
            _ => self.paths.iter().map(|path| target(path, roots)).collect(),
        };
        Prepared { targets, command: self.command.clone(), ..Prepared::default() }
    }
}

/// A path with the place where it lies among these roots.
fn target(path: &str, roots: &[String]) -> Target {
    let inside = |(no, root): (u16, &String)| {
        let rest = path.strip_prefix(root.as_str())?;
        let rel = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
        Some(Zone::Root(WorkspacePath::new(no, rel)))
    };
    let zone = (0..).zip(roots).find_map(inside).unwrap_or(Zone::Outside);
    Target { path: path.to_owned(), zone }
}

/// Whether rules that deny are about a call, whatever else holds.
fn denied(rules: &[Rule], spec: &Spec, prepared: &Prepared, shell: Shell) -> bool {
    let policy = Policy { shell, ..Policy::default() };
    matches!(decide(Mode::Full, &policy, rules, spec, prepared), Decision::Deny(_))
}

/// The constraint that forbids a call, the first one.
pub fn forbidding<'a>(task: &'a Task, spec: &Spec, prepared: &Prepared, shell: Shell) -> Option<&'a Constraint> {
    // What is refused without any rule is not refused because of one.
    let bound = !denied(&[], spec, prepared, shell);
    task.constraints.iter().find(|constraint| bound && denied(&constraint.rules(), spec, prepared, shell))
}

/// What was done against the constraints after the user had said them, as sentences.
pub fn breaches(task: &Task, deeds: &[Deed], roots: &[String], shell: Shell) -> Vec<String> {
    let mut found = Vec::new();
    for constraint in &task.constraints {
        let (Some(said), rules) = (constraint.item, constraint.rules()) else { continue };
        for deed in deeds.iter().filter(|deed| deed.item > said && deed.took_effect) {
            let Some(spec) = spec::find(&deed.tool) else { continue };
            if denied(&rules, spec, &deed.prepared(roots), shell) {
                found.push(format!(
                    "constraint {} ({:?}) was broken: {}. Only the user can lift it, by removing the constraint.",
                    constraint.id,
                    super::shown::short(&constraint.quote),
                    deed.what(),
                ));
            }
        }
    }
    found
}
