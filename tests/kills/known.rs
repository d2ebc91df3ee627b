//! What is known of a job after a death, and whether it is true.

use crate::job::{Job, Kind, Stand};
use plimsoll_tests::workspace::Workspace;
use serde_json::Value;

/// The newest call of a job, as the transcript has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// The model never asked for it.
    Nothing,
    /// The call, and how it ended.
    Call(String, String),
}

impl Known {
    /// What these items say.
    pub fn of(job: Job, items: &[Value]) -> Self {
        let mark = job.mark();
        let asked = items.iter().rev().find(|item| {
            item["kind"] == "toolCall" && item["arguments"].as_str().is_some_and(|text| text.contains(&mark))
        });
        let Some(call) = asked.and_then(|item| item["call"].as_str()) else { return Self::Nothing };
        let result = items.iter().find(|item| item["kind"] == "toolResult" && item["call"] == call);
        let status = result.unwrap_or_else(|| panic!("{job:?}: {call} has no result"))["status"].as_str();
        Self::Call(call.to_owned(), status.expect("a status").to_owned())
    }

    /// Whether nobody saw how it ended.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Call(_, status) if status == "unknown")
    }

    /// Whether it is known to be done.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Call(_, status) if status == "ok")
    }

    /// The operation whose end nobody saw, with what the world says of it now.
    pub fn unseen(&self, job: Job, workspace: &Workspace) -> Option<Unseen> {
        match self {
            Self::Call(call, status) if status == "unknown" && job.is_operation() => {
                Some(Unseen { job, call: call.clone(), verdict: verdict(job, workspace) })
            }
            Self::Call(..) | Self::Nothing => None,
        }
    }

    /// Fails when the world, or the ledger, says something else.
    pub fn assert_true(&self, job: Job, operations: &[Value], workspace: &Workspace) {
        let stands = job.stands(workspace);
        let all = |stand: Stand| stands.iter().all(|is| *is == stand);
        let Self::Call(call, status) = self else {
            assert!(all(Stand::Undone), "{job:?} was never recorded: {stands:?}");
            return;
        };
        let operation = operations.iter().find(|operation| operation["call"] == *call);
        let state = operation.and_then(|operation| operation["state"].as_str());
        let expected = match status.as_str() {
            "ok" => {
                assert!(all(Stand::Done), "{job:?} is said to be done: {stands:?}");
                "succeeded"
            }
            "unknown" => "unknown",
            other => {
                assert_eq!(other, "cancelled", "{job:?}: nothing here fails");
                assert!(all(Stand::Undone), "{job:?} is said not to have been run: {stands:?}");
                "cancelled"
            }
        };
        if !job.is_operation() {
            return;
        }
        // What was proposed and not begun need not have an operation.
        assert!(state == Some(expected) || (state.is_none() && expected == "cancelled"), "{job:?} {status}: {state:?}");
        if let (Some(unseen), Some(operation)) = (self.unseen(job, workspace), operation) {
            let found = (&operation["finding"]["verdict"], &operation["settled"]);
            assert_eq!(found, (&unseen.verdict.into(), &unseen.is_settled().into()), "{unseen:?}: {stands:?}");
        }
    }
}

/// An operation whose end nobody saw.
#[derive(Debug, Clone)]
pub struct Unseen {
    pub job: Job,
    pub call: String,
    /// What the world says of it, in the words of the native API.
    pub verdict: &'static str,
}

impl Unseen {
    /// Whether the verdict settles it.
    pub fn is_settled(&self) -> bool {
        self.verdict == "applied" || self.verdict == "notApplied"
    }

    /// The verdict as the model reads it.
    pub fn words(&self) -> &'static str {
        match self.verdict {
            "applied" => ": applied: ",
            "notApplied" => ": not applied: ",
            _ => ": cannot tell",
        }
    }
}

/// What files say of a job. Nothing is ever done in part: what was cut in the middle is made whole first.
fn verdict(job: Job, workspace: &Workspace) -> &'static str {
    let stands = job.stands(workspace);
    let all = |stand: Stand| stands.iter().all(|is| *is == stand);
    match job.kind {
        Kind::Command => "cannotTell",
        _ if all(Stand::Done) => "applied",
        _ if all(Stand::Undone) => "notApplied",
        _ => panic!("{job:?} is done in part: {stands:?}"),
    }
}

/// What is wrong must be seen, or nothing of this is worth anything.
mod samples {
    use super::*;
    use serde_json::json;

    /// A job that replaces a line, in a world where that was done or not, and what a transcript and a ledger say of it.
    fn check(done: bool, status: &str, operation: Value) {
        let (job, workspace) = (Job { no: 1, kind: Kind::Over }, Workspace::new());
        job.prepare(&workspace);
        if done {
            let part = job.files().remove(0);
            workspace.write(&part.file, part.after.expect("a content"));
        }
        let items = [
            json!({"kind": "toolCall", "call": "c1", "arguments": format!("{{\"contents\": \"{}\"}}", job.mark())}),
            json!({"kind": "toolResult", "call": "c1", "status": status}),
        ];
        Known::of(job, &items).assert_true(job, &[operation], &workspace);
    }

    fn found(verdict: &str) -> Value {
        json!({"call": "c1", "state": "unknown", "settled": true, "finding": {"verdict": verdict}})
    }

    #[test]
    fn what_is_true_is_taken() {
        check(true, "ok", json!({"call": "c1", "state": "succeeded"}));
        check(false, "cancelled", json!({"call": "c1", "state": "cancelled"}));
        check(true, "unknown", found("applied"));
        check(false, "unknown", found("notApplied"));
    }

    #[test]
    #[should_panic(expected = "is said to be done")]
    fn a_false_success_is_seen() {
        check(false, "ok", json!({"call": "c1", "state": "succeeded"}));
    }

    #[test]
    #[should_panic(expected = "is said not to have been run")]
    fn a_false_cancellation_is_seen() {
        check(true, "cancelled", json!({"call": "c1", "state": "cancelled"}));
    }

    #[test]
    #[should_panic(expected = "nothing here fails")]
    fn a_false_failure_is_seen() {
        check(true, "failed", json!({"call": "c1", "state": "failed"}));
    }

    #[test]
    #[should_panic(expected = "assertion `left == right` failed")]
    fn a_wrong_verdict_is_seen() {
        check(false, "unknown", found("applied"));
    }

    #[test]
    #[should_panic(expected = "was done 2 times")]
    fn what_was_done_twice_is_seen() {
        let (job, workspace) = (Job { no: 1, kind: Kind::Command }, Workspace::new());
        workspace.write("counter", format!("{0}\n{0}\n", job.mark()));
        job.stands(&workspace);
    }
}
