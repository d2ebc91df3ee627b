//! One folder of the tree: its listing, kept as long as its own time stamp stays, and its files' metadata, looked at
//! anew in every scan.

use super::compare::{Verdict, judge};
use super::content::{BlobId, HASH_MAX, blob_id};
use super::rules::Rules;
use super::stat::Stat;
use super::{Scan, join};
use crate::workspace::git::index::{Entry, EntryKind, Index};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir as ReadDir, FileType, Mode, OFlags, openat, statat};
use std::sync::atomic::Ordering;

/// Untracked files of one folder that are looked at one by one. What is beyond is counted, and its changes are not seen:
/// a folder that full is data, not work.
pub const UNTRACKED_PER_DIR_MAX: usize = 2_000;

/// From this many files on it pays to open the folder instead of walking its path for each.
const OPEN_FROM: usize = 8;

/// Changed paths kept of one scan.
pub const CHANGES_MAX: usize = 1_000;

/// The bits of a mode that are content to git: the type, and whether the owner may execute it.
const CONTENT_MODE: u32 = 0o170_100;

/// Marks a file that is not in the index.
const UNTRACKED: u32 = u32::MAX;

/// A file, link, or other thing that is no folder.
#[derive(Debug)]
pub struct FileSlot {
    /// Its name.
    pub name: Box<[u8]>,
    entry: u32,
    stat: Stat,
    /// Its content at `stat`, when it had to be read.
    known: Option<Box<BlobId>>,
    /// How it compares to the index.
    pub verdict: Verdict,
}

impl FileSlot {
    /// Its number in the index.
    pub fn entry(&self) -> Option<u32> {
        (self.entry != UNTRACKED).then_some(self.entry)
    }

    /// Whether it was there at the last look: it may go while its folder is being read.
    pub fn is_there(&self) -> bool {
        self.stat.mode != 0
    }

    /// Has it compared anew.
    pub fn forget_verdict(&mut self) {
        self.verdict = Verdict::Unset;
    }
}

/// A folder.
#[derive(Debug)]
pub struct Dir {
    /// Path relative to the tree's base; empty for the base.
    pub path: Box<[u8]>,
    /// Whether everything in it counts; else only what is tracked, because it is ignored or outside the root.
    pub whole: bool,
    /// The entry of the submodule whose folder this is.
    pub submodule: Option<u32>,
    /// Whether it holds a repository of its own.
    pub nested: bool,
    /// Files that are tracked or not ignored, sorted by name.
    pub files: Vec<FileSlot>,
    /// Numbers of its sub-folders in the tree, sorted by name.
    pub dirs: Vec<u32>,
    /// Untracked files beyond the bound.
    pub uncounted: u64,
    /// Whether the next pass must look at it.
    pub pending: bool,
    /// Whether the listing must be read again, whatever the time stamp says.
    pub stale: bool,
    /// Whether the rules from above are others than those that [`Dir::rules`] was made from.
    pub rules_stale: bool,
    /// Rules from above.
    pub above: Rules,
    /// Rules for its entries.
    pub rules: Rules,
    rules_file: Option<Stat>,
    stat: Stat,
    seen_at: i64,
}

/// What a look at a folder found that concerns others.
#[derive(Debug, Default)]
pub struct Found {
    /// The folder is not there any more.
    pub gone: bool,
    /// Its sub-folders, when the listing was read again.
    pub subdirs: Option<Vec<Subdir>>,
    /// Its rules are others than before.
    pub rules_changed: bool,
    /// Paths whose content changed since the last scan.
    pub changed: Vec<Vec<u8>>,
    /// Those of them that were not there.
    pub added: Vec<Vec<u8>>,
}

/// A sub-folder that counts.
#[derive(Debug)]
pub struct Subdir {
    /// Its name.
    pub name: Box<[u8]>,
    /// See [`Dir::whole`].
    pub whole: bool,
    /// See [`Dir::submodule`].
    pub submodule: Option<u32>,
}

impl Dir {
    /// A folder that was not looked at yet.
    pub fn new(path: Box<[u8]>, whole: bool, submodule: Option<u32>, above: Rules) -> Self {
        Self {
            path,
            whole,
            submodule,
            nested: false,
            files: Vec::new(),
            dirs: Vec::new(),
            uncounted: 0,
            pending: true,
            stale: true,
            rules_stale: true,
            rules: above.clone(),
            above,
            rules_file: None,
            stat: Stat::default(),
            seen_at: 0,
        }
    }

    /// Whether anything in it, by itself, makes it show up as untracked.
    pub fn has_untracked_file(&self) -> bool {
        self.uncounted > 0 || self.files.iter().any(|file| file.entry == UNTRACKED && file.is_there())
    }

    /// Looks at the folder and at all its files.
    pub fn look(&mut self, scan: &Scan<'_>) -> Found {
        let mut found = Found::default();
        let at: Box<[u8]> = if self.path.is_empty() { b".".as_slice().into() } else { self.path.clone() };
        let stat = match statat(scan.base.as_fd(), &*at, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from) {
            Ok(stat) if stat.is_dir() => stat,
            _ => {
                found.gone = true;
                return found;
            }
        };
        self.relink(scan);
        let settled = self.stat.settled(self.seen_at) && self.stat.mtime == stat.mtime && self.stat.ctime == stat.ctime;
        let read = self.stale || !settled || self.stat.ino != stat.ino;
        let rules_moved = !read && self.rules_file.is_some() && self.rules_file_moved(scan);
        let mut open = None;
        if read || rules_moved {
            open = open_dir(&scan.base, &at);
            self.read(scan, open.as_ref(), &mut found);
        }
        let seen_before = std::mem::replace(&mut self.seen_at, scan.now);
        self.stat = stat;
        self.stale = false;
        self.pending = false;
        if open.is_none() && self.files.len() >= OPEN_FROM {
            open = open_dir(&scan.base, &at);
        }
        self.look_at_files(scan, open.as_ref(), seen_before, &mut found);
        found
    }

    /// After a change of the index: gives the files their new numbers.
    fn relink(&mut self, scan: &Scan<'_>) {
        let (Some(before), Some(index)) = (scan.before, scan.index) else { return };
        // A new folder, and one that was looked at in an earlier pass, have the new numbers already.
        if self.seen_at == 0 || self.seen_at == scan.now {
            return;
        }
        if let Some(number) = self.submodule {
            self.submodule = before.get(number).and_then(|entry| index.find(entry.path));
        }
        // Names that came or went are found in the listing.
        self.stale |= !index.same_names(before, &self.path);
        let tracked = index.dir(&self.path).map(|tracked| tracked.files.as_slice()).unwrap_or_default();
        let mut numbers = tracked.iter().copied().peekable();
        for slot in self.files.iter_mut().filter(|slot| slot.entry != UNTRACKED) {
            let new = next_entry(Some(index), &mut numbers, &slot.name);
            let old = before.get(slot.entry);
            slot.entry = new.unwrap_or(UNTRACKED);
            let entry = new.and_then(|number| index.get(number));
            let same =
                |old: Entry<'_>, new: Entry<'_>| old.oid == new.oid && old.mode == new.mode && old.kind == new.kind;
            if !old.zip(entry).is_some_and(|(old, new)| same(old, new)) {
                slot.known = slot.content(old, scan).map(Box::new);
                slot.verdict = Verdict::Unset;
            }
        }
    }

    fn rules_file_moved(&self, scan: &Scan<'_>) -> bool {
        let path = join(&self.path, b".gitignore");
        let now = statat(scan.base.as_fd(), &path, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from).ok();
        now != self.rules_file || !now.is_some_and(|stat| stat.settled(self.seen_at))
    }

    fn read(&mut self, scan: &Scan<'_>, open: Option<&OwnedFd>, found: &mut Found) {
        let mut listing = open.map(|fd| list(&scan.base, fd, &self.path)).unwrap_or_default();
        listing.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let has = |name: &[u8]| listing.binary_search_by(|(known, _)| known.as_ref().cmp(name)).is_ok();
        self.nested =
            !self.path.is_empty() && self.submodule.is_none() && has(b".git") && is_repository(scan, &self.path);
        let rules_file = if has(b".gitignore") {
            let path = join(&self.path, b".gitignore");
            statat(scan.base.as_fd(), &path, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from).ok()
        } else {
            None
        };
        let unsettled = rules_file.is_some_and(|stat| !stat.settled(scan.now));
        if self.rules_stale || rules_file != self.rules_file || unsettled {
            let rules = match rules_file {
                Some(_) => self.above.with_file(&scan.path_of(&join(&self.path, b".gitignore")), &self.path),
                None => self.above.clone(),
            };
            found.rules_changed = true;
            self.rules = rules;
            self.rules_file = rules_file;
            self.rules_stale = false;
        }
        let tracked = scan.index.and_then(|index| index.dir(&self.path));
        let mut numbers =
            tracked.map(|tracked| tracked.files.as_slice()).unwrap_or_default().iter().copied().peekable();
        let mut before = std::mem::take(&mut self.files).into_iter().peekable();
        let mut subdirs = Vec::new();
        let mut untracked = 0;
        self.uncounted = 0;
        for (name, kind) in listing {
            if &*name == b".git" {
                continue;
            }
            let entry = next_entry(scan.index, &mut numbers, &name);
            let path = join(&self.path, &name);
            if kind == FileType::Directory {
                if let Some(subdir) = self.subdir(scan, name, &path, entry) {
                    subdirs.push(subdir);
                }
                continue;
            }
            if entry.is_none() && (!self.whole || self.rules.ignores(&path, false)) {
                continue;
            }
            if entry.is_none() {
                untracked += 1;
                if untracked > UNTRACKED_PER_DIR_MAX || scan.is_full() {
                    self.uncounted += 1;
                    continue;
                }
            }
            while before.peek().is_some_and(|slot| slot.name < name) {
                self.removed(before.next(), found);
            }
            let kept = before.next_if(|slot| slot.name == name);
            let mut slot = kept.unwrap_or_else(|| {
                scan.files.fetch_add(1, Ordering::Relaxed);
                FileSlot { name, entry: UNTRACKED, stat: Stat::default(), known: None, verdict: Verdict::Unset }
            });
            let number = entry.unwrap_or(UNTRACKED);
            if slot.entry != number {
                slot.entry = number;
                slot.verdict = Verdict::Unset;
            }
            self.files.push(slot);
        }
        for slot in before {
            self.removed(Some(slot), found);
        }
        found.subdirs = Some(subdirs);
    }

    fn removed(&self, slot: Option<FileSlot>, found: &mut Found) {
        if let Some(slot) = slot
            && found.changed.len() < CHANGES_MAX
        {
            found.changed.push(join(&self.path, &slot.name));
        }
    }

    fn subdir(&self, scan: &Scan<'_>, name: Box<[u8]>, path: &[u8], entry: Option<u32>) -> Option<Subdir> {
        let is_submodule =
            |number: &u32| scan.index.and_then(|index| index.get(*number)).is_some_and(|entry| entry.is_submodule());
        // A folder where a file is tracked is no file any more.
        let entry = entry.filter(is_submodule);
        let has_tracked = entry.is_some() || scan.index.is_some_and(|index| index.dir(path).is_some());
        let whole = if scan.root == path {
            true
        } else if self.whole {
            !self.rules.ignores(path, true)
        } else {
            false
        };
        let above_root = scan.root.strip_prefix(path).is_some_and(|rest| rest.first() == Some(&b'/'));
        (whole || has_tracked || above_root).then_some(Subdir { name, whole, submodule: entry })
    }

    fn look_at_files(&mut self, scan: &Scan<'_>, open: Option<&OwnedFd>, seen_before: i64, found: &mut Found) {
        let mut path = if self.path.is_empty() { Vec::new() } else { [&*self.path, b"/"].concat() };
        let base = path.len();
        for slot in &mut self.files {
            if scan.stop.load(Ordering::Relaxed) {
                return;
            }
            path.truncate(base);
            path.extend_from_slice(&slot.name);
            let stat = match open {
                Some(dir) => statat(dir.as_fd(), &*slot.name, AtFlags::SYMLINK_NOFOLLOW),
                None => statat(scan.base.as_fd(), &path, AtFlags::SYMLINK_NOFOLLOW),
            };
            let stat = stat.map(Stat::from).unwrap_or_default();
            let unset = slot.entry != UNTRACKED && slot.verdict == Verdict::Unset;
            if stat == slot.stat && slot.stat.settled(seen_before) && !unset {
                continue;
            }
            let was_there = slot.is_there();
            if slot.look(scan, &path, stat, seen_before) && found.changed.len() < CHANGES_MAX {
                found.changed.push(path.clone());
                if !was_there {
                    found.added.push(path.clone());
                }
            }
        }
    }
}

impl FileSlot {
    /// Its content at the last look, as far as that is known; `entry` is what it was then compared to.
    fn content(&self, entry: Option<Entry<'_>>, scan: &Scan<'_>) -> Option<BlobId> {
        let is_clean = self.verdict == Verdict::Clean && !scan.filters;
        let clean = || entry.filter(|entry| is_clean && entry.kind == EntryKind::Plain).map(|entry| entry.oid);
        self.known.as_deref().copied().or_else(clean)
    }

    /// Takes in a new look; `true` when the content is another one than at the last scan.
    fn look(&mut self, scan: &Scan<'_>, path: &[u8], stat: Stat, seen_before: i64) -> bool {
        let before = std::mem::replace(&mut self.stat, stat);
        let entry = scan.index.and_then(|index| index.get(self.entry));
        let old = self.content(entry, scan);
        let mut now = old.filter(|_| before == stat && stat.settled(seen_before));
        if let (Some(entry), Some(index)) = (entry, scan.index) {
            self.verdict = judge(scan, index, entry, path, &stat, &mut now);
        }
        if now.is_none() && !stat.settled(scan.now) && stat.size <= HASH_MAX {
            now = blob_id(&scan.base, path, &stat);
        }
        let changed = if before.mode == 0 {
            !scan.first
        } else if before.mode != stat.mode || before.size != stat.size {
            before.mode & CONTENT_MODE != stat.mode & CONTENT_MODE || before.size != stat.size
        } else if let Some(old) = old.filter(|_| stat.size <= HASH_MAX) {
            now = now.or_else(|| blob_id(&scan.base, path, &stat));
            now != Some(old)
        } else {
            before != stat
        };
        self.known = now.map(Box::new);
        changed
    }
}

fn open_dir(base: &OwnedFd, path: &[u8]) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(base.as_fd(), path, flags, Mode::empty()).ok()
}

/// Names and types of what is in the open folder; what cannot be read is left out.
fn list(base: &OwnedFd, fd: &OwnedFd, path: &[u8]) -> Vec<(Box<[u8]>, FileType)> {
    let Ok(entries) = ReadDir::read_from(fd.as_fd()) else { return Vec::new() };
    let mut listing = Vec::new();
    for entry in entries {
        // An error repeats itself for ever.
        let Ok(entry) = entry else { break };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let look = statat(base.as_fd(), join(path, name), AtFlags::SYMLINK_NOFOLLOW);
            kind = look.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        listing.push((name.into(), kind));
    }
    listing
}

/// Whether the `.git` in this folder is one.
fn is_repository(scan: &Scan<'_>, path: &[u8]) -> bool {
    let dot_git = join(path, b".git");
    match statat(scan.base.as_fd(), &dot_git, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from) {
        Ok(stat) if stat.is_file() => true,
        Ok(stat) if stat.is_dir() => {
            statat(scan.base.as_fd(), join(&dot_git, b"HEAD"), AtFlags::SYMLINK_NOFOLLOW).is_ok()
        }
        _ => false,
    }
}

/// The number of the entry with this name; names must be asked for in order.
fn next_entry(
    index: Option<&Index>,
    numbers: &mut std::iter::Peekable<impl Iterator<Item = u32>>,
    name: &[u8],
) -> Option<u32> {
    let index = index?;
    while let Some(number) = numbers.peek().copied() {
        let known = index.get(number)?.name();
        if known == name {
            return Some(number);
        }
        if known > name {
            return None;
        }
        numbers.next();
    }
    None
}
