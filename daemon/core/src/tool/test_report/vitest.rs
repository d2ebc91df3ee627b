//! Vitest.

use super::{TestReport, counted_word, excerpt};

/// See [`super::read`].
pub(super) fn read(text: &str) -> Option<TestReport> {
    let mut report = TestReport::of("vitest");
    let mut found = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if let Some(counts) = trimmed.strip_prefix("Tests  ") {
            let all = counts.rsplit_once('(').and_then(|(_, rest)| rest.strip_suffix(')')?.parse::<u64>().ok());
            if all.is_none() {
                continue;
            }
            found = true;
            for part in counts.split('|') {
                let part = part.split('(').next().unwrap_or_default();
                let slot = match counted_word(part) {
                    Some((count, "passed")) => (&mut report.passed, count),
                    Some((count, "failed")) => (&mut report.failed, count),
                    Some((count, "skipped" | "todo")) => (&mut report.skipped, count),
                    Some(_) | None => continue,
                };
                *slot.0 = slot.0.saturating_add(slot.1);
            }
        } else if let Some(name) = line.strip_prefix(" FAIL  ") {
            let mut block = Vec::new();
            while let Some(next) = lines.next_if(|next| !next.trim().is_empty() && !next.starts_with(" FAIL  ")) {
                block.push(next);
            }
            let said = block.into_iter().take_while(|line| !line.trim_start().starts_with('\u{276F}'));
            report.fails(name, excerpt(said));
        }
    }
    // A file that cannot be run at all is none of the counted tests.
    let broken = report.failures.iter().filter(|failure| !failure.name.contains(" > ")).count();
    report.failed = report.failed.saturating_add(broken as u64);
    found.then(|| report.counted())
}
