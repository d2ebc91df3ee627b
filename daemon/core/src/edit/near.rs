//! Where a text that is not in a file may have been meant: places that differ in blanks only, that begin alike, or that
//! have a similar line. Bounded in time for any file.

use super::Replacement;
use super::layout::{Layout, part, with_lf};
use super::search::Pattern;
use std::fmt;

/// Bytes of a file in which similar lines are looked for; beyond, only lines that stand there exactly are found.
const MAX_SCAN: usize = 16 << 20;

/// Places at which a line of the text stands that are looked at.
const MAX_ANCHORS: usize = 500;

/// Candidates that are told.
const MAX_TOLD: usize = 3;

/// Characters of a line that are told.
const MAX_CHARS: usize = 200;

/// Lines of a candidate that are told.
const MAX_LINES: usize = 12;

/// From this share of equal pairs of bytes on a line is similar, in percent.
const SIMILAR: usize = 60;

/// Longest text whose lines are compared one by one, in lines.
const MAX_OLD_LINES: usize = 2_000;

/// Why a text was not found, with what comes nearest to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// What kind of nearness it is.
    pub why: Why,
    /// The nearest places: number of a first line, and the lines from there as the file has them.
    pub places: Vec<(u64, Vec<String>)>,
}

/// Kinds of nearness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The numbers that results put before lines were pasted along.
    LineNumbers,
    /// The lines are there with other blanks at their ends or before them.
    Blanks,
    /// The lines are there up to one: its number in the file, its number in the text.
    Differs {
        /// In the file.
        line: u64,
        /// In the text, from 1.
        of_old: u64,
    },
    /// A line is similar.
    Similar,
    /// The new text is there already.
    Done,
    /// Nothing is near.
    Nothing,
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("old_string is not in the file. ")?;
        match self.why {
            Why::LineNumbers => f.write_str("Without the line numbers before its lines (`12|`) it is here:")?,
            Why::Blanks => f.write_str("These lines differ from it only in blanks; copy them exactly:")?,
            Why::Differs { line, of_old } => {
                write!(f, "It is the same here up to its line {of_old}, which is line {line} of the file:")?;
            }
            Why::Similar => f.write_str("The most similar lines:")?,
            Why::Done => f.write_str("new_string is there already, so the edit may have been made:")?,
            Why::Nothing => return f.write_str("No line is similar; read the file again."),
        }
        for (first, lines) in &self.places {
            for (no, line) in (*first..).zip(lines) {
                write!(f, "\n{no}|{line}")?;
            }
        }
        Ok(())
    }
}

/// What comes nearest to the text that was looked for.
pub(super) fn nearest(content: &[u8], edit: &Replacement<'_>, layout: &Layout<'_>) -> Near {
    let old = with_lf(edit.old);
    if let Some(plain) = without_line_numbers(&old)
        && let Some(near) = standing(content, &plain, layout, Why::LineNumbers)
    {
        return near;
    }
    let old_lines: Vec<Vec<u8>> =
        old.split('\n').take(MAX_OLD_LINES).map(|line| layout.encoding.encode(line).unwrap_or_default()).collect();
    if let Some(near) = anchored(content, &old_lines, layout) {
        return near;
    }
    if edit.new.len() >= 8
        && let Some(near) = standing(content, edit.new, layout, Why::Done)
    {
        return near;
    }
    similar(content, &old_lines, layout)
}

/// The text stands there: where.
fn standing(content: &[u8], text: &str, layout: &Layout<'_>, why: Why) -> Option<Near> {
    let pattern = Pattern::new(text, layout)?;
    let place = pattern.find(content, layout, 0)?;
    let lines = text.split('\n').count();
    Some(Near { why, places: vec![told(content, layout, place.start, lines)] })
}

/// The text without `12|` before each of its lines; none unless all lines that are not blank have it.
fn without_line_numbers(old: &str) -> Option<String> {
    let mut plain = Vec::new();
    for line in old.split('\n') {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.strip_prefix('|').filter(|_| rest.len() < line.trim_start().len()) {
            Some(text) => plain.push(text),
            None if line.trim().is_empty() => plain.push(line),
            None => return None,
        }
    }
    let plain = plain.join("\n");
    (plain != old && !plain.trim().is_empty()).then_some(plain)
}

/// The lines from the one at `at` on.
fn told(content: &[u8], layout: &Layout<'_>, at: usize, lines: usize) -> (u64, Vec<String>) {
    let start = layout.line_start(content, at);
    let texts = layout.split(part(content, start, content.len())).take(lines.clamp(1, MAX_LINES));
    let texts = texts.map(|line| match layout.text(line, MAX_CHARS) {
        (text, false) => text,
        (text, true) => text + " …",
    });
    (layout.line_no(content, start), texts.collect())
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii()
}

/// Places at which the text's longest line stands, blanks aside: the one at which most of its lines do.
fn anchored(content: &[u8], old: &[Vec<u8>], layout: &Layout<'_>) -> Option<Near> {
    let (index, anchor) = old
        .iter()
        .enumerate()
        .map(|(index, line)| (index, trimmed(line)))
        .max_by_key(|(index, line)| (line.len(), std::cmp::Reverse(*index)))?;
    if anchor.len() < 2 * layout.unit {
        return None;
    }
    let finder = memchr::memmem::Finder::new(anchor);
    let mut best: Option<(usize, usize)> = None;
    let mut same = Vec::new();
    for found in finder.find_iter(content).take(MAX_ANCHORS) {
        let Some(start) = lines_before(content, layout, found, index) else { continue };
        let equal = equal_lines(content, layout, start, old);
        if equal == old.len() {
            same.push(start);
        } else if equal > best.map_or(0, |(_, equal)| equal) {
            best = Some((start, equal));
        }
    }
    same.dedup();
    if !same.is_empty() {
        let places = same.iter().take(MAX_TOLD).map(|start| told(content, layout, *start, old.len())).collect();
        return Some(Near { why: Why::Blanks, places });
    }
    let (start, equal) = best?;
    let line = layout.line_no(content, start) + equal as u64;
    // The line that differs, with one before it.
    let shown = told(content, layout, start, equal + 1);
    let skip = shown.1.len().saturating_sub(2);
    let places = if equal + 1 > MAX_LINES {
        vec![told(content, layout, start, 1)]
    } else {
        vec![(shown.0 + skip as u64, shown.1.into_iter().skip(skip).collect())]
    };
    Some(Near { why: Why::Differs { line, of_old: equal as u64 + 1 }, places })
}

/// Start of the line that stands `count` lines before the one that holds `at`.
fn lines_before(content: &[u8], layout: &Layout<'_>, at: usize, count: usize) -> Option<usize> {
    let mut start = layout.line_start(content, at);
    for _ in 0..count {
        let before = start.checked_sub(layout.unit).filter(|_| start > layout.mark)?;
        start = layout.line_start(content, before);
    }
    Some(start)
}

/// How many lines of the text stand at `start` one after the other, blanks at either end aside. The text's last line may
/// be a part of the file's.
fn equal_lines(content: &[u8], layout: &Layout<'_>, start: usize, old: &[Vec<u8>]) -> usize {
    let mut lines = layout.split(part(content, start, content.len()));
    let mut equal = 0;
    for (index, wanted) in old.iter().enumerate() {
        let (wanted, last) = (trimmed(wanted), index + 1 == old.len());
        let line = trimmed(layout.content_of(lines.next().unwrap_or_default()));
        let fits = line == wanted || (last && line.starts_with(wanted)) || (index == 0 && line.ends_with(wanted));
        let only = old.len() == 1 && memchr::memmem::find(line, wanted).is_some();
        if !fits && !only {
            break;
        }
        equal += 1;
    }
    equal
}

/// The lines that share most pairs of bytes with the text's longest line.
fn similar(content: &[u8], old: &[Vec<u8>], layout: &Layout<'_>) -> Near {
    let nothing = Near { why: Why::Nothing, places: Vec::new() };
    let Some(wanted) = old.iter().map(|line| trimmed(line)).max_by_key(|line| line.len()) else { return nothing };
    if wanted.len() < 3 * layout.unit {
        return nothing;
    }
    let mut pairs = vec![false; 1 << 16];
    let pair = |window: &[u8]| match window {
        [first, second] => usize::from(u16::from_be_bytes([*first, *second])),
        _ => 0,
    };
    for window in wanted.windows(2) {
        if let Some(known) = pairs.get_mut(pair(window)) {
            *known = true;
        }
    }
    let mut best: Vec<(usize, usize)> = Vec::new();
    let mut at = layout.mark.min(content.len());
    for line in layout.split(part(content, at, content.len().min(MAX_SCAN))) {
        let text = trimmed(layout.content_of(line));
        let (shorter, longer) = (text.len().min(wanted.len()), text.len().max(wanted.len()));
        // A line of less than half or more than twice the length cannot reach the share.
        if shorter * 2 >= longer {
            let shared = text.windows(2).filter(|window| pairs.get(pair(window)) == Some(&true)).count();
            let score = shared.min(wanted.len() - 1) * 200 / (text.len() + wanted.len() - 2).max(1);
            if score >= SIMILAR {
                best.push((score, at));
                best.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
                best.truncate(MAX_TOLD);
            }
        }
        at += line.len();
    }
    if best.is_empty() {
        return nothing;
    }
    best.sort_by_key(|(_, at)| *at);
    Near { why: Why::Similar, places: best.iter().map(|(_, at)| told(content, layout, *at, 1)).collect() }
}
