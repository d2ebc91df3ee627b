//! Whole lines within a budget: all of them, or the head and the tail, or a start; long lines cut; every gap named with
//! the call that shows it. Used for files and for long texts that are saved as files.

use super::LINE_CHARS;
use super::call::{call, short_version};
use super::outline::{self, Definition};
use crate::tokens::tokens;
use crate::tool::outcome::LongLine;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Of a room that does not hold everything, the head gets this share, in percent: beginnings tell more than ends.
const HEAD_SHARE: u64 = 60;

/// Of such a room the outline of what is left out gets at most this share, in percent.
const OUTLINE_SHARE: u64 = 25;

/// Numbered lines and where the rest of them can be read.
pub(super) struct Lines<'a> {
    /// The file for `read_file`.
    pub path: &'a str,
    /// Its version; none for a file that never changes.
    pub version: Option<&'a str>,
    /// Whether each line begins with `LINE|`.
    pub numbered: bool,
    /// Lines from the first one on, without gaps.
    pub head: Vec<(u64, &'a str)>,
    /// Lines up to the last one, without gaps among them, when some before them are not at hand.
    pub tail: Vec<(u64, &'a str)>,
    /// The last line that belongs to what is shown.
    pub last: u64,
    /// Lines that are too long to show.
    pub long: &'a [LongLine],
    /// Show a start and leave out the end, never the middle.
    pub in_order: bool,
    /// What is defined in the lines, in order; of what is left out it is listed.
    pub outline: &'a [Definition],
}

/// What of the lines is shown.
pub(super) struct Shown {
    /// The lines and the notices between them.
    pub body: String,
    /// First and last line of each shown stretch.
    pub ranges: Vec<(u64, u64)>,
    /// Whether a line or a part of one is left out.
    pub partial: bool,
    /// Shown lines of which a part is left out.
    pub cut: Vec<u64>,
    begun: bool,
}

impl Lines<'_> {
    /// The lines within `room` tokens; at least the first one.
    pub(super) fn show(&self, room: u64) -> Shown {
        let mut shown =
            Shown { body: String::new(), ranges: Vec::new(), partial: false, cut: Vec::new(), begun: false };
        let complete = self.tail.is_empty() && self.head.last().is_some_and(|(no, _)| *no == self.last);
        if complete {
            let (all, _) = self.take(self.head.iter(), room, false);
            if all.len() == self.head.len() {
                Self::push(&mut shown, &all);
                return shown;
            }
        }
        let reserve = if self.outline.is_empty() { 0 } else { room * OUTLINE_SHARE / 100 };
        let mut parts = self.ends(room - reserve);
        let mut listed = self.listed(&parts, reserve);
        // What the outline does not need is for lines.
        let spent: u64 = listed.iter().map(|row| tokens(row) + 1).sum();
        if spent < reserve {
            parts = self.ends(room - spent);
            listed = self.listed(&parts, spent);
        }
        let (head, tail) = parts;
        Self::push(&mut shown, &head);
        if let Some((from, to)) = self.missing(&head, &tail) {
            shown.partial = true;
            shown.push_line(&self.gap(from, to));
            for row in &listed {
                shown.push_line(row);
            }
        }
        Self::push(&mut shown, &tail);
        shown
    }

    /// The lines of the head and of the tail that are shown.
    fn ends(&self, room: u64) -> (Vec<Rendered>, Vec<Rendered>) {
        let head_room = if self.in_order { room } else { room * HEAD_SHARE / 100 };
        let (head, spent) = self.take(self.head.iter(), head_room, true);
        let mut tail = Vec::new();
        if !self.in_order {
            let rest = self.head.get(head.len()..).unwrap_or_default();
            let candidates = if self.tail.is_empty() { rest } else { &self.tail };
            (tail, _) = self.take(candidates.iter().rev(), room.saturating_sub(spent), false);
            tail.reverse();
        }
        (head, tail)
    }

    /// The lines between them.
    fn missing(&self, head: &[Rendered], tail: &[Rendered]) -> Option<(u64, u64)> {
        let from = head.last().map_or(self.last + 1, |line| line.no + 1);
        let to = tail.first().map_or(self.last, |line| line.no.saturating_sub(1));
        (from <= to).then_some((from, to))
    }

    /// The outline of what is missing, within `room` tokens.
    fn listed(&self, (head, tail): &(Vec<Rendered>, Vec<Rendered>), room: u64) -> Vec<String> {
        self.missing(head, tail).map(|(from, to)| outline::rows(self.outline, from, to, room)).unwrap_or_default()
    }

    /// Lines from an iterator while they fit; with `first`, one in any case.
    fn take<'b>(
        &self,
        lines: impl Iterator<Item = &'b (u64, &'b str)>,
        room: u64,
        first: bool,
    ) -> (Vec<Rendered>, u64) {
        let mut taken = Vec::new();
        let mut spent = 0;
        for (no, text) in lines {
            let line = self.render(*no, text);
            let cost = tokens(&line.text) + 1;
            if spent + cost > room && !(first && taken.is_empty()) {
                break;
            }
            spent += cost;
            taken.push(line);
        }
        (taken, spent)
    }

    fn render(&self, no: u64, text: &str) -> Rendered {
        let mut out = if self.numbered { format!("{no}|") } else { String::new() };
        let Some(long) = self.long.iter().find(|long| long.line == no) else {
            out.push_str(text);
            return Rendered { no, text: out, cut: false };
        };
        out.extend(text.chars().take(LINE_CHARS));
        let rest = call(
            "read_file",
            &[
                ("target_file", json!(self.path)),
                ("byte_offset", json!(long.cut_at)),
                ("byte_limit", json!(long.end.saturating_sub(long.cut_at))),
                ("expected_version", self.version()),
            ],
        );
        // Writing to a String cannot fail.
        let _ = write!(out, " [line {no} cut at {LINE_CHARS} of {} characters: {rest}]", long.chars);
        Rendered { no, text: out, cut: true }
    }

    fn gap(&self, from: u64, to: u64) -> String {
        let count = to - from + 1;
        let rest = call(
            "read_file",
            &[
                ("target_file", json!(self.path)),
                ("offset", json!(from)),
                ("limit", json!(count)),
                ("expected_version", self.version()),
            ],
        );
        let lines = if count == 1 { format!("line {from}") } else { format!("lines {from}-{to} ({count} lines)") };
        format!("[{lines} not shown: {rest}]")
    }

    fn version(&self) -> Value {
        self.version.map_or(Value::Null, |version| json!(short_version(version)))
    }

    fn push(shown: &mut Shown, lines: &[Rendered]) {
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return };
        shown.ranges.push((first.no, last.no));
        for line in lines {
            if line.cut {
                shown.partial = true;
                shown.cut.push(line.no);
            }
            shown.push_line(&line.text);
        }
    }
}

struct Rendered {
    no: u64,
    text: String,
    cut: bool,
}

impl Shown {
    /// Adds a line. The first one may be empty, so the text alone does not tell whether one stands before.
    fn push_line(&mut self, line: &str) {
        if self.begun {
            self.body.push('\n');
        }
        self.begun = true;
        self.body.push_str(line);
    }
}
