//! What is told of an undo: to people in the transcript, and to the model before its next turn.

use super::Scope;
use crate::ledger::OperationFile;
use crate::prompt::Prompts;
use std::fmt::Write as _;

/// Files that are named; of more only the number is told.
const NAMED: usize = 50;

fn what(scope: Option<Scope>) -> String {
    match scope {
        Some(Scope::Call(call)) => format!("call {call}"),
        Some(Scope::Turn(turn)) => format!("the file changes of turn {turn}"),
        Some(Scope::From(turn)) => format!("the file changes of turn {turn} and of all turns after it"),
        None => "earlier file changes".to_owned(),
    }
}

fn lines(files: &[OperationFile]) -> Vec<String> {
    let line = |file: &OperationFile| match &file.after {
        Some(version) => format!("{} (version {version})", file.path),
        None => format!("{} (not there any more)", file.path),
    };
    let mut lines: Vec<String> = files.iter().take(NAMED).map(line).collect();
    if files.len() > NAMED {
        lines.push(format!("and {} more", files.len() - NAMED));
    }
    lines
}

/// For the model. `scope` is none for an undo that was cut and completed by what stands on the disk.
pub fn reminder(scope: Option<Scope>, files: &[OperationFile], prompts: &Prompts) -> String {
    prompts.reminder_undone(&what(scope), &lines(files))
}

/// For people.
pub fn notice(scope: Option<Scope>, undo: crate::id::CallId, files: &[OperationFile]) -> String {
    let mut text = format!("Undid {}; `{undo}` undoes that in turn.", what(scope));
    for line in lines(files) {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n- {line}");
    }
    text
}
