//! What an edit would change, as a person reads it on a terminal before allowing it.

use super::super::out::{self, Style};
use plimsoll_protocol::permission::Change;
use std::fmt::Write as _;

/// Lines of all diffs that are shown: a person reads no more before an answer, and a terminal keeps them.
const LINES_MAX: usize = 200;
/// Letters of one line that are shown: a minified file has lines that fill a screen.
const LINE_MAX: usize = 400;

/// The files with their differences. Control characters are visible.
pub fn shown(changes: &[Change], style: Style) -> String {
    let mut text = String::new();
    let mut room = LINES_MAX;
    for change in changes {
        let what = match (&change.before, &change.after) {
            (None, _) => "new file, ",
            (_, None) => "deleted, ",
            (Some(_), Some(_)) => "",
        };
        let path = out::harmless(&change.path, false);
        let head = format!("{path} ({what}{} added, {} removed)", change.added, change.removed);
        let _ = writeln!(text, "  {}", style.bold(&head));
        let total = change.diff.lines().count();
        for line in change.diff.lines().take(room) {
            let shown = out::short_line(line, LINE_MAX);
            let painted = match line.as_bytes().first() {
                Some(b'+') => style.added(&shown),
                Some(b'-') => style.removed(&shown),
                Some(b'@') => style.dim(&shown),
                _ => shown,
            };
            let _ = writeln!(text, "    {painted}");
        }
        let left = total.saturating_sub(room) as u64 + change.cut;
        room = room.saturating_sub(total);
        if left > 0 {
            let _ = writeln!(text, "    … ({left} lines are not shown here)");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: Option<&str>, after: Option<&str>, diff: &str, cut: u64) -> Change {
        Change {
            path: "/w/a.rs".to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            diff: diff.to_owned(),
            added: 1,
            removed: 2,
            cut,
        }
    }

    #[test]
    fn every_file_is_named_and_its_lines_cannot_command_the_terminal() {
        let changes = [
            change(Some("1"), Some("2"), "@@ -1,2 +1,1 @@\n-a\x1b[8m\n-b\n+c\td\n e\n", 0),
            change(None, Some("2"), "@@ -0,0 +1 @@\n+x\n", 7),
            change(Some("1"), None, "", 0),
        ];
        let expected = "  /w/a.rs (1 added, 2 removed)\n    @@ -1,2 +1,1 @@\n    -a\u{fffd}[8m\n    -b\n    +c\td\n     e\n  \
            /w/a.rs (new file, 1 added, 2 removed)\n    @@ -0,0 +1 @@\n    +x\n    … (7 lines are not shown here)\n  \
            /w/a.rs (deleted, 1 added, 2 removed)\n";
        assert_eq!(shown(&changes, Style::PLAIN), expected);
    }

    #[test]
    fn what_is_too_long_to_be_shown_is_counted() {
        let long = format!("+{}\n", "x".repeat(LINE_MAX * 2));
        let many = "+y\n".repeat(LINES_MAX + 5);
        let changes = [change(Some("1"), Some("2"), &long, 0), change(Some("1"), Some("2"), &many, 1)];
        let text = shown(&changes, Style::PLAIN);
        assert!(text.ends_with("    … (7 lines are not shown here)\n"), "{text}");
        assert_eq!(text.lines().count(), 2 + LINES_MAX + 1);
        assert!(text.lines().all(|line| line.chars().count() <= LINE_MAX + 4));
    }
}
