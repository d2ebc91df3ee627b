//! The text of a summary.

use super::host::Host;
use super::model::{Model, heading};
use super::{Section, TurnLine};
use crate::escape;
use crate::tokens::tokens;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The first line of every summary.
pub const BEGINS: &str = "[Previous conversation summary]";

/// The last one.
const ENDS: &str = "[End of the summary]";

/// Lines that tell whose words follow.
pub(super) const HOST: &str = "[Known to the host]";
pub(super) const MODEL: &str = "[Written by a model]";
const STORE: &str = "[From the record of the turns]";

/// Longest line of a turn, in characters.
const TURN: usize = 300;

/// Tokens of the line that counts turns.
const COUNTED: u64 = 30;

/// A summary: nine sections, in each what the host knows and then what the model wrote, marked as what it is.
pub fn compose(host: &Host, model: &Model) -> String {
    assemble(host, |section| {
        let text = model.section(section).trim();
        (!text.is_empty()).then(|| (MODEL, defuse(text).into_owned()))
    })
}

/// A summary that no model had a part in: what the host knows, and a line for each turn, the oldest of which are only
/// counted when they do not fit. It cannot fail.
pub fn from_store(host: &Host, turns: &[TurnLine]) -> String {
    let is_bare = |section: Section| section != Section::Current && host.part(section).is_none();
    let bare: u64 = Section::models().filter(|section| is_bare(*section)).map(|_| tokens(host.unwritten()) + 1).sum();
    let lines = turn_lines(turns, host.budget().model.saturating_sub(bare));
    assemble(host, |section| {
        if section == Section::Current {
            return (!lines.is_empty()).then(|| (STORE, lines.clone()));
        }
        (section != Section::Said && is_bare(section)).then(|| (HOST, host.unwritten().to_owned()))
    })
}

/// Tokens of the lines that are always there.
pub(super) fn frame(head: &str) -> u64 {
    let label = tokens(HOST) + tokens(STORE).max(tokens(MODEL)) + 4;
    let sections: u64 = Section::ALL.into_iter().map(|section| tokens(&section.heading()) + label).sum();
    tokens(BEGINS) + tokens(ENDS) + tokens(head) + sections + 4
}

fn assemble(host: &Host, judged: impl Fn(Section) -> Option<(&'static str, String)>) -> String {
    let mut out = format!("{BEGINS}\n{}\n", host.head());
    for section in Section::ALL {
        // Writing to a String cannot fail.
        let _ = write!(out, "\n{}\n", section.heading());
        if let Some(part) = host.part(section) {
            let _ = write!(out, "{HOST}\n{}\n", part.trim_end_matches('\n'));
        }
        if let Some((label, text)) = judged(section) {
            let _ = writeln!(out, "{label}\n{text}");
        }
    }
    out.push('\n');
    out.push_str(ENDS);
    out
}

fn turn_lines(turns: &[TurnLine], room: u64) -> String {
    let line = |turn: &TurnLine| {
        let (first, last) = turn.items;
        let text = one_line(&turn.line, TURN);
        format!("- turn {} (#{first}–#{last}): {text}\n", turn.turn)
    };
    let mut left = room.saturating_sub(COUNTED);
    let mut shown: Vec<String> = Vec::new();
    for turn in turns.iter().rev() {
        let line = line(turn);
        let Some(rest) = left.checked_sub(tokens(&line)) else { break };
        left = rest;
        shown.push(line);
    }
    let counted = turns.get(..turns.len().saturating_sub(shown.len())).unwrap_or_default();
    let mut out = String::new();
    if let (Some(first), Some(last)) = (counted.first(), counted.last()) {
        let (from, upto) = (first.items.0, last.items.1);
        let _ = writeln!(out, "- turns {}–{} (#{from}–#{upto}): in the transcript", first.turn, last.turn);
    }
    out.extend(shown.into_iter().rev());
    out.truncate(out.trim_end().len());
    out
}

/// A text from outside as one line of at most so many characters.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut chars = text.trim().chars();
    let mut line: String = chars.by_ref().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if chars.next().is_some() {
        line.push('…');
    }
    defuse(&line).into_owned()
}

/// A text from outside in which nothing looks like a tag of Plimsoll's own or like a line that a summary is made of: such
/// lines get a leading backslash, and all else stays as it is.
pub(super) fn defuse(text: &str) -> Cow<'_, str> {
    let text = escape::data(text);
    if !text.split('\n').any(is_own) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if is_own(line) {
            out.push('\\');
        }
        out.push_str(line);
    }
    Cow::Owned(out)
}

fn is_own(line: &str) -> bool {
    let bare = line.trim_matches(|c: char| c.is_whitespace() || "#*_>-`\\".contains(c));
    let label = [BEGINS, ENDS, HOST, MODEL, STORE]
        .iter()
        .any(|label| bare.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label)));
    label || line.trim_start().starts_with('#') && heading(line).is_some()
}
