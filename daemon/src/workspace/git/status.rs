//! The block of a repository that was read by libgit2 and by looking at its work tree.

use super::facts::operation;
use super::index::{EntryKind, Index};
use super::native::Native;
use crate::workspace::tree::compare::Verdict;
use crate::workspace::tree::dir::Dir;
use crate::workspace::tree::{Changes, Tree, join};
use plimsoll_core::path::escape;
use plimsoll_core::workspace::{GitChange, GitStatus};

/// Untracked paths that are listed.
const UNTRACKED_MAX: usize = 10_000;

/// The state now. `root` is the part of the work tree that paths are told relative to; untracked files are told of it
/// only.
pub fn read(native: &mut Native, tree: &Tree, root: &[u8], changes: &Changes) -> Result<GitStatus, git2::Error> {
    let head = match native.head.take() {
        Some(head) => head,
        None => native.facts.head(&native.repository)?,
    };
    let staged = native.staged.iter().map(|change| GitChange {
        path: from_root(root, &change.path),
        from: change.from.as_ref().map(|from| from_root(root, from)),
        code: change.code,
    });
    let staged = staged.collect();
    let conflicted = native.index.iter().filter(|(_, entry)| entry.kind == EntryKind::Conflict);
    let conflicted = conflicted.map(|(_, entry)| from_root(root, &escape(entry.path))).collect();
    let mut untracked = Untracked { tree, index: &native.index, paths: Vec::new(), incomplete: tree.incomplete };
    if let Some(number) = tree.find(root)
        && !root_is_ignored(tree, root)
    {
        untracked.below(number);
    }
    untracked.paths.sort_unstable();
    if untracked.paths.len() > UNTRACKED_MAX {
        untracked.paths.truncate(UNTRACKED_MAX);
        untracked.incomplete = true;
    }
    let incomplete = untracked.incomplete;
    let untracked = untracked.paths.iter().map(|path| from_root(root, &escape(path))).collect();
    let upstream = native.facts.upstream(&native.repository, &head);
    let commits = native.facts.commits(&native.repository, &head);
    let operation = operation(native.repository.path());
    Ok(GitStatus {
        staged,
        unstaged: unstaged(native, tree, root, changes),
        untracked,
        conflicted,
        upstream,
        operation,
        commits,
        head: head.head,
        incomplete,
        age_ms: None,
    })
}

/// A path of the work tree as seen from the root.
pub fn from_root(root: &[u8], path: &str) -> String {
    if root.is_empty() {
        return path.to_owned();
    }
    let root = escape(root);
    if let Some(rest) = path.strip_prefix(root.as_str()).and_then(|rest| rest.strip_prefix('/')) {
        return rest.to_owned();
    }
    format!("{}{path}", "../".repeat(root.split('/').count()))
}

fn unstaged(native: &mut Native, tree: &Tree, root: &[u8], changes: &Changes) -> Vec<GitChange> {
    let index = &native.index;
    let mut seen = vec![false; index.count()];
    let mut found: Vec<(u32, char)> = Vec::new();
    for (_, file, number) in tree.tracked().filter(|(_, file, _)| file.is_there()) {
        if let Some(seen) = seen.get_mut(number as usize) {
            *seen = true;
        }
        match file.verdict {
            Verdict::Unset | Verdict::Clean => {}
            Verdict::Modified | Verdict::AskGit { .. } => found.push((number, 'M')),
            Verdict::TypeChanged => found.push((number, 'T')),
            Verdict::Added => found.push((number, 'A')),
        }
    }
    for number in tree.all().filter_map(|dir| dir.submodule) {
        let Some(entry) = index.get(number) else { continue };
        if let Some(seen) = seen.get_mut(number as usize) {
            *seen = true;
        }
        if entry.kind == EntryKind::Conflict {
            continue;
        }
        let touched = changes
            .paths
            .iter()
            .any(|path| path.strip_prefix(entry.path).is_some_and(|rest| rest.first() == Some(&b'/')));
        let code = native.submodules.code(&native.repository, &native.work, entry.path, entry.oid, touched);
        found.extend(code.map(|code| (number, code)));
    }
    native
        .submodules
        .keep(|path| index.find(path).and_then(|number| index.get(number)).is_some_and(|entry| entry.is_submodule()));
    for ((number, entry), seen) in index.iter().zip(&seen) {
        let missed = matches!(entry.kind, EntryKind::Plain | EntryKind::IntentToAdd);
        if !seen && missed {
            found.push((number, 'D'));
        }
    }
    found.sort_unstable();
    let change = |(number, code)| {
        let path = from_root(root, &escape(index.get(number)?.path));
        Some(GitChange { path, code, from: None })
    };
    found.into_iter().filter_map(change).collect()
}

/// Whether rules above the root ignore it: then the repository has nothing to say about what is new in it.
fn root_is_ignored(tree: &Tree, root: &[u8]) -> bool {
    let ends = (0..root.len()).filter(|at| root.get(*at) == Some(&b'/')).chain([root.len()]);
    ends.filter_map(|end| root.get(..end)).filter(|path| !path.is_empty()).any(|path| {
        let above = tree.find(super::index::parent(path)).and_then(|number| tree.dir(number));
        above.is_some_and(|dir| dir.rules.ignores(path, true))
    })
}

struct Untracked<'a> {
    tree: &'a Tree,
    index: &'a Index,
    paths: Vec<Vec<u8>>,
    incomplete: bool,
}

impl Untracked<'_> {
    /// Collects what is untracked in and below a folder that has tracked files, or is the root.
    fn below(&mut self, number: u32) {
        let Some(dir) = self.tree.dir(number).filter(|dir| dir.whole) else { return };
        self.incomplete |= dir.uncounted > 0;
        let files = dir.files.iter().filter(|file| file.entry().is_none() && file.is_there());
        self.paths.extend(files.map(|file| join(&dir.path, &file.name)));
        for child in &dir.dirs {
            let Some(dir) = self.tree.dir(*child).filter(|dir| dir.whole && dir.submodule.is_none()) else { continue };
            if self.index.dir(&dir.path).is_some() {
                self.below(*child);
            } else if self.has_any(dir) {
                self.paths.push([&*dir.path, b"/"].concat());
            }
        }
    }

    /// Whether a folder without tracked files shows up at all.
    fn has_any(&self, dir: &Dir) -> bool {
        let child = |number: &u32| self.tree.dir(*number).is_some_and(|dir| dir.whole && self.has_any(dir));
        dir.nested || dir.has_untracked_file() || dir.dirs.iter().any(child)
    }
}
