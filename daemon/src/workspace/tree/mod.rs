//! The files of a work tree (or of a folder without a repository) as a model that is repaired by looking at metadata.
//!
//! A scan looks at every folder and every file that counts, reads a listing again only when its folder's time stamp
//! moved, and reads a file only when metadata proves nothing. Not here: what the repository thinks, which is
//! [`git`](super::git). Called by [`refresh`](super::refresh) on a thread that may block.

pub mod compare;
pub mod content;
pub mod dir;
pub mod rules;
pub mod stat;

use super::git::index::Index;
use compare::Verdict;
use dir::{CHANGES_MAX, Dir, FileSlot, Found};
use rules::Rules;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

/// Folders in the model. A work tree with more is followed up to here, and said to be incomplete.
pub const DIRS_MAX: usize = 50_000;

/// Untracked files in the model, over all folders.
pub const UNTRACKED_MAX: usize = 200_000;

/// Threads of one scan: looking at metadata waits for the kernel, more than this only contend for its locks.
const THREADS_MAX: usize = 4;

/// Folders that one thread takes at a time.
const CHUNK: usize = 32;

/// Asked once: the answer takes several files to be read.
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// What holds for one scan.
pub struct Scan<'a> {
    /// The tree's base folder.
    pub base: OwnedFd,
    /// Its path.
    pub base_path: &'a Path,
    /// The part of the tree that counts whole, relative to the base; empty for all of it.
    pub root: &'a [u8],
    /// What is tracked; none without a repository.
    pub index: Option<&'a Index>,
    /// The index of the scan before, when it was another one.
    pub before: Option<&'a Index>,
    /// Whether some attribute or setting may make other bytes equal to what is in the index.
    pub filters: bool,
    /// `core.fileMode`.
    pub file_mode: bool,
    /// `core.symlinks`.
    pub symlinks: bool,
    /// `core.sparseCheckout`.
    pub sparse: bool,
    /// Whether this is the first scan: nothing can have changed before it.
    pub first: bool,
    /// When it began, in nanoseconds.
    pub now: i64,
    /// Set when the result is not wanted any more.
    pub stop: &'a AtomicBool,
    /// Files in the model.
    pub files: AtomicUsize,
}

impl Scan<'_> {
    /// Whether no further untracked file fits into the model.
    pub fn is_full(&self) -> bool {
        self.files.load(Ordering::Relaxed) >= UNTRACKED_MAX + self.index.map_or(0, Index::count)
    }

    /// The path on disk of a path of the tree.
    pub fn path_of(&self, path: &[u8]) -> PathBuf {
        self.base_path.join(OsStr::from_bytes(path))
    }
}

/// The model.
#[derive(Debug)]
pub struct Tree {
    dirs: Vec<Option<Dir>>,
    free: Vec<usize>,
    /// Whether there were more folders than the model takes.
    pub incomplete: bool,
    scanned: bool,
    listings: u64,
}

/// What a scan found changed since the one before.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Paths relative to the base, sorted; a folder that went away ends in `/`.
    pub paths: Vec<Vec<u8>>,
    /// Those of them that were not there at the scan before, sorted.
    pub added: Vec<Vec<u8>>,
}

impl Tree {
    /// An empty model whose whole part begins at `root`; `above` are the rules that hold everywhere.
    pub fn new(root: &[u8], above: Rules) -> Self {
        let base = Dir::new(Box::default(), root.is_empty(), None, above);
        Self { dirs: vec![Some(base)], free: Vec::new(), incomplete: false, scanned: false, listings: 0 }
    }

    /// Whether a scan has been completed.
    pub fn is_scanned(&self) -> bool {
        self.scanned
    }

    /// Grows whenever a listing was read: as long as it stays, so do the names.
    pub fn listings(&self) -> u64 {
        self.listings
    }

    /// Replaces the rules that hold everywhere.
    pub fn set_rules(&mut self, above: Rules) {
        if let Some(base) = self.dir_mut(0) {
            base.above = above;
            base.stale = true;
            base.rules_stale = true;
        }
    }

    /// The folder with this number.
    pub fn dir(&self, number: u32) -> Option<&Dir> {
        self.dirs.get(number as usize)?.as_ref()
    }

    fn dir_mut(&mut self, number: u32) -> Option<&mut Dir> {
        self.dirs.get_mut(number as usize)?.as_mut()
    }

    /// All folders.
    pub fn all(&self) -> impl Iterator<Item = &Dir> {
        self.dirs.iter().flatten()
    }

    /// The number of the folder at `path`.
    pub fn find(&self, path: &[u8]) -> Option<u32> {
        let mut at = 0;
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            at = *self
                .dir(at)?
                .dirs
                .iter()
                .find(|child| self.dir(**child).is_some_and(|dir| name(&dir.path) == part))?;
        }
        Some(at)
    }

    /// Opens the base of a scan.
    pub fn open_base(path: &Path) -> std::io::Result<OwnedFd> {
        Ok(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// How many files are in the model.
    pub fn file_count(&self) -> usize {
        self.all().map(|dir| dir.files.len()).sum()
    }

    /// Brings the model up to date.
    pub fn scan(&mut self, scan: &Scan<'_>) -> Changes {
        let (mut paths, mut added) = (Vec::new(), Vec::new());
        for dir in self.dirs.iter_mut().flatten() {
            dir.pending = true;
        }
        // Each pass can find folders for the next one; a path is at most 4,096 bytes long, so this ends.
        loop {
            let found = look_at_pending(&mut self.dirs, scan);
            if found.is_empty() || scan.stop.load(Ordering::Relaxed) {
                break;
            }
            for (number, mut found) in found {
                added.append(&mut found.added);
                self.take_in(number, found, &mut paths);
            }
        }
        self.scanned = true;
        paths.sort_unstable();
        paths.dedup();
        paths.truncate(CHANGES_MAX);
        added.sort_unstable();
        added.dedup();
        Changes { paths, added }
    }

    fn take_in(&mut self, number: u32, found: Found, paths: &mut Vec<Vec<u8>>) {
        paths.extend(found.changed);
        if found.gone || found.subdirs.is_some() {
            self.listings += 1;
        }
        if found.gone {
            // The folder above is read again in the same scan or, when it was read before this one went, in the next.
            if number != 0 {
                self.drop_below(number, paths);
                if let Some(dir) = self.dir_mut(number) {
                    dir.pending = false;
                    dir.stale = true;
                }
            } else if let Some(dir) = self.dir_mut(0) {
                dir.pending = false;
            }
            return;
        }
        let Some(subdirs) = found.subdirs else { return };
        let Some(dir) = self.dir_mut(number) else { return };
        let rules = dir.rules.clone();
        let path = dir.path.clone();
        let old = std::mem::take(&mut dir.dirs);
        let mut old = old.into_iter().peekable();
        let mut new = Vec::with_capacity(subdirs.len());
        for subdir in subdirs {
            while let Some(gone) = old.next_if(|child| self.name_of(*child) < &*subdir.name) {
                self.remove(gone, paths);
            }
            let kept = old.next_if(|child| self.name_of(*child) == &*subdir.name);
            if let Some(kept) = kept {
                if let Some(child) = self.dir_mut(kept) {
                    let other = child.whole != subdir.whole || child.submodule.is_some() != subdir.submodule.is_some();
                    if found.rules_changed {
                        child.above = rules.clone();
                        child.rules_stale = true;
                    }
                    if found.rules_changed || other {
                        child.stale = true;
                        child.pending = true;
                    }
                    child.whole = subdir.whole;
                    child.submodule = subdir.submodule;
                }
                new.push(kept);
                continue;
            }
            if self.dirs.len() - self.free.len() >= DIRS_MAX {
                self.incomplete = true;
                continue;
            }
            let child = Dir::new(join(&path, &subdir.name).into(), subdir.whole, subdir.submodule, rules.clone());
            let slot = self.free.pop().unwrap_or(self.dirs.len());
            match self.dirs.get_mut(slot) {
                Some(free) => *free = Some(child),
                None => self.dirs.push(Some(child)),
            }
            new.push(u32::try_from(slot).unwrap_or(u32::MAX));
        }
        for gone in old {
            self.remove(gone, paths);
        }
        if let Some(dir) = self.dir_mut(number) {
            dir.dirs = new;
        }
    }

    fn name_of(&self, number: u32) -> &[u8] {
        self.dir(number).map(|dir| name(&dir.path)).unwrap_or_default()
    }

    fn remove(&mut self, number: u32, paths: &mut Vec<Vec<u8>>) {
        self.drop_below(number, paths);
        if let Some(slot) = self.dirs.get_mut(number as usize) {
            *slot = None;
            self.free.push(number as usize);
        }
    }

    /// Empties a folder that is not there any more.
    fn drop_below(&mut self, number: u32, paths: &mut Vec<Vec<u8>>) {
        let Some(dir) = self.dir_mut(number) else { return };
        let files = std::mem::take(&mut dir.files);
        let dirs = std::mem::take(&mut dir.dirs);
        let path = dir.path.clone();
        dir.uncounted = 0;
        if !files.is_empty() && paths.len() < CHANGES_MAX {
            paths.push([&*path, b"/"].concat());
        }
        for child in dirs {
            self.remove(child, paths);
        }
    }

    /// Every file that is tracked, with its folder.
    pub fn tracked(&self) -> impl Iterator<Item = (&Dir, &FileSlot, u32)> {
        self.all().flat_map(|dir| dir.files.iter().filter_map(move |file| file.entry().map(|entry| (dir, file, entry))))
    }

    /// Has every file compared to the index anew.
    pub fn forget_verdicts(&mut self) {
        self.dirs.iter_mut().flatten().flat_map(|dir| &mut dir.files).for_each(FileSlot::forget_verdict);
    }

    /// Whether a file with this name is anywhere in the model.
    pub fn has_file(&self, name: &[u8]) -> bool {
        self.all().any(|dir| dir.files.binary_search_by(|file| file.name.as_ref().cmp(name)).is_ok())
    }

    /// Hands every file whose comparison needs git to `answer`, which gives the verdict.
    pub fn settle(&mut self, mut answer: impl FnMut(&[u8], bool) -> Verdict) {
        for dir in self.dirs.iter_mut().flatten() {
            for file in &mut dir.files {
                if let Verdict::AskGit { same } = file.verdict {
                    file.verdict = answer(&join(&dir.path, &file.name), same);
                }
            }
        }
    }
}

/// Looks at all folders that are due, with several threads when there is enough to do. Ordered by number.
fn look_at_pending(dirs: &mut [Option<Dir>], scan: &Scan<'_>) -> Vec<(u32, Found)> {
    let due = |dir: &Option<Dir>| dir.as_ref().is_some_and(|dir| dir.pending);
    let count = dirs.iter().filter(|dir| due(dir)).count();
    let work = Mutex::new(dirs.chunks_mut(CHUNK).enumerate());
    let run = || {
        let mut all = Vec::new();
        loop {
            let next = work.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
            let Some((chunk_number, chunk)) = next else { return all };
            for (at, slot) in chunk.iter_mut().enumerate() {
                if let Some(dir) = slot.as_mut().filter(|dir| dir.pending) {
                    let number = u32::try_from(chunk_number * CHUNK + at).unwrap_or(u32::MAX);
                    all.push((number, dir.look(scan)));
                }
            }
        }
    };
    let threads = PROCESSORS.min(THREADS_MAX).min(count.div_ceil(CHUNK));
    let mut found = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut all = run();
        for other in others {
            match other.join() {
                Ok(more) => all.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    found.sort_unstable_by_key(|(number, _)| *number);
    found
}

/// `name` in the folder `path`.
pub fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

/// The last part of a path.
pub fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}
