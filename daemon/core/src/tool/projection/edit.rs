//! Projection of edits: each file with its new version and how much changed; of a change in an existing file the first
//! lines of the difference, so that the model sees where it landed. What it wrote as a whole is not repeated.

use super::call::{call, short_version};
use super::entries::counted;
use super::{Parts, ProjectionInput};
use crate::tokens::tokens;
use crate::tool::outcome::{Edited, EditedFile};
use serde_json::json;

/// Of the budget of a result edits take this share at most, in percent: the model has written the new lines itself.
const SHARE: u64 = 30;

/// One line of facts and a part of the difference per file; of a single file the facts are the header's.
pub(super) fn edit(input: &ProjectionInput<'_>, edited: &Edited) -> Parts {
    let mut parts = Parts::default();
    let mut body = Vec::new();
    let mut room = input.budget.tokens * SHARE / 100;
    let single = edited.files.len() == 1;
    if !single {
        parts.facts.push(counted(edited.files.len() as u64, "file", "files"));
    }
    for file in &edited.files {
        let facts = facts(file);
        if single {
            parts.facts.extend(facts);
        } else {
            body.push(facts.join(" · "));
        }
        let change = &file.change;
        if !change.whole && change.before.is_some() && change.after.is_some() {
            parts.partial |= difference(file, &mut room, &mut body);
        }
    }
    body.extend(edited.notes.iter().cloned());
    parts.body = body.join("\n");
    parts
}

fn facts(file: &EditedFile) -> Vec<String> {
    let change = &file.change;
    let mut facts = vec![change.shown.clone()];
    match (&change.before, &change.after) {
        (None, _) => facts.push(format!("created, {}", counted(file.lines_after, "line", "lines"))),
        (Some(_), None) => facts.push("deleted".to_owned()),
        (Some(_), Some(_)) => facts.push(format!("+{} -{}", change.diff.added, change.diff.removed)),
    }
    facts.extend(change.after.as_deref().map(|after| format!("v {}", short_version(after))));
    facts
}

/// Adds the difference while there is room; whether any of it is left out.
fn difference(file: &EditedFile, room: &mut u64, body: &mut Vec<String>) -> bool {
    let diff = &file.change.diff;
    // The number that the next line of the new version has.
    let mut next = file.wrote.first().map_or(1, |(first, _)| *first);
    let mut left = diff.cut;
    let mut full = false;
    for line in diff.text.lines() {
        let cost = tokens(line) + 1;
        full |= cost > *room;
        if full {
            left += 1;
            continue;
        }
        *room -= cost;
        if let Some(first) = new_first(line) {
            next = first;
        } else if !line.starts_with(['-', '\\']) {
            next += 1;
        }
        body.push(line.to_owned());
    }
    if left == 0 {
        return false;
    }
    let last = file.wrote.last().map_or(next, |(first, count)| (first + count).max(next + 1) - 1);
    let change = &file.change;
    let rest = call(
        "read_file",
        &[
            ("target_file", json!(change.shown)),
            ("offset", json!(next)),
            ("limit", json!(last + 1 - next)),
            ("expected_version", json!(change.after.as_deref().map(short_version))),
        ],
    );
    body.push(format!("[{} of the difference not shown: {rest}]", counted(left, "line", "lines")));
    true
}

/// The first line of the new version that a hunk's head names.
fn new_first(line: &str) -> Option<u64> {
    let head = line.strip_prefix("@@ -")?;
    let (_, new) = head.split_once(" +")?;
    new.split([',', ' ']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{CallId, EvidenceId, Revision};
    use crate::tool::call::{Diff, FileChange};
    use crate::tool::outcome::{Body, Outcome, Status};
    use crate::tool::projection::{Budget, Saved, project};

    fn file(diff: Diff, wrote: (u64, u64)) -> EditedFile {
        let change = FileChange {
            path: "/w/a.rs".into(),
            shown: "a.rs".into(),
            before: Some("b".repeat(32)),
            after: Some("0123456789abcdef".repeat(2)),
            diff,
            ..FileChange::default()
        };
        EditedFile { change, lines_after: 900, wrote: vec![wrote] }
    }

    fn check(files: Vec<EditedFile>, partial: bool, expected: &str) {
        let outcome =
            Outcome { status: Status::Ok, body: Body::Edit(Edited { files, notes: vec!["utf-16le kept.".into()] }) };
        let projection = project(&ProjectionInput {
            call: CallId(7),
            tool: "string_replace",
            outcome: &outcome,
            evidence: EvidenceId { call: CallId(7), revision: Revision(42) },
            approximate: false,
            budget: Budget::default(),
            cursor: None,
            saved: Saved::No,
        });
        assert_eq!((projection.text.as_str(), projection.partial), (expected, partial));
    }

    #[test]
    fn a_small_edit_shows_its_difference() {
        let diff = Diff { text: "@@ -1,2 +1,2 @@\n-foo\n+FOO\n bar\n".into(), added: 1, removed: 1, cut: 0 };
        check(
            vec![file(diff, (1, 1))],
            false,
            "[string_replace ok · a.rs · +1 -1 · v 0123456789ab · e/c7@r42]\n@@ -1,2 +1,2 @@\n-foo\n+FOO\n bar\n\
             utf-16le kept.",
        );
    }

    #[test]
    fn what_was_written_as_a_whole_or_is_gone_is_not_repeated() {
        let diff = Diff { text: "@@ -0,0 +1,1 @@\n+x\n".into(), added: 1, removed: 0, cut: 0 };
        let mut made = file(diff.clone(), (1, 900));
        made.change.before = None;
        let mut written = file(diff.clone(), (1, 900));
        written.change.whole = true;
        let mut gone = file(diff, (1, 0));
        gone.change.after = None;
        check(
            vec![made, written, gone],
            false,
            "[string_replace ok · 3 files · e/c7@r42]\na.rs · created, 900 lines · v 0123456789ab\n\
             a.rs · +1 -0 · v 0123456789ab\na.rs · deleted\nutf-16le kept.",
        );
    }

    #[test]
    fn of_a_large_edit_the_rest_is_named_with_the_call_that_reads_it() {
        // The second new line has no room, the last three were left out of the difference itself.
        let text = format!("@@ -10,1 +10,5 @@\n-old\n+new\n+{}\n", "long ".repeat(1_000));
        let diff = Diff { text, added: 5, removed: 1, cut: 3 };
        check(
            vec![file(diff, (10, 5))],
            true,
            "[string_replace ok · a.rs · +5 -1 · v 0123456789ab · partial · e/c7@r42]\n@@ -10,1 +10,5 @@\n-old\n+new\n\
             [4 lines of the difference not shown: read_file {\"target_file\":\"a.rs\",\"offset\":11,\"limit\":4,\
             \"expected_version\":\"0123456789ab\"}]\nutf-16le kept.",
        );
    }
}
