//! What is known of a job after a death, and whether it is true.

use crate::job::{Job, Stand};
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

    /// The call, when nobody saw how it ended.
    pub fn unknown(&self) -> Option<&str> {
        match self {
            Self::Call(call, status) if status == "unknown" => Some(call),
            Self::Call(..) | Self::Nothing => None,
        }
    }

    /// Whether it is known to be done.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Call(_, status) if status == "ok")
    }

    /// Fails when the world says something else.
    pub fn assert_true(&self, job: Job, workspace: &Workspace) {
        let stands = job.stands(workspace);
        let all = |stand: Stand| stands.iter().all(|is| *is == stand);
        match self {
            Self::Call(_, status) if status == "ok" => {
                assert!(all(Stand::Done), "{job:?} is said to be done: {stands:?}")
            }
            Self::Call(_, status) if status == "unknown" => {}
            Self::Call(_, status) => {
                assert_eq!(status, "cancelled", "{job:?}: nothing here fails");
                assert!(all(Stand::Undone), "{job:?} is said not to have been run: {stands:?}");
            }
            Self::Nothing => assert!(all(Stand::Undone), "{job:?} was never recorded: {stands:?}"),
        }
    }
}
