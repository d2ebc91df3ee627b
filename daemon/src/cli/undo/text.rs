//! What `plimsoll undo` prints for people.

use super::super::out;
use plimsoll_protocol::checkpoint::{
    CheckpointTurn, DiffResult, FileVerdict, Restorable, RestorableState, RestoreAction, RestoreResult, RestoredFile,
};
use std::fmt::Write as _;
use std::path::Path;

/// Width of a prompt and of a command.
const WIDTH: usize = 60;

/// A path as people look for it: below the folder when it is there.
fn short(path: &str, folder: Option<&Path>) -> String {
    let inside = folder.and_then(|folder| Path::new(path).strip_prefix(folder).ok()).and_then(Path::to_str);
    out::harmless(inside.filter(|inside| !inside.is_empty()).unwrap_or(path), false)
}

/// What was done, or would be, one file a line.
pub fn result(result: &RestoreResult, folder: Option<&Path>) -> String {
    let mut text = String::new();
    for file in &result.files {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", line(file, folder));
    }
    for ran in &result.commands {
        let command = out::short(&ran.command, WIDTH);
        let _ = writeln!(text, "not undone  {command} ({}): what commands change is not known", ran.call);
    }
    text
}

fn line(file: &RestoredFile, folder: Option<&Path>) -> String {
    let path = short(&file.path, folder);
    if !file.done {
        let why = match (&file.reason, &file.verdict) {
            (Some(why), _) => out::harmless(why, false),
            (None, FileVerdict::AlreadySo) => "stands as before".to_owned(),
            (None, _) => "left out".to_owned(),
        };
        return format!(
            "{:<10}  {path}: {why}",
            if file.verdict == FileVerdict::AlreadySo { "unchanged" } else { "blocked" }
        );
    }
    let what = match file.action {
        RestoreAction::Write => "write",
        RestoreAction::Create => "create",
        RestoreAction::Link => "link",
        RestoreAction::Delete => "delete",
        RestoreAction::None | RestoreAction::Other(_) => "leave",
    };
    let mut line = format!("{what:<10}  {path}  +{} -{}", file.added, file.removed);
    if let Some(why) = &file.reason {
        let _ = write!(line, "  (forced: {})", out::harmless(why, false));
    }
    if !file.keeps.is_empty() {
        let _ = write!(line, "; what is there is kept as {}", file.keeps.join(", "));
    }
    line
}

/// What to do about files that cannot simply be restored.
pub fn way_out(result: &RestoreResult) -> &'static str {
    let blocked = |verdict: &FileVerdict| result.files.iter().any(|file| !file.done && file.verdict == *verdict);
    if blocked(&FileVerdict::Changed) || blocked(&FileVerdict::Later) {
        "--skip undoes only the other files; --force these too, after keeping what is there"
    } else {
        "--skip undoes only the other files"
    }
}

/// Differences as a patch that says what undoing changes.
pub fn differences(diff: &DiffResult, folder: Option<&Path>) -> String {
    let mut text = String::new();
    for file in &diff.files {
        let Some(lines) = file.diff.as_deref().filter(|lines| !lines.is_empty()) else { continue };
        let path = short(&file.path, folder);
        let _ = writeln!(text, "--- {path}\n+++ {path}\n{}", out::harmless(lines.trim_end_matches('\n'), true));
        if file.cut > 0 {
            let _ = writeln!(text, "({} more lines)", file.cut);
        }
    }
    text
}

/// Turns with their calls.
pub fn turns(turns: &[CheckpointTurn], folder: Option<&Path>, style: out::Style) -> String {
    let mut text = String::new();
    for turn in turns {
        let head = format!("turn {}  {}", turn.turn, out::short(&turn.prompt, WIDTH));
        let _ = writeln!(text, "{}{}", style.bold(&head), state(&turn.restorable));
        for call in &turn.calls {
            let _ = writeln!(text, "  {} {}{}", call.call, out::harmless(&call.tool, false), state(&call.restorable));
            for file in &call.files {
                let mark = match (&file.before, &file.after) {
                    (None, _) => 'A',
                    (_, None) => 'D',
                    (Some(_), Some(_)) => 'M',
                };
                let lines = match (file.added, file.removed) {
                    (Some(added), Some(removed)) => format!("  +{added} -{removed}"),
                    _ => String::new(),
                };
                let _ = writeln!(text, "    {mark} {}{}", short(&file.path, folder), style.dim(&lines));
            }
        }
    }
    text
}

fn state(restorable: &Restorable) -> String {
    match restorable.state {
        RestorableState::Ready => String::new(),
        RestorableState::AlreadySo => "  [not in effect]".to_owned(),
        RestorableState::Blocked | RestorableState::Other(_) => {
            let why = restorable.reason.as_deref().unwrap_or("cannot be told");
            format!("  [blocked: {}]", out::harmless(why, false))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_protocol::checkpoint::{CheckpointCall, CheckpointFile, RanCommand, RestoreState};

    fn file(path: &str, action: RestoreAction, verdict: FileVerdict, done: bool) -> RestoredFile {
        RestoredFile {
            path: path.to_owned(),
            action,
            verdict,
            reason: None,
            done,
            calls: vec!["c1".to_owned()],
            added: 1,
            removed: 2,
            keeps: Vec::new(),
            diff: None,
            cut: 0,
        }
    }

    #[test]
    fn a_plan_says_of_each_file_what_happens_or_why_not() {
        let mut forced = file("/w/c", RestoreAction::Write, FileVerdict::Changed, true);
        forced.reason = Some("changed since by somebody else".to_owned());
        forced.keeps = vec!["ab12".to_owned()];
        let mut lost = file("/w/d\n", RestoreAction::Write, FileVerdict::Lost, false);
        lost.reason = Some("its content before is no longer kept".to_owned());
        let plan = RestoreResult {
            state: RestoreState::Planned,
            call: None,
            files: vec![
                file("/w/a", RestoreAction::Write, FileVerdict::Ready, true),
                file("/x/b", RestoreAction::Delete, FileVerdict::Ready, true),
                forced,
                lost,
                file("/w/e", RestoreAction::None, FileVerdict::AlreadySo, false),
            ],
            commands: vec![RanCommand { call: "c2".to_owned(), command: "make".to_owned() }],
        };
        let expected = "write       a  +1 -2\n\
            delete      /x/b  +1 -2\n\
            write       c  +1 -2  (forced: changed since by somebody else); what is there is kept as ab12\n\
            blocked     d : its content before is no longer kept\n\
            unchanged   e: stands as before\n\
            not undone  make (c2): what commands change is not known\n";
        assert_eq!(result(&plan, Some(Path::new("/w"))), expected);
        assert_eq!(way_out(&plan), "--skip undoes only the other files");
    }

    #[test]
    fn a_list_shows_turns_calls_and_files() {
        let ready = Restorable { state: RestorableState::Ready, reason: None };
        let blocked = Restorable { state: RestorableState::Blocked, reason: Some("/w/a: changed".to_owned()) };
        let changed = |path: &str, before: Option<&str>, after: Option<&str>, lines: Option<u64>| CheckpointFile {
            path: path.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            added: lines,
            removed: lines,
        };
        let call = CheckpointCall {
            call: "c1".to_owned(),
            tool: "apply_patch".to_owned(),
            at: 0,
            restorable: ready,
            files: vec![
                changed("/w/a", None, Some("v"), Some(3)),
                changed("/w/b", Some("v"), None, None),
                changed("/w/c", Some("v"), Some("w"), None),
            ],
        };
        let turn =
            CheckpointTurn { turn: 4, at: 0, prompt: "Fix it".to_owned(), restorable: blocked, calls: vec![call] };
        let expected = "turn 4  Fix it  [blocked: /w/a: changed]\n  c1 apply_patch\n    A a  +3 -3\n    D b\n    M c\n";
        assert_eq!(turns(&[turn], Some(Path::new("/w")), out::Style::PLAIN), expected);
    }
}
