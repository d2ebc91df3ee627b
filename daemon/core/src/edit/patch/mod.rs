//! Unified diffs as models send them: read leniently where the meaning is plain, applied strictly.
//!
//! [`parse`] makes a patch of a text, [`apply`] an [`Edit`](super::Edit) of one file's patch and that file's content. The
//! shell's `apply_patch` looks for the files and writes them.

mod apply;
mod error;
mod parse;
mod path;

#[cfg(test)]
mod tests;

pub use apply::{NEARBY, apply};
pub use error::{PatchError, PatchErrorKind};
pub use parse::parse;

/// What a patch says of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file before, without `a/`; none when the patch makes it.
    pub old: Option<String>,
    /// The file after, without `b/`; none when the patch deletes it. The same path as `old` where both are there.
    pub new: Option<String>,
    /// What changes, in the order of the patch.
    pub hunks: Vec<Hunk>,
}

impl FilePatch {
    /// The one file that it is about.
    pub fn path(&self) -> &str {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or_default()
    }
}

/// A stretch of lines that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Its first line in the file before, as its head says; none when that says nothing.
    pub old_start: Option<u64>,
    /// Its lines.
    pub lines: Vec<HunkLine>,
    /// The last of its lines before has no line end.
    pub old_ends_open: bool,
    /// The last of its lines after has no line end.
    pub new_ends_open: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// What becomes of it.
    pub kind: LineKind,
    /// Its text, without a line end.
    pub text: String,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// It stays.
    Context,
    /// It is taken out.
    Removed,
    /// It is put in.
    Added,
}
