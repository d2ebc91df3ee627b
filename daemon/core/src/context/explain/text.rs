//! Where the blocks of a text stand in its escaped form. What came from outside cannot write Plimsoll's own tags, so a
//! tag that stands there is one.

use super::Origin;
use super::scan::Span;
use crate::escape::TAGS;
use crate::prompt::{self, Prompts};

const DATA: (&str, &str) = ("<additional_data>", "</additional_data>");
const QUERY: &str = "<user_query>";
const REMINDER: &str = "<system-reminder>";
/// A line feed in JSON.
const NEWLINE: &str = "\\n";

/// A piece of a text with its origin.
pub(super) type Piece = (Span, Origin);

/// Collected state, and the user's own words from their tag to the end, whatever they hold.
pub(super) fn prompt(text: &str, span: Span) -> Vec<Piece> {
    let inner = text.get(span.clone()).unwrap_or_default();
    let mut pieces = Vec::new();
    let mut query = span.start;
    if inner.starts_with(DATA.0)
        && let Some(end) = inner.find(DATA.1)
    {
        let (first, last) = (span.start + DATA.0.len(), span.start + end);
        let own = || Origin::Block { tag: tag(DATA.0).to_owned(), path: None };
        query = last + DATA.1.len();
        pieces.push((span.start..first, own()));
        pieces.extend(blocks(text, first..last, &own()));
        pieces.push((last..query, own()));
    }
    pieces.push((query..span.end, Origin::Prompt));
    pieces
}

/// Whether this is what the user said, in its tag.
pub(super) fn is_prompt(inner: &str) -> bool {
    inner.starts_with(DATA.0) || inner.starts_with(QUERY)
}

/// Text of the harness's own, with blocks in it. The tag that is around all of it is no block.
pub(super) fn reminder(text: &str, span: Span, own: &Origin) -> Vec<Piece> {
    let inner = text.get(span.clone()).unwrap_or_default();
    if !inner.starts_with(REMINDER) {
        return blocks(text, span, own);
    }
    let first = span.start + REMINDER.len();
    let mut pieces = vec![(span.start..first, own.clone())];
    pieces.extend(blocks(text, first..span.end, own));
    pieces
}

/// The two layers of system text, the second with its blocks. `dynamic` says that the static one stands elsewhere.
pub(super) fn system(text: &str, span: Span, prompts: &Prompts, dynamic: bool) -> (Vec<Piece>, Vec<Piece>) {
    let inner = text.get(span.clone()).unwrap_or_default();
    let frame = serde_json::Value::from(prompts.text(&prompt::FRAME)).to_string();
    let frame = frame.trim_matches('"');
    let found = if dynamic { Some(0) } else { inner.find(frame) };
    let Some(found) = found else { return (vec![(span, Origin::Static)], Vec::new()) };
    let border = span.start + found;
    let fixed = if border > span.start { vec![(span.start..border, Origin::Static)] } else { Vec::new() };
    (fixed, headed(text, blocks(text, border..span.end, &Origin::Frame)))
}

/// Everything inside `span`: blocks in their tags, and between them what is `own`.
fn blocks(text: &str, span: Span, own: &Origin) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut copied = span.start;
    let mut at = span.start;
    while let Some(start) = text.get(at..span.end).and_then(|rest| rest.find('<')).map(|found| at + found) {
        let rest = text.get(start..span.end).unwrap_or_default();
        match block(rest) {
            Some((len, origin)) => {
                if start > copied {
                    pieces.push((copied..start, own.clone()));
                }
                pieces.push((start..start + len, origin));
                copied = start + len;
                at = copied;
            }
            None => at = start + 1,
        }
    }
    if copied < span.end {
        pieces.push((copied..span.end, own.clone()));
    }
    pieces
}

/// The block that begins here: its length, and what it is.
fn block(rest: &str) -> Option<(usize, Origin)> {
    let tag = TAGS.iter().find(|tag| {
        let after = rest.strip_prefix('<').and_then(|rest| rest.strip_prefix(**tag));
        after.is_some_and(|after| after.starts_with(['>', ' ']))
    })?;
    let head = rest.find('>')?;
    let close = format!("</{tag}>");
    let len = rest.find(&close)? + close.len();
    let path = rest.get(..head)?.split_once("path=\\\"").and_then(|(_, path)| path.split_once("\\\""));
    let path = path.map(|(path, _)| plain(path));
    Some((len, Origin::Block { tag: (*tag).to_owned(), path }))
}

/// An escaped text as it is read.
fn plain(escaped: &str) -> String {
    serde_json::from_str(&format!("\"{escaped}\"")).unwrap_or_else(|_| escaped.to_owned())
}

/// Own text that begins with a heading is a block of that name: `# Language`.
fn headed(text: &str, pieces: Vec<Piece>) -> Vec<Piece> {
    let mut out = Vec::with_capacity(pieces.len());
    for (span, origin) in pieces {
        if origin != Origin::Frame {
            out.push((span, origin));
            continue;
        }
        let mut start = span.start;
        let mut origin = Origin::Frame;
        let mut at = start;
        let mark = format!("{NEWLINE}{NEWLINE}# ");
        while let Some(found) = text.get(at..span.end).and_then(|rest| rest.find(&mark)) {
            let heading = at + found + 2 * NEWLINE.len();
            if heading > start {
                out.push((start..heading, origin));
            }
            let title = text.get(heading + 2..span.end).unwrap_or_default();
            let title = title.split_once(NEWLINE).map_or(title, |(title, _)| title);
            origin = Origin::Block { tag: title.to_lowercase(), path: None };
            start = heading;
            at = heading;
        }
        if start < span.end {
            out.push((start..span.end, origin));
        }
    }
    out
}

/// A tag without its brackets.
fn tag(bracketed: &str) -> &str {
    bracketed.trim_matches(['<', '>'])
}
