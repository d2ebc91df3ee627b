//! `cargo test` (libtest) and `cargo nextest`.

use super::{TestReport, counted_word, excerpt, number};
use std::collections::BTreeMap;

/// What one test program said.
#[derive(Default)]
struct Program<'a> {
    counts: [u64; 3],
    failed: Vec<&'a str>,
}

/// See [`super::read`].
pub(super) fn read(text: &str) -> Option<TestReport> {
    nextest(text).or_else(|| libtest(text))
}

fn libtest(text: &str) -> Option<TestReport> {
    let mut report = TestReport::of("cargo");
    let messages = messages(text);
    let mut found = false;
    let mut open: Option<Program<'_>> = None;
    let note = |report: &mut TestReport, failed: &[&str]| {
        for name in failed {
            report.fails(name, messages.get(name).cloned().unwrap_or_default());
        }
    };
    for line in text.lines() {
        if is_beginning(line) {
            cut_off(&mut report, open.take(), &note);
            open = Some(Program::default());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            let program = open.take().unwrap_or_default();
            let counts = summary(result)?;
            found = true;
            report.passed = report.passed.saturating_add(counts[0]);
            report.failed = report.failed.saturating_add(counts[1]);
            report.skipped = report.skipped.saturating_add(counts[2]);
            note(&mut report, &program.failed);
        } else if let (Some((name, how)), Some(program)) = (test_line(line), &mut open) {
            match how {
                How::Ok => program.counts[0] += 1,
                How::Failed => {
                    program.counts[1] += 1;
                    program.failed.push(name);
                }
                How::Ignored => program.counts[2] += 1,
            }
        }
    }
    found |= open.is_some();
    cut_off(&mut report, open.take(), &note);
    // With `-q` the tests are dots; the failing ones have sections all the same.
    if report.failed > 0 {
        for (name, message) in &messages {
            report.fails(name, message.clone());
        }
    }
    found.then(|| report.counted())
}

/// Takes in a program that ended without a summary.
fn cut_off<'a>(report: &mut TestReport, program: Option<Program<'a>>, note: &dyn Fn(&mut TestReport, &[&'a str])) {
    let Some(program) = program else { return };
    report.cut = true;
    report.passed = report.passed.saturating_add(program.counts[0]);
    report.failed = report.failed.saturating_add(program.counts[1]);
    report.skipped = report.skipped.saturating_add(program.counts[2]);
    note(report, &program.failed);
}

/// `running 3 tests`.
fn is_beginning(line: &str) -> bool {
    let rest = line.strip_prefix("running ").and_then(number);
    rest.is_some_and(|(_, rest)| matches!(rest, " test" | " tests"))
}

enum How {
    Ok,
    Failed,
    Ignored,
}

/// `test a::b ... FAILED`.
fn test_line(line: &str) -> Option<(&str, How)> {
    let (name, how) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let how = if how == "ok" || how.starts_with("ok <") {
        How::Ok
    } else if how.starts_with("FAILED") {
        How::Failed
    } else if how.starts_with("ignored") {
        How::Ignored
    } else {
        return None;
    };
    Some((name.trim_end_matches(" - should panic"), how))
}

/// `FAILED. 1 passed; 1 failed; 0 ignored; …`
fn summary(result: &str) -> Option<[u64; 3]> {
    let (_, counts) = result.split_once(". ")?;
    let mut out = [0; 3];
    for part in counts.split("; ") {
        let Some((count, word)) = counted_word(part) else { continue };
        match word {
            "passed" => out[0] = count,
            "failed" => out[1] = count,
            "ignored" => out[2] = count,
            _ => {}
        }
    }
    Some(out)
}

/// What failing tests printed: the sections `---- name stdout ----`.
fn messages(text: &str) -> BTreeMap<&str, String> {
    let mut all = BTreeMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let head = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" ----"));
        let Some(name) = head.and_then(|head| head.strip_suffix(" stdout").or_else(|| head.strip_suffix(" stderr")))
        else {
            continue;
        };
        let mut section = Vec::new();
        while let Some(next) = lines.next_if(|next| !next.starts_with("---- ") && *next != "failures:") {
            if !next.starts_with("note: run with `RUST_BACKTRACE") && !next.starts_with("note: Rust has a backtrace") {
                section.push(next);
            }
        }
        // What the test itself printed comes before.
        let panic = |line: &&str| line.starts_with("thread '") && line.contains("panicked at");
        let from = section.iter().position(panic).unwrap_or_default();
        let said = section.into_iter().skip(from).take_while(|line| *line != "stack backtrace:");
        all.entry(name.trim_end_matches(" - should panic")).or_insert_with(|| excerpt(said));
    }
    all
}

/// `     Summary [   0.005s] 3 tests run: 2 passed, 1 failed, 0 skipped`.
fn nextest(text: &str) -> Option<TestReport> {
    let mut report = TestReport::of("nextest");
    let mut found = false;
    let timed = |line: &str, word: &str| -> Option<String> {
        let rest = line.trim_start().strip_prefix(word)?.trim_start().strip_prefix('[')?;
        Some(rest.split_once("] ")?.1.trim().to_owned())
    };
    for line in text.lines() {
        if let Some(counts) = timed(line, "Summary") {
            let (_, counts) = counts.split_once(" run: ")?;
            found = true;
            for part in counts.split(", ") {
                let part = part.split(" (").next().unwrap_or_default();
                match counted_word(part) {
                    Some((count, "passed")) => report.passed = count,
                    Some((count, "failed" | "timed out" | "exec failed")) => {
                        report.failed = report.failed.saturating_add(count);
                    }
                    Some((count, "skipped")) => report.skipped = count,
                    Some(_) | None => {}
                }
            }
        } else if let Some(name) = ["FAIL", "SIGABRT", "SIGSEGV", "TIMEOUT"].iter().find_map(|word| timed(line, word)) {
            report.fails(&name, String::new());
        }
    }
    found.then(|| report.counted())
}
