//! Walking folders for the search tools: ignore files respected as git means them, links not followed, the insides of
//! `.git` and protected folders left out, what was ignored counted.
//!
//! A walk starts at the project's root, so that every ignore file on the way counts, and hands out only what lies below
//! the base. A base that is itself ignored was named on purpose: below it nothing is ignored.

mod ignored;

use super::ToolEnv;
use super::blocking::Stop;
use super::scope::{self, Resolved};
use ignore::{DirEntry, WalkBuilder, WalkState};
use ignored::Ignored;
use plimsoll_core::tool::call::Zone;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Threads of one walk or search: beyond this the disk, or the rest of the daemon, pays.
const MOST_THREADS: usize = 4;

/// Entries that one walk hands out, so that a home folder as a project is bounded too: about 100 MB of paths.
const MOST_ENTRIES: usize = 500_000;

/// Unreadable paths that are named; the others are counted.
const MOST_NAMED: usize = 3;

/// A walk to be done.
#[derive(Debug, Clone)]
pub struct Walk {
    /// Where ignore files begin to count.
    root: PathBuf,
    /// What is walked: a folder or a file, canonical.
    base: PathBuf,
    include_ignored: bool,
    /// Folders that are not entered, unless the base lies in them.
    forbidden: Arc<[PathBuf]>,
}

/// What a walk found.
#[derive(Debug)]
pub struct Walked<T> {
    /// What was picked, in no order.
    pub found: Vec<T>,
    /// Entries left out by ignore files; a left out folder is one.
    pub ignored: u64,
    /// Paths that could not be read, as shown, with the reason.
    pub unreadable: Vec<String>,
    /// The walk ended at its bound.
    pub more: bool,
}

impl<T> Walked<T> {
    /// Nothing found.
    pub fn empty() -> Self {
        Self { found: Vec::new(), ignored: 0, unreadable: Vec::new(), more: false }
    }

    /// Adds another walk's finds.
    pub fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.ignored += other.ignored;
        self.unreadable.extend(other.unreadable);
        self.more |= other.more;
    }
}

impl<T: Send> Walked<T> {
    /// Walks, and keeps what `pick` makes of the entries below the base (of the base itself, when it is a file).
    pub fn of(env: &ToolEnv, walk: &Walk, stop: &Stop, pick: &(dyn Fn(&DirEntry) -> Option<T> + Sync)) -> Self {
        let (mut walked, reached) = Self::once(env, walk, stop, pick);
        if !reached && !walk.include_ignored {
            let named = Walk { root: walk.base.clone(), include_ignored: true, ..walk.clone() };
            walked = Self::once(env, &named, stop, pick).0;
        }
        walked.unreadable.sort();
        walked
    }

    fn once(env: &ToolEnv, walk: &Walk, stop: &Stop, pick: &(dyn Fn(&DirEntry) -> Option<T> + Sync)) -> (Self, bool) {
        let found = Mutex::new(Self::empty());
        let reached = AtomicBool::new(false);
        let (children, handed) = (AtomicU64::new(0), AtomicU64::new(0));
        let kept = AtomicUsize::new(0);
        let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
        walk.builder().threads(threads()).build_parallel().run(|| {
            Box::new(|entry| {
                if stop.is_set() {
                    return WalkState::Quit;
                }
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        lock().unreadable.push(unreadable(env, &error));
                        return WalkState::Continue;
                    }
                };
                let path = entry.path();
                let is_base = path == walk.base;
                if is_base {
                    reached.store(true, Ordering::Relaxed);
                } else if !path.starts_with(&walk.base) {
                    return WalkState::Continue;
                } else {
                    handed.fetch_add(1, Ordering::Relaxed);
                }
                if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    if !walk.include_ignored {
                        children.fetch_add(walk.count_children(path), Ordering::Relaxed);
                    }
                    if is_base {
                        return WalkState::Continue;
                    }
                }
                if let Some(picked) = pick(&entry) {
                    if kept.fetch_add(1, Ordering::Relaxed) >= MOST_ENTRIES {
                        lock().more = true;
                        return WalkState::Quit;
                    }
                    lock().found.push(picked);
                }
                WalkState::Continue
            })
        });
        let mut walked = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !walk.include_ignored && !walked.more {
            walked.ignored = children.into_inner().saturating_sub(handed.into_inner());
        }
        (walked, reached.into_inner())
    }
}

impl Walk {
    /// A walk below a resolved path.
    pub fn new(env: &ToolEnv, base: &Resolved, include_ignored: bool) -> Self {
        let root = match &base.zone {
            Zone::Root(inside) => env.roots.get(usize::from(inside.root)).cloned(),
            Zone::Readable | Zone::Plan | Zone::Protected | Zone::Outside => None,
        };
        let root = root.unwrap_or_else(|| base.path.clone());
        Self { root, base: base.path.clone(), include_ignored, forbidden: scope::forbidden(env).into() }
    }

    /// The same walk below a folder of its base.
    #[must_use]
    pub fn narrowed(self, base: PathBuf) -> Self {
        Self { base, ..self }
    }

    /// Names in the base that no ignore file leaves out; none when nothing is ignored there.
    pub fn kept_names(&self) -> Option<HashSet<OsString>> {
        if self.include_ignored {
            return None;
        }
        let depth = self.base.strip_prefix(&self.root).map_or(0, |inside| inside.components().count());
        let mut reached = false;
        let mut names = HashSet::new();
        for entry in self.builder().max_depth(Some(depth + 1)).build().flatten() {
            if entry.path() == self.base {
                reached = true;
            } else if entry.path().parent() == Some(&self.base) {
                names.insert(entry.file_name().to_os_string());
            }
        }
        reached.then_some(names)
    }

    fn builder(&self) -> WalkBuilder {
        let mut builder = WalkBuilder::new(&self.root);
        // Without the crate's own ignore files: it waits for the writer of a pipe that is named like one.
        builder.current_dir(&self.root).standard_filters(false).follow_links(false);
        let walk = self.clone();
        let ignored = (!self.include_ignored).then(|| Ignored::above(&self.root));
        builder.filter_entry(move |entry| {
            let path = entry.path();
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            (walk.base.starts_with(path) || (path.starts_with(&walk.base) && !walk.leaves_out(path)))
                && ignored.as_ref().is_none_or(|ignored| ignored.keeps(path, is_dir))
        });
        builder
    }

    /// Whether an entry below the base is never handed out.
    fn leaves_out(&self, path: &Path) -> bool {
        path.file_name() == Some(OsStr::new(".git")) || self.forbidden.iter().any(|folder| folder == path)
    }

    fn count_children(&self, folder: &Path) -> u64 {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let special = self.forbidden.iter().any(|forbidden| forbidden.parent() == Some(folder));
        entries
            .filter(|entry| {
                let name = entry.file_name();
                name != ".git" && !(special && self.leaves_out(&folder.join(name)))
            })
            .count() as u64
    }
}

/// Threads for a walk or a search on this machine.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// A note on paths that could not be read; none when there are none.
pub fn unreadable_note(unreadable: &[String]) -> Option<String> {
    let named: Vec<&str> = unreadable.iter().take(MOST_NAMED).map(String::as_str).collect();
    let further = if unreadable.len() > named.len() { ", …" } else { "" };
    match unreadable.len() {
        0 => None,
        1 => Some(format!("1 path could not be read: {}", named.join(""))),
        count => Some(format!("{count} paths could not be read: {}{further}", named.join(", "))),
    }
}

fn unreadable(env: &ToolEnv, error: &ignore::Error) -> String {
    let mut path = None;
    let mut inner = error;
    loop {
        match inner {
            ignore::Error::WithPath { path: at, err } => {
                path = Some(at);
                inner = err;
            }
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => inner = err,
            _ => break,
        }
    }
    let reason = match inner.io_error().map(std::io::Error::kind) {
        Some(std::io::ErrorKind::PermissionDenied) => "permission denied".to_owned(),
        Some(std::io::ErrorKind::NotFound) => "vanished".to_owned(),
        _ => inner.to_string(),
    };
    match path {
        Some(path) => format!("{} ({reason})", scope::show(env, path)),
        None => reason,
    }
}
