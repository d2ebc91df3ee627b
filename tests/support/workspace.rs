//! A temporary folder to work in, with or without a repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder that goes away with the value.
pub struct Workspace {
    _folder: TempDir,
    path: PathBuf,
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Workspace {
    /// An empty folder.
    pub fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().canonicalize().expect("the folder exists");
        Self { _folder: folder, path }
    }

    /// Writes a file, with its folders.
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Makes it a repository and commits everything in it.
    pub fn git(self) -> Self {
        self.run_git(&["init", "--quiet", "--initial-branch=main"]);
        self.commit("first");
        self
    }

    /// Commits everything in it.
    pub fn commit(&self, message: &str) {
        self.run_git(&["add", "--all"]);
        self.run_git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Its canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its canonical path as text.
    pub fn text(&self) -> &str {
        self.path.to_str().expect("temporary folders have plain names")
    }

    /// Writes a file now.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().expect("a file in the workspace")).expect("folders of a new file");
        fs::write(path, content).expect("a new file");
    }

    /// A file's content; none when it is not there.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path.join(path)).ok()
    }

    /// Runs git here, untouched by this machine's configuration; gives what it prints.
    pub fn run_git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(&self.path)
            .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_DATE", "2024-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2024-01-01T00:00:00Z")
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[test]
fn a_workspace_is_a_repository_with_its_files() {
    let workspace = Workspace::new().file("src/a.rs", "fn a() {}\n").git();
    workspace.write("b.txt", "b");
    assert_eq!(workspace.run_git(&["ls-files"]), "src/a.rs\n");
    assert_eq!(workspace.run_git(&["status", "--porcelain"]), "?? b.txt\n");
    assert_eq!((workspace.read("b.txt"), workspace.read("c.txt")), (Some("b".to_owned()), None));
}
