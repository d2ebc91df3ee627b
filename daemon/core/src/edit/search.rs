//! Finding a text in a content as the model saw it: byte for byte, but a line feed stands for any line end.
//!
//! The time is linear in the content, whatever is looked for. Where all line ends are the same, or none is looked for,
//! the bytes are searched as they are. Across mixed line ends the longest line of the text is searched and what is around
//! it compared; where that takes long, and for two-byte units, an automaton reads each line end as one unit.

use super::layout::{Eol, Layout, part, with_lf};
use memchr::memmem::Finder;

/// A text, ready to be looked for in contents of one layout.
pub(super) enum Pattern {
    /// Bytes that stand in the content as they are.
    Bytes(Box<Finder<'static>>),
    /// Units, each line end as one line feed.
    Units(Box<Units>),
}

/// See [`Pattern::Units`].
pub(super) struct Units {
    all: Vec<u16>,
    /// Of each prefix the length of its longest proper border.
    borders: Vec<usize>,
    /// The longest line within, and how many units stand before it; none for two-byte units and for line ends alone.
    anchor: Option<(Finder<'static>, usize)>,
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
        if layout.unit == 2 || (layout.eol() == Eol::Mixed && text.contains('\n')) {
            let bytes = layout.encoding.encode(&text).ok()?;
            return (!bytes.is_empty()).then(|| Self::Units(Box::new(Units::new(&bytes, layout))));
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
            Self::Units(units) => units.find(content, layout, from),
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
    let mut at = from;
    loop {
        let start = at + finder.find(content.get(at..)?)?;
        let end = start + len;
        let parts_eol = finder.needle().last() == Some(&b'\r') && content.get(end) == Some(&b'\n');
        if !parts_eol && begins_char(content, layout, from, start, end) {
            return Some(Place { start, end });
        }
        at = start + 1;
    }
}

/// Below this a byte is a character of its own in every encoding with units of one byte: it is nowhere the later byte of
/// another. In GB18030 digits are.
const ALWAYS_ITSELF: u8 = b'0';

/// Whether a character begins at `start`, where later bytes may look like first ones. One begins at `from`.
fn begins_char(content: &[u8], layout: &Layout<'_>, from: usize, start: usize, end: usize) -> bool {
    if layout.utf8 || layout.unit == 2 {
        return true;
    }
    let itself = part(content, from, start).iter().rposition(|byte| *byte < ALWAYS_ITSELF);
    let known = itself.map_or(from, |at| from + at + 1);
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

impl Units {
    /// From bytes in which every line end is a line feed.
    fn new(bytes: &[u8], layout: &Layout<'_>) -> Self {
        let units: Vec<u16> =
            (0..bytes.len()).step_by(layout.unit).filter_map(|at| layout.unit_at(bytes, at)).collect();
        let mut anchor: Option<(usize, &[u8])> = None;
        let mut at = 0;
        for line in bytes.split(|byte| *byte == b'\n').filter(|_| layout.unit == 1) {
            if line.len() > anchor.map_or(0, |(_, longest)| longest.len()) {
                anchor = Some((at, line));
            }
            at += line.len() + 1;
        }
        let anchor = anchor.map(|(at, line)| (Finder::new(line).into_owned(), at));
        Self { borders: borders(&units), all: units, anchor }
    }

    fn find(&self, content: &[u8], layout: &Layout<'_>, from: usize) -> Option<Place> {
        let Some((finder, before)) = &self.anchor else { return self.read(content, layout, from) };
        // What comparing may cost before reading every unit is cheaper.
        let mut left = content.len().saturating_sub(from);
        let mut at = from;
        while let Some(found) = finder.find(part(content, at, content.len())) {
            let start = back(content, layout, at + found, *before);
            let (equal, end) = self.compare(content, layout, start);
            if equal == self.all.len() && start >= from && begins_char(content, layout, from, start, end) {
                return Some(Place { start, end });
            }
            left = left.saturating_sub(before + equal + 1);
            if left == 0 {
                return self.read(content, layout, from);
            }
            at += found + 1;
        }
        None
    }

    /// How many units are equal from here on, and the place after them.
    fn compare(&self, content: &[u8], layout: &Layout<'_>, start: usize) -> (usize, usize) {
        let mut at = start;
        for (equal, wanted) in self.all.iter().enumerate() {
            match unit(content, layout, at) {
                Some((unit, width)) if unit == *wanted => at += width,
                Some(_) | None => return (equal, at),
            }
        }
        (self.all.len(), at)
    }

    /// Reads every unit.
    fn read(&self, content: &[u8], layout: &Layout<'_>, from: usize) -> Option<Place> {
        let mut at = from;
        let mut matched = 0;
        while let Some((unit, width)) = unit(content, layout, at) {
            at += width;
            while matched > 0 && self.all.get(matched) != Some(&unit) {
                matched = border(&self.borders, matched);
            }
            if self.all.get(matched) == Some(&unit) {
                matched += 1;
            }
            if matched == self.all.len() {
                let start = back(content, layout, at, matched);
                let end = at.min(content.len());
                if begins_char(content, layout, from, start, end) {
                    return Some(Place { start, end });
                }
                matched = border(&self.borders, matched);
            }
        }
        None
    }
}

/// The unit here, a line end as a line feed, and its bytes.
fn unit(content: &[u8], layout: &Layout<'_>, at: usize) -> Option<(u16, usize)> {
    let unit = layout.unit_at(content, at)?;
    if unit == layout.cr_unit() {
        if layout.unit_at(content, at + layout.unit) == Some(layout.lf_unit()) {
            return Some((layout.lf_unit(), 2 * layout.unit));
        }
        if layout.eol() == Eol::Cr {
            return Some((layout.lf_unit(), layout.unit));
        }
    }
    Some((unit, layout.unit))
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
