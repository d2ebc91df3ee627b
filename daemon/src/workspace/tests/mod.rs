//! Real repositories in temporary folders, made with the `git` command.

mod agreement;
mod collect;
mod hostile;
mod shapes;

use super::root::Root;
use plimsoll_core::workspace::{GitBlock, GitChange, GitStatus};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// A temporary folder with room for several repositories.
pub(super) struct Folder {
    _dir: tempfile::TempDir,
    pub(super) path: PathBuf,
}

impl Folder {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { path: dir.path().canonicalize().unwrap(), _dir: dir }
    }

    /// A repository `name` on the branch `main`.
    pub(super) fn repository(&self, name: &str) -> Repo {
        let repo = Repo { path: self.path.join(name) };
        std::fs::create_dir_all(&repo.path).unwrap();
        repo.git(["init", "-q", "-b", "main"]);
        repo
    }
}

/// A work tree.
#[derive(Clone)]
pub(super) struct Repo {
    pub(super) path: PathBuf,
}

impl Repo {
    pub(super) fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let output = self.try_git(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn try_git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> std::process::Output {
        let mut command = Command::new("git");
        command.current_dir(&self.path).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", &self.path).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "t").env(format!("GIT_{role}_EMAIL"), "t@example.com");
        }
        command.args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"]).args(args).output().unwrap()
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "-m", message]);
    }

    fn root(&self) -> Root {
        Root::new(0, self.path.clone())
    }
}

/// The block of a root as a first refresh gives it.
fn block(path: &Path) -> GitBlock {
    refresh(&mut Root::new(0, path.to_owned()))
}

fn refresh(root: &mut Root) -> GitBlock {
    root.refresh(&AtomicBool::new(false)).unwrap().git
}

/// Paths whose content changed since the refresh before.
fn changed(root: &mut Root) -> Vec<String> {
    root.refresh(&AtomicBool::new(false)).unwrap().changed.into_iter().map(|path| path.rel).collect()
}

fn status(block: GitBlock) -> GitStatus {
    match block {
        GitBlock::Status(status) => status,
        other => panic!("{other:?}"),
    }
}

fn change(code: char, path: &str) -> GitChange {
    GitChange { path: path.to_owned(), code, from: None }
}
