//! Which files and which lines fit the keywords best. Plain arithmetic, the same for the same input.

use super::hits::{FileHits, Line};
use super::keywords::Keyword;
use std::ops::Range;

/// Most lines of a quote.
pub const QUOTE_LINES: usize = 24;

/// A keyword in one of these last parts of a path says what the file is about; further up, where it belongs.
const NAMING_PARTS: usize = 2;

/// Files sorted by how well they fit, best first.
///
/// A keyword in a path counts by how rare it is among the paths; lines that match count by the logarithm of their
/// number; tests, prose and generated files count less than source.
pub fn order(files: Vec<FileHits>, keywords: &[Keyword]) -> Vec<FileHits> {
    let paths: Vec<String> = files.iter().map(|file| file.path.to_lowercase()).collect();
    let weights: Vec<f64> = keywords
        .iter()
        .map(|keyword| {
            let having = paths.iter().filter(|path| keyword.is_in(path)).count().max(1);
            weight(keyword) * (1.0 + paths.len() as f64 / having as f64).ln()
        })
        .collect();
    let mut scored: Vec<(f64, FileHits)> = files
        .into_iter()
        .zip(&paths)
        .map(|(file, path)| {
            let naming = naming_parts(path);
            let named: f64 = keywords
                .iter()
                .zip(&weights)
                .map(|(keyword, weight)| match (keyword.is_in(naming), keyword.is_in(path)) {
                    (true, _) => 3.0 * weight,
                    (false, true) => 1.5 * weight,
                    (false, false) => 0.0,
                })
                .sum();
            let found = 1.5 * (1.0 + file.count as f64).ln();
            ((named + found) * kind(path), file)
        })
        .collect();
    scored.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.path.cmp(&other.path)));
    scored.into_iter().map(|(_, file)| file).collect()
}

fn weight(keyword: &Keyword) -> f64 {
    match (keyword.generic, keyword.is_identifier()) {
        (true, _) => 0.5,
        (false, false) => 1.0,
        (false, true) => 2.0,
    }
}

fn naming_parts(path: &str) -> &str {
    path.rmatch_indices('/').nth(NAMING_PARTS - 1).and_then(|(at, _)| path.get(at + 1..)).unwrap_or(path)
}

/// How much a kind of file counts, by its path in lower case.
fn kind(path: &str) -> f64 {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let folder = |names: &[&str]| path.split('/').any(|part| names.contains(&part));
    if matches!(ending, "lock" | "svg" | "map" | "csv" | "snap") || name.contains(".min.") {
        0.2
    } else if folder(&["test", "tests", "spec", "fixtures", "testdata", "__tests__"]) || name.contains("test") {
        0.3
    } else if matches!(ending, "md" | "txt" | "rst" | "adoc") || folder(&["docs", "doc"]) {
        0.6
    } else {
        1.0
    }
}

/// Of a stretch's score, the share that repetition adds: what is said often weighs less than what is said once and well.
const REPEATED: f64 = 0.1;

/// Most lines of comments that a quote begins with although no keyword is in them.
const LEADING_COMMENTS: usize = 4;

/// The stretch of lines, at most [`QUOTE_LINES`], that fits best, so that it begins with a line that counts and shows what
/// follows it; blank ends are left out. The first lines when none counts; empty only when there are no lines.
pub fn passage(lines: &[Line<'_>], keywords: &[Keyword]) -> Range<usize> {
    let scores: Vec<Vec<f64>> = lines.iter().map(|line| line_scores(line.text, keywords)).collect();
    let score = |start: usize| {
        let mut best = vec![0.0_f64; keywords.len()];
        let mut sum = 0.0;
        for line in scores.iter().skip(start).take(QUOTE_LINES) {
            for (best, score) in best.iter_mut().zip(line) {
                *best = best.max(*score);
                sum += score;
            }
        }
        best.iter().sum::<f64>() + REPEATED * sum
    };
    let starts = 0..=lines.len().saturating_sub(QUOTE_LINES);
    let (mut start, _) = starts.fold((0, 0.0), |best, start| {
        let score = score(start);
        // Sums of the same numbers in another order may differ in their last digits.
        if score > 0.0 && score > best.1 - 1e-6 { (start, score) } else { best }
    });
    let comment = |at: usize| {
        let text = lines.get(at).map_or("", |line| line.text.trim_start());
        ["//", "#", "/*", "*", "@", "--"].iter().any(|mark| text.starts_with(mark))
    };
    let earliest = start.saturating_sub(LEADING_COMMENTS);
    while start > earliest && comment(start - 1) {
        start -= 1;
    }
    let mut range = start..(start + QUOTE_LINES).min(lines.len());
    let blank = |at: usize| lines.get(at).is_some_and(|line| line.text.trim().is_empty());
    while range.start < range.end && blank(range.start) {
        range.start += 1;
    }
    while range.start < range.end && blank(range.end - 1) {
        range.end -= 1;
    }
    range
}

/// What each keyword gains by a line.
fn line_scores(text: &str, keywords: &[Keyword]) -> Vec<f64> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let first = words.clone().find(|word| !MODIFIERS.contains(word)).unwrap_or_default();
    let factor = if DEFINITIONS.contains(&first) {
        2.0
    } else if IMPORTS.contains(&first) || words.clone().any(|word| word.starts_with("assert")) {
        0.3
    } else {
        1.0
    };
    keywords.iter().map(|keyword| if keyword.is_in(&lower) { factor * weight(keyword) } else { 0.0 }).collect()
}

/// What may stand before the word that makes a definition.
const MODIFIERS: &[&str] = &[
    "pub",
    "crate",
    "super",
    "async",
    "unsafe",
    "export",
    "default",
    "public",
    "private",
    "protected",
    "final",
    "abstract",
];

/// Words that begin a definition.
const DEFINITIONS: &[&str] = &[
    "class",
    "const",
    "def",
    "enum",
    "fn",
    "func",
    "function",
    "impl",
    "interface",
    "macro_rules",
    "static",
    "struct",
    "trait",
    "type",
];

/// Words that begin an import.
const IMPORTS: &[&str] = &["from", "import", "include", "mod", "require", "use", "using"];

#[cfg(test)]
mod tests {
    use super::super::keywords;
    use super::*;

    fn ordered(query: &str, files: &[(&str, u64)]) -> Vec<String> {
        let files = files.iter().map(|(path, count)| FileHits { path: (*path).to_owned(), count: *count }).collect();
        order(files, &keywords::of(query)).into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn a_path_that_names_the_thing_beats_many_matches() {
        assert_eq!(
            ordered(
                "Where is the shell command tool implemented?",
                &[
                    ("CHANGELOG.md", 9),
                    ("src/process/start.rs", 12),
                    ("src/tool/run_terminal_cmd/mod.rs", 3),
                    ("tests/e2e/run_terminal_cmd.rs", 30),
                ]
            ),
            [
                "src/tool/run_terminal_cmd/mod.rs",
                "src/process/start.rs",
                "tests/e2e/run_terminal_cmd.rs",
                "CHANGELOG.md"
            ]
        );
    }

    #[test]
    fn files_that_fit_alike_are_in_order_of_their_paths() {
        assert_eq!(ordered("compaction", &[("b.rs", 2), ("a.rs", 2)]), ["a.rs", "b.rs"]);
    }

    #[test]
    fn the_passage_is_where_the_keywords_are_defined() {
        let mut text = vec!["use store::Batch;"; 30];
        text.extend(vec![""; 30]);
        text.extend(["", "/// Writes a batch.", "fn write_batch(batch: Batch) {", "}"]);
        let lines: Vec<Line<'_>> = (1..).zip(&text).map(|(no, text)| Line { no, text }).collect();
        let keywords = keywords::of("write batch");
        assert_eq!(passage(&lines, &keywords), 61..64);
        assert_eq!(passage(&[], &keywords), 0..0);
    }
}
