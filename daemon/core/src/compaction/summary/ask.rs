//! What a model is asked that writes a summary: behind the conversation it is about, or by a call that stands alone and is
//! given records.

use super::host::Host;
use super::model::parse;
use super::problem::Problem;
use super::{Facts, Section};
use crate::escape;
use crate::prompt::{
    Prompts, SUMMARY_EARLIER, SUMMARY_FOCUS, SUMMARY_INSTRUCTION, SUMMARY_ORIGINALS, SUMMARY_PIECE, SUMMARY_REPAIR,
    SUMMARY_SO_FAR, SUMMARY_SYSTEM, SUMMARY_UNSETTLED, reminder,
};
use crate::tokens::{prefix_within, tokens};
use std::fmt::Write as _;

/// The last message of a request that goes on from the conversation's last one. `originals` are the records of turns that the
/// conversation shows in short, as [`pieces`](super::pieces()) gives them. `focus` is the user's.
pub fn instruction(
    prompts: &Prompts,
    host: &Host,
    facts: &Facts,
    focus: Option<&str>,
    originals: Option<&str>,
) -> String {
    let mut parts = vec![demand(prompts, host, facts, focus)];
    if facts.earlier.is_some() {
        parts.insert(0, prompts.render(&SUMMARY_EARLIER, &[]));
    }
    if let Some(originals) = originals.filter(|originals| !originals.trim().is_empty()) {
        // The demand stands last: it is what is to be done.
        parts.insert(0, prompts.render(&SUMMARY_ORIGINALS, &[("originals", originals)]));
    }
    reminder(&parts.join("\n\n"))
}

/// The one message after an answer that cannot be used.
pub fn repair(prompts: &Prompts, problems: &[Problem]) -> String {
    let mut list = String::new();
    for problem in problems {
        // Writing to a String cannot fail.
        let _ = writeln!(list, "- {}", escape::data(&problem.to_string()));
    }
    reminder(&prompts.render(&SUMMARY_REPAIR, &[("problems", list.trim_end())]))
}

/// The system text of a call that stands alone.
pub fn system(prompts: &Prompts) -> String {
    prompts.render(&SUMMARY_SYSTEM, &[])
}

/// One message to a call that stands alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Records, as [`pieces`](super::pieces()) gives them.
    pub records: &'a str,
    /// Its number, from 1.
    pub part: usize,
    /// How many there are.
    pub parts: usize,
    /// The answer to the one before; of the first, the earlier summary.
    pub so_far: Option<&'a str>,
}

/// The message of a call that stands alone: the summary so far, records, and the demand to bring it up to date. Each piece is a
/// call of its own; the answer to the last is the summary.
pub fn independent(prompts: &Prompts, host: &Host, facts: &Facts, focus: Option<&str>, piece: Piece<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(so_far) = piece.so_far.filter(|so_far| !so_far.trim().is_empty()) {
        // Without what the host writes anew, and without the model's thoughts.
        let so_far = parse(so_far).map_or_else(|_| so_far.to_owned(), |model| model.to_text());
        let so_far = escape::data(&so_far);
        let end = prefix_within(&so_far, so_far_room(host, facts));
        let mut summary = so_far.get(..end).unwrap_or_default().to_owned();
        if end < so_far.len() {
            summary.push('…');
        }
        parts.push(prompts.render(&SUMMARY_SO_FAR, &[("summary", &summary)]));
    }
    let (part, all) = (piece.part.to_string(), piece.parts.to_string());
    let values = [("part", part.as_str()), ("parts", &all), ("records", piece.records)];
    parts.push(prompts.render(&SUMMARY_PIECE, &values));
    parts.push(demand(prompts, host, facts, focus));
    parts.join("\n\n")
}

/// Tokens that records may have in each call that stands alone, when so many fit in all for system text and message.
pub fn room(prompts: &Prompts, host: &Host, facts: &Facts, focus: Option<&str>, input: u64) -> u64 {
    let bare = Piece { records: "", part: 1, parts: 1, so_far: Some("x") };
    let fixed = tokens(&system(prompts)) + tokens(&independent(prompts, host, facts, focus, bare));
    input.saturating_sub(fixed).saturating_sub(so_far_room(host, facts) + PARTS)
}

/// Tokens that the numbers of parts may have.
const PARTS: u64 = 8;

/// Tokens that the summary so far may have: an answer may be larger than it was asked for, and what is larger still is cut.
fn so_far_room(host: &Host, facts: &Facts) -> u64 {
    let earlier = facts.earlier.as_deref().map_or(0, tokens);
    earlier.max(host.budget().model.saturating_mul(2)).min(facts.window / 4)
}

/// What every request for a summary ends with.
pub fn demand(prompts: &Prompts, host: &Host, facts: &Facts, focus: Option<&str>) -> String {
    let headings: Vec<String> = Section::models().map(Section::heading).collect();
    let words = host.budget().words().to_string();
    let mut parts =
        vec![prompts.render(&SUMMARY_INSTRUCTION, &[("sections", &headings.join("\n")), ("words", &words)])];
    if !facts.unsettled.is_empty() {
        let lines: Vec<String> = facts.unsettled.iter().map(|(call, line)| operation(call.to_string(), line)).collect();
        parts.push(prompts.render(&SUMMARY_UNSETTLED, &[("list", &lines.join("\n"))]));
    }
    if let Some(focus) = focus.map(str::trim).filter(|focus| !focus.is_empty()) {
        parts.push(prompts.render(&SUMMARY_FOCUS, &[("focus", &escape::data(focus))]));
    }
    parts.join("\n\n")
}

fn operation(call: String, line: &str) -> String {
    let line = super::compose::one_line(line, 240);
    let rest = line.strip_prefix(&call).unwrap_or(&line);
    format!("- {call} {}", rest.trim_start())
}
