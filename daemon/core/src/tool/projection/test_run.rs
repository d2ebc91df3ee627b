//! Projection of a test run: how it ended, its totals, its revisions and the names of the failing tests are never cut; their
//! messages as far as there is room. The output itself is shown where those do not say what went wrong.

use super::command::{duration, exit, project_command};
use super::{Parts, ProjectionInput};
use crate::tokens::tokens;
use crate::tool::outcome::{CommandRun, Exit};
use crate::tool::test_report::{Failure, TestRun};
use serde_json::json;

/// The least that an output gets that has to be shown, in tokens.
const OUTPUT_LEAST: u64 = 400;

pub(super) fn test_run(input: &ProjectionInput<'_>, tests: &TestRun) -> Parts {
    let budget = input.budget.tokens;
    let run = &tests.run;
    let mut facts = vec![exit(run.exit), duration(run.duration_ms)];
    if run.cwd != "." {
        facts.push(format!("in {}", run.cwd));
    }
    facts.push(tests.said());
    facts.push(if tests.before == tests.after {
        format!("on {}", tests.after)
    } else {
        format!("on {}, begun on {}", tests.after, tests.before)
    });
    if tests.void.is_some() {
        facts.push("void".to_owned());
    }
    let mut body = vec![format!("$ {} ({})", run.command, tests.why)];
    body.extend(tests.notes());
    let spent: u64 = body.iter().map(|line| tokens(line) + 1).sum();
    let mut rest = budget.saturating_sub(spent);
    let mut cut = failures(tests, &mut rest, &mut body);
    if !tests.problems.is_empty() {
        body.push("what kept tests from running:".to_owned());
        for problem in &tests.problems {
            let cost = tokens(problem) + 2;
            if cost > rest {
                cut = true;
                break;
            }
            rest -= cost;
            body.push(format!("- {problem}"));
        }
    }
    let explained =
        tests.passed() && tests.report.is_some() || !tests.failures().is_empty() || !tests.problems.is_empty();
    if run.exit == Exit::NotStarted || !explained {
        let shown = project_command(run, input.call, rest.max(OUTPUT_LEAST), tokens);
        if !shown.body.is_empty() {
            body.push(shown.body);
        }
        return Parts { facts, body: body.join("\n"), partial: shown.partial || cut };
    }
    let left_out = cut || run.output.total_bytes > 0;
    body.extend(log_line(run).filter(|_| left_out));
    // What a passing run printed is not what was asked for: its totals are all of the result.
    Parts { facts, body: body.join("\n"), partial: left_out }
}

/// Every failing test's name, and the messages of the first ones as far as they fit. Says whether a message is cut.
fn failures(tests: &TestRun, rest: &mut u64, body: &mut Vec<String>) -> bool {
    let Some(report) = &tests.report else { return false };
    if report.failures.is_empty() {
        return false;
    }
    body.push("failed:".to_owned());
    let names: u64 = report.failures.iter().map(|failure| tokens(&failure.name) + 3).sum();
    *rest = rest.saturating_sub(names);
    let mut cut = false;
    for Failure { name, message } in &report.failures {
        body.push(format!("- {name}"));
        let cost = tokens(message) + 1;
        if message.is_empty() {
            continue;
        }
        if cost > *rest {
            cut = true;
            continue;
        }
        *rest -= cost;
        body.extend(message.lines().map(|line| format!("    {line}")));
    }
    if report.more_failures > 0 {
        body.push(format!("- and {} whose names are not known", report.more_failures));
    }
    cut
}

/// Where everything is that was printed.
fn log_line(run: &CommandRun) -> Option<String> {
    let log = run.log.as_ref()?;
    let call = json!({ "target_file": log });
    Some(format!("[{} bytes of output not shown: read_file {call}]", run.output.total_bytes))
}

#[cfg(test)]
mod tests {
    use super::super::{Budget, Projection, Saved, project};
    use super::*;
    use crate::id::{CallId, EvidenceId, Revision};
    use crate::tool::outcome::{Body, Outcome, Output, Status};
    use crate::tool::test_report::{TestReport, tests::run};

    fn shown(run: TestRun, budget: u64) -> Projection {
        let status = if run.passed() { Status::Ok } else { Status::Failed };
        project(&ProjectionInput {
            call: CallId(7),
            tool: "run_tests",
            outcome: &Outcome { status, body: Body::Tests(Box::new(run)) },
            evidence: EvidenceId { call: CallId(7), revision: Revision(42) },
            approximate: true,
            budget: Budget { tokens: budget, ..Budget::default() },
            cursor: None,
            saved: Saved::No,
        })
    }

    fn failing(count: usize, code: i32) -> TestRun {
        let failure = |no: usize| Failure { name: format!("test_{no}"), message: format!("assert {no} == 0\nmore") };
        let report = TestReport {
            format: "pytest".into(),
            passed: 2,
            failed: count as u64,
            failures: (1..=count).map(failure).collect(),
            ..TestReport::default()
        };
        let mut tests = run(code);
        tests.run.output = Output { head: "noise\n".into(), total_bytes: 6, ..Output::default() };
        tests.run.log = Some("/d/c7.log".into());
        TestRun { report: Some(report), ..tests }
    }

    #[test]
    fn a_failing_run_shows_names_and_messages_and_where_the_rest_is() {
        let projection = shown(failing(2, 1), 2_000);
        assert_eq!(
            projection.text,
            "[run_tests failed \u{b7} exit code 1 \u{b7} 1.5 s \u{b7} 2 passed, 2 failed \u{b7} on r42, begun on r41 \u{b7} partial \u{b7} \
             e/c7@r42 approx.]\n$ make test (Makefile has a target `test`)\nfailed:\n- test_1\n    assert 1 == 0\n    more\n- test_2\n    \
             assert 2 == 0\n    more\n[6 bytes of output not shown: read_file {\"target_file\":\"/d/c7.log\"}]"
        );
    }

    #[test]
    fn names_are_never_cut() {
        let projection = shown(failing(200, 1), 300);
        for no in 1..=200 {
            assert!(projection.text.contains(&format!("- test_{no}\n")), "{no}");
        }
        assert!(!projection.text.contains("assert 200 == 0"));
        assert!(projection.partial && projection.text.contains("read_file"));
    }

    #[test]
    fn what_is_not_understood_is_shown() {
        let mut tests = TestRun { report: None, ..failing(1, 2) };
        let text = shown(tests.clone(), 2_000).text;
        assert!(text.contains("totals not recognised, the exit code is all"), "{text}");
        assert!(text.ends_with("\nnoise"), "{text}");
        tests.problems = vec!["error: x".into()];
        let text = shown(tests.clone(), 2_000).text;
        assert!(text.contains("what kept tests from running:\n- error: x\n[6 bytes"), "{text}");
        tests.void = Some("a.rs changed meanwhile".into());
        let text = shown(tests, 2_000).text;
        assert!(text.contains(" \u{b7} void \u{b7} ") && text.contains("\nvoid: a.rs changed meanwhile\n"), "{text}");
    }
}
