//! A run of the project's tests as clients get it.

use plimsoll_core::tool::test_report::{TestRun, Unit};
use serde_json::{Value, json};

/// The run with its command, which is given as clients get commands.
pub fn wire(tests: &TestRun, run: Value) -> Value {
    let report = tests.report.as_ref().map(|report| {
        json!({
            "format": report.format,
            "unit": match report.unit {
                Unit::Tests => "tests",
                Unit::Packages => "packages",
            },
            "run": report.run(),
            "passed": report.passed,
            "failed": report.failed,
            "skipped": report.skipped,
            "cut": report.cut,
            "failures": report
                .failures
                .iter()
                .map(|failure| json!({ "name": failure.name, "message": failure.message }))
                .collect::<Vec<_>>(),
            "moreFailures": report.more_failures,
        })
    });
    json!({
        "kind": "tests",
        "why": tests.why,
        "target": tests.target,
        "passed": tests.passed(),
        "report": report,
        "problems": tests.problems,
        "before": tests.before.to_string(),
        "after": tests.after.to_string(),
        "own": tests.own,
        "foreign": tests.foreign,
        "void": tests.void,
        "run": run,
    })
}
