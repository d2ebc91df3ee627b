//! `go test`. Without `-v` it does not say how many tests passed: then packages are counted.

use super::{TestReport, Unit, excerpt};
use std::collections::BTreeMap;

/// How a test of the present package ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Passed,
    Failed,
    Skipped,
}

/// Tests of one package, by name, with what they said.
type Tests<'a> = BTreeMap<&'a str, (How, Vec<&'a str>)>;

#[derive(Default)]
struct Counts {
    packages: [u64; 3],
    tests: [u64; 3],
    /// Packages that failed without a failing test.
    broken: u64,
}

/// See [`super::read`].
pub(super) fn read(text: &str) -> Option<TestReport> {
    let mut report = TestReport::of("go");
    let mut counts = Counts::default();
    let mut found = false;
    let mut tests: Tests<'_> = BTreeMap::new();
    let mut said: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut of: Option<&str> = None;
    for line in text.lines() {
        if let Some(name) =
            ["=== RUN   ", "=== CONT  ", "=== PAUSE ", "=== NAME  "].iter().find_map(|head| line.strip_prefix(head))
        {
            of = Some(name.trim());
        } else if let Some((name, how)) = ended(line) {
            tests.insert(name, (how, said.remove(name).unwrap_or_default()));
            of = Some(name);
        } else if let Some((how, name)) = package(line) {
            found = true;
            close(&mut report, &mut counts, std::mem::take(&mut tests), (how, name));
            said.clear();
            of = None;
        } else if let Some(name) = of.filter(|_| line.starts_with("    ")) {
            match tests.get_mut(name) {
                Some((_, lines)) => lines.push(line),
                None => said.entry(name).or_default().push(line),
            }
        }
    }
    if counts.tests[0] > 0 {
        [report.passed, report.failed, report.skipped] = counts.tests;
        report.failed = report.failed.saturating_add(counts.broken);
    } else {
        report.unit = Unit::Packages;
        [report.passed, report.failed, report.skipped] = counts.packages;
    }
    found.then(|| report.counted())
}

/// `    --- FAIL: TestX/sub (0.00s)`.
fn ended(line: &str) -> Option<(&str, How)> {
    let rest = line.trim_start().strip_prefix("--- ")?;
    let (how, rest) = rest.split_once(": ")?;
    let how = match how {
        "PASS" => How::Passed,
        "FAIL" => How::Failed,
        "SKIP" => How::Skipped,
        _ => return None,
    };
    let (name, time) = rest.rsplit_once(" (")?;
    time.ends_with("s)").then_some((name, how))
}

/// `ok  <tab>example.com/p<tab>0.01s`.
fn package(line: &str) -> Option<(How, &str)> {
    let (how, rest) = if let Some(rest) = line.strip_prefix("ok  \t") {
        (How::Passed, rest)
    } else if let Some(rest) = line.strip_prefix("FAIL\t") {
        (How::Failed, rest)
    } else {
        (How::Skipped, line.strip_prefix("?   \t")?)
    };
    Some((how, rest.split(['\t', ' ']).next()?))
}

fn close(report: &mut TestReport, counts: &mut Counts, tests: Tests<'_>, (how, package): (How, &str)) {
    let slot = |how: How| match how {
        How::Passed => 0,
        How::Failed => 1,
        How::Skipped => 2,
    };
    let add = |list: &mut [u64; 3], how: How| {
        if let Some(count) = list.get_mut(slot(how)) {
            *count = count.saturating_add(1);
        }
    };
    add(&mut counts.packages, how);
    let mut failing = false;
    for (name, (how, lines)) in &tests {
        // A test with parts stands for them; it counts where none of them is there.
        let part = format!("{name}/");
        let has_parts = tests.range(part.as_str()..).next().is_some_and(|(next, _)| next.starts_with(&part));
        if has_parts {
            continue;
        }
        add(&mut counts.tests, *how);
        if *how == How::Failed {
            failing = true;
            report.fails(&format!("{package} {name}"), excerpt(lines.iter().copied()));
        }
    }
    if how == How::Failed && !failing {
        counts.broken = counts.broken.saturating_add(1);
        report.fails(package, String::new());
    }
}
