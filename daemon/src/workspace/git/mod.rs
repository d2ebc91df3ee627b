//! What a repository says of itself: where its work tree is, which shape it has, and the block for the model.
//!
//! Only looks: no lock is taken, nothing is written, and no program that the repository configures is run. libgit2 runs
//! none by itself; the `git` command is kept from it by [`process::git`](crate::process::git).

pub mod command;
pub mod facts;
pub mod index;
mod index_file;
pub mod native;
pub mod status;
pub mod submodule;

use crate::workspace::tree::stat::{Stat, look};
use git2::{ErrorCode, Repository};
use native::Native;
use std::path::{Path, PathBuf};

/// Commits whose subjects are told.
pub const COMMITS_SHOWN: usize = 5;

/// A folder with something called `.git` in it, or a bare repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder.
    pub dir: PathBuf,
    /// Identity of the `.git` in it: another one means another repository. Times do not count.
    marker: Option<(u64, u32)>,
}

/// Finds the repository that `root` lies in: the nearest folder upwards with a `.git`, as git does. Environment variables
/// such as `GIT_DIR` do not count.
pub fn discover(root: &Path) -> Option<Place> {
    let mut dir = Some(root);
    while let Some(at) = dir {
        if let Some(stat) = look(&at.join(".git")).filter(|stat| stat.is_file() || stat.is_dir()) {
            return Some(Place { dir: at.to_owned(), marker: Some((stat.ino, stat.mode)) });
        }
        if at == root && is_bare(at) {
            return Some(Place { dir: at.to_owned(), marker: None });
        }
        dir = at.parent();
    }
    None
}

/// The repository's own file of ignore rules, for the work tree `dir`; it need not be there.
pub fn exclude_file(dir: &Path) -> Option<PathBuf> {
    let dot_git = dir.join(".git");
    let common = match look(&dot_git)? {
        stat if stat.is_dir() => dot_git,
        // A linked work tree, or a submodule.
        _ => Repository::open(dir).ok()?.commondir().to_owned(),
    };
    Some(common.join("info/exclude"))
}

fn is_bare(dir: &Path) -> bool {
    let is_dir = |name: &str| look(&dir.join(name)).is_some_and(|stat| stat.is_dir());
    look(&dir.join("HEAD")).is_some_and(|stat: Stat| stat.is_file()) && is_dir("objects") && is_dir("refs")
}

/// How a repository can be read.
pub enum Shape {
    /// There is none.
    None,
    /// There is one that cannot be told about; the text says why and what would help.
    Unavailable(String),
    /// It has no work tree.
    Bare,
    /// By libgit2 and by looking at the work tree.
    Native(Box<Native>),
    /// By the `git` command, run in this folder.
    Command(PathBuf),
}

impl Shape {
    /// Opens the repository at `place`.
    pub fn open(place: Option<&Place>) -> Self {
        let Some(place) = place else { return Self::None };
        if place.marker.is_none() {
            return Self::Bare;
        }
        match Repository::open(&place.dir) {
            Ok(repository) if repository.is_bare() => Self::Bare,
            Ok(repository) => {
                let work = repository.workdir().and_then(|dir| dir.canonicalize().ok());
                if work.as_deref() != Some(place.dir.as_path()) {
                    let text = "the repository's configuration puts its work tree elsewhere (core.worktree)";
                    return Self::Unavailable(text.to_owned());
                }
                Self::Native(Box::new(Native::new(repository, place.dir.clone())))
            }
            Err(error) if error.code() == ErrorCode::Owner => Self::Unavailable(format!(
                "ownership: the repository belongs to another user, so git refuses to read it. The user can allow it with: \
                 git config --global --add safe.directory {}",
                plimsoll_core::path::escape(std::os::unix::ffi::OsStrExt::as_bytes(place.dir.as_os_str()))
            )),
            // The format may be one that libgit2 does not know; git itself decides.
            Err(_) => Self::Command(place.dir.clone()),
        }
    }
}
