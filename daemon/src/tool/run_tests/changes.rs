//! Whose the changes are that were found after a run.
//!
//! Which process changed a file cannot be told afterwards. So a change counts as the run's own only where that is likely for a
//! reason that can be named: the file was not there before and no call of a session wrote it; it is of a kind that test
//! programs keep (caches, coverage data); an earlier run made it; or the configuration says that runs write it. Any other
//! change voids the result: what the tests saw is then no single state of the project. What the rule gets wrong: a file that
//! an editor makes anew meanwhile is taken for the run's, and is named; a tracked file that a run rewrites voids it, until it
//! is ignored or configured.
//!
//! Ignored files do not count at all, and no revision speaks of them.

use crate::tool::{Observation, ToolEnv};
use plimsoll_core::path::{WorkspacePath, unescape};
use plimsoll_core::permission::glob;
use plimsoll_core::tool::test_report::Runner;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Files that runs made, by the project's first root. Lost with the daemon: then a file that is made anew voids one result.
#[derive(Debug, Default)]
pub(super) struct Made(Mutex<BTreeMap<PathBuf, BTreeSet<WorkspacePath>>>);

/// Files of one project that are remembered; beyond, it begins anew.
const MADE_MAX: usize = 10_000;

/// Folders and files that test programs write and nobody edits.
const KEPT_FOLDERS: &[&str] = &[
    "__pycache__",
    ".pytest_cache",
    ".hypothesis",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    "htmlcov",
    ".nyc_output",
    "node_modules",
];

/// What the changes say of a result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Whose {
    /// The run's own, as shown.
    pub(super) own: Vec<String>,
    /// Others.
    pub(super) foreign: Vec<String>,
    /// Why the result says nothing of any revision.
    pub(super) void: Option<String>,
}

impl Made {
    fn has(&self, root: &Path, path: &WorkspacePath) -> bool {
        let made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.get(root).is_some_and(|made| made.contains(path))
    }

    fn add(&self, root: &Path, paths: impl Iterator<Item = WorkspacePath>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let made = all.entry(root.to_owned()).or_default();
        if made.len() > MADE_MAX {
            made.clear();
        }
        made.extend(paths);
    }
}

/// Sorts what changed between the two looks.
pub(super) fn whose(
    env: &ToolEnv,
    made: &Made,
    runner: Runner,
    cwd: &Path,
    before: Option<&Observation>,
    after: Option<&Observation>,
) -> Whose {
    let (Some(_), Some(seen)) = (before, after) else {
        let why = "the files could not all be looked at in time, so that it is not known what changed while it ran";
        return Whose { void: Some(why.to_owned()), ..Whose::default() };
    };
    let root = env.roots.first().cloned().unwrap_or_default();
    let is_own = |path: &WorkspacePath| {
        !seen.by_calls.contains(path)
            && (seen.added.contains(path)
                || is_kept(env, runner, cwd, path)
                || made.has(&root, path)
                || env.tests.writes.iter().any(|pattern| glob::covers(pattern, &path.rel)))
    };
    let (own, foreign): (Vec<&WorkspacePath>, Vec<&WorkspacePath>) = seen.changed.iter().partition(|path| is_own(path));
    made.add(&root, own.iter().copied().cloned());
    let shown = |paths: &[&WorkspacePath]| -> Vec<String> { paths.iter().map(|path| shown(env, path)).collect() };
    let (own, foreign) = (shown(&own), shown(&foreign));
    let void = if !foreign.is_empty() {
        let (first, more) = (foreign.first().map(String::as_str).unwrap_or_default(), foreign.len() - 1);
        let files = if more == 0 { first.to_owned() } else { format!("{first} and {more} more") };
        Some(format!(
            "{files} changed while it ran, and not by the run as far as is known: it says nothing of any revision. Run the tests \
             again. If the run writes such files itself, they belong into .gitignore or into tests.writes of the configuration"
        ))
    } else if !seen.complete {
        Some("more files changed while it ran than can be told apart: it says nothing of any revision".to_owned())
    } else {
        None
    };
    Whose { own, foreign, void }
}

/// Whether test programs keep such files for themselves.
fn is_kept(env: &ToolEnv, runner: Runner, cwd: &Path, path: &WorkspacePath) -> bool {
    let mut parts = path.rel.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let by_name = name == ".coverage"
        || name.starts_with(".coverage.")
        || [".pyc", ".profraw", ".gcda"].iter().any(|ending| name.ends_with(ending));
    if by_name || parts.any(|folder| KEPT_FOLDERS.contains(&folder)) {
        return true;
    }
    // What these two build lies in one folder that is theirs.
    matches!(runner, Runner::Cargo | Runner::Maven) && absolute(env, path).starts_with(cwd.join("target"))
}

fn absolute(env: &ToolEnv, path: &WorkspacePath) -> PathBuf {
    let root = env.roots.get(usize::from(path.root)).cloned().unwrap_or_default();
    root.join(OsString::from_vec(unescape(&path.rel)))
}

fn shown(env: &ToolEnv, path: &WorkspacePath) -> String {
    let folder = if path.rel.ends_with('/') { "/" } else { "" };
    format!("{}{folder}", super::super::scope::show(env, &absolute(env, path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::testing::Place;
    use crate::tool::{Moment, TestsEnv};
    use plimsoll_core::id::Revision;

    fn seen(changed: &[&str], added: &[&str], by_calls: &[&str]) -> Observation {
        let paths = |names: &[&str]| names.iter().map(|name| WorkspacePath::new(0, *name)).collect();
        Observation {
            moment: Moment { revision: Revision(2), writes: 0 },
            changed: paths(changed),
            added: paths(added),
            by_calls: paths(by_calls),
            complete: true,
        }
    }

    #[test]
    fn a_change_is_the_runs_own_for_a_reason_or_voids_the_result() {
        let mut place = Place::new();
        place.env.tests = TestsEnv { writes: vec!["snapshots/**".into()], ..TestsEnv::default() }.into();
        let made = Made::default();
        let start = seen(&[], &[], &[]);
        let check = |runner, seen: &Observation, own: &[&str], foreign: &[&str]| {
            let found = whose(&place.env, &made, runner, &place.w, Some(&start), Some(seen));
            assert_eq!(
                (found.own.as_slice(), found.foreign.as_slice()),
                (strings(own).as_slice(), strings(foreign).as_slice())
            );
            assert_eq!(found.void.is_some(), !foreign.is_empty(), "{found:?}");
        };
        check(Runner::Make, &seen(&[], &[], &[]), &[], &[]);
        check(Runner::Make, &seen(&["a.c", "a.o"], &["a.o"], &[]), &["a.o"], &["a.c"]);
        // Made before, and made anew.
        check(Runner::Make, &seen(&["a.o"], &[], &[]), &["a.o"], &[]);
        check(Runner::Make, &seen(&["b.o"], &[], &[]), &[], &["b.o"]);
        // Another session's call made it.
        check(Runner::Make, &seen(&["new.py"], &["new.py"], &["new.py"]), &[], &["new.py"]);
        let kept = ["src/__pycache__/a.pyc", ".pytest_cache/v/x", ".coverage", "snapshots/a/b.txt"];
        check(Runner::Pytest, &seen(&kept, &[], &[]), &kept, &[]);
        check(Runner::Cargo, &seen(&["target/debug/x"], &[], &[]), &["target/debug/x"], &[]);
        check(Runner::Pytest, &seen(&["target/debug/x"], &[], &[]), &[], &["target/debug/x"]);
    }

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_could_not_be_looked_at_voids_the_result() {
        let place = Place::new();
        let made = Made::default();
        let start = seen(&[], &[], &[]);
        let void =
            |after: Option<&Observation>| whose(&place.env, &made, Runner::Go, &place.w, Some(&start), after).void;
        assert!(void(None).unwrap().contains("not known what changed"));
        let many = Observation { complete: false, ..seen(&[], &[], &[]) };
        assert!(void(Some(&many)).unwrap().contains("more files changed"));
    }
}
