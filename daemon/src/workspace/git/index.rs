//! The index of a repository as values: what git last saw of every tracked file. Read when the index file changed, never
//! written.

use super::index_file;
use crate::workspace::tree::stat::{Stat, nanos};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
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
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Path relative to the work tree.
    pub path: &'a [u8],
    record: &'a Record,
}

/// What git last saw of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where the path ends among all paths; it begins where the one before ends.
    pub(super) path_end: u32,
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
    /// Id of the content.
    pub oid: [u8; 20],
    /// What the flags say.
    pub kind: EntryKind,
}

impl Deref for Entry<'_> {
    type Target = Record;

    fn deref(&self) -> &Record {
        self.record
    }
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

/// The flags of an entry as they are in the file.
#[derive(Debug, Clone, Copy)]
pub struct Flags {
    /// Of every entry.
    pub plain: u16,
    /// Of those that have more.
    pub extended: u16,
}

impl Flags {
    /// What they say.
    pub fn kind(self) -> EntryKind {
        if self.plain & STAGE != 0 {
            EntryKind::Conflict
        } else if self.plain & ASSUME_VALID != 0 {
            EntryKind::AssumeValid
        } else if self.extended & SKIP_WORKTREE != 0 {
            EntryKind::SkipWorktree
        } else if self.extended & INTENT_TO_ADD != 0 {
            EntryKind::IntentToAdd
        } else {
            EntryKind::Plain
        }
    }
}

impl<'a> Entry<'a> {
    /// Whether this is a submodule.
    pub fn is_submodule(&self) -> bool {
        self.mode & 0o170_000 == GITLINK
    }

    /// Whether this is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.mode & 0o170_000 == SYMLINK
    }

    /// The last part of the path.
    pub fn name(&self) -> &'a [u8] {
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

/// All tracked paths, sorted; one in conflict is there once. In few large pieces of memory, which go back to the system.
#[derive(Debug, Default)]
pub struct Index {
    records: Vec<Record>,
    /// One behind the other.
    paths: Vec<u8>,
    dirs: HashMap<Box<[u8]>, Tracked>,
    /// The tree that it is equal to, when git noted that down.
    pub tree: Option<[u8; 20]>,
    /// Modification time of the index file: an entry that is not older may have changed since without a trace.
    pub written: i64,
}

impl Index {
    /// Reads the index file at `path`, whose metadata is `stat`.
    pub fn read(path: &Path, stat: &Stat) -> Result<Self, git2::Error> {
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = File::options().read(true).custom_flags(flags).open(path);
        // libgit2 would wait for a pipe's writer.
        let is_file = |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file());
        let file = file.ok().filter(is_file).ok_or_else(|| git2::Error::from_str("the index cannot be read"))?;
        let index = match index_file::read(file) {
            Some(index) => index,
            None => Self::of(&git2::Index::open(path)?),
        };
        Ok(Self { written: stat.mtime, ..index })
    }

    /// What libgit2 read.
    pub fn of(raw: &git2::Index) -> Self {
        let mut index = Self::default();
        index.reserve(raw.len(), 0);
        for entry in raw.iter() {
            let mut oid = [0; 20];
            oid.iter_mut().zip(entry.id.as_bytes()).for_each(|(to, from)| *to = *from);
            let record = Record {
                path_end: 0,
                mode: entry.mode,
                mtime: time(entry.mtime),
                ctime: time(entry.ctime),
                size: entry.file_size,
                ino: entry.ino,
                oid,
                kind: Flags { plain: entry.flags, extended: entry.flags_extended }.kind(),
            };
            index.push(&entry.path, record);
        }
        index.shrink();
        index
    }

    /// Makes room for so many entries with so many bytes of paths.
    pub(super) fn reserve(&mut self, entries: usize, paths: usize) {
        self.records.reserve_exact(entries);
        self.paths.reserve_exact(paths);
    }

    /// Gives back what was reserved in vain.
    pub(super) fn shrink(&mut self) {
        self.records.shrink_to_fit();
        self.paths.shrink_to_fit();
        self.dirs.values_mut().for_each(|dir| dir.files.shrink_to_fit());
    }

    /// Paths must come sorted.
    pub(super) fn push(&mut self, path: &[u8], record: Record) {
        let number = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        if self.last().is_some_and(|last| last.path == path) {
            return;
        }
        // Git itself keeps the index's size in 32 bits.
        let Ok(path_end) = u32::try_from(self.paths.len() + path.len()) else { return };
        self.paths.extend_from_slice(path);
        self.records.push(Record { path_end, ..record });
        let dir = parent(path);
        if !self.dirs.contains_key(dir) {
            self.add_dir(dir);
        }
        if let Some(tracked) = self.dirs.get_mut(dir) {
            tracked.files.push(number);
        }
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
    pub fn get(&self, number: u32) -> Option<Entry<'_>> {
        let record = self.records.get(number as usize)?;
        let before = (number as usize).checked_sub(1).and_then(|before| self.records.get(before));
        let start = before.map_or(0, |before| before.path_end);
        let path = self.paths.get(start as usize..record.path_end as usize)?;
        Some(Entry { path, record })
    }

    /// The last entry.
    pub(super) fn last(&self) -> Option<Entry<'_>> {
        self.get(u32::try_from(self.count().checked_sub(1)?).ok()?)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.records.len()
    }

    /// All entries with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Entry<'_>)> {
        (0..).map_while(|number| Some((number, self.get(number)?)))
    }

    /// The number of the entry at `path`.
    pub fn find(&self, path: &[u8]) -> Option<u32> {
        let (mut low, mut high) = (0, u32::try_from(self.count()).ok()?);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle)?.path.cmp(path) {
                Ordering::Equal => return Some(middle),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        None
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
