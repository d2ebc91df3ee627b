//! Finding a text in a content as the model saw it: byte for byte, but a line feed stands for any line end.
//!
//! The time is linear in the content, whatever is looked for. Where all line ends are the same the bytes are searched as
//! they are; mixed line ends and two-byte units go through an automaton that reads each line end as one unit.

use super::layout::{Eol, Layout, part, with_lf};
use memchr::memmem::Finder;

/// A text, ready to be looked for in contents of one layout.
pub(super) enum Pattern {
    /// Bytes that stand in the content as they are.
    Bytes(Box<Finder<'static>>),
    /// Units, each line end as one line feed, with the length of the longest proper border of each prefix.
    Units { units: Vec<u16>, borders: Vec<usize> },
}

/// A place in a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Pattern {
    /// None when the text is empty or has a character that the encoding does not have, so that it is nowhere.
    pub(super) fn new(text: &str, layout: &Layout<'_>) -> Option<Self> {
        let text = with_lf(text);
        if layout.unit == 2 || layout.eol() == Eol::Mixed {
            let bytes = layout.encoding.encode(&text).ok()?;
            let units: Vec<u16> =
                (0..bytes.len()).step_by(layout.unit).filter_map(|at| layout.unit_at(&bytes, at)).collect();
            let borders = borders(&units);
            return (!units.is_empty()).then_some(Self::Units { units, borders });
        }
        let bytes = match layout.eol() {
            Eol::Crlf => layout.encoding.encode(&text.replace('\n', "\r\n")).ok()?,
            Eol::Cr => layout.encoding.encode(&text.replace('\n', "\r")).ok()?,
            Eol::None | Eol::Lf | Eol::Mixed => layout.encoding.encode(&text).ok()?,
        };
        (!bytes.is_empty()).then(|| Self::Bytes(Box::new(Finder::new(&bytes).into_owned())))
    }

    /// The first place at or after `from`, which must begin a character.
    pub(super) fn find(&self, content: &[u8], layout: &Layout<'_>, from: usize) -> Option<Place> {
        match self {
            Self::Bytes(finder) => find_bytes(finder, content, layout, from),
            Self::Units { units, borders } => find_units(units, borders, content, layout, from),
        }
    }

    /// All places from left to right, none over another.
    pub(super) fn find_all<'a>(
        &'a self,
        content: &'a [u8],
        layout: &'a Layout<'_>,
    ) -> impl Iterator<Item = Place> + 'a {
        let mut from = 0;
        std::iter::from_fn(move || {
            let place = self.find(content, layout, from)?;
            from = place.end;
            Some(place)
        })
    }
}

fn find_bytes(finder: &Finder<'_>, content: &[u8], layout: &Layout<'_>, from: usize) -> Option<Place> {
    let len = finder.needle().len();
    let mut from = from;
    // Up to here characters are known to begin: the start of a line, or a place that was checked before.
    let mut known = from;
    loop {
        let start = from + finder.find(content.get(from..)?)?;
        let end = start + len;
        if !layout.utf8 {
            known = known.max(layout.line_start(content, start));
        }
        let parts_eol = finder.needle().last() == Some(&b'\r') && content.get(end) == Some(&b'\n');
        if !parts_eol && (layout.utf8 || begins_char(content, layout, known, start, end)) {
            return Some(Place { start, end });
        }
        from = start + 1;
    }
}

/// Whether a character begins at `start`, in an encoding whose later bytes look like first ones.
fn begins_char(content: &[u8], layout: &Layout<'_>, known: usize, start: usize, end: usize) -> bool {
    let before = part(content, known, start);
    if before.is_ascii() {
        return true;
    }
    let (left, right) = (layout.encoding.decode(before), layout.encoding.decode(part(content, start, end)));
    let both = layout.encoding.decode(part(content, known, end));
    both.strip_prefix(left.as_str()) == Some(right.as_str())
}

fn borders(units: &[u16]) -> Vec<usize> {
    let mut borders = vec![0; units.len()];
    let mut len = 0;
    for at in 1..units.len() {
        while len > 0 && units.get(len) != units.get(at) {
            len = border(&borders, len);
        }
        if units.get(len) == units.get(at) {
            len += 1;
        }
        if let Some(border) = borders.get_mut(at) {
            *border = len;
        }
    }
    borders
}

/// The longest border of the prefix of this length.
fn border(borders: &[usize], len: usize) -> usize {
    len.checked_sub(1).and_then(|last| borders.get(last)).copied().unwrap_or_default()
}

fn find_units(units: &[u16], borders: &[usize], content: &[u8], layout: &Layout<'_>, from: usize) -> Option<Place> {
    let (lf, cr, step) = (layout.lf_unit(), layout.cr_unit(), layout.unit);
    let cr_ends_lines = layout.eol() == Eol::Cr;
    let mut at = from;
    let mut matched = 0;
    while let Some(mut unit) = layout.unit_at(content, at) {
        at += step;
        if unit == cr {
            if layout.unit_at(content, at) == Some(lf) {
                at += step;
                unit = lf;
            } else if cr_ends_lines {
                unit = lf;
            }
        }
        while matched > 0 && units.get(matched) != Some(&unit) {
            matched = border(borders, matched);
        }
        if units.get(matched) == Some(&unit) {
            matched += 1;
        }
        if matched == units.len() {
            let end = at.min(content.len());
            let start = back(content, layout, at, matched);
            if step == 2 || layout.utf8 || begins_char(content, layout, layout.line_start(content, start), start, end) {
                return Some(Place { start, end });
            }
            matched = border(borders, matched);
        }
    }
    None
}

/// The place `count` units before `at`, a carriage return and its line feed being one.
fn back(content: &[u8], layout: &Layout<'_>, at: usize, count: usize) -> usize {
    let mut at = at;
    for _ in 0..count {
        at = at.saturating_sub(layout.unit);
        let before = at.checked_sub(layout.unit).and_then(|before| layout.unit_at(content, before));
        if layout.unit_at(content, at) == Some(layout.lf_unit()) && before == Some(layout.cr_unit()) {
            at -= layout.unit;
        }
    }
    at
}
