//! The boundaries of a run: from the calls that an undisturbed one made to places at which others are stopped.

use plimsoll_tests::boundary::{Boundary, Passed, When};
use std::collections::BTreeMap;
use std::path::Path;

/// A boundary with what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// For people, such as `before a record`.
    pub kind: &'static str,
    pub at: Boundary,
}

/// What a call is to the work: the kinds of boundaries at it. Empty for calls that are not part of it.
fn kinds(passed: &Passed, data: &str, workspace: &str) -> &'static [(When, &'static str)] {
    let path = passed.path.as_str();
    if path.starts_with(workspace) {
        let name = path.rsplit('/').next().unwrap_or_default();
        return match passed.call.as_str() {
            "write" => &[(When::Half, "in the middle of a temporary file")],
            "pwrite64" => &[(When::Half, "in the middle of a file in place")],
            "ftruncate" => &[(When::Before, "before the end of a file in place")],
            "fsync" if name.starts_with(".plimsoll-") => &[(When::Before, "before the rename")],
            "rename" => &[(When::Before, "at the rename"), (When::After, "after the rename")],
            "unlink" => &[(When::Before, "before what was there goes")],
            _ => &[],
        };
    }
    let Some(path) = path.strip_prefix(data) else { return &[] };
    if path.ends_with("-wal") && path.contains("/projects/") {
        return match passed.call.as_str() {
            "begin" => &[(When::Before, "before a record")],
            "commit" => &[(When::Half, "in the middle of a record")],
            "fsync" | "fdatasync" => &[(When::After, "after a record")],
            _ => &[],
        };
    }
    if path.contains("/journal/") {
        return match passed.call.as_str() {
            "write" => &[(When::Half, "in the middle of a journal")],
            "rename" if path.ends_with("/sheet.json") => {
                &[(When::Before, "before a journal counts"), (When::After, "after a journal counts")]
            }
            "unlink" if path.ends_with("/sheet.json") => {
                &[(When::Before, "before a journal ends"), (When::After, "after a journal ended")]
            }
            _ => &[],
        };
    }
    if path.contains("/pre-images/") {
        return match passed.call.as_str() {
            "write" => &[(When::Half, "in the middle of a pre-image")],
            "rename" => &[(When::Before, "before a pre-image has its name")],
            _ => &[],
        };
    }
    &[]
}

/// A path as a pattern that fits the same file of another run: folders of the machine and names that are made up differ.
fn pattern(path: &str, data: &str, workspace: &str) -> String {
    let one = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        for made_up in [".plimsoll-", ".new-"] {
            if name.starts_with(made_up) {
                return format!("*/{made_up}*");
            }
        }
        if path.starts_with(data) || path == workspace { format!("*/{name}") } else { path.replace(workspace, "*") }
    };
    path.split('>').map(one).collect::<Vec<_>>().join(">")
}

/// All boundaries of an undisturbed run.
pub fn boundaries(passed: &[Passed], data: &Path, workspace: &Path) -> Vec<Named> {
    let (data, workspace) = (data.to_str().expect("a plain name"), workspace.to_str().expect("a plain name"));
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut found = Vec::new();
    for passed in passed {
        let glob = pattern(&passed.path, data, workspace);
        let nth = counts.entry((passed.call.clone(), glob.clone())).or_default();
        *nth += 1;
        for (when, kind) in kinds(passed, data, workspace) {
            let at = Boundary { when: *when, call: passed.call.clone(), glob: glob.clone(), nth: *nth };
            found.push(Named { kind, at });
        }
    }
    found
}

/// How many boundaries of each kind there were, and at how many a process was ended, as a table.
pub fn table(all: &[(&'static str, bool)]) -> String {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (kind, ended) in all {
        for kind in [*kind, "in all"] {
            let count = counts.entry(kind).or_default();
            count.0 += 1;
            count.1 += usize::from(*ended);
        }
    }
    let sum = counts.remove("in all").into_iter().map(|count| ("in all", count));
    let line = |(kind, (all, ended)): (&str, (usize, usize))| format!("{ended:>5} of {all:>4} {kind}\n");
    counts.into_iter().chain(sum).map(line).collect()
}
