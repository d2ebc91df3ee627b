//! What is missing before a task counts as done.

use super::Task;
use super::deed::{Deed, breaches};
use crate::id::Revision;
use crate::permission::policy::Shell;
use crate::verification::Verification;

/// What the host knows when it is asked.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// Operations of which nobody knows whether they took effect, each as it is named to the model.
    pub unsettled: &'a [String],
    /// The last test run.
    pub verification: Option<&'a Verification>,
    /// The revision now.
    pub revision: Revision,
    /// What the session's calls have done.
    pub deeds: &'a [Deed],
    /// The project's roots, absolute paths in text form.
    pub roots: &'a [String],
    /// What commands are run by.
    pub shell: Shell,
}

/// What is missing, as sentences for the model; nothing is missing when there are none.
///
/// Tests are wanted as soon as one call of the session changed files of the project, unless the user waived them.
pub fn missing(task: &Task, facts: &Facts<'_>) -> Vec<String> {
    let mut missing = Vec::new();
    if !facts.unsettled.is_empty() {
        missing.push(format!(
            "whether these took effect is not known: {}. Ask inspect_operation; what it cannot tell, the user settles.",
            facts.unsettled.join(", ")
        ));
    }
    let changed = facts.deeds.iter().any(|deed| deed.changed);
    if changed && !task.waived {
        missing.extend(untested(facts.verification, facts.revision));
    }
    missing.extend(breaches(task, facts.deeds, facts.roots, facts.shell));
    missing
}

/// Why the tests do not speak for this revision.
fn untested(run: Option<&Verification>, now: Revision) -> Option<String> {
    let Some(run) = run else {
        return Some("files were changed and no tests ran: call run_tests, or the user waives them.".to_owned());
    };
    if run.holds_for(now) {
        return None;
    }
    let call = run.call;
    Some(if run.void {
        format!(
            "the tests of {call} say nothing, since somebody else changed files while they ran: call run_tests again."
        )
    } else if !run.passed {
        format!("the tests of {call} failed at {}.", run.after)
    } else if run.partial {
        format!(
            "the tests of {call} were limited by `target`, so they do not speak for the whole: call run_tests again without `target`."
        )
    } else {
        format!("the tests of {call} passed at {}, and the files are at {now} now: call run_tests again.", run.after)
    })
}
