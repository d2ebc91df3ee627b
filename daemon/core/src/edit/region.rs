//! Changes as whole lines: which lines of the content before become which lines of the content after.

use super::Change;
use super::layout::{Layout, part};

/// Lines that change together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    /// Bytes of the content before, whole lines.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Its changes, as a range of their list.
    pub(super) changes: std::ops::Range<usize>,
    /// Number of its first line before, and how many lines it has.
    pub(super) old_first: u64,
    pub(super) old_lines: u64,
    /// The same after.
    pub(super) new_first: u64,
    pub(super) new_lines: u64,
}

/// The regions of ascending, disjoint changes, in order; one at a time, so that many need no memory.
pub(super) fn regions<'a>(
    content: &'a [u8],
    layout: &'a Layout<'_>,
    changes: &'a [Change<'a>],
) -> impl Iterator<Item = Region> + 'a {
    let mut next = 0;
    // Where lines were counted to, and the numbers there.
    let (mut at, mut old_no, mut new_no) = (layout.mark.min(content.len()), 1, 1);
    std::iter::from_fn(move || {
        let first = changes.get(next)?;
        let start = layout.line_start(content, first.start).min(first.start);
        let mut open = Open { at_line_start: first.start == start, cursor: first.start, end: start };
        let from = next;
        while let Some(change) = changes.get(next).filter(|change| next == from || change.start < open.end) {
            open.take(content, layout, change);
            next += 1;
        }
        let skipped = layout.line_ends(part(content, at, start));
        old_no += skipped;
        new_no += skipped;
        let region = Region {
            start,
            end: open.end,
            changes: from..next,
            old_first: old_no,
            old_lines: lines(layout, std::iter::once(part(content, start, open.end))),
            new_first: new_no,
            new_lines: lines(layout, new_pieces(content, start, open.end, changes.get(from..next).unwrap_or_default())),
        };
        old_no += region.old_lines;
        new_no += region.new_lines;
        at = open.end;
        Some(region)
    })
}

/// A region whose end is not known yet.
struct Open {
    /// Whether the text after the last change would begin a line.
    at_line_start: bool,
    /// Place after the last change.
    cursor: usize,
    end: usize,
}

impl Open {
    fn take(&mut self, content: &[u8], layout: &Layout<'_>, change: &Change<'_>) {
        if change.start > self.cursor {
            self.at_line_start = layout.begins_line(content, change.start);
        }
        if !change.new.is_empty() {
            self.at_line_start = layout.ends_line(change.new);
        }
        self.cursor = change.end;
        self.end = if self.at_line_start && layout.begins_line(content, self.cursor) {
            self.cursor
        } else {
            layout.line_end(content, self.cursor)
        };
    }
}

/// What stands in the place of `content[start..end]` after these changes in it.
pub(super) fn new_pieces<'a>(
    content: &'a [u8],
    start: usize,
    end: usize,
    changes: &'a [Change<'a>],
) -> impl Iterator<Item = &'a [u8]> {
    let mut at = start;
    let within = changes.iter().flat_map(move |change| {
        let kept = part(content, at, change.start);
        at = change.end;
        [kept, change.new]
    });
    let last = changes.last().map_or(start, |change| change.end);
    within.chain([part(content, last, end)])
}

fn lines<'a>(layout: &Layout<'_>, pieces: impl Iterator<Item = &'a [u8]>) -> u64 {
    let (mut ends, mut open) = (0, false);
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        ends += layout.line_ends(piece);
        open = !layout.ends_line(piece);
    }
    ends + u64::from(open)
}
