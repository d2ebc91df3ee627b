//! The project's revision: a number that grows by one with every observed change of content outside ignored files.
//!
//! What is stored is the caller's affair: it gives the last number when it opens the workspace, and stores the numbers
//! that its batches cite.

use plimsoll_core::id::Revision;
use plimsoll_core::path::WorkspacePath;
use std::collections::VecDeque;

/// Steps whose paths are kept: more than one turn's commands make.
const STEPS_MAX: usize = 64;

/// The number and its newest steps.
#[derive(Debug)]
pub struct Revisions {
    now: Revision,
    steps: VecDeque<(Revision, Vec<WorkspacePath>)>,
}

/// What an observation found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The revision now.
    pub revision: Revision,
    /// What changed since the revision that was asked about; a folder that went away ends in `/`. At most 1,000 paths per
    /// step and root.
    pub changed: Vec<WorkspacePath>,
    /// Whether `changed` reaches back to the revision that was asked about.
    pub complete: bool,
    /// Whether a change may have been missed: it is found by looking at metadata, which files in very full folders and
    /// very large files escape, and the look may have come too late for this answer.
    pub approximate: bool,
}

impl Revisions {
    /// Begins one step after `last`: while no daemon ran, anything may have happened.
    pub fn after(last: Revision) -> Self {
        Self { now: last.next(), steps: VecDeque::new() }
    }

    /// The number now.
    pub fn now(&self) -> Revision {
        self.now
    }

    /// Content changed at these paths.
    pub fn step(&mut self, changed: Vec<WorkspacePath>) {
        self.now = self.now.next();
        self.steps.push_back((self.now, changed));
        if self.steps.len() > STEPS_MAX {
            self.steps.pop_front();
        }
    }

    /// What changed after `since`.
    pub fn since(&self, since: Revision) -> Observed {
        let newer = self.steps.iter().filter(|(revision, _)| *revision > since);
        let count = newer.clone().count();
        let mut changed: Vec<_> = newer.flat_map(|(_, paths)| paths.iter().cloned()).collect();
        changed.sort_unstable();
        changed.dedup();
        let complete = self.now.0.saturating_sub(since.0) <= u64::try_from(count).unwrap_or(u64::MAX);
        Observed { revision: self.now, changed, complete, approximate: true }
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
        revisions.step(vec![WorkspacePath::new(0, "b")]);
        revisions.step(vec![WorkspacePath::new(0, "a"), WorkspacePath::new(0, "b")]);
        let all = revisions.since(Revision(1));
        assert_eq!(all.changed, [WorkspacePath::new(0, "a"), WorkspacePath::new(0, "b")]);
        assert_eq!((all.revision, all.complete), (Revision(3), true));
        assert_eq!(revisions.since(Revision(3)).changed, []);
        for _ in 0..STEPS_MAX {
            revisions.step(vec![]);
        }
        assert!(!revisions.since(Revision(1)).complete);
    }
}
