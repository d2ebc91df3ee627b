//! Operations and what became of them, as the wire has them.

use crate::session::operations::OperationPage;
use plimsoll_core::ledger::{FileFinding, Finding, FoundBy, OpState, Operation, Stands, Verdict};
use plimsoll_protocol::operation as wire;

pub fn page(page: &OperationPage) -> wire::ListResult {
    wire::ListResult {
        operations: page.operations.iter().map(operation).collect(),
        next_cursor: page.next.map(|call| call.to_string()),
    }
}

pub fn operation(operation: &Operation) -> wire::Operation {
    wire::Operation {
        call: operation.call.to_string(),
        turn: operation.turn.0,
        tool: operation.tool.clone(),
        class: operation.class.clone(),
        target: operation.target.clone(),
        command: operation.command.clone(),
        state: match operation.state {
            OpState::Proposed => wire::OperationState::Proposed,
            OpState::Denied => wire::OperationState::Denied,
            OpState::Approved => wire::OperationState::Approved,
            OpState::Running => wire::OperationState::Running,
            OpState::Succeeded => wire::OperationState::Succeeded,
            OpState::Failed => wire::OperationState::Failed,
            OpState::Cancelled => wire::OperationState::Cancelled,
            OpState::Unknown => wire::OperationState::Unknown,
        },
        at: operation.at.0,
        revision: operation.revision.to_string(),
        background: operation.background,
        files: operation
            .files
            .iter()
            .map(|file| wire::OperationFile {
                path: file.path.clone(),
                before: file.before.clone(),
                after: file.after.clone(),
            })
            .collect(),
        finding: operation.finding.as_ref().map(finding),
        settled: operation.is_settled(),
    }
}

fn finding(finding: &Finding) -> wire::Finding {
    let (by, later) = match finding.by {
        FoundBy::Recovery => (wire::FoundBy::Recovery, None),
        FoundBy::Inspection => (wire::FoundBy::Inspection, None),
        FoundBy::User => (wire::FoundBy::User, None),
        FoundBy::Later(call) => (wire::FoundBy::Later, Some(call.to_string())),
    };
    wire::Finding {
        verdict: match finding.verdict {
            Verdict::Applied => wire::Verdict::Applied,
            Verdict::NotApplied => wire::Verdict::NotApplied,
            Verdict::PartlyApplied => wire::Verdict::PartlyApplied,
            Verdict::Changed => wire::Verdict::Changed,
            Verdict::CannotTell => wire::Verdict::CannotTell,
        },
        by,
        later,
        at: finding.at.0,
        revision: finding.revision.to_string(),
        files: finding.files.iter().map(file).collect(),
        note: finding.note.clone(),
    }
}

fn file(file: &FileFinding) -> wire::FoundFile {
    wire::FoundFile {
        path: file.path.clone(),
        stands: match file.stands {
            Stands::After => wire::Stands::After,
            Stands::Before => wire::Stands::Before,
            Stands::Other => wire::Stands::Other,
            Stands::Unreadable => wire::Stands::Unreadable,
        },
        version: file.version.clone(),
    }
}
