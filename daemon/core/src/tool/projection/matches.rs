//! Projection of `grep`: matches grouped by file, counts per file and in all, pages by cursor.
//!
//! The entries that a cursor counts are, in the order of the files: the shown lines; a file without saved lines is one
//! entry.

use super::call::{again, call};
use super::cursor::Cursor;
use super::entries::{counted, one_line};
use super::{Parts, ProjectionInput, Shown, room};
use crate::tokens::tokens;
use crate::tool::outcome::{FileMatches, MatchLine, MatchMode, Matches};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How many entries a result has.
pub(super) fn entries(found: &Matches) -> u64 {
    found.files.iter().map(|file| weight(found.mode, file)).sum()
}

/// Of whole lines that it shows `seen` gets a note.
pub(super) fn matches(input: &ProjectionInput<'_>, found: &Matches, seen: &mut Vec<Shown>) -> Parts {
    let total = entries(found);
    let from = input.cursor.map_or(0, |at| at.entry);
    let base = found.base.as_deref().unwrap_or_default();
    let limit = room(input.budget.tokens, base).saturating_sub(tokens(&found.pattern));
    let mut page =
        Page { room: limit, left: found.head_limit.unwrap_or(u64::MAX).max(1), shown: 0, rows: Vec::new(), seen };
    let mut at = 0;
    for file in &found.files {
        let weight = weight(found.mode, file);
        if at + weight > from && !page.file(found, file, from.saturating_sub(at)) {
            break;
        }
        at += weight;
    }
    let to = from + page.shown;
    let mut rows = page.rows;
    if total == 0 {
        rows.push("No matches.".to_owned());
    }
    if to < total {
        let cursor = Cursor { call: input.first_call(), entry: to };
        let next = more(found, ("cursor", json!(cursor.to_string())));
        let unit = match found.mode {
            MatchMode::Content => "lines",
            MatchMode::FilesWithMatches | MatchMode::Count => "files",
        };
        rows.push(format!("[{unit} {}-{total} of the result not shown: {next}]", to + 1));
    }
    rows.extend(found.notes.iter().map(|note| format!("[{note}]")));
    let files = found.files.len() as u64;
    let place = found.base.as_ref().map_or_else(String::new, |base| format!(" in {base}"));
    let more = if found.more { "more than " } else { "" };
    let mut facts = vec![
        format!("{}{place}", one_line(&found.pattern)),
        format!("{more}{} in {}", counted(found.total, "match", "matches"), counted(files, "file", "files")),
    ];
    if from > 0 {
        facts.push(format!("from entry {}", from + 1));
    }
    let unsaved = found.mode == MatchMode::Content
        && found.files.iter().any(|file| matching(file) < file.count && !is_multiline(file));
    Parts { facts, body: rows.join("\n"), partial: to < total || found.more || unsaved }
}

/// A page while it fills.
struct Page<'a> {
    /// Tokens left.
    room: u64,
    /// Lines or paths left.
    left: u64,
    /// Entries shown.
    shown: u64,
    rows: Vec<String>,
    seen: &'a mut Vec<Shown>,
}

impl Page<'_> {
    /// Adds a file from its entry `skip` on; false when the page is full before the file's end.
    fn file(&mut self, found: &Matches, file: &FileMatches, skip: u64) -> bool {
        match found.mode {
            MatchMode::FilesWithMatches => self.entry(vec![file.path.clone()]),
            MatchMode::Count => self.entry(vec![format!("{}\t{}", file.path, file.count)]),
            MatchMode::Content => self.content(found, file, skip),
        }
    }

    fn content(&mut self, found: &Matches, file: &FileMatches, skip: u64) -> bool {
        let mut heading = Vec::new();
        if !self.rows.is_empty() {
            heading.push(String::new());
        }
        let continued = if skip > 0 { ", continued" } else { "" };
        heading.push(format!("{} ({}{continued})", file.path, counted(file.count, "match", "matches")));
        if file.lines.is_empty() {
            let only = more(found, ("path", json!(file.path)));
            heading.push(format!("[counted only: {only}]"));
            return self.entry(heading);
        }
        let mut before: Option<u64> = None;
        for line in file.lines.iter().skip(skip as usize) {
            let mut rows = std::mem::take(&mut heading);
            if before.is_some_and(|no| no + 1 < line.line) && has_context(file) {
                rows.push("  --".to_owned());
            }
            rows.push(row(file, line));
            before = Some(line.line);
            if !self.entry(rows) {
                return false;
            }
            self.see(file, line);
        }
        if let Some(last) = file.lines.last().filter(|_| matching(file) < file.count && !is_multiline(file)) {
            let rest = call("read_file", &[("target_file", json!(file.path)), ("offset", json!(last.line + 1))]);
            let further = file.count - matching(file);
            self.rows
                .push(format!("  [{} counted only: {rest}]", counted(further, "further match", "further matches")));
        }
        true
    }

    /// Notes a line that is shown whole.
    fn see(&mut self, file: &FileMatches, line: &MatchLine) {
        let Some(source) = file.source.as_ref().filter(|_| line.cut.is_none()) else { return };
        if self.seen.last().is_none_or(|last| last.path != source.path) {
            let (path, version) = (source.path.clone(), source.version.clone());
            self.seen.push(Shown { path, version, total: source.total_lines, ..Shown::default() });
        }
        let Some(shown) = self.seen.last_mut() else { return };
        match shown.lines.last_mut() {
            Some((first, count)) if *first + *count == line.line => *count += 1,
            _ => shown.lines.push((line.line, 1)),
        }
    }

    /// Adds the rows of one entry, if they fit or nothing stands there yet.
    fn entry(&mut self, rows: Vec<String>) -> bool {
        let cost: u64 = rows.iter().map(|row| tokens(row) + 1).sum();
        if self.left == 0 || (cost > self.room && self.shown > 0) {
            return false;
        }
        self.left -= 1;
        self.room = self.room.saturating_sub(cost);
        self.shown += 1;
        self.rows.extend(rows);
        true
    }
}

/// `5:text` for a match, `5-text` for context.
fn row(file: &FileMatches, line: &MatchLine) -> String {
    let mark = if line.is_match { ':' } else { '-' };
    let mut out = format!("  {}{mark}{}", line.line, line.text);
    if let Some(len) = line.cut {
        let whole =
            call("read_file", &[("target_file", json!(file.path)), ("offset", json!(line.line)), ("limit", json!(1))]);
        // Writing to a String cannot fail.
        let _ = write!(out, " [cut from {len} bytes: {whole}]");
    }
    out
}

/// How many entries a file is.
fn weight(mode: MatchMode, file: &FileMatches) -> u64 {
    match mode {
        MatchMode::Content => (file.lines.len() as u64).max(1),
        MatchMode::FilesWithMatches | MatchMode::Count => 1,
    }
}

fn matching(file: &FileMatches) -> u64 {
    file.lines.iter().filter(|line| line.is_match).count() as u64
}

/// A match over several lines counts once, so that there are more marked lines than matches.
fn is_multiline(file: &FileMatches) -> bool {
    matching(file) > file.count
}

fn has_context(file: &FileMatches) -> bool {
    file.lines.iter().any(|line| !line.is_match)
}

/// The call once more, with one field added.
fn more(found: &Matches, field: (&str, Value)) -> String {
    let base = found.base.as_ref().map_or(Value::Null, |base| json!(base));
    again("grep", &found.args, &[("pattern", json!(found.pattern)), ("path", base)], field)
}
