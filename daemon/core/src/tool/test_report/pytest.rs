//! pytest.

use super::{TestReport, counted_word, excerpt};
use std::collections::BTreeMap;

/// See [`super::read`].
pub(super) fn read(text: &str) -> Option<TestReport> {
    let mut report = TestReport::of("pytest");
    let summary = text.lines().rev().find_map(summary)?;
    for (count, word) in summary {
        match word {
            "passed" | "xpassed" => report.passed = report.passed.saturating_add(count),
            "failed" | "error" | "errors" => report.failed = report.failed.saturating_add(count),
            "skipped" | "xfailed" => report.skipped = report.skipped.saturating_add(count),
            _ => {}
        }
    }
    let sections = sections(text);
    let mut listed = text.lines().skip_while(|line| !is_title(line, "short test summary info")).skip(1).peekable();
    if listed.peek().is_none() {
        // The user has switched the list off; the sections are there.
        for (name, message) in &sections {
            report.fails(name, message.clone());
        }
    }
    for line in listed {
        let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) else { continue };
        let (name, said) = rest.split_once(" - ").unwrap_or((rest, ""));
        let full = sections.get(section_of(name).as_str()).cloned().unwrap_or_default();
        report.fails(name, if full.is_empty() { excerpt([said]) } else { full });
    }
    Some(report.counted())
}

/// The last line: `=== 1 failed, 2 passed in 0.12s ===`, or without the bars.
fn summary(line: &str) -> Option<Vec<(u64, &str)>> {
    const WORDS: &[&str] = &[
        "passed",
        "failed",
        "error",
        "errors",
        "skipped",
        "xfailed",
        "xpassed",
        "deselected",
        "warning",
        "warnings",
        "rerun",
        "subtests passed",
        "subtest passed",
    ];
    let line = line.trim_matches(['=', ' ']);
    let (counts, time) = line.rsplit_once(" in ")?;
    if !time.starts_with(|c: char| c.is_ascii_digit()) || !time.contains('s') {
        return None;
    }
    if counts == "no tests ran" {
        return Some(Vec::new());
    }
    let counts: Option<Vec<(u64, &str)>> = counts.split(", ").map(counted_word).collect();
    counts.filter(|counts| counts.iter().all(|(_, word)| WORDS.contains(word)))
}

/// A title within bars.
fn title(line: &str, bar: char) -> Option<&str> {
    let inner = line.trim_matches(bar);
    (line.starts_with(bar) && line.ends_with(bar) && inner.starts_with(' ') && inner.ends_with(' '))
        .then(|| inner.trim())
}

fn is_title(line: &str, text: &str) -> bool {
    title(line, '=') == Some(text)
}

/// How the section of a test is called: `a/test_b.py::C::test_x[1]` has the section `C.test_x[1]`.
fn section_of(name: &str) -> String {
    match name.split_once("::") {
        // The parameters may hold the separator too.
        Some((_, rest)) => {
            let (path, parameters) = rest.find('[').and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
            format!("{}{parameters}", path.replace("::", "."))
        }
        None => name.to_owned(),
    }
}

/// The lines `E   …` of each section, by its title.
fn sections(text: &str) -> BTreeMap<&str, String> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut open: Option<&str> = None;
    for line in text.lines() {
        if let Some(name) = title(line, '_') {
            let errors = ["ERROR collecting ", "ERROR at setup of ", "ERROR at teardown of "];
            open = Some(errors.iter().find_map(|head| name.strip_prefix(head)).unwrap_or(name));
        } else if title(line, '=').is_some() {
            open = None;
        } else if let (Some(name), Some(said)) = (open, line.strip_prefix("E ")) {
            all.entry(name).or_default().push(said);
        }
    }
    all.into_iter().map(|(name, lines)| (name, excerpt(lines))).collect()
}
