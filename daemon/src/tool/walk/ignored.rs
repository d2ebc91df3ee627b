//! What ignore files leave out of one walk: `.gitignore` and the repository's and the user's excludes as git means them,
//! and `.ignore`, which overrules them. A file of rules that is a pipe, a device, or a link is as good as none.
//!
//! Called by [`walk`](super) for every entry, folders before what is in them.

use crate::workspace::git::{discover, exclude_file};
use crate::workspace::tree::rules::Rules;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// The rules of the folders that the walk has come to.
#[derive(Debug)]
pub struct Ignored {
    /// The work tree that the walk lies in, else its root: paths are matched relative to it.
    top: PathBuf,
    folders: RwLock<HashMap<OsString, Folder>>,
}

/// The rules in one folder.
#[derive(Debug, Clone, Default)]
struct Folder {
    git: Rules,
    own: Rules,
}

impl Ignored {
    /// For a walk from `root`. Ignore files above it count when it is a part of a repository. Reads files.
    pub fn above(root: &Path) -> Self {
        let top = discover(root).map_or_else(|| root.to_owned(), |place| place.dir);
        let user = ignore::gitignore::gitconfig_excludes_path();
        let files = user.into_iter().chain(exclude_file(&top));
        let git = files.fold(Rules::default(), |rules, file| rules.with_file(&real(file), b""));
        let mut folder = Folder { git, own: Rules::default() };
        let inside = root.strip_prefix(&top).unwrap_or(Path::new(""));
        let mut at = top.clone();
        folder = folder.entered(&at, b"");
        for part in inside {
            at.push(part);
            folder = folder.entered(&at, relative(&top, &at));
        }
        Self { folders: RwLock::new(HashMap::from([(root.as_os_str().to_owned(), folder)])), top }
    }

    /// Whether the walk goes on to this entry, whose folder it came to before.
    pub fn keeps(&self, path: &Path, is_dir: bool) -> bool {
        let name = relative(&self.top, path);
        let folder = path.parent().and_then(|parent| {
            let folders = self.folders.read().unwrap_or_else(PoisonError::into_inner);
            folders.get(parent.as_os_str()).cloned()
        });
        let folder = folder.unwrap_or_default();
        if folder.own.decide(name, is_dir).or_else(|| folder.git.decide(name, is_dir)) == Some(true) {
            return false;
        }
        if is_dir {
            let entered = folder.entered(path, name);
            let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
            folders.insert(path.as_os_str().to_owned(), entered);
        }
        true
    }
}

impl Folder {
    /// The rules in the folder `dir` in this one.
    fn entered(&self, dir: &Path, name: &[u8]) -> Self {
        // A repository inside has excludes of its own.
        let git = self.git.with_file(&dir.join(".git/info/exclude"), name);
        Self { git: git.with_file(&dir.join(".gitignore"), name), own: self.own.with_file(&dir.join(".ignore"), name) }
    }
}

fn relative<'a>(top: &Path, path: &'a Path) -> &'a [u8] {
    path.strip_prefix(top).unwrap_or(path).as_os_str().as_bytes()
}

/// The user's own file may be a link, as those who keep such files together have it.
fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}
