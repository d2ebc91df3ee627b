//! Differences as unified text, bounded: made from what changes, never by comparing whole files line by line.

use super::layout::{Layout, part};
use super::region::{Region, new_pieces, regions};
use super::{Change, Encoding};
use crate::tool::call::Diff;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::fmt::Write as _;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Most lines of a difference; more is for nobody's eyes, and the file itself can be read.
const MAX_LINES: u64 = 400;

/// Most bytes of a difference.
const MAX_BYTES: usize = 32 * 1024;

/// Characters of a line that are shown.
const MAX_CHARS: usize = 1_000;

/// Regions up to this many bytes, before and after together, are compared line by line.
const COMPARED_BYTES: usize = 1 << 20;

/// Pairs of lines that may be compared in one difference at worst: well under a second.
const COMPARED_PAIRS: usize = 16 << 20;

/// What becomes of a file that is written or deleted as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Whole {
    /// The difference.
    pub diff: Diff,
    /// Lines of the content before; 0 when nothing was there.
    pub lines_before: u64,
    /// Lines of the content after; 0 when it is deleted.
    pub lines_after: u64,
}

/// A file is made, or its content replaced, both in the same encoding.
pub fn whole(before: Option<&[u8]>, after: &[u8], encoding: &dyn Encoding) -> Whole {
    let old = before.unwrap_or_default();
    let layout = Layout::of(old, encoding);
    let after_layout = Layout::of(after, encoding);
    // Where nothing was, the lines are those of the new content.
    let lines = if old.is_empty() { &after_layout } else { &layout };
    let diff = match changed(old, after, lines) {
        Some(change) => of_changes(old, lines, &[change]),
        None => Diff::default(),
    };
    Whole { diff, lines_before: layout.lines(old), lines_after: after_layout.lines(after) }
}

/// A file is deleted.
pub fn deleted(before: &[u8], encoding: &dyn Encoding) -> Whole {
    let layout = Layout::of(before, encoding);
    let change = Change { start: layout.mark.min(before.len()), end: before.len(), new: &[] };
    Whole { diff: of_changes(before, &layout, &[change]), lines_before: layout.lines(before), lines_after: 0 }
}

/// The one range in which two contents differ, as whole lines; none when they are equal.
fn changed<'a>(before: &[u8], after: &'a [u8], layout: &Layout<'_>) -> Option<Change<'a>> {
    if before == after {
        return None;
    }
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    // A byte order mark that only one of them has is no text.
    let skip = Layout::of(after, layout.encoding).mark;
    let start = if before.is_empty() { 0 } else { layout.line_start(before, same).min(same) };
    let new_start = if before.is_empty() { skip.min(after.len()) } else { start };
    let (old_rest, new_rest) = (part(before, start, before.len()), part(after, new_start, after.len()));
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let whole_units = |tail: usize| {
        (before.len() - tail).is_multiple_of(layout.unit) && (after.len() - tail).is_multiple_of(layout.unit)
    };
    let tail = [tail, tail.saturating_sub(1)].into_iter().find(|tail| whole_units(*tail)).unwrap_or_default();
    // The equal end begins with a line in both: up to the first line end within it, and that belongs to the change.
    let end = before.len() - tail;
    let end = if layout.begins_line(before, end) && layout.begins_line(after, after.len() - tail) {
        end
    } else {
        layout.line_end(before, end)
    };
    let kept = before.len() - end.max(start);
    Some(Change { start, end: end.max(start), new: part(after, new_start, after.len() - kept) })
}

/// The difference that ascending, disjoint changes make.
pub(super) fn of_changes(content: &[u8], layout: &Layout<'_>, changes: &[Change<'_>]) -> Diff {
    let mut printer = Printer::new(content, layout);
    let mut pairs_left = COMPARED_PAIRS;
    for region in regions(content, layout, changes) {
        let changes = changes.get(region.changes.clone()).unwrap_or_default();
        let size = region.end - region.start + changes.iter().map(|change| change.new.len()).sum::<usize>();
        if size <= COMPARED_BYTES {
            compared(&mut printer, &region, changes, &mut pairs_left);
        } else {
            let block = Block::of(&region);
            let mut new = CutLines::new(layout);
            printer.block(&block, |printer| {
                for piece in new_pieces(content, region.start, region.end, changes) {
                    new.feed(piece, &mut |line| printer.line('+', line));
                }
                new.end(&mut |line| printer.line('+', line));
            });
        }
    }
    printer.finish()
}

/// Lines that are replaced by others.
struct Block {
    start: usize,
    end: usize,
    old_first: u64,
    old_lines: u64,
    new_first: u64,
    new_lines: u64,
}

impl Block {
    fn of(region: &Region) -> Self {
        Self {
            start: region.start,
            end: region.end,
            old_first: region.old_first,
            old_lines: region.old_lines,
            new_first: region.new_first,
            new_lines: region.new_lines,
        }
    }
}

/// A small region: only the lines that differ are blocks.
fn compared(printer: &mut Printer<'_>, region: &Region, changes: &[Change<'_>], pairs_left: &mut usize) {
    let (content, layout) = (printer.content, printer.layout);
    let text: Vec<u8> = new_pieces(content, region.start, region.end, changes).flatten().copied().collect();
    let old: Vec<&[u8]> = layout.split(part(content, region.start, region.end)).collect();
    let new: Vec<&[u8]> = layout.split(&text).collect();
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let old_mid = old_rest.get(..old_rest.len() - tail).unwrap_or_default();
    let new_mid = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let pairs = old_mid.len().saturating_mul(new_mid.len());
    let ops = if pairs <= *pairs_left {
        *pairs_left -= pairs;
        capture_diff_slices(Algorithm::Myers, old_mid, new_mid)
    } else {
        vec![DiffOp::Replace { old_index: 0, old_len: old_mid.len(), new_index: 0, new_len: new_mid.len() }]
    };
    let start = region.start + old.iter().take(head).map(|line| line.len()).sum::<usize>();
    // Where the old lines were measured to.
    let (mut index, mut at) = (0, start);
    let size = |lines: &[&[u8]]| lines.iter().map(|line| line.len()).sum::<usize>();
    for op in ops {
        let (old_range, new_range) = (op.old_range(), op.new_range());
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        at += size(old_mid.get(index..old_range.start).unwrap_or_default());
        let end = at + size(old_mid.get(old_range.clone()).unwrap_or_default());
        index = old_range.end;
        let block = Block {
            start: at,
            end,
            old_first: region.old_first + (head + old_range.start) as u64,
            old_lines: old_range.len() as u64,
            new_first: region.new_first + (head + new_range.start) as u64,
            new_lines: new_range.len() as u64,
        };
        at = end;
        let lines = new_mid.get(new_range).unwrap_or_default();
        printer.block(&block, |printer| lines.iter().for_each(|line| printer.line('+', line)));
    }
}

/// Makes the text, one block after the other.
struct Printer<'a> {
    content: &'a [u8],
    layout: &'a Layout<'a>,
    diff: Diff,
    lines: u64,
    hunk: Option<Hunk>,
}

/// A hunk that is not ended yet.
struct Hunk {
    /// Where its text begins in the difference's.
    at: usize,
    old_first: u64,
    old_lines: u64,
    new_first: u64,
    new_lines: u64,
    /// Place in the content after its last line.
    end: usize,
}

impl<'a> Printer<'a> {
    fn new(content: &'a [u8], layout: &'a Layout<'a>) -> Self {
        Self { content, layout, diff: Diff::default(), lines: 0, hunk: None }
    }

    fn block(&mut self, block: &Block, added: impl FnOnce(&mut Self)) {
        if block.old_lines == 0 && block.new_lines == 0 {
            return;
        }
        if !self.join(block.start) {
            self.end_hunk();
            self.begin_hunk(block);
        }
        if self.full() {
            // Nothing of it is shown: to count is enough.
            self.diff.cut += block.old_lines + block.new_lines;
        } else {
            let (content, layout) = (self.content, self.layout);
            layout.split(part(content, block.start, block.end)).for_each(|line| self.line('-', line));
            added(self);
        }
        self.diff.removed += block.old_lines;
        self.diff.added += block.new_lines;
        if let Some(hunk) = &mut self.hunk {
            hunk.old_lines += block.old_lines;
            hunk.new_lines += block.new_lines;
            hunk.end = block.end;
        }
    }

    /// Goes on with the present hunk, when no more lines lie between than the contexts of both.
    fn join(&mut self, start: usize) -> bool {
        let Some(hunk) = &self.hunk else { return false };
        let lines = self.next_lines(hunk.end, start, 2 * CONTEXT + 1);
        let reached = lines.iter().map(|line| line.len()).sum::<usize>() == start - hunk.end;
        if !reached || lines.len() > 2 * CONTEXT {
            return false;
        }
        self.context(&lines);
        true
    }

    fn next_lines(&self, from: usize, to: usize, most: usize) -> Vec<&'a [u8]> {
        self.layout.split(part(self.content, from, to)).take(most).collect()
    }

    fn context(&mut self, lines: &[&[u8]]) {
        lines.iter().for_each(|line| self.line(' ', line));
        let bytes = lines.iter().map(|line| line.len()).sum::<usize>();
        if let Some(hunk) = &mut self.hunk {
            hunk.old_lines += lines.len() as u64;
            hunk.new_lines += lines.len() as u64;
            hunk.end += bytes;
        }
    }

    fn begin_hunk(&mut self, block: &Block) {
        let mut start = block.start;
        let mut count = 0;
        while count < CONTEXT && start > self.layout.mark {
            start = self.layout.line_start(self.content, start.saturating_sub(self.layout.unit));
            count += 1;
        }
        let before = self.next_lines(start, block.start, CONTEXT);
        self.hunk = Some(Hunk {
            at: self.diff.text.len(),
            old_first: block.old_first.saturating_sub(before.len() as u64),
            old_lines: 0,
            new_first: block.new_first.saturating_sub(before.len() as u64),
            new_lines: 0,
            end: start,
        });
        // The head's own line.
        self.lines += 1;
        self.context(&before);
    }

    fn end_hunk(&mut self) {
        let Some(hunk) = &self.hunk else { return };
        let after = self.next_lines(hunk.end, self.content.len(), CONTEXT);
        self.context(&after);
        let Some(hunk) = self.hunk.take() else { return };
        if self.diff.text.len() == hunk.at {
            self.diff.cut += 1;
            return;
        }
        // A range without lines names the line before it.
        let first = |first: u64, lines: u64| if lines == 0 { first.saturating_sub(1) } else { first };
        let head = format!(
            "@@ -{},{} +{},{} @@\n",
            first(hunk.old_first, hunk.old_lines),
            hunk.old_lines,
            first(hunk.new_first, hunk.new_lines),
            hunk.new_lines
        );
        self.diff.text.insert_str(hunk.at, &head);
    }

    fn full(&self) -> bool {
        self.diff.cut > 0 || self.lines >= MAX_LINES || self.diff.text.len() >= MAX_BYTES
    }

    fn line(&mut self, sign: char, line: &[u8]) {
        if self.full() {
            self.diff.cut += 1;
            return;
        }
        let (text, cut) = self.layout.text(line, MAX_CHARS);
        if self.diff.text.len() + text.len() > MAX_BYTES {
            self.diff.cut += 1;
            return;
        }
        self.lines += 1;
        self.diff.text.push(sign);
        self.diff.text.push_str(&text);
        if cut {
            // Writing to a String cannot fail.
            let _ = write!(self.diff.text, " … [cut at {MAX_CHARS} characters]");
        }
        self.diff.text.push('\n');
        if !self.layout.ends_line(line) && !cut {
            self.lines += 1;
            self.diff.text.push_str("\\ No newline at end of file\n");
        }
    }

    fn finish(mut self) -> Diff {
        self.end_hunk();
        self.diff
    }
}

/// Lines over pieces, of each no more kept than is shown.
struct CutLines<'a> {
    layout: &'a Layout<'a>,
    kept: Vec<u8>,
    begun: bool,
}

impl<'a> CutLines<'a> {
    /// Bytes of a line that are kept: more than its shown characters can have, and a whole number of units.
    const KEEP: usize = (MAX_CHARS + 2) * 4;

    fn new(layout: &'a Layout<'a>) -> Self {
        Self { layout, kept: Vec::new(), begun: false }
    }

    fn feed(&mut self, piece: &[u8], line: &mut impl FnMut(&[u8])) {
        for text in self.layout.split(piece) {
            self.begun = true;
            let room = Self::KEEP.saturating_sub(self.kept.len());
            self.kept.extend_from_slice(text.get(..room).unwrap_or(text));
            if self.layout.ends_line(text) {
                line(&self.kept);
                self.kept.clear();
                self.begun = false;
            }
        }
    }

    fn end(&mut self, line: &mut impl FnMut(&[u8])) {
        if self.begun {
            line(&self.kept);
            self.kept.clear();
        }
    }
}
