//! What an edit changes, as editors show it: old and new text of each place that changes. Where that is not all there, the
//! unified text, which says so.

use agent_client_protocol_schema::v1::{Diff, ToolCallContent, ToolCallLocation};
use plimsoll_core::tool::call::FileChange;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Bytes of all old and new texts of one call: an editor shows them at once. Of the rest only how many lines change is told.
const SHOWN_MAX: usize = 256 * 1024;
/// Characters of a line from which on its difference may hold its beginning only.
const WHOLE_LINE: usize = 1_000;

/// The changes, file by file.
pub fn content<'a>(changes: impl IntoIterator<Item = &'a FileChange>) -> Vec<ToolCallContent> {
    let mut room = SHOWN_MAX;
    let mut all = Vec::new();
    for change in changes {
        let text = &change.diff.text;
        let Some(left) = room.checked_sub(text.len()) else {
            let diff = &change.diff;
            all.push(format!("{}: {} lines added, {} removed", change.path, diff.added, diff.removed).into());
            continue;
        };
        room = left;
        let whole = change.diff.cut == 0 && text.lines().all(|line| line.chars().count() <= WHOLE_LINE);
        match path(change).filter(|_| whole) {
            Some(path) => all.extend(places(change, &path).into_iter().map(ToolCallContent::Diff)),
            None => all.push(unified(change)),
        }
    }
    all
}

/// Where the changes are, each file once.
pub fn locations<'a>(changes: impl IntoIterator<Item = &'a FileChange>) -> Vec<ToolCallLocation> {
    let place = |change: &FileChange| {
        let line = change.touches.first().and_then(|(line, _)| u32::try_from(*line).ok()).filter(|line| *line > 0);
        Some(ToolCallLocation::new(path(change)?).line(line))
    };
    changes.into_iter().filter_map(place).collect()
}

/// The path, when it can be sent as text.
fn path(change: &FileChange) -> Option<PathBuf> {
    let path = crate::rpc::path_from_wire(&change.path);
    path.to_str().is_some().then_some(path)
}

/// Old and new text of each hunk.
fn places(change: &FileChange, path: &Path) -> Vec<Diff> {
    let mut hunks: Vec<(String, String)> = Vec::new();
    for line in change.diff.text.lines() {
        let mut letters = line.chars();
        let sign = letters.next();
        if sign == Some('@') || hunks.is_empty() {
            hunks.push((String::new(), String::new()));
        }
        let Some((old, new)) = hunks.last_mut() else { continue };
        let sides: &mut [&mut String] = match sign {
            Some(' ') => &mut [old, new],
            Some('-') => &mut [old],
            Some('+') => &mut [new],
            _ => continue,
        };
        for side in sides {
            side.push_str(letters.as_str());
            side.push('\n');
        }
    }
    let diff = |(old, new): (String, String)| {
        let old = change.before.is_some().then_some(old);
        Diff::new(path, new).old_text(old)
    };
    if hunks.is_empty() {
        // An empty file is made or deleted.
        hunks.push(Default::default());
    }
    hunks.into_iter().map(diff).collect()
}

fn unified(change: &FileChange) -> ToolCallContent {
    let mut text = format!("--- {0}\n+++ {0}\n{1}", change.path, change.diff.text);
    if change.diff.cut > 0 {
        let _ = writeln!(text, "… {} more lines", change.diff.cut);
    }
    let fence = super::prompt::fence(&text);
    format!("{fence}diff\n{text}{fence}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::tool::call;
    use serde_json::{Value, json};

    fn change(before: Option<&str>, after: Option<&str>, text: &str, cut: u64) -> FileChange {
        FileChange {
            path: "/w/a".to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            touches: if before.is_some() { vec![(7, 1)] } else { Vec::new() },
            diff: call::Diff { text: text.to_owned(), added: 2, removed: 1, cut },
            ..FileChange::default()
        }
    }

    fn check(changes: &[FileChange], expected: Value) {
        assert_eq!(serde_json::to_value(content(changes)).unwrap(), expected);
    }

    #[test]
    fn every_place_is_shown_with_its_old_and_new_text() {
        let diff = "@@ -6,3 +6,3 @@\n a\n-b\n+c\n d\n@@ -20 +20 @@\n-x\n+y\n\\ No newline at end of file\n";
        check(
            &[change(Some("1"), Some("2"), diff, 0)],
            json!([
                {"type": "diff", "path": "/w/a", "oldText": "a\nb\nd\n", "newText": "a\nc\nd\n"},
                {"type": "diff", "path": "/w/a", "oldText": "x\n", "newText": "y\n"},
            ]),
        );
        check(
            &[change(None, Some("2"), "@@ -0,0 +1 @@\n+n\n", 0), change(Some("1"), None, "", 0)],
            json!([
                {"type": "diff", "path": "/w/a", "newText": "n\n"},
                {"type": "diff", "path": "/w/a", "oldText": "", "newText": ""},
            ]),
        );
    }

    #[test]
    fn what_is_not_all_there_is_shown_as_text_that_says_so() {
        let text = "```diff\n--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n-b\n+c\n… 9 more lines\n```";
        check(
            &[change(Some("1"), Some("2"), "@@ -1 +1 @@\n-b\n+c\n", 9)],
            json!([{"type": "content", "content": {"type": "text", "text": text}}]),
        );
        let large = "+x\n".repeat(SHOWN_MAX / 3 + 1);
        check(
            &[change(Some("1"), Some("2"), &large, 0)],
            json!([{"type": "content", "content": {"type": "text", "text": "/w/a: 2 lines added, 1 removed"}}]),
        );
    }

    #[test]
    fn files_are_found_by_path_and_first_line() {
        let odd = FileChange { path: "/w/\\xFF".to_owned(), ..FileChange::default() };
        let places = locations(&[change(Some("1"), Some("2"), "", 0), change(None, Some("2"), "", 0), odd]);
        assert_eq!(serde_json::to_value(places).unwrap(), json!([{"path": "/w/a", "line": 7}, {"path": "/w/a"}]));
    }
}
