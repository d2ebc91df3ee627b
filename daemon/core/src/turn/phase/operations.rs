//! Operations whose end was not seen: told again until they are settled, never done a second time without the user, and
//! settled by what is found out.

use super::super::effect::{Consult, Effect};
use super::super::machine::Machine;
use crate::event::{AskChoice, AskOption, EventBody};
use crate::id::{CallId, Revision};
use crate::ledger::{FoundBy, OpState, Operation, Resolution, SeenFile, file_lines, judge};
use crate::permission::leave::Leave;
use crate::permission::policy::Decision;
use crate::tool::call::{Call, Prepared};
use crate::tool::outcome::{Body, Outcome, Status};
use crate::tool::spec::{Idempotence, Spec};
use crate::transcript::item::MetaCause;

/// Operations that an error names; of more only the number is told.
const NAMED: usize = 8;

/// What was found when an operation was looked at.
#[derive(Debug, Clone)]
pub(in crate::turn) struct Looked {
    /// None where the session has none of that call.
    pub(in crate::turn) operation: Option<Operation>,
    pub(in crate::turn) seen: Vec<SeenFile>,
    pub(in crate::turn) target: Option<SeenFile>,
    pub(in crate::turn) lines: Vec<String>,
    pub(in crate::turn) revision: Revision,
}

/// What becomes of a call that would do again what an operation did whose end was not seen.
pub(super) enum Repeat {
    /// It does not run; the model is told this.
    HeldBack(String),
    /// It was proposed again although that was told: the user is asked.
    Insisted(Box<Operation>),
}

impl Machine {
    /// Operations whose end was not seen and of which nothing decides whether they took effect, by call. Whoever tells the
    /// model what is open, or hands the work over, tells these.
    pub fn unsettled(&self) -> &[Operation] {
        &self.unsettled
    }

    pub(in crate::turn) fn unsettled_calls(&self) -> Vec<CallId> {
        self.unsettled.iter().map(|operation| operation.call).collect()
    }

    /// The end of an operation was not seen.
    pub(super) fn lost_sight_of(&mut self, operation: &Operation) {
        self.unsettled.retain(|known| known.call != operation.call);
        self.unsettled.push(operation.clone());
        self.unsettled.sort_by_key(|known| known.call);
    }

    /// What is known of an operation is another: stored, told to clients, and when it is settled, not told again.
    pub(in crate::turn) fn found(&mut self, operation: Operation) {
        let call = operation.call;
        if operation.is_unsettled() {
            self.lost_sight_of(&operation);
        } else {
            self.unsettled.retain(|known| known.call != call);
        }
        self.hold_operation(operation);
        self.add_event(EventBody::OperationChanged { call });
    }

    /// Tells what is still open when a turn begins, unless that was told since the prompt before.
    pub(super) fn tell_unsettled(&mut self) {
        if self.unsettled.is_empty() || self.view.told_since_prompt(MetaCause::UnknownOperations) {
            return;
        }
        let lines: Vec<String> = self.unsettled.iter().map(Operation::line).collect();
        self.remind(MetaCause::UnknownOperations, self.prompts().reminder_still_unknown(&lines));
    }

    /// Whether a prepared call would do again what an operation did that is not settled; that operation.
    pub(super) fn repeats(&self, spec: &Spec, prepared: &Prepared) -> Option<Operation> {
        if spec.idempotence == Idempotence::Repeatable {
            return None;
        }
        let target = prepared.targets.first().map(|target| target.path.as_str()).unwrap_or_default();
        let paths: Vec<&str> = prepared.changes.iter().map(|change| change.path.as_str()).collect();
        let command = prepared.command.as_deref();
        self.unsettled.iter().rfind(|earlier| earlier.is_repeated_by(spec.name, target, command, &paths)).cloned()
    }

    /// Counts that the same was proposed again, and says what becomes of it. What one answer proposes several times is
    /// proposed once: the model has not read yet what it was told.
    pub(super) fn count_repeat(&mut self, id: CallId, mut earlier: Operation) -> Repeat {
        let call = earlier.call;
        let told = earlier.repeats > 0 && !self.held_back_by(call);
        earlier.repeats = earlier.repeats.saturating_add(1);
        self.lost_sight_of(&earlier);
        self.hold_operation(earlier.clone());
        if told {
            return Repeat::Insisted(Box::new(earlier));
        }
        if let Some(slot) = self.slot(id) {
            slot.held_by = Some(call);
        }
        Repeat::HeldBack(format!(
            "Not run: it would do again what {call} ({}) did, whose end was not seen: {}. Find out whether that took effect: \
             `inspect_operation` with operation_id {call}. If it has to be done again all the same, propose it once more; \
             the user is then asked.",
            earlier.what(),
            earlier.standing()
        ))
    }

    /// A later operation may prove what became of earlier ones on its files.
    pub(in crate::turn) fn settle_earlier(&mut self, later: &Operation) {
        let proven: Vec<Operation> = self.unsettled.iter().filter_map(|earlier| earlier.proven(later)).collect();
        for operation in proven {
            self.found(operation);
        }
    }

    /// The user allowed that what this operation did is done again: whatever became of it is taken as it is.
    pub(super) fn allowed_again(&mut self, earlier: CallId, by: CallId) {
        let Some(operation) = self.unsettled.iter().find(|operation| operation.call == earlier) else { return };
        let note = format!("{by}, which does the same, was allowed");
        let settled = operation.resolved(Resolution::Accepted, Some(note), self.now, self.revision);
        self.found(settled);
    }

    /// Begins to look at an operation; none while that goes on.
    pub(super) fn inspect_operation(&mut self, call: &Call) -> Option<Outcome> {
        let given = |name: &str| call.args.get(name).and_then(serde_json::Value::as_str).map(str::trim);
        let id = given("operation_id").unwrap_or_default();
        let bare = id.trim_matches(['`', '"', '\'']);
        let Ok(of) = bare.parse::<CallId>() else {
            return Some(Outcome::failed(format!("`{id}` is no operation; ids look like c7. {}", self.open_ones())));
        };
        let target = given("target").filter(|target| !target.is_empty()).map(str::to_owned);
        self.effects.push(Effect::Consult { call: call.id, question: Consult::Operation { of, target } });
        None
    }

    /// What was found of the operation that a call asked about.
    pub(super) fn inspected(&mut self, id: CallId, looked: Looked) -> Outcome {
        let Looked { operation, seen, target, lines, revision } = looked;
        self.see_revision(revision);
        let asked = self.slot(id).and_then(|slot| slot.call.as_ref()).and_then(|call| call.args.get("operation_id"));
        let asked = asked.and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        let Some(stored) = operation else {
            return Outcome::failed(format!("This session has no operation {asked}. {}", self.open_ones()));
        };
        // What the machine has is never older than what is stored.
        let known = self.unsettled.iter().find(|known| known.call == stored.call).cloned().unwrap_or(stored);
        let operation = if known.is_unsettled() {
            let found = known.found(FoundBy::Inspection, &seen, self.now, self.revision);
            self.found(found.clone());
            found
        } else {
            known
        };
        let mut text = told(&operation, self.revision);
        for line in files(&operation, &seen, target.as_ref()).into_iter().chain(lines) {
            text.push('\n');
            text.push_str(&line);
        }
        if operation.is_unsettled() {
            text.push_str(
                "\nThis does not settle it. Look at what it should have made, or ask the user, before you do it again.",
            );
        }
        Outcome { status: Status::Ok, body: Body::Text(text) }
    }

    fn held_back_by(&mut self, call: CallId) -> bool {
        self.slots().is_some_and(|slots| slots.iter().any(|slot| slot.held_by == Some(call)))
    }

    /// A sentence that names the operations that are not settled.
    fn open_ones(&self) -> String {
        if self.unsettled.is_empty() {
            return "None of this session's operations is open.".to_owned();
        }
        let named = self.unsettled.iter().take(NAMED);
        let named: Vec<String> = named.map(|operation| format!("{} ({})", operation.call, operation.what())).collect();
        let more = self.unsettled.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("Open are: {}{more}.", named.join(", "))
    }
}

/// The question about a call that would do again what an operation did: in every mode, and for this call alone.
pub(super) fn asked_again(decision: Decision, earlier: &Operation) -> (String, Vec<AskOption>, Leave) {
    let (also, leave) = match decision {
        Decision::Allow(leave) => (String::new(), leave),
        Decision::Ask { reason, leave, .. } => (format!("; also, {reason}"), leave),
        Decision::Deny(reason) => (format!("; also, {reason}"), Leave::default()),
    };
    let reason = format!(
        "it would do again what {} ({}) did, whose end was not seen: {}{also}",
        earlier.call,
        earlier.what(),
        earlier.standing()
    );
    let option = |kind, label: &str| AskOption { kind, label: label.to_owned(), rules: Vec::new() };
    let options =
        vec![option(AskChoice::AllowOnce, "Do it again, this once"), option(AskChoice::Reject, "Do not do it again")];
    (reason, options, leave)
}

/// The first line about an operation that was looked at.
fn told(operation: &Operation, revision: Revision) -> String {
    let (call, what) = (operation.call, operation.what());
    match operation.state {
        OpState::Unknown => format!("{call} {what}\nVerdict: {}. Looked at revision {revision}.", operation.standing()),
        OpState::Running if operation.background => {
            format!("{call} {what}\nIt goes on in the background; `task_output` shows how far it is.")
        }
        state => format!(
            "{call} {what}\nIts end was seen: it is {}. Its files as they are now, at {revision}:",
            state.word()
        ),
    }
}

/// How the files stand; of one file only when that is asked for.
fn files(operation: &Operation, seen: &[SeenFile], target: Option<&SeenFile>) -> Vec<String> {
    let (_, files) = judge(operation, seen);
    let Some(target) = target else { return file_lines(&files) };
    let own: Vec<_> = files.into_iter().filter(|file| file.path == target.path).collect();
    if !own.is_empty() {
        return file_lines(&own);
    }
    let how = match &target.version {
        Ok(Some(version)) => format!("has version {version}"),
        Ok(None) => "is not there".to_owned(),
        Err(why) => format!("cannot be read: {why}"),
    };
    vec![format!("{} {how}; it is not a file of {}", target.path, operation.call)]
}
