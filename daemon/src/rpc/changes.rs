//! What edits change, for clients: the differences of one question or result are bounded together, because a patch can
//! have very many files.

use plimsoll_core::tool::call::FileChange;
use plimsoll_protocol::permission::Change;

/// Bytes of the diffs of one question or result: far more than a person reads before an answer, and little beside a message's
/// limit, also where a list holds many questions.
const DIFFS_MAX: usize = 256 * 1024;

/// What becomes of each file. What is left out of a diff is counted in its `cut`.
pub fn wire<'a>(changes: impl IntoIterator<Item = &'a FileChange>) -> Vec<Change> {
    let mut room = DIFFS_MAX;
    changes.into_iter().map(|change| one(change, &mut room)).collect()
}

fn one(change: &FileChange, room: &mut usize) -> Change {
    let text = change.diff.text.as_str();
    let shown = if text.len() <= *room { text } else { whole_lines(text, *room) };
    *room -= shown.len();
    let left = text.get(shown.len()..).unwrap_or_default().lines().count() as u64;
    Change {
        path: change.path.clone(),
        before: change.before.clone(),
        after: change.after.clone(),
        diff: shown.to_owned(),
        added: change.diff.added,
        removed: change.diff.removed,
        cut: change.diff.cut + left,
    }
}

/// The lines of a text that fit.
fn whole_lines(text: &str, room: usize) -> &str {
    let fits = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
    fits.rfind('\n').and_then(|end| fits.get(..=end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::tool::call::Diff;

    fn change(path: &str, text: String, cut: u64) -> FileChange {
        let diff = Diff { text, added: 3, removed: 2, cut };
        FileChange { path: path.to_owned(), before: Some("1".to_owned()), diff, ..FileChange::default() }
    }

    #[test]
    fn diffs_are_bounded_together_by_whole_lines() {
        let line = format!("+{}\n", "é".repeat(499));
        let lines = DIFFS_MAX / line.len();
        let changes = [
            change("/w/a", line.repeat(lines - 1), 0),
            change("/w/b", line.repeat(5), 7),
            change("/w/c", line.clone(), 0),
        ];
        let wire = wire(&changes);
        let seen: Vec<_> =
            wire.iter().map(|change| (change.path.as_str(), change.diff.lines().count(), change.cut)).collect();
        assert_eq!(seen, [("/w/a", lines - 1, 0), ("/w/b", 1, 4 + 7), ("/w/c", 0, 1)]);
        assert!(wire.iter().all(|change| (change.added, change.removed) == (3, 2)));
    }

    #[test]
    fn a_small_change_is_sent_as_it_is() {
        let change = change("/w/a", "@@ -1 +1 @@\n-a\n+b\n".to_owned(), 0);
        let expected = Change {
            path: "/w/a".to_owned(),
            before: Some("1".to_owned()),
            after: None,
            diff: "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
            added: 3,
            removed: 2,
            cut: 0,
        };
        assert_eq!(wire([&change]), [expected]);
    }
}
