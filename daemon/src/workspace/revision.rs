//! The project's revision: a number that grows by one with every observed change of content outside ignored files.
//!
//! What is stored is the caller's affair: it gives the last number when it opens the workspace, and stores the numbers
//! that its batches cite.

use super::tree::dir::CHANGES_MAX;
use plimsoll_core::id::Revision;
use plimsoll_core::path::WorkspacePath;
use std::collections::{BTreeMap, VecDeque};

/// Steps whose paths are kept: more than one turn's commands make.
const STEPS_MAX: usize = 64;

/// Paths written by calls that are remembered: more than sessions write while tests run.
const WRITES_MAX: usize = 1_000;

/// The number and its newest steps.
#[derive(Debug)]
pub struct Revisions {
    now: Revision,
    steps: VecDeque<Step>,
    /// Paths that calls of sessions wrote, each with how many were written until then.
    written: VecDeque<(u64, WorkspacePath)>,
    writes: u64,
}

#[derive(Debug)]
struct Step {
    revision: Revision,
    changed: Vec<WorkspacePath>,
    added: Vec<WorkspacePath>,
}

/// What an observation found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The revision now.
    pub revision: Revision,
    /// What changed since the revision that was asked about; a folder that went away ends in `/`. At most 1,000 paths per
    /// step and root.
    pub changed: Vec<WorkspacePath>,
    /// Those of `changed` that were not there then.
    pub added: Vec<WorkspacePath>,
    /// Whether `changed` reaches back to the revision that was asked about.
    pub complete: bool,
    /// Whether a change may have been missed: it is found by looking at metadata, which files in very full folders and
    /// very large files escape, and the look may have come too late for this answer.
    pub approximate: bool,
}

impl Revisions {
    /// Begins one step after `last`: while no daemon ran, anything may have happened.
    pub fn after(last: Revision) -> Self {
        Self { now: last.next(), steps: VecDeque::new(), written: VecDeque::new(), writes: 0 }
    }

    /// The number now.
    pub fn now(&self) -> Revision {
        self.now
    }

    /// Content changed at these paths.
    pub fn step(&mut self, changed: Vec<WorkspacePath>, added: Vec<WorkspacePath>) {
        self.now = self.now.next();
        self.steps.push_back(Step { revision: self.now, changed, added });
        if self.steps.len() > STEPS_MAX {
            self.steps.pop_front();
        }
    }

    /// What changed after `since`.
    pub fn since(&self, since: Revision) -> Observed {
        let newer = self.steps.iter().filter(|step| step.revision > since);
        let count = newer.clone().count();
        let whole = newer.clone().all(|step| step.changed.len() < CHANGES_MAX);
        // What counts of a path is how it was at first: one that was changed and then made anew was there.
        let mut first: BTreeMap<&WorkspacePath, bool> = BTreeMap::new();
        for step in newer {
            for path in &step.changed {
                first.entry(path).or_insert_with(|| step.added.contains(path));
            }
        }
        let complete = whole && self.now.0.saturating_sub(since.0) <= u64::try_from(count).unwrap_or(u64::MAX);
        Observed {
            revision: self.now,
            changed: first.keys().copied().cloned().collect(),
            added: first.iter().filter(|(_, added)| **added).map(|(path, _)| WorkspacePath::clone(path)).collect(),
            complete,
            approximate: true,
        }
    }

    /// A call of a session wrote these paths.
    pub fn wrote(&mut self, paths: impl IntoIterator<Item = WorkspacePath>) {
        for path in paths {
            self.writes += 1;
            self.written.push_back((self.writes, path));
            if self.written.len() > WRITES_MAX {
                self.written.pop_front();
            }
        }
    }

    /// How many paths were written by calls until now.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// The paths that calls wrote after there were so many.
    pub fn written_since(&self, writes: u64) -> Vec<WorkspacePath> {
        self.written.iter().filter(|(no, _)| *no > writes).map(|(_, path)| path.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_one_step_whose_changes_are_not_known() {
        let revisions = Revisions::after(Revision(4));
        assert_eq!(revisions.now(), Revision(5));
        assert!(!revisions.since(Revision(4)).complete);
        assert!(revisions.since(Revision(5)).complete);
    }

    #[test]
    fn changes_since_a_revision_are_those_of_later_steps() {
        let mut revisions = Revisions::after(Revision(0));
        let path = |name| WorkspacePath::new(0, name);
        revisions.step(vec![path("b"), path("c")], vec![path("c")]);
        revisions.step(vec![path("a"), path("b"), path("c")], vec![path("a"), path("b")]);
        let all = revisions.since(Revision(1));
        assert_eq!(all.changed, ["a", "b", "c"].map(path));
        // What was there at the beginning is not new, although it went and came again.
        assert_eq!(all.added, ["a", "c"].map(path));
        assert_eq!((all.revision, all.complete), (Revision(3), true));
        assert_eq!(revisions.since(Revision(3)).changed, []);
        for _ in 0..STEPS_MAX {
            revisions.step(vec![], vec![]);
        }
        assert!(!revisions.since(Revision(1)).complete);
    }

    #[test]
    fn what_calls_write_is_known_from_any_point_on() {
        let mut revisions = Revisions::after(Revision(0));
        let path = |name| WorkspacePath::new(0, name);
        revisions.wrote([path("a")]);
        let before = revisions.writes();
        revisions.wrote([path("b"), path("c")]);
        assert_eq!(revisions.written_since(before), ["b", "c"].map(path));
        assert_eq!(revisions.written_since(revisions.writes()), []);
    }

    #[test]
    fn more_changes_than_are_kept_are_not_complete() {
        let mut revisions = Revisions::after(Revision(0));
        let many = (0..CHANGES_MAX).map(|no| WorkspacePath::new(0, no.to_string())).collect();
        revisions.step(many, Vec::new());
        assert!(!revisions.since(Revision(1)).complete);
    }
}
