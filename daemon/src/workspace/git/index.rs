//! The index of a repository as values: what git last saw of every tracked file. Read when the index file changed, never
//! written.

use crate::workspace::tree::stat::{Stat, nanos};
use std::collections::HashMap;
use std::path::Path;

/// Git's mode of a link to another repository's commit.
const GITLINK: u32 = 0o160_000;

/// Git's mode of a symbolic link.
const SYMLINK: u32 = 0o120_000;

/// `flags`: git promises not to look at the file.
const ASSUME_VALID: u16 = 0x8000;
/// `flags`: two bits that number the sides of a conflict.
const STAGE: u16 = 0x3000;
/// `flags_extended`: the file is left out of the work tree.
const SKIP_WORKTREE: u16 = 0x4000;
/// `flags_extended`: announced, content not yet staged.
const INTENT_TO_ADD: u16 = 0x2000;

/// One tracked path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path relative to the work tree.
    pub path: Box<[u8]>,
    /// Id of the content.
    pub oid: [u8; 20],
    /// Git's mode.
    pub mode: u32,
    /// Modification time that git saw, in nanoseconds.
    pub mtime: i64,
    /// Change time that git saw.
    pub ctime: i64,
    /// Size that git saw, its lower 32 bits; 0 also when git does not trust what it saw.
    pub size: u32,
    /// Inode that git saw, its lower 32 bits; 0 when it was not kept.
    pub ino: u32,
    /// What the flags say.
    pub kind: EntryKind,
}

/// What the flags of an entry say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// An ordinary entry.
    Plain,
    /// One of the sides of a conflict.
    Conflict,
    /// The user told git not to look.
    AssumeValid,
    /// Left out of a sparse work tree.
    SkipWorktree,
    /// Announced only.
    IntentToAdd,
}

impl Entry {
    /// Whether this is a submodule.
    pub fn is_submodule(&self) -> bool {
        self.mode & 0o170_000 == GITLINK
    }

    /// Whether this is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.mode & 0o170_000 == SYMLINK
    }

    /// The last part of the path.
    pub fn name(&self) -> &[u8] {
        self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    /// Whether git would take the file for unchanged after this look, as far as metadata tells.
    pub fn matches(&self, stat: &Stat) -> bool {
        let time = |entry: i64, file: i64| {
            // Some writers of indexes keep whole seconds only.
            if entry % 1_000_000_000 == 0 { entry / 1_000_000_000 == file / 1_000_000_000 } else { entry == file }
        };
        self.size == stat.size as u32
            && time(self.mtime, stat.mtime)
            && (self.ctime == 0 || time(self.ctime, stat.ctime))
            && (self.ino == 0 || self.ino == stat.ino as u32)
    }
}

/// The tracked entries of one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracked {
    /// Numbers of the entries that lie directly in it, sorted by name.
    pub files: Vec<u32>,
    /// Names of the folders in it that have tracked entries below, in the index's order.
    pub dirs: Vec<Box<[u8]>>,
}

/// All tracked paths.
#[derive(Debug, Default)]
pub struct Index {
    /// Sorted by path; a path in conflict is there once.
    pub entries: Vec<Entry>,
    dirs: HashMap<Box<[u8]>, Tracked>,
    /// Modification time of the index file: an entry that is not older may have changed since without a trace.
    pub written: i64,
}

impl Index {
    /// Reads the index file at `path`, whose metadata is `stat`. The libgit2 form comes with it, for comparisons.
    pub fn read(path: &Path, stat: &Stat) -> Result<(Self, git2::Index), git2::Error> {
        let raw = git2::Index::open(path)?;
        let mut index = Self { written: stat.mtime, ..Self::default() };
        index.entries.reserve(raw.len());
        for entry in raw.iter() {
            let kind = if entry.flags & STAGE != 0 {
                EntryKind::Conflict
            } else if entry.flags & ASSUME_VALID != 0 {
                EntryKind::AssumeValid
            } else if entry.flags_extended & SKIP_WORKTREE != 0 {
                EntryKind::SkipWorktree
            } else if entry.flags_extended & INTENT_TO_ADD != 0 {
                EntryKind::IntentToAdd
            } else {
                EntryKind::Plain
            };
            let mut oid = [0; 20];
            oid.iter_mut().zip(entry.id.as_bytes()).for_each(|(to, from)| *to = *from);
            index.push(Entry {
                path: entry.path.into(),
                oid,
                mode: entry.mode,
                mtime: time(entry.mtime),
                ctime: time(entry.ctime),
                size: entry.file_size,
                ino: entry.ino,
                kind,
            });
        }
        Ok((index, raw))
    }

    /// Entries must come sorted by path.
    fn push(&mut self, entry: Entry) {
        if self.entries.last().is_some_and(|last| last.path == entry.path) {
            return;
        }
        let number = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let dir = parent(&entry.path);
        if !self.dirs.contains_key(dir) {
            self.add_dir(dir);
        }
        if let Some(tracked) = self.dirs.get_mut(dir) {
            tracked.files.push(number);
        }
        self.entries.push(entry);
    }

    /// Adds a folder and those above it that are not there yet.
    fn add_dir(&mut self, dir: &[u8]) {
        let mut dir = dir;
        self.dirs.insert(dir.into(), Tracked::default());
        while !dir.is_empty() {
            let above = parent(dir);
            let name = dir.get(if above.is_empty() { 0 } else { above.len() + 1 }..).unwrap_or_default();
            let known = self.dirs.contains_key(above);
            self.dirs.entry(above.into()).or_default().dirs.push(name.into());
            if known {
                return;
            }
            dir = above;
        }
    }

    /// The entry with this number.
    pub fn get(&self, number: u32) -> Option<&Entry> {
        self.entries.get(number as usize)
    }

    /// What is tracked in this folder; none when nothing is, at any depth.
    pub fn dir(&self, path: &[u8]) -> Option<&Tracked> {
        self.dirs.get(path)
    }

    /// Whether both indexes track the same names in this folder.
    pub fn same_names(&self, other: &Self, dir: &[u8]) -> bool {
        match (self.dir(dir), other.dir(dir)) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => {
                let name = |index: &Self, number: &u32| index.get(*number).map(|entry| entry.name().to_owned());
                ours.dirs == theirs.dirs
                    && ours.files.len() == theirs.files.len()
                    && ours.files.iter().zip(&theirs.files).all(|(our, their)| name(self, our) == name(other, their))
            }
            _ => false,
        }
    }
}

/// The folder that a path lies in; empty for the uppermost.
pub fn parent(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    path.get(..end).unwrap_or_default()
}

fn time(time: git2::IndexTime) -> i64 {
    nanos(i64::from(time.seconds()), i64::from(time.nanoseconds()))
}
