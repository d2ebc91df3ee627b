//! Edits of files as values: which bytes come out in place of which, and what that looks like as a difference.
//!
//! Pure: bytes in, splices out. Nothing here opens a file, knows an encoding beyond UTF-8, or decides whether an edit may
//! be made; the shell's edit tools call it. A file is never copied as a whole for one replacement: an [`Edit`] names the
//! ranges of the original that change, and every byte outside them stays what it is, whatever it is.

mod compose;
pub mod diff;
mod error;
mod layout;
mod near;
pub mod patch;
mod region;
mod replace;
mod search;

#[cfg(test)]
mod tests;

pub use diff::{Whole, deleted, whole};
pub use error::{EditError, EditErrorKind};
pub use near::{Near, Why};
pub use replace::{keep_eol, replace};

use crate::tool::call::Diff;
use layout::{Layout, part};

/// One replacement of a text by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The text as the model saw it; a line feed in it stands for any line end of the file.
    pub old: &'a str,
    /// What comes in its place, literally, with the file's line ends.
    pub new: &'a str,
    /// Every occurrence, instead of the only one.
    pub all: bool,
}

/// How text and the bytes of one file belong together. A byte order mark is never part of what is encoded or decoded:
/// contents that are passed beside an encoding may begin with one.
pub trait Encoding {
    /// The bytes of a text, without a byte order mark; else the first character that the encoding does not have.
    fn encode(&self, text: &str) -> Result<Vec<u8>, char>;

    /// The text of bytes without a byte order mark; what is invalid becomes U+FFFD.
    fn decode(&self, bytes: &[u8]) -> String;

    /// Bytes per code unit: 1, or 2 for UTF-16. Units are counted from the first byte of the file.
    fn unit(&self) -> usize;
}

/// UTF-8, also for files in which some bytes are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utf8;

impl Encoding for Utf8 {
    fn encode(&self, text: &str) -> Result<Vec<u8>, char> {
        Ok(text.as_bytes().to_vec())
    }

    fn decode(&self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn unit(&self) -> usize {
        1
    }
}

/// A range of the original content and what comes in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// First byte that is replaced.
    pub start: usize,
    /// The byte after the last one; `start` for an insertion.
    pub end: usize,
    /// The bytes that come in its place.
    pub new: Vec<u8>,
}

/// What becomes of a content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edit {
    /// Ascending and disjoint, over the original bytes.
    pub splices: Vec<Splice>,
    /// Lines of the content before that change, whole lines: number of the first, and how many. 0 lines: text is put in
    /// before that line.
    pub touches: Vec<(u64, u64)>,
    /// What stands in their place, in lines of the content after; the n-th belongs to the n-th of `touches`. 0 lines:
    /// nothing is left of them.
    pub wrote: Vec<(u64, u64)>,
    /// Lines of the content before; a final line end does not begin a further one.
    pub lines_before: u64,
    /// Lines of the content after.
    pub lines_after: u64,
    /// What the model should know besides, as sentences.
    pub notes: Vec<String>,
}

impl Edit {
    /// An edit of these splices, which are ascending and disjoint.
    fn of(content: &[u8], layout: &Layout<'_>, splices: Vec<Splice>, notes: Vec<String>) -> Self {
        let mut edit = Self { lines_before: layout.lines(content), splices, notes, ..Self::default() };
        let changes = changes(&edit.splices);
        let (mut touches, mut wrote) = (Vec::new(), Vec::new());
        let (mut removed, mut added) = (0, 0);
        for region in region::regions(content, layout, &changes) {
            removed += region.old_lines;
            added += region.new_lines;
            push_lines(&mut touches, &mut wrote, &region);
        }
        edit.lines_after = (edit.lines_before + added).saturating_sub(removed);
        edit.touches = touches;
        edit.wrote = wrote;
        edit
    }

    /// The content after, as slices of the content before and of the new texts: to be written and hashed one after the
    /// other.
    pub fn pieces<'a>(&'a self, content: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = Vec::with_capacity(self.splices.len() * 2 + 1);
        let mut at = 0;
        for splice in &self.splices {
            pieces.push(part(content, at, splice.start));
            pieces.push(&splice.new);
            at = splice.end;
        }
        pieces.push(part(content, at, content.len()));
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    /// The difference, with three lines of context, bounded; `content` is the one before.
    pub fn diff(&self, content: &[u8], encoding: &dyn Encoding) -> Diff {
        diff::of_changes(content, &Layout::of(content, encoding), &changes(&self.splices))
    }
}

/// A splice whose new bytes are somebody else's.
#[derive(Debug, Clone, Copy)]
struct Change<'a> {
    start: usize,
    end: usize,
    new: &'a [u8],
}

fn changes(splices: &[Splice]) -> Vec<Change<'_>> {
    splices.iter().map(|splice| Change { start: splice.start, end: splice.end, new: &splice.new }).collect()
}

/// Adds a region's lines; what directly follows the one before is joined to it, so that the lists stay short.
fn push_lines(touches: &mut Vec<(u64, u64)>, wrote: &mut Vec<(u64, u64)>, region: &region::Region) {
    if let (Some((first, count)), Some((_, written))) = (touches.last_mut(), wrote.last_mut())
        && *first + *count == region.old_first
    {
        *count += region.old_lines;
        *written += region.new_lines;
        return;
    }
    touches.push((region.old_first, region.old_lines));
    wrote.push((region.new_first, region.new_lines));
}
