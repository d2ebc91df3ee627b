//! Takes what the searcher finds in one file: counts everything, keeps so many lines, each once and of bounded length.

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use plimsoll_core::ingest::{Source, text};
use plimsoll_core::tool::outcome::MatchLine;
use plimsoll_core::tool::projection::LINE_CHARS;

/// Bytes that are kept on either side of a match in a line that is too long to show.
const AROUND: usize = 200;

/// Most bytes of a match itself that are kept of such a line.
const MATCH_SHOWN: usize = 400;

/// Matches between two looks at the clock.
const LOOK_EVERY: u64 = 1_024;

/// What was found in a file.
#[derive(Debug)]
pub enum Found {
    /// No match.
    Nothing,
    /// Matches.
    Matches {
        /// How many.
        count: u64,
        /// The first of them with their context.
        lines: Vec<MatchLine>,
    },
    /// NUL bytes; not searched.
    Binary,
    /// It has a line that does not fit in memory.
    TooLong,
    /// It could not be read, and why.
    Unreadable(String),
}

/// The sink of one file.
pub struct Collector<'a> {
    matcher: &'a RegexMatcher,
    most: usize,
    until: &'a dyn Fn() -> bool,
    count: u64,
    lines: Vec<MatchLine>,
    binary: bool,
}

impl<'a> Collector<'a> {
    /// Keeps at most `most` lines; ends when `until` says so.
    pub fn new(matcher: &'a RegexMatcher, most: usize, until: &'a dyn Fn() -> bool) -> Self {
        Self { matcher, most, until, count: 0, lines: Vec::new(), binary: false }
    }

    /// The result, after the search.
    pub fn found(self) -> Found {
        if self.binary {
            Found::Binary
        } else if self.count == 0 {
            Found::Nothing
        } else {
            Found::Matches { count: self.count, lines: self.lines }
        }
    }

    fn keep(&mut self, no: Option<u64>, bytes: &[u8], is_match: bool) {
        let line = no.unwrap_or(0);
        if self.lines.len() >= self.most || self.lines.last().is_some_and(|last| last.line >= line) {
            return;
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let short = bytes.len() <= LINE_CHARS;
        let (shown, cut) =
            if short { (text(Source::File, bytes), None) } else { (self.cut(bytes), Some(bytes.len() as u64)) };
        self.lines.push(MatchLine { line, text: shown, cut, is_match });
    }

    /// The part of a long line around its first match, at borders of characters.
    fn cut(&self, bytes: &[u8]) -> String {
        let found = self.matcher.find(bytes).ok().flatten();
        let (start, end) = found.map_or((0, 0), |found| (found.start(), found.end().min(found.start() + MATCH_SHOWN)));
        let from = border(bytes, start.saturating_sub(AROUND));
        let to = border(bytes, (end + AROUND).min(bytes.len()));
        let middle = text(Source::File, bytes.get(from..to).unwrap_or_default());
        let before = if from > 0 { "…" } else { "" };
        let after = if to < bytes.len() { "…" } else { "" };
        format!("{before}{middle}{after}")
    }
}

/// The border of a character at or just before a place.
fn border(bytes: &[u8], at: usize) -> usize {
    (at.saturating_sub(3)..=at).rev().find(|at| bytes.get(*at).is_none_or(|b| b & 0xC0 != 0x80)).unwrap_or(at)
}

impl Sink for Collector<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.count += 1;
        let mut no = found.line_number();
        for line in found.lines() {
            self.keep(no, line, true);
            no = no.map(|no| no + 1);
        }
        Ok(!self.count.is_multiple_of(LOOK_EVERY) || !(self.until)())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.keep(context.line_number(), context.bytes(), false);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        self.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}
