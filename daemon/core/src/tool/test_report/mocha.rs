//! Mocha.

use super::{TestReport, counted_word, excerpt, number};

/// See [`super::read`].
pub(super) fn read(text: &str) -> Option<TestReport> {
    let mut report = TestReport::of("mocha");
    let mut found = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(summary) = line.strip_prefix("  ").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        else {
            continue;
        };
        match counted_word(summary) {
            Some((count, word)) if word.strip_prefix("passing (").is_some_and(|rest| rest.ends_with(')')) => {
                found = true;
                report.passed = report.passed.saturating_add(count);
            }
            Some((count, "pending")) if found => report.skipped = report.skipped.saturating_add(count),
            Some((count, "failing")) if found => report.failed = report.failed.saturating_add(count),
            _ => {
                let Some((_, rest)) = number(summary).filter(|_| found && report.failed > 0) else { continue };
                let Some(first) = rest.strip_prefix(") ") else { continue };
                let mut name = vec![first.trim()];
                while !name.last().is_some_and(|part| part.ends_with(':')) {
                    let Some(next) = lines.next_if(|next| !next.trim().is_empty()) else { break };
                    name.push(next.trim());
                }
                let mut block = Vec::new();
                while let Some(next) = lines.next_if(|next| next.trim().is_empty() || next.starts_with("   ")) {
                    block.push(next);
                }
                let said = block.into_iter().take_while(|line| !line.trim_start().starts_with("at "));
                report.fails(name.join(" ").trim_end_matches(':'), excerpt(said));
            }
        }
    }
    found.then(|| report.counted())
}
