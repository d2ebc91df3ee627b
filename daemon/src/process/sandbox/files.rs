//! The Landlock rules of a command. Landlock knows only what is allowed: to keep something out of reach its neighbours
//! are allowed one by one, from the root of the file system down to it.

use super::devices;
use crate::process::limits::Limits;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};
use plimsoll_core::permission::leave::Files;
use std::path::{Path, PathBuf};

/// The newest version whose rights are known here; older kernels enforce what they know of them.
const NEWEST: ABI = ABI::V7;

/// The oldest version that keeps a command from changing files: before it, they can be truncated.
const OLDEST: ABI = ABI::V3;

/// More neighbours than this are not allowed one by one; the rest stays out of reach. Only where a hidden folder lies in
/// a very full one without a view of the file system.
const MOST_RULES: usize = 20_000;

/// Why the rules cannot be enforced here; none when they can.
pub fn refused() -> Option<String> {
    let needed = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(OLDEST))
        .and_then(Ruleset::create);
    needed
        .err()
        .map(|_| "the kernel's Landlock is missing, not enabled or too old (Linux 6.2 has what is needed)".into())
}

/// Restricts the calling thread and what it starts. The error is for the model.
pub fn restrict(limits: &Limits, hidden_by_view: bool) -> Result<(), String> {
    if limits.leave.files == Files::All {
        // Nothing but the border for signals and traces; an older kernel has none without file rules.
        return border().map_err(|error| format!("Landlock: {error}"));
    }
    let unenforceable =
        |why: String| format!("it may not write outside the project, and this system cannot keep it from that: {why}");
    if let Some(why) = refused() {
        return Err(unenforceable(why));
    }
    match rules(limits, hidden_by_view) {
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => Ok(()),
        Ok(RulesetStatus::NotEnforced) => Err(unenforceable("Landlock is not enforced".into())),
        Err(error) => Err(unenforceable(format!("Landlock: {error}"))),
    }
}

fn border() -> Result<(), RulesetError> {
    Ruleset::default().scope(Scope::from_all(NEWEST))?.create()?.restrict_self().map(|_| ())
}

fn rules(limits: &Limits, hidden_by_view: bool) -> Result<RulesetStatus, RulesetError> {
    let hidden: &[PathBuf] = if hidden_by_view { &[] } else { &limits.hidden };
    let holes: Vec<&Path> = hidden.iter().map(PathBuf::as_path).chain([Path::new(devices::FOLDER)]).collect();
    let mut readable = Vec::new();
    cover(Path::new("/"), &holes, &mut readable);
    readable.extend(limits.readable.iter().cloned());
    let mut writable = Vec::new();
    for folder in &limits.writable {
        cover(folder, &hidden.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &mut writable);
    }
    let all = AccessFs::from_all(NEWEST);
    // Names can be listed everywhere: programs look into the folders above their own, and those cannot be told apart from
    // what lies below them.
    Ruleset::default()
        .handle_access(all)?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(NEWEST)))?
        .add_rules(path_beneath_rules(writable, all))?
        .add_rules(path_beneath_rules(devices::harmless(), all))?
        .restrict_self()
        .map(|status| status.ruleset)
}

/// The paths that together hold everything that is now below `top` and in none of the `holes`. A folder without holes is
/// given whole, so that what is made in it later is covered too.
fn cover(top: &Path, holes: &[&Path], covered: &mut Vec<PathBuf>) {
    if covered.len() >= MOST_RULES || holes.iter().any(|hole| top.starts_with(hole)) {
        return;
    }
    if !holes.iter().any(|hole| hole.starts_with(top)) {
        covered.push(top.to_owned());
        return;
    }
    for entry in std::fs::read_dir(top).into_iter().flatten().flatten() {
        // What a link points to is covered where it lies, or is not to be.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            cover(&entry.path(), holes, covered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_covered_one_by_one_only_on_the_way_to_a_hole() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        for path in ["a/deep", "b/keys/inner", "b/other", "c/x"] {
            std::fs::create_dir_all(top.join(path)).unwrap();
        }
        std::fs::write(top.join("b/file"), "").unwrap();
        std::os::unix::fs::symlink(top.join("b/keys"), top.join("link")).unwrap();
        let check = |holes: &[&str], expected: &[&str]| {
            let holes: Vec<PathBuf> = holes.iter().map(|hole| top.join(hole)).collect();
            let mut covered = Vec::new();
            cover(top, &holes.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &mut covered);
            covered.sort();
            assert_eq!(covered, expected.iter().map(|path| top.join(path)).collect::<Vec<_>>());
        };
        check(&[], &[""]);
        check(&["b/keys"], &["a", "b/file", "b/other", "c"]);
        check(&["b/keys", "c"], &["a", "b/file", "b/other"]);
        check(&["b/none"], &["a", "b/file", "b/keys", "b/other", "c"]);
        let mut covered = Vec::new();
        cover(&top.join("b/keys/inner"), &[&top.join("b/keys")], &mut covered);
        assert_eq!(covered, [] as [PathBuf; 0]);
    }
}
