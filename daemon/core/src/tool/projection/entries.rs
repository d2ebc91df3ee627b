//! Projection of listings: `list_dir` and `glob_file_search`. Whole entries, pages by cursor.

use super::call::again;
use super::cursor::Cursor;
use super::{Parts, ProjectionInput, room};
use crate::tokens::tokens;
use crate::tool::outcome::{Entries, Entry, EntryKind};
use serde_json::{Value, json};

pub(super) fn entries(input: &ProjectionInput<'_>, list: &Entries) -> Parts {
    let total = list.entries.len() as u64;
    let from = input.cursor.map_or(0, |at| at.entry);
    let rest = list.entries.get(from as usize..).unwrap_or_default();
    let mut room = room(input.budget.tokens, &list.base);
    let mut rows: Vec<String> = Vec::new();
    for entry in rest {
        let row = row(list, entry);
        let cost = tokens(&row) + 1;
        if cost > room && !rows.is_empty() {
            break;
        }
        room = room.saturating_sub(cost);
        rows.push(row);
    }
    let to = from + rows.len() as u64;
    let word = match (&list.pattern, total) {
        (Some(_), 1) => "file",
        (Some(_), _) => "files",
        (None, 1) => "entry",
        (None, _) => "entries",
    };
    let mut facts = match &list.pattern {
        Some(pattern) => vec![format!("{} in {}", one_line(pattern), list.base)],
        None => vec![list.base.clone()],
    };
    facts.push(if from == 0 && to == total {
        format!("{total} {word}")
    } else {
        format!("{word} {}-{to} of {total}", from + 1)
    });
    if rows.is_empty() {
        rows.push(if list.pattern.is_some() { "No file matches.".to_owned() } else { "No entries.".to_owned() });
    }
    if to < total {
        let cursor = Cursor { call: input.first_call(), entry: to };
        let next = more(list, ("cursor", json!(cursor.to_string())));
        rows.push(format!("[{word} {}-{total} not shown: {next}]", to + 1));
    }
    if list.ignored > 0 {
        let all = more(list, ("include_ignored", json!(true)));
        rows.push(format!("[{} ignored by ignore files: {all}]", counted(list.ignored, "entry", "entries")));
    }
    rows.extend(list.notes.iter().map(|note| format!("[{note}]")));
    Parts { facts, body: rows.join("\n"), partial: to < total }
}

/// The call once more, with one field added.
fn more(list: &Entries, field: (&str, Value)) -> String {
    let base = ("target_directory", json!(list.base));
    match &list.pattern {
        Some(pattern) => again("glob_file_search", &list.args, &[("glob_pattern", json!(pattern)), base], field),
        None => again("list_dir", &list.args, &[base], field),
    }
}

/// One entry: `name/` for folders, else the name with its size or kind behind a tab. A glob's files are names alone.
fn row(list: &Entries, entry: &Entry) -> String {
    let path = &entry.path;
    match (entry.kind, entry.size) {
        (EntryKind::Dir, _) => format!("{path}/"),
        (EntryKind::Link, _) => format!("{path}\tlink"),
        (EntryKind::Special, _) => format!("{path}\tpipe, socket or device"),
        (EntryKind::File, Some(size)) if list.pattern.is_none() => {
            format!("{path}\t{}", counted(size, "byte", "bytes"))
        }
        (EntryKind::File, _) => path.clone(),
    }
}

pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Text by the model in a header: one line, of bounded length.
pub(super) fn one_line(text: &str) -> String {
    const MOST: usize = 120;
    let quoted = Value::String(text.to_owned()).to_string();
    if quoted.chars().count() <= MOST {
        return quoted;
    }
    let start: String = quoted.chars().take(MOST).collect();
    format!("{start}…\"")
}
