//! `AGENTS.md` in folders below a root: looked for between the root and what a call touches.

use super::super::instructions::NAME;
use super::files::Files;
use plimsoll_core::path::{escape, unescape};
use plimsoll_core::tool::call::{Target, Zone};
use plimsoll_core::workspace::InstructionSource;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Folders looked into for one call; deeper ones, and those of further targets, come with a later call.
const FOLDERS: usize = 64;

/// A folder of packages that others wrote: what they say to their own authors is no instruction here.
const PACKAGES: &str = "node_modules";

/// The instruction files between the roots and these targets, outer ones first; a root's own is not among them. A link that
/// leads out of the root is not followed. Blocks.
pub fn find(roots: &[PathBuf], targets: &[Target], files: &mut Files) -> Vec<InstructionSource> {
    let mut folders: Vec<(&Path, PathBuf)> = Vec::new();
    for target in targets.iter().filter(|target| matches!(target.zone, Zone::Root(_))) {
        let path = PathBuf::from(OsString::from_vec(unescape(&target.path)));
        let root = roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.components().count());
        let Some(root) = root else { continue };
        // A file's own path is no folder, and simply has no such file below it.
        let mut between: Vec<PathBuf> =
            path.ancestors().take_while(|folder| *folder != root.as_path()).map(Path::to_path_buf).collect();
        between.reverse();
        let cut = between.iter().position(|folder| folder.file_name().is_some_and(|name| name == PACKAGES));
        between.truncate(cut.unwrap_or(between.len()));
        for folder in between {
            if folders.len() < FOLDERS && !folders.iter().any(|(_, known)| *known == folder) {
                folders.push((root.as_path(), folder));
            }
        }
    }
    let source = |(root, folder): &(&Path, PathBuf)| {
        let path = folder.join(NAME);
        let found = files.read(&path, Some(*root))?;
        Some(InstructionSource { path: escape(path.as_os_str().as_bytes()), text: found.text.to_string() })
    };
    folders.iter().filter_map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::path::WorkspacePath;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_between_the_root_and_the_target_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("root");
        for folder in ["root/a/b/c", "root/node_modules/x", "root/link-out", "outside"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        for (path, text) in [
            ("root/AGENTS.md", "root"),
            ("root/a/AGENTS.md", "a"),
            ("root/a/b/c/AGENTS.md", "c"),
            ("root/node_modules/x/AGENTS.md", "package"),
            ("outside/AGENTS.md", "outside"),
        ] {
            std::fs::write(base.join(path), text).unwrap();
        }
        symlink(base.join("outside/AGENTS.md"), root.join("link-out/AGENTS.md")).unwrap();
        let found = |path: &str, zone: Zone| {
            let target = Target { path: root.join(path).to_string_lossy().into_owned(), zone };
            let found = find(std::slice::from_ref(&root), &[target], &mut Files::default());
            found.into_iter().map(|source| source.text).collect::<Vec<_>>()
        };
        let inside = || Zone::Root(WorkspacePath::new(0, "x"));
        assert_eq!(found("a/b/c/x.rs", inside()), ["a", "c"]);
        assert_eq!(found("a/b/c", inside()), ["a", "c"]);
        assert_eq!(found("a/new/deep/x.rs", inside()), ["a"]);
        assert_eq!(found("x.rs", inside()), Vec::<String>::new());
        assert_eq!(found("node_modules/x/i.js", inside()), Vec::<String>::new());
        assert_eq!(found("link-out/x", inside()), Vec::<String>::new());
        assert_eq!(found("a/x.rs", Zone::Outside), Vec::<String>::new());
    }
}
