//! One run of a project's tests: what ran and why, what it said, and of which revision it speaks.

use super::{Failure, Runner, TestReport, Unit};
use crate::id::Revision;
use crate::tool::outcome::{CommandRun, Exit};
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    /// The command, its end and its output.
    pub run: CommandRun,
    /// What it is.
    pub runner: Runner,
    /// Why it is this command, as a clause for people.
    pub why: String,
    /// What it was limited to; none for all tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What the output says; none when it was not understood.
    pub report: Option<TestReport>,
    /// What kept tests from running, where nothing else says it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The revision when it began, with what was pending then applied.
    pub before: Revision,
    /// The revision when it had ended, likewise.
    pub after: Revision,
    /// Files that the run itself changed, as the model is shown paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// Files that changed meanwhile and that the run is not known to have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<String>,
    /// Why it says nothing of any revision; none when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
}

/// Files that are named; more are counted.
const FILES_NAMED: usize = 20;

impl TestRun {
    /// Whether it ended well, tests ran as far as that is known, and none failed. A run of no tests shows nothing.
    pub fn passed(&self) -> bool {
        let none_failed = self.report.as_ref().is_none_or(|report| report.failed == 0 && report.run() > 0);
        self.run.exit == Exit::Code(0) && none_failed
    }

    /// Whether it came to an end that says something: one that never began, or was interrupted, does not.
    pub fn is_over(&self) -> bool {
        match self.run.exit {
            Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => true,
            Exit::Cancelled | Exit::NotStarted | Exit::Running => false,
        }
    }

    /// What it was limited to, so that it says nothing of the other tests; none of a run of all.
    pub fn limit(&self) -> Option<&str> {
        self.target.as_deref().map(str::trim).filter(|target| !target.is_empty() && *target != ".")
    }

    /// The failing tests that are known by name.
    pub fn failures(&self) -> &[Failure] {
        self.report.as_ref().map(|report| report.failures.as_slice()).unwrap_or_default()
    }

    /// The numbers, such as `12 passed, 1 failed, 2 skipped`.
    pub fn said(&self) -> String {
        let Some(report) = &self.report else { return "totals not recognised, the exit code is all".to_owned() };
        let cut = if report.cut { " so far (a program ended before its summary)" } else { "" };
        let of = match report.unit {
            Unit::Tests if report.run() == 0 && report.skipped == 0 => return format!("no tests ran{cut}"),
            Unit::Tests => "",
            Unit::Packages => " packages",
        };
        let mut parts = vec![format!("{}{of} passed", report.passed), format!("{} failed", report.failed)];
        if report.skipped > 0 {
            parts.push(format!("{} skipped", report.skipped));
        }
        format!("{}{cut}", parts.join(", "))
    }

    /// What must be known of it beside the numbers, one line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(void) = &self.void {
            notes.push(format!("void: {void}"));
        }
        if let Some(limit) = self.limit() {
            notes.push(format!("limited to `{limit}`: says nothing of the other tests"));
        }
        if !self.own.is_empty() {
            notes.push(format!("changed by the run itself: {}", named(&self.own)));
        }
        notes
    }

    /// About how many bytes it holds beside the command.
    pub(crate) fn weight(&self) -> usize {
        let failures: usize =
            self.failures().iter().map(|failure| failure.name.len() + failure.message.len() + 64).sum();
        let lists = [&self.problems, &self.own, &self.foreign];
        failures + lists.into_iter().flatten().map(|text| text.len() + 8).sum::<usize>() + self.why.len() + 512
    }
}

/// A list of files for a sentence.
pub(crate) fn named(files: &[String]) -> String {
    let shown = files.iter().take(FILES_NAMED).cloned().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(FILES_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_no_tests_shows_nothing() {
        let of = |code: i32, report: Option<(u64, u64)>| TestRun {
            report: report.map(|(passed, failed)| TestReport { passed, failed, ..TestReport::of("x") }),
            ..crate::tool::test_report::tests::run(code)
        };
        for (code, report, passed, said) in [
            (0, Some((3, 0)), true, "3 passed, 0 failed"),
            (0, Some((0, 0)), false, "no tests ran"),
            (0, Some((3, 1)), false, "3 passed, 1 failed"),
            (1, Some((3, 0)), false, "3 passed, 0 failed"),
            (0, None, true, "totals not recognised, the exit code is all"),
        ] {
            let run = of(code, report);
            assert_eq!((run.passed(), run.said().as_str()), (passed, said));
        }
    }
}
