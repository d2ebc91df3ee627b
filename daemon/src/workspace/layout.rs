//! The tree of a root as a value, breadth first up to a bound, from the model of its files.

use super::tree::{Tree, name};
use plimsoll_core::path::escape;
use plimsoll_core::workspace::LayoutDir;
use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Entries in the value: more than any budget shows.
pub const ENTRIES_MAX: usize = 1_000;

/// The tree below the folder `at` of the model, which is the root at `path`.
pub fn read(tree: &Tree, at: u32, path: &Path) -> LayoutDir {
    // Breadth first decides how many entries of each folder are taken; then the value is built from that.
    let mut taken = std::collections::HashMap::new();
    let mut queue = VecDeque::from([at]);
    let mut left = ENTRIES_MAX;
    while let Some(number) = queue.pop_front() {
        let Some(dir) = tree.dir(number).filter(|_| left > 0) else { continue };
        let dirs = shown_dirs(tree, number);
        let take_dirs = dirs.len().min(left);
        left -= take_dirs;
        let take_files = dir.files.len().min(left);
        left -= take_files;
        queue.extend(dirs.iter().take(take_dirs));
        taken.insert(number, (take_dirs, take_files));
    }
    let mut root = build(tree, at, &taken);
    root.name = escape(path.as_os_str().as_bytes());
    root
}

/// Only the root's name, when its files are not known yet.
pub fn unread(path: &Path) -> LayoutDir {
    LayoutDir { name: escape(path.as_os_str().as_bytes()), ..LayoutDir::default() }
}

/// Sub-folders without those that are there for tracked files among ignored ones.
fn shown_dirs(tree: &Tree, number: u32) -> Vec<u32> {
    let dirs = tree.dir(number).map(|dir| dir.dirs.as_slice()).unwrap_or_default();
    dirs.iter().copied().filter(|child| tree.dir(*child).is_some_and(|dir| dir.whole)).collect()
}

fn build(tree: &Tree, number: u32, taken: &std::collections::HashMap<u32, (usize, usize)>) -> LayoutDir {
    let Some(dir) = tree.dir(number) else { return LayoutDir::default() };
    let (take_dirs, take_files) = taken.get(&number).copied().unwrap_or_default();
    let dirs = shown_dirs(tree, number);
    let unread = (dirs.len() - take_dirs) + (dir.files.len() - take_files);
    LayoutDir {
        name: escape(name(&dir.path)),
        dirs: dirs.iter().take(take_dirs).map(|child| build(tree, *child, taken)).collect(),
        files: dir.files.iter().take(take_files).map(|file| escape(&file.name)).collect(),
        unread: u64::try_from(unread).unwrap_or(u64::MAX).saturating_add(dir.uncounted),
    }
}
