//! Tasks and evidence.

use crate::session::service::{EvidenceInfo, FileNow, Standing};
use crate::session::task::TaskInfo;
use plimsoll_core::id::{EvidenceId, Revision};
use plimsoll_core::task::{HypothesisStatus, Phase, Task};
use plimsoll_core::tool::outcome::Status;
use plimsoll_core::verification::Verification;
use plimsoll_protocol::transcript::CallStatus;
use plimsoll_protocol::{evidence, task};

/// A task with what the host knows beside it.
pub fn task_state(info: &TaskInfo) -> task::TaskState {
    task::TaskState {
        task: info.task.as_ref().map(task),
        verification: info.verification.as_ref().map(|run| verification(run, info.revision)),
        unsettled: info.unsettled.iter().map(ToString::to_string).collect(),
        revision: info.revision.to_string(),
    }
}

fn task(task: &Task) -> task::Task {
    task::Task {
        goal: task.goal.clone(),
        constraints: task
            .constraints
            .iter()
            .map(|constraint| task::Constraint {
                id: constraint.id,
                quote: constraint.quote.clone(),
                item: constraint.item.map(|item| item.0),
                denies: constraint.denies.clone(),
            })
            .collect(),
        hypotheses: task
            .hypotheses
            .iter()
            .map(|hypothesis| task::Hypothesis {
                claim: hypothesis.claim.clone(),
                status: match hypothesis.status {
                    HypothesisStatus::Open => task::HypothesisStatus::Open,
                    HypothesisStatus::Confirmed => task::HypothesisStatus::Confirmed,
                    HypothesisStatus::Refuted => task::HypothesisStatus::Refuted,
                },
                evidence: ids(&hypothesis.evidence),
            })
            .collect(),
        confirmed: task
            .confirmed
            .iter()
            .map(|confirmed| task::Confirmed { claim: confirmed.claim.clone(), evidence: ids(&confirmed.evidence) })
            .collect(),
        phase: match task.phase {
            Phase::Investigate => task::Phase::Investigate,
            Phase::Implement => task::Phase::Implement,
            Phase::Verify => task::Phase::Verify,
            Phase::Done => task::Phase::Done,
        },
        next: task.next.clone(),
        waived: task.waived,
    }
}

fn ids(evidence: &[EvidenceId]) -> Vec<String> {
    evidence.iter().map(ToString::to_string).collect()
}

fn verification(run: &Verification, now: Revision) -> task::Verification {
    task::Verification {
        call: run.call.to_string(),
        command: run.command.clone(),
        passed: run.passed,
        before: run.before.to_string(),
        after: run.after.to_string(),
        void: run.void,
        partial: run.partial,
        holds: run.holds_for(now),
        at: run.at.0,
    }
}

/// How a call ended.
pub fn call_status(status: Status) -> CallStatus {
    match status {
        Status::Ok => CallStatus::Ok,
        Status::Failed => CallStatus::Failed,
        Status::Denied => CallStatus::Denied,
        Status::Cancelled => CallStatus::Cancelled,
        Status::Unknown => CallStatus::Unknown,
    }
}

/// What a call showed, and how it stands now.
pub fn evidence(info: &EvidenceInfo) -> evidence::Evidence {
    let file = |file: &FileNow| evidence::EvidenceFile {
        path: file.path.clone(),
        version: file.version.clone(),
        now: match file.now {
            Standing::Same => evidence::FileNow::Same,
            Standing::Changed => evidence::FileNow::Changed,
            Standing::Gone => evidence::FileNow::Gone,
            Standing::Unknown => evidence::FileNow::Unknown,
        },
    };
    evidence::Evidence {
        evidence: info.id.to_string(),
        call: info.id.call.to_string(),
        tool: info.tool.clone(),
        item: info.item.0,
        text: info.text.clone(),
        status: call_status(info.status),
        files: info.files.iter().map(file).collect(),
        stale: info.is_stale(),
        revision: info.revision.to_string(),
    }
}
