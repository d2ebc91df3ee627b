//! The outline of a gap in a file: the definitions in it, each with its line, so that the next call can be exact.
//!
//! By a table of languages and the first words of lines; no parser. What it misses is still behind the gap's own call.

mod code;
mod definition;
mod language;

#[cfg(test)]
mod tests;

use crate::tokens::tokens;
use code::Code;
use definition::Kind;
use language::{Language, Nest};

/// Longer signatures are cut, in characters.
const MOST_CHARS: usize = 100;

/// When there are many they are cut to this length.
const SHORT_CHARS: usize = 44;

/// Definitions that lie deeper are not indented further.
const MOST_INDENT: usize = 6;

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    /// Its line, from 1.
    pub(super) line: u64,
    /// How many others it lies in.
    pub(super) depth: usize,
    /// Its first line, shortened.
    pub(super) text: String,
}

/// The definitions of a file in order; `lines` is all of it. Empty when its language is not known.
pub(super) fn definitions(path: &str, lines: &[String]) -> Vec<Definition> {
    let Some(language) = language::of(path) else { return Vec::new() };
    let mut outline = Outline { code: Code::new(language), language, braces: 0, open: Vec::new(), found: Vec::new() };
    for (no, line) in (1..).zip(lines) {
        outline.line(no, line);
    }
    outline.found
}

/// The definitions from line `from` to line `to` as rows below the notice of that gap: `  130: fn name(…)`, nested ones
/// indented. When not all have room they are shortened, then the ones that lie deepest are left out, last ones first.
pub(super) fn rows(outline: &[Definition], from: u64, to: u64, room: u64) -> Vec<String> {
    let inside: Vec<&Definition> = outline.iter().filter(|found| (from..=to).contains(&found.line)).collect();
    let Some(top) = inside.iter().map(|found| found.depth).min() else { return Vec::new() };
    let all = inside.len();
    let room = room.saturating_sub(tokens(&format!("[{all} of {all} definitions in them:]")) + 1);
    let mut listed = list(&inside, top, MOST_CHARS);
    if listed.iter().map(|row| row.cost).sum::<u64>() > room {
        listed = list(&inside, top, SHORT_CHARS);
        listed.sort_by_key(|row| (row.depth, row.line));
        let mut spent = 0;
        let fits = |row: &&Row| {
            spent += row.cost;
            spent <= room
        };
        let fit = listed.iter().take_while(fits).count();
        listed.truncate(fit);
        listed.sort_by_key(|row| row.line);
    }
    let title = match listed.len() {
        0 => return Vec::new(),
        shown if shown == all => "[definitions in them:]".to_owned(),
        shown => format!("[{shown} of {all} definitions in them:]"),
    };
    std::iter::once(title).chain(listed.into_iter().map(|row| row.text)).collect()
}

/// A definition as it is listed.
struct Row {
    line: u64,
    depth: usize,
    cost: u64,
    text: String,
}

fn list(inside: &[&Definition], top: usize, most: usize) -> Vec<Row> {
    let row = |found: &&Definition| {
        let indent = (found.depth - top).min(MOST_INDENT) * 2;
        let text = format!("  {}: {:indent$}{}", found.line, "", cut(&found.text, most));
        Row { line: found.line, depth: found.depth, cost: tokens(&text) + 1, text }
    };
    inside.iter().map(row).collect()
}

struct Outline {
    language: &'static Language,
    code: Code,
    braces: usize,
    open: Vec<Open>,
    found: Vec<Definition>,
}

/// A definition that has begun and not ended.
struct Open {
    /// Braces around it, columns before it, or its level.
    at: usize,
    kind: Kind,
    /// Whether its own brace was seen.
    begun: bool,
}

impl Outline {
    fn line(&mut self, no: u64, line: &str) {
        let (code, inside) = self.code.line(line);
        match self.language.nest {
            Nest::Headings if !inside => self.heading(no, line),
            Nest::Sections if !inside => self.section(no, line),
            Nest::Headings | Nest::Sections => {}
            Nest::Indent if inside || code.trim().is_empty() => {}
            Nest::Indent => self.indented(no, line, &code),
            Nest::Braces => self.braced(no, line, &code, inside),
        }
    }

    fn heading(&mut self, no: u64, line: &str) {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&level) && line.get(level..).is_some_and(|rest| rest.starts_with(' ')) {
            self.push(no, level, Kind::Container, line);
        }
    }

    fn section(&mut self, no: u64, line: &str) {
        let line = line.trim_end();
        if line.starts_with('[') && line.split('#').next().is_some_and(|line| line.trim_end().ends_with(']')) {
            self.push(no, 0, Kind::Container, line);
        }
    }

    fn indented(&mut self, no: u64, line: &str, code: &str) {
        let column = line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 8 } else { 1 }).sum();
        self.open.retain(|open| open.at < column);
        let inside = self.open.last().map(|open| open.kind);
        if let Some(kind) = definition::of(self.language, code, inside) {
            self.push(no, column, kind, line);
        }
    }

    fn braced(&mut self, no: u64, line: &str, code: &str, inside_text: bool) {
        let inside = self.open.last().map(|open| open.kind);
        // Behind the braces of something that is no definition, such as a block, nothing is one but by its keyword.
        let direct = self.open.last().map_or(self.braces == 0, |open| open.begun && open.at + 1 == self.braces);
        let before = if direct { inside } else { Some(Kind::Function) };
        if !inside_text && let Some(kind) = definition::of(self.language, code, before) {
            self.push(no, self.braces, kind, line);
        }
        for c in code.chars() {
            match c {
                '{' => {
                    self.braces += 1;
                    if let Some(open) = self.open.last_mut().filter(|open| open.at + 1 == self.braces) {
                        open.begun = true;
                    }
                }
                '}' => {
                    self.braces = self.braces.saturating_sub(1);
                    let braces = self.braces;
                    self.open.retain(|open| open.at < braces || (open.at == braces && !open.begun));
                }
                // A declaration without a body.
                ';' => {
                    let braces = self.braces;
                    self.open.retain(|open| open.begun || open.at != braces);
                }
                _ => {}
            }
        }
    }

    fn push(&mut self, no: u64, at: usize, kind: Kind, line: &str) {
        self.open.retain(|open| open.at < at);
        self.found.push(Definition { line: no, depth: self.open.len(), text: shortened(line) });
        self.open.push(Open { at, kind, begun: false });
    }
}

/// A line without indentation, the brace at its end and what is too much.
fn shortened(line: &str) -> String {
    cut(line.trim().trim_end_matches('{').trim_end(), MOST_CHARS)
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most).collect();
    format!("{}\u{2026}", start.trim_end())
}
