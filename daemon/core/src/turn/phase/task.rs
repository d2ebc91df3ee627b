//! The task: what the model proposes for it, what a client sets, and what its constraints deny.

use super::super::effect::{Consult, Effect};
use super::super::machine::Machine;
use crate::event::EventBody;
use crate::id::{CallId, EvidenceId, ItemNo, Revision};
use crate::ledger::Operation;
use crate::permission::rule::Rule;
use crate::task::deed::{Deed, forbidding};
use crate::task::update::{Found, Merged, Update, merge};
use crate::task::{Phase, Task, gate};
use crate::tool::call::{Call, Prepared};
use crate::tool::outcome::{Body, Outcome, Status};
use crate::tool::spec::Spec;
use crate::verification::Verification;

/// What was found out about what a call of `update_task` cites.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Citations {
    /// Evidence that does not resolve, with why.
    pub unresolved: Vec<(EvidenceId, String)>,
    /// For each quote, the user's message that holds it.
    pub items: Vec<Option<ItemNo>>,
    /// What the session's calls have done; empty unless it was asked for.
    pub deeds: Vec<Deed>,
    /// The project's roots, absolute paths in text form.
    pub roots: Vec<String>,
    /// The revision now, with what was pending applied.
    pub revision: Revision,
}

impl Machine {
    /// The task as it stands.
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// The last test run.
    pub fn verification(&self) -> Option<&Verification> {
        self.verification.as_ref()
    }

    /// The project's revision as it was last seen.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Has looked up what the call cites; it is answered when that is known.
    pub(in crate::turn) fn update_task(&mut self, call: &Call) {
        let update = match read(call) {
            Ok(update) => update,
            Err(why) => return self.settle(call.id, Outcome::failed(why)),
        };
        let question =
            Consult::Citations { evidence: update.evidence(), quotes: update.quotes(), deeds: update.wants_done() };
        self.effects.push(Effect::Consult { call: call.id, question });
    }

    /// Takes the update in, now that it is known what it cites.
    pub(in crate::turn) fn cited(&mut self, id: CallId, found: Citations) -> Outcome {
        let Some(call) = self.slot(id).and_then(|slot| slot.call.clone()) else {
            return Outcome::failed("The call is not known any more.");
        };
        let update = match read(&call) {
            Ok(update) => update,
            Err(why) => return Outcome::failed(why),
        };
        self.see_revision(found.revision);
        let before = self.task.clone().unwrap_or_default();
        let Citations { unresolved, items, deeds, roots, .. } = found;
        let mut merged = merge(&before, &update, &Found { unresolved, items });
        if merged.done {
            let missing = self.missing(&merged.task, &deeds, &roots);
            if missing.is_empty() {
                merged.task.phase = Phase::Done;
                merged.taken.push("phase done".to_owned());
            } else {
                merged.refused.push(format!("phase done: {}", missing.join(" ")));
            }
        }
        if self.task.as_ref() != Some(&merged.task) && !merged.taken.is_empty() {
            self.put_task(merged.task.clone());
        }
        told(&merged)
    }

    /// What is missing before this task counts as done, as the host knows it now.
    pub fn missing(&self, task: &Task, deeds: &[Deed], roots: &[String]) -> Vec<String> {
        let unsettled: Vec<String> = self.unsettled.iter().map(Operation::line).collect();
        gate::missing(
            task,
            &gate::Facts {
                unsettled: &unsettled,
                verification: self.verification.as_ref(),
                revision: self.revision,
                deeds,
                roots,
                shell: self.settings.policy.shell,
            },
        )
    }

    /// A client has set the task. What it denies counts from the next decision on.
    pub(in crate::turn) fn set_task(&mut self, task: Task) {
        self.put_task(task);
        self.commit();
    }

    fn put_task(&mut self, task: Task) {
        self.task = Some(task.clone());
        self.held.task = Some(task);
        self.add_event(EventBody::TaskChanged);
    }

    /// Files are changed after the task was done: it is not done any more.
    pub(in crate::turn) fn reopen_task(&mut self) {
        if let Some(task) = self.task.clone().filter(|task| task.phase == Phase::Done) {
            self.put_task(Task { phase: Phase::Implement, ..task });
        }
    }

    /// The session's own rules: what was allowed for it, and what its task denies.
    pub(in crate::turn) fn own_rules(&self) -> Vec<Rule> {
        let denied = self.task.as_ref().map(Task::rules).unwrap_or_default();
        self.grants.iter().cloned().chain(denied).collect()
    }

    /// The user's words because of which a call is refused, as the end of a sentence; empty when it is not because of any.
    pub(in crate::turn) fn words_behind(&self, spec: &Spec, prepared: &Prepared) -> String {
        let shell = self.settings.policy.shell;
        let behind = self.task.as_ref().and_then(|task| forbidding(task, spec, prepared, shell));
        behind.map_or_else(String::new, |constraint| {
            format!(", because the user said {:?} (constraint {} of the task)", constraint.quote, constraint.id)
        })
    }
}

/// The arguments as an update; the error is text for the model.
fn read(call: &Call) -> Result<Update, String> {
    let update: Update =
        serde_json::from_value(call.args.clone()).map_err(|error| format!("The task was not changed: {error}"))?;
    if update.is_empty() {
        return Err(
            "The task was not changed: give what is to change, such as `goal`, `constraints` or `phase`.".to_owned()
        );
    }
    Ok(update)
}

/// What the model is told: what was taken, what was not, and how the task stands.
fn told(merged: &Merged) -> Outcome {
    let mut text = String::new();
    if !merged.taken.is_empty() {
        text = format!("Taken: {}.\n", merged.taken.join("; "));
    }
    if !merged.refused.is_empty() {
        text.push_str("Not taken:\n");
        for refused in &merged.refused {
            text.push_str("- ");
            text.push_str(refused);
            text.push('\n');
        }
    }
    text.push_str("The task now:\n");
    text.push_str(&merged.task.to_string());
    let status = if merged.taken.is_empty() { Status::Failed } else { Status::Ok };
    Outcome { status, body: Body::Text(text) }
}
