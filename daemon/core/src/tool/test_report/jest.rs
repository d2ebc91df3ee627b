//! Jest.

use super::{TestReport, counted_word, excerpt};

/// Blocks with a bullet that are about no test.
const ASIDE: &[&str] =
    &["Console", "Validation Warning", "Validation Error", "Deprecation Warning", "Cannot log after"];

/// See [`super::read`].
pub(super) fn read(text: &str) -> Option<TestReport> {
    let mut report = TestReport::of("jest");
    let mut found = false;
    let mut suite = "";
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(counts) = line.strip_prefix("Tests:") {
            let counts: Option<Vec<(u64, &str)>> = counts.split(',').map(counted_word).collect();
            for (count, word) in counts.unwrap_or_default() {
                found |= word == "total";
                let slot = match word {
                    "passed" => &mut report.passed,
                    "failed" => &mut report.failed,
                    "skipped" | "todo" | "pending" => &mut report.skipped,
                    _ => continue,
                };
                *slot = slot.saturating_add(count);
            }
        } else if let Some(file) = line.trim_start().strip_prefix("FAIL ") {
            suite = file.trim();
        } else if let Some(name) = line.strip_prefix("  \u{25CF} ") {
            if ASIDE.iter().any(|aside| name.starts_with(aside)) {
                continue;
            }
            let mut block = Vec::new();
            while let Some(next) = lines.next_if(|next| next.trim().is_empty() || next.starts_with("    ")) {
                block.push(next);
            }
            let said = block.into_iter().take_while(|line| !line.trim_start().starts_with("at "));
            let name = if name == "Test suite failed to run" { format!("{suite}: {name}") } else { name.to_owned() };
            report.fails(&name, excerpt(said));
        }
    }
    // A file that cannot be run at all is none of the counted tests.
    let broken = report.failures.iter().filter(|failure| failure.name.ends_with(": Test suite failed to run")).count();
    report.failed = report.failed.saturating_add(broken as u64);
    found.then(|| report.counted())
}
