//! Projection of `read_file`.

use super::call::{call, short_version};
use super::lines::Lines;
use super::outline;
use super::{Parts, ProjectionInput, Shown, room};
use crate::tokens::prefix_within;
use crate::tool::outcome::FileRead;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Files that instruct the model, by name: the general limit only, since a gap in them would be a rule unread …
const WHOLE: &[&str] = &["AGENTS.md", "CLAUDE.md", "SKILL.md", "copilot-instructions.md"];

/// … the folders whose files do …
const WHOLE_BELOW: &[&str] = &[".plimsoll/rules/", ".cursor/rules/"];

/// … and the folders beside Plimsoll's own data that hold plans and memories, each a Markdown file.
const WHOLE_IN: &[&str] = &["/plans", "/memories"];

/// A stretch of bytes shows at least this many characters, also under a budget that is used up: less would not be worth
/// its call.
const LEAST_CHARS: usize = 400;

/// Of what it shows of the file `seen` gets a note.
pub(super) fn file(input: &ProjectionInput<'_>, file: &FileRead, seen: &mut Vec<Shown>) -> Parts {
    let mut parts = match file.bytes {
        Some((start, end)) => by_bytes(input, file, (start, end), seen),
        None => by_lines(input, file, seen),
    };
    parts.facts.push(format!("v {}", short_version(&file.version)));
    if let Some(expected) = &file.expected {
        parts.facts.push(format!(
            "changed since v {}: this is the content now, line numbers may have moved",
            short_version(expected)
        ));
    }
    if file.encoding != "utf-8" {
        parts.facts.push(file.encoding.clone());
    }
    if matches!(file.eol.as_str(), "crlf" | "cr" | "mixed") {
        parts.facts.push(format!("{} line ends", file.eol));
    }
    if file.lossy {
        parts.facts.push("invalid bytes shown as U+FFFD".to_owned());
    }
    parts
}

fn by_lines(input: &ProjectionInput<'_>, file: &FileRead, seen: &mut Vec<Shown>) -> Parts {
    if file.lines.is_empty() {
        seen.push(Shown::of(file, &[], Vec::new()));
        return Parts { facts: vec![file.path.clone(), "empty, 0 lines".to_owned()], ..Parts::default() };
    }
    let limit = if file.asked_range {
        input.budget.asked_tokens
    } else if instructs(&file.path) {
        input.budget.general_tokens
    } else {
        input.budget.tokens
    };
    let head: Vec<(u64, &str)> = (file.first_line..).zip(file.lines.iter().map(String::as_str)).collect();
    let tail: Vec<(u64, &str)> =
        file.tail.iter().flat_map(|tail| (tail.first_line..).zip(tail.lines.iter().map(String::as_str))).collect();
    // Of a part of a file it is not known what its first line lies in.
    let outline = if file.asked_range || file.tail.is_some() {
        Vec::new()
    } else {
        outline::definitions(&file.path, &file.lines)
    };
    let in_hand = tail.last().or(head.last()).map_or(0, |(no, _)| *no);
    let lines = Lines {
        path: &file.path,
        version: (!file.grows).then_some(file.version.as_str()),
        numbered: true,
        head,
        tail,
        last: file.asked_until.unwrap_or(in_hand).max(in_hand),
        long: &file.long_lines,
        in_order: file.asked_range,
        outline: &outline,
    };
    let shown = lines.show(room(limit, &file.path));
    let ranges: Vec<String> = shown
        .ranges
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    seen.push(Shown::of(file, &shown.ranges, shown.cut));
    let word = if ranges.len() == 1 && !ranges.iter().any(|range| range.contains('-')) { "line" } else { "lines" };
    let mut facts = vec![file.path.clone(), format!("{word} {} of {}", ranges.join(", "), file.total_lines)];
    if file.unended && shown.ranges.last().is_some_and(|(_, last)| *last == file.total_lines) {
        facts.push("no newline at the end".to_owned());
    }
    Parts { facts, body: shown.body, partial: shown.partial }
}

/// Whether a file tells the model what to do, or what it has decided itself.
fn instructs(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let below = |start: &&str| path.starts_with(*start) || path.contains(&format!("/{start}"));
    WHOLE.contains(&name)
        || WHOLE_BELOW.iter().any(below)
        || (path.starts_with('/')
            && name.rsplit_once('.').is_some_and(|(_, end)| end == "md")
            && WHOLE_IN.iter().any(|end| folder.ends_with(end)))
}

/// A stretch of bytes, shown as it stands. Only of plain UTF-8 is it known which bytes a character was: other
/// encodings are shown as far as the tool read them, which is little.
fn by_bytes(input: &ProjectionInput<'_>, file: &FileRead, (start, end): (u64, u64), seen: &mut Vec<Shown>) -> Parts {
    let text = file.lines.first().map(String::as_str).unwrap_or_default();
    let until = file.asked_until.unwrap_or(end).max(end);
    let mut shown = text;
    let mut shown_end = end;
    if file.encoding.starts_with("utf-8") && !file.lossy {
        let fits = prefix_within(text, room(input.budget.asked_tokens, &file.path));
        let least = text.char_indices().nth(LEAST_CHARS).map_or(text.len(), |(at, _)| at);
        shown = text.get(..fits.max(least)).unwrap_or(text);
        shown_end = end - (text.len() - shown.len()) as u64;
    }
    let mut body = shown.to_owned();
    if shown_end < until {
        let rest = call(
            "read_file",
            &[
                ("target_file", json!(file.path)),
                ("byte_offset", json!(shown_end)),
                ("byte_limit", json!(until - shown_end)),
                ("expected_version", if file.grows { Value::Null } else { json!(short_version(&file.version)) }),
            ],
        );
        // Writing to a String cannot fail.
        let _ = write!(body, "\n[bytes {shown_end}-{until} ({} bytes) not shown: {rest}]", until - shown_end);
    }
    // Which lines a part of a file's bytes is, is not known.
    if start == 0 && shown_end == file.total_bytes {
        seen.push(Shown::of(file, &[(1, file.total_lines)], Vec::new()));
    }
    Parts {
        facts: vec![file.path.clone(), format!("bytes {start}-{shown_end} of {}", file.total_bytes)],
        body,
        partial: shown_end < until,
    }
}
