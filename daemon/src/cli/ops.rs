//! `plimsoll ops`: calls with an effect, and what became of those whose end was not seen.

use super::args::{OpsAction, OpsList, OpsOf, OpsResolution};
use super::connect::{self, CommandError};
use super::out::{self, Style};
use super::reach::Spawn;
use super::{args, inspect, sessions};
use crate::rpc::client::RpcClient;
use plimsoll_protocol::operation::{
    Finding, FoundBy, Operation, OperationApiClient, OperationState, Resolution, Stands, Verdict,
};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Operations in one answer.
const PAGE: u32 = 500;

/// Width of a command.
const WIDTH: usize = 80;

/// Runs the command.
pub fn main(arguments: &args::Ops) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| match &arguments.action {
        None => list(&client, &arguments.list).await,
        Some(OpsAction::Inspect { call, of }) => {
            let session = session(&client, of).await?;
            let found = OperationApiClient::inspect(&client, session, call.clone(), Some(key())).await?;
            shown(&found, of)
        }
        Some(OpsAction::Resolve { call, resolution, note, of }) => {
            let session = session(&client, of).await?;
            let resolution = match resolution {
                OpsResolution::Applied => Resolution::Applied,
                OpsResolution::NotApplied => Resolution::NotApplied,
                OpsResolution::Accepted => Resolution::Accepted,
            };
            let settled = client.resolve(session, call.clone(), resolution, note.clone(), Some(key())).await?;
            shown(&settled, of)
        }
    })
}

fn key() -> String {
    uuid::Uuid::now_v7().to_string()
}

async fn session(client: &RpcClient, of: &OpsOf) -> Result<String, CommandError> {
    inspect::session(client, of.session.as_deref(), of.project.as_deref()).await
}

async fn list(client: &RpcClient, arguments: &OpsList) -> Result<ExitCode, CommandError> {
    let session = inspect::session(client, arguments.session.as_deref(), arguments.project.as_deref()).await?;
    let states = (!arguments.all).then(|| vec![OperationState::Unknown, OperationState::Running]);
    let mut operations: Vec<Operation> = Vec::new();
    let mut cursor = None;
    loop {
        let asked = OperationApiClient::list(client, session.clone(), states.clone(), None, cursor, Some(PAGE));
        let page = asked.await?;
        operations.extend(page.operations);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    operations.reverse();
    if arguments.json {
        for operation in &operations {
            out::json(operation)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if operations.is_empty() && arguments.all {
        out::note("no call of this session had an effect");
    } else if operations.is_empty() {
        out::note("the end of every call of this session was seen; --all lists them");
    } else {
        let folder = sessions::project_folder(arguments.project.as_deref()).ok();
        out::print(&text(&operations, folder.as_deref(), Style::of_stdout()))?;
    }
    let open = operations.iter().filter(|operation| is_open(operation)).count();
    if open > 0 {
        let ones = if open == 1 { "1 is open".to_owned() } else { format!("{open} are open") };
        out::note(&format!("{ones}: `plimsoll ops inspect CALL` looks again, `plimsoll ops resolve CALL …` settles"));
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(operation: &Operation, of: &OpsOf) -> Result<ExitCode, CommandError> {
    if of.json {
        out::json(operation)?;
    } else {
        let folder = sessions::project_folder(of.project.as_deref()).ok();
        out::print(&text(std::slice::from_ref(operation), folder.as_deref(), Style::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn is_open(operation: &Operation) -> bool {
    operation.state == OperationState::Unknown && !operation.settled
}

/// Operations with what is known of them.
fn text(operations: &[Operation], folder: Option<&Path>, style: Style) -> String {
    let mut text = String::new();
    for operation in operations {
        let what = match &operation.command {
            Some(command) => out::short(command, WIDTH),
            None => short(&operation.target, folder),
        };
        let head = format!("{:<5} {} {what}", operation.call, out::harmless(&operation.tool, false));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}  {}", style.bold(&head), state(operation));
        let Some(finding) = &operation.finding else { continue };
        for file in &finding.files {
            let stands = match &file.stands {
                Stands::After => "as intended",
                Stands::Before => "as before",
                Stands::Other => "neither as before nor as intended",
                Stands::Unreadable => "cannot be read",
                Stands::Unknown(word) => word,
            };
            let _ = writeln!(text, "      {}: {}", short(&file.path, folder), out::harmless(stands, false));
        }
        if let Some(note) = &finding.note {
            let _ = writeln!(text, "      {}", style.dim(&out::harmless(note, false)));
        }
    }
    text
}

fn state(operation: &Operation) -> String {
    let word = match &operation.state {
        OperationState::Proposed => "proposed",
        OperationState::Denied => "denied",
        OperationState::Approved => "approved",
        OperationState::Running if operation.background => "running in the background",
        OperationState::Running => "running",
        OperationState::Succeeded => "succeeded",
        OperationState::Failed => "failed",
        OperationState::Cancelled => "cancelled",
        OperationState::Unknown => "",
        OperationState::Other(word) => word,
    };
    if operation.state != OperationState::Unknown {
        return format!("[{}]", out::harmless(word, false));
    }
    let found = operation.finding.as_ref().map_or_else(|| "cannot tell".to_owned(), verdict);
    format!("[end not seen: {found}{}]", if operation.settled { "" } else { "; open" })
}

fn verdict(finding: &Finding) -> String {
    let words = match &finding.verdict {
        Verdict::Applied => "applied",
        Verdict::NotApplied => "not applied",
        Verdict::PartlyApplied => "partly applied",
        Verdict::Changed => "changed by someone else",
        Verdict::CannotTell => "cannot tell",
        Verdict::Other(word) => word,
    };
    let words = out::harmless(words, false);
    match (&finding.by, &finding.later) {
        (FoundBy::User, _) => format!("{words}, taken so by you"),
        (FoundBy::Later, Some(call)) => format!("{words}, as {call} found it"),
        (FoundBy::Recovery | FoundBy::Inspection | FoundBy::Later | FoundBy::Other(_), _) => words,
    }
}

/// A path as people look for it: below the folder when it is there.
fn short(path: &str, folder: Option<&Path>) -> String {
    let inside = folder.and_then(|folder| Path::new(path).strip_prefix(folder).ok()).and_then(Path::to_str);
    out::harmless(inside.filter(|inside| !inside.is_empty()).unwrap_or(path), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_protocol::operation::FoundFile;

    fn operation(state: OperationState, finding: Option<Finding>, settled: bool) -> Operation {
        Operation {
            call: "c7".to_owned(),
            turn: 1,
            tool: "write".to_owned(),
            class: "write".to_owned(),
            target: "/w/a.txt".to_owned(),
            command: None,
            state,
            at: 0,
            revision: "r1".to_owned(),
            background: false,
            files: Vec::new(),
            finding,
            settled,
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the operation has it")]
    fn finding(verdict: Verdict, by: FoundBy, later: Option<&str>, note: Option<&str>) -> Option<Finding> {
        let file = FoundFile { path: "/w/a.txt".to_owned(), stands: Stands::After, version: None };
        let (later, note) = (later.map(str::to_owned), note.map(str::to_owned));
        Some(Finding { verdict, by, later, at: 0, revision: "r1".to_owned(), files: vec![file], note })
    }

    #[test]
    fn each_operation_says_how_it_stands_and_what_shows_it() {
        let open = finding(Verdict::CannotTell, FoundBy::Recovery, None, None);
        let user = finding(Verdict::CannotTell, FoundBy::User, None, Some("I looked"));
        let later = finding(Verdict::Applied, FoundBy::Later, Some("c9"), None);
        let command = Operation {
            tool: "run_terminal_cmd".to_owned(),
            command: Some("make\nall".to_owned()),
            background: true,
            ..operation(OperationState::Running, None, false)
        };
        let all = [
            operation(OperationState::Succeeded, None, true),
            operation(OperationState::Unknown, open, false),
            operation(OperationState::Unknown, user, true),
            operation(OperationState::Unknown, later, true),
            command,
        ];
        let expected = "\
c7    write a.txt  [succeeded]
c7    write a.txt  [end not seen: cannot tell; open]
      a.txt: as intended
c7    write a.txt  [end not seen: cannot tell, taken so by you]
      a.txt: as intended
      I looked
c7    write a.txt  [end not seen: applied, as c9 found it]
      a.txt: as intended
c7    run_terminal_cmd make all  [running in the background]
";
        assert_eq!(text(&all, Some(Path::new("/w")), Style::PLAIN), expected);
    }
}
