//! Maven's surefire and failsafe.

use super::{TestReport, excerpt};

/// See [`super::read`].
pub(super) fn read(text: &str) -> Option<TestReport> {
    let mut report = TestReport::of("maven");
    let lines: Vec<&str> = text.lines().map(message).collect();
    let counts: Vec<([u64; 4], bool)> = lines.iter().filter_map(|line| totals(line)).collect();
    // The totals of a module stand without a time; the lines of its classes have one.
    let has_totals = counts.iter().any(|(_, of_class)| !of_class);
    for ([run, failures, errors, skipped], of_class) in &counts {
        if *of_class && has_totals {
            continue;
        }
        let bad = failures.saturating_add(*errors);
        report.failed = report.failed.saturating_add(bad);
        report.skipped = report.skipped.saturating_add(*skipped);
        report.passed = report.passed.saturating_add(run.saturating_sub(bad).saturating_sub(*skipped));
    }
    let mut listed = false;
    for line in &lines {
        match line.trim_end() {
            "Failures:" | "Errors:" => listed = true,
            said if listed && said.starts_with("  ") => {
                let said = said.trim();
                let (name, message) = said.split_once(' ').unwrap_or((said, ""));
                report.fails(name, excerpt([message]));
            }
            _ => listed = false,
        }
    }
    (!counts.is_empty()).then(|| report.counted())
}

/// A line without its level.
fn message(line: &str) -> &str {
    let levels = ["[ERROR] ", "[INFO] ", "[WARNING] "];
    levels.iter().find_map(|level| line.strip_prefix(level)).unwrap_or(line)
}

/// `Tests run: 3, Failures: 1, Errors: 0, Skipped: 0`: the numbers, and whether they are those of one class.
fn totals(line: &str) -> Option<([u64; 4], bool)> {
    let mut out = [0; 4];
    let rest = line.strip_prefix("Tests run: ").map(|_| line)?;
    let names = ["Tests run", "Failures", "Errors", "Skipped"];
    for (slot, (name, part)) in out.iter_mut().zip(names.iter().zip(rest.split(", "))) {
        let value = part.strip_prefix(name)?.strip_prefix(": ")?;
        *slot = super::number(value)?.0;
    }
    Some((out, line.contains("Time elapsed")))
}
