//! How a file compares to its entry in the index, decided as git decides it.

use super::Scan;
use super::content::{BlobId, blob_id};
use super::stat::Stat;
use crate::workspace::git::index::{Entry, EntryKind, Index};

/// How a file compares to its entry in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Not compared yet, or not tracked.
    Unset,
    /// Equal.
    Clean,
    /// Other content or permission.
    Modified,
    /// A link became a file, or the like.
    TypeChanged,
    /// Announced to the index, content not staged.
    Added,
    /// The bytes differ, but filters may make them equal; `same` is what metadata said.
    AskGit { same: bool },
}

/// Compares: metadata first, content where that proves nothing, and then leaves it in `content`.
pub fn judge(
    scan: &Scan<'_>,
    index: &Index,
    entry: Entry<'_>,
    path: &[u8],
    stat: &Stat,
    content: &mut Option<BlobId>,
) -> Verdict {
    match entry.kind {
        EntryKind::Conflict | EntryKind::AssumeValid => return Verdict::Clean,
        EntryKind::SkipWorktree if !scan.sparse => return Verdict::Clean,
        EntryKind::SkipWorktree | EntryKind::IntentToAdd | EntryKind::Plain => {}
    }
    if entry.kind == EntryKind::IntentToAdd {
        return Verdict::Added;
    }
    let same_type =
        if entry.is_symlink() { stat.is_symlink() || !scan.symlinks && stat.is_file() } else { stat.is_file() };
    if !same_type || entry.is_submodule() {
        return Verdict::TypeChanged;
    }
    if scan.file_mode && !entry.is_symlink() && (entry.mode & 0o100 != 0) != stat.is_executable() {
        return Verdict::Modified;
    }
    let same = entry.matches(stat);
    // What was written in the same tick as the index itself may have been written again unnoticed.
    if same
        && entry.mtime < index.written
        && (entry.mtime % 1_000_000_000 != 0 || index.written - entry.mtime > 1_000_000_000)
    {
        return Verdict::Clean;
    }
    let filtered = scan.filters && !entry.is_symlink();
    if !filtered && entry.size != 0 && entry.size != stat.size as u32 {
        return Verdict::Modified;
    }
    if content.is_none() {
        *content = blob_id(&scan.base, path, stat);
    }
    if *content == Some(entry.oid) {
        Verdict::Clean
    } else if filtered {
        Verdict::AskGit { same }
    } else {
        Verdict::Modified
    }
}
