//! The files of a world: what edits make of them, whole or cut by a crash, and what may truly be said of an edit.

use crate::id::CallId;
use crate::ledger::{FoundBy, Operation, SeenFile, Verdict};
use crate::tool::call::FileChange;
use crate::turn::load::Loaded;
use crate::turn::recover::{Cut, cut_operations};
use std::collections::{BTreeMap, BTreeSet};

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    /// Versions by path.
    files: BTreeMap<String, String>,
    /// What cannot be read just now.
    unreadable: BTreeSet<String>,
    /// What running edits will do.
    running: BTreeMap<CallId, Vec<FileChange>>,
    /// The files that an edit has in fact written.
    wrote: BTreeMap<CallId, BTreeSet<String>>,
}

impl Disk {
    /// An edit of these files: those that are there go, the others come.
    pub(super) fn change(&self, path: &str, version: &str) -> FileChange {
        let before = self.files.get(path).cloned();
        let after = before.is_none().then(|| version.to_owned());
        FileChange { path: path.into(), shown: path.into(), before, after, ..FileChange::default() }
    }

    pub(super) fn begins(&mut self, call: CallId, changes: &[FileChange]) {
        self.unreadable.clear();
        self.running.insert(call, changes.to_vec());
    }

    /// An edit ended well.
    pub(super) fn ends(&mut self, call: CallId) {
        let changes = self.running.remove(&call).unwrap_or_default();
        self.write(call, &changes);
    }

    fn write(&mut self, call: CallId, changes: &[FileChange]) {
        for change in changes {
            match &change.after {
                Some(version) => drop(self.files.insert(change.path.clone(), version.clone())),
                None => drop(self.files.remove(&change.path)),
            }
            self.wrote.entry(call).or_default().insert(change.path.clone());
        }
    }

    /// The daemon dies: of each running edit nothing, a part, or all was done, and somebody may have come after it.
    pub(super) fn crash(&mut self, chance: u64) {
        for (call, changes) in std::mem::take(&mut self.running) {
            let Some(first) = changes.first() else { continue };
            match (chance + call.0) % 6 {
                0 => {}
                1 | 2 => self.write(call, &changes),
                3 => self.write(call, std::slice::from_ref(first)),
                4 => drop(self.files.insert(first.path.clone(), "somebody else's".to_owned())),
                _ => {
                    self.write(call, &changes);
                    self.unreadable.insert(first.path.clone());
                }
            }
        }
    }

    /// What is seen of the files of operations that were cut.
    pub(super) fn seen(&self, loaded: &Loaded) -> Vec<SeenFile> {
        let files = cut_operations(loaded, &Cut::Crash).flat_map(|operation| &operation.files);
        files.map(|file| self.look(&file.path)).collect()
    }

    pub(super) fn look(&self, path: &str) -> SeenFile {
        let version = if self.unreadable.contains(path) {
            Err("permission denied".to_owned())
        } else {
            Ok(self.files.get(path).cloned())
        };
        SeenFile { path: path.to_owned(), version }
    }

    /// What was found out by looking is what has happened: nothing is said to be done that was not, nor the other way.
    pub(super) fn check(&self, operation: &Operation) {
        let Some(finding) = operation.finding.as_ref().filter(|finding| finding.by != FoundBy::User) else { return };
        let none = BTreeSet::new();
        let wrote = self.wrote.get(&operation.call).unwrap_or(&none);
        let all = operation.files.iter().all(|file| wrote.contains(&file.path));
        match finding.verdict {
            Verdict::Applied => assert!(all, "said to be applied: {operation:?}, wrote {wrote:?}"),
            Verdict::NotApplied => assert!(wrote.is_empty(), "said not to be applied: {operation:?}, wrote {wrote:?}"),
            Verdict::PartlyApplied => assert!(!all && !wrote.is_empty(), "{operation:?}, wrote {wrote:?}"),
            Verdict::Changed | Verdict::CannotTell => {}
        }
    }
}
