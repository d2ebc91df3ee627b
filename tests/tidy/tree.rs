//! The repository's files.

use std::path::{Path, PathBuf};

/// A text file.
#[derive(Debug, Clone)]
pub struct File {
    /// Path from the repository's root, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

impl File {
    /// A file in memory, for the tests of the checks.
    pub fn sample(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// Whether all of it is test code: by place or by name.
    pub fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        self.path.starts_with("tests/")
            || self.path.split('/').any(|part| part == "tests" || part == "benches")
            || name == "tests.rs"
            || name.ends_with("_tests.rs")
    }
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests package lies in the root").to_path_buf()
}

/// All text files of the repository but those that are built or fetched, sorted by path.
pub fn files() -> Vec<File> {
    let root = root();
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 50, "the walk found only {} files", found.len());
    found
}

/// Those with this ending.
pub fn with_ending(ending: &str) -> Vec<File> {
    files().into_iter().filter(|file| file.path.ends_with(ending)).collect()
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<File>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let entry = entry.expect("a readable entry");
        let path = entry.path();
        let name = entry.file_name();
        if ["target", ".git", "node_modules", "fixtures"].iter().any(|skipped| name == *skipped) {
            continue;
        }
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            walk(root, &path, found);
        } else if kind.is_file()
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            let relative = path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
            found.push(File { path: relative, text });
        }
    }
}
