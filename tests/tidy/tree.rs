//! The repository's files.

use super::rust;
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

    /// Whether its name ends so.
    pub fn has_ending(&self, ending: &str) -> bool {
        self.path.ends_with(ending)
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

/// The files that are not test code: neither by place and name nor because their module is declared under `#[cfg(test)]`.
pub fn without_tests(files: &[File]) -> Vec<&File> {
    let declared: Vec<String> = files.iter().flat_map(declared_tests).collect();
    let is_declared = |path: &str| {
        declared
            .iter()
            .any(|module| path.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with(['.', '/'])))
    };
    files.iter().filter(|file| !file.is_test() && !is_declared(&file.path)).collect()
}

/// Modules that a file declares under `#[cfg(test)]`, as paths without ending.
fn declared_tests(file: &File) -> Vec<String> {
    let code = rust::without_comments(&file.text);
    let folder = match file.path.strip_suffix("/mod.rs").or_else(|| file.path.strip_suffix("/lib.rs")) {
        Some(folder) => folder,
        None => file.path.trim_end_matches(".rs"),
    };
    let declared = code.match_indices("#[cfg(test)]").filter_map(|(at, mark)| {
        let rest = code[at + mark.len()..].trim_start();
        let rest = rest.strip_prefix("pub(crate) ").or_else(|| rest.strip_prefix("pub ")).unwrap_or(rest);
        let name = rest.strip_prefix("mod ")?.split_once(';')?.0;
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| format!("{folder}/{name}"))
    });
    declared.collect()
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

#[test]
fn a_module_under_cfg_test_is_test_code() {
    let files = [
        File::sample("daemon/src/a/mod.rs", "#[cfg(test)]\nmod streams;\nmod streams_too;"),
        File::sample("daemon/src/a/streams.rs", ""),
        File::sample("daemon/src/a/streams/deep.rs", ""),
        File::sample("daemon/src/a/streams_too.rs", ""),
        File::sample("daemon/src/b_tests.rs", ""),
    ];
    let rest: Vec<&str> = without_tests(&files).into_iter().map(|file| file.path.as_str()).collect();
    assert_eq!(rest, ["daemon/src/a/mod.rs", "daemon/src/a/streams_too.rs"]);
}
