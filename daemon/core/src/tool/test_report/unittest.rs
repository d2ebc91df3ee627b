//! Python's `unittest`.

use super::{TestReport, excerpt, number};

/// See [`super::read`].
pub(super) fn read(text: &str) -> Option<TestReport> {
    let mut report = TestReport::of("unittest");
    let mut found = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            if lines.next_if(|next| is_bar(next, '-')).is_none() {
                // A second line is the test's own description.
                lines.next_if(|next| !is_bar(next, '='));
                lines.next_if(|next| is_bar(next, '-'));
            }
            let mut block = Vec::new();
            while let Some(next) = lines.next_if(|next| !is_bar(next, '=') && !is_bar(next, '-')) {
                block.push(next);
            }
            report.fails(&runnable(name), said(&block));
        } else if let Some(ran) = ran(line) {
            let ended = lines.by_ref().find(|next| !next.trim().is_empty()).unwrap_or_default();
            let mut bad = 0_u64;
            let mut skipped = 0_u64;
            for (word, count) in details(ended) {
                match word {
                    "failures" | "errors" | "unexpected successes" => bad = bad.saturating_add(count),
                    "skipped" | "expected failures" => skipped = skipped.saturating_add(count),
                    _ => {}
                }
            }
            found = true;
            report.failed = report.failed.saturating_add(bad);
            report.skipped = report.skipped.saturating_add(skipped);
            report.passed = report.passed.saturating_add(ran.saturating_sub(bad).saturating_sub(skipped));
        }
    }
    found.then(|| report.counted())
}

fn is_bar(line: &str, of: char) -> bool {
    line.len() == 70 && line.chars().all(|c| c == of)
}

/// `Ran 3 tests in 0.001s`.
fn ran(line: &str) -> Option<u64> {
    let (count, rest) = number(line.strip_prefix("Ran ")?)?;
    (rest.starts_with(" tests in ") || rest.starts_with(" test in ")).then_some(count)
}

/// `FAILED (failures=1, errors=2)`.
fn details(line: &str) -> impl Iterator<Item = (&str, u64)> {
    let inner = line.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or_default();
    inner.split(", ").filter_map(|part| {
        let (word, count) = part.split_once('=')?;
        Some((word, count.parse().ok()?))
    })
}

/// `test_x (tests.test_a.A.test_x) (i=1)` as what can be run: `tests.test_a.A.test_x (i=1)`. Before Python 3.11 the
/// name in parentheses ended with the class.
fn runnable(name: &str) -> String {
    let parts = name.split_once(" (").and_then(|(method, rest)| Some((method, rest.split_once(')')?)));
    match parts {
        Some((method, (path, rest))) if path.rsplit('.').next() == Some(method) => format!("{path}{rest}"),
        Some((method, (path, rest))) if method.chars().all(|c| c.is_alphanumeric() || c == '_') => {
            format!("{path}.{method}{rest}")
        }
        Some(_) | None => name.to_owned(),
    }
}

/// What the traceback ends with: its last lines that are not indented.
fn said(block: &[&str]) -> String {
    let end = block.iter().rposition(|line| line.starts_with(' ')).map_or(0, |at| at + 1);
    excerpt(block.get(end..).unwrap_or_default().iter().copied())
}
