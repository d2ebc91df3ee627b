use super::*;
use crate::tool::testing::{Place, fifo, paths};
use serde_json::json;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::Duration;

async fn check(place: &Place, pattern: &str, expected: &[&str]) {
    let entries = place.entries(&GlobFileSearch, json!({ "glob_pattern": pattern })).await;
    let mut found = paths(&entries);
    found.sort_unstable();
    assert_eq!(found, expected, "{pattern}");
}

#[tokio::test]
async fn dot_files_are_found_and_git_insides_are_not() {
    let place = Place::new();
    place.write(".github/workflows/ci.yml", "x");
    place.write(".eslintrc.json", "x");
    place.write("pkg/a.json", "x");
    place.write(".git/config", "x");
    place.write(".git/x.json", "x");
    check(&place, ".github/workflows/*.yml", &[".github/workflows/ci.yml"]).await;
    check(&place, "**/*.json", &[".eslintrc.json", "pkg/a.json"]).await;
    check(&place, "*.json", &[".eslintrc.json", "pkg/a.json"]).await;
    check(&place, "./*.json", &[".eslintrc.json", "pkg/a.json"]).await;
    check(&place, "pkg/", &["pkg/a.json"]).await;
    check(&place, ".git/*", &[]).await;
    check(&place, ".git/config", &[]).await;
}

#[tokio::test]
async fn a_star_does_not_cross_a_folder() {
    let place = Place::new();
    place.write("a/x.rs", "x");
    place.write("a/b/y.rs", "x");
    check(&place, "a/*.rs", &["a/x.rs"]).await;
    check(&place, "a/**/*.rs", &["a/b/y.rs", "a/x.rs"]).await;
    check(&place, "**/{x,y}.rs", &["a/b/y.rs", "a/x.rs"]).await;
    check(&place, "y.rs", &["a/b/y.rs"]).await;
    check(&place, &format!("{}/a/*.rs", place.w.display()), &["a/x.rs"]).await;
}

#[tokio::test]
async fn ignored_files_are_counted_and_found_when_named() {
    let place = Place::new();
    place.write(".gitignore", "gen/\n.env\n*.log\n");
    place.write("gen/a.rs", "x");
    place.write("gen/deep/b.rs", "x");
    place.write(".env", "x");
    place.write("logs/a.log", "x");
    place.write("src/b.rs", "x");
    check(&place, "gen/a.rs", &["gen/a.rs"]).await;
    check(&place, "gen/**/*.rs", &["gen/a.rs", "gen/deep/b.rs"]).await;
    check(&place, ".env", &[".env"]).await;
    check(&place, "logs/a.log", &["logs/a.log"]).await;
    let all = place.entries(&GlobFileSearch, json!({"glob_pattern": "**/*.rs"})).await;
    assert_eq!((paths(&all), all.ignored), (vec!["src/b.rs"], 3));
    let included = json!({"glob_pattern": "*.rs", "include_ignored": true});
    assert_eq!(place.entries(&GlobFileSearch, included).await.entries.len(), 3);
}

#[tokio::test]
async fn ignore_files_inside_a_nested_folder_count_from_the_root() {
    let place = Place::new();
    place.write("a/.gitignore", "*.tmp\n!keep.tmp\n");
    place.write("a/b/x.tmp", "x");
    place.write("a/b/keep.tmp", "x");
    let found = place.entries(&GlobFileSearch, json!({"glob_pattern": "*.tmp", "target_directory": "a/b"})).await;
    assert_eq!((paths(&found), found.ignored), (vec!["a/b/keep.tmp"], 1));
}

#[tokio::test]
async fn newest_files_come_first() {
    let place = Place::new();
    let now = SystemTime::now();
    for (name, age) in [("old", 300), ("new", 0), ("b-middle", 60), ("a-middle", 60)] {
        let path = place.write(name, "x");
        File::options().write(true).open(path).unwrap().set_modified(now - Duration::from_secs(age)).unwrap();
    }
    let found = place.entries(&GlobFileSearch, json!({"glob_pattern": "*"})).await;
    assert_eq!(paths(&found), ["new", "a-middle", "b-middle", "old"]);
}

#[tokio::test]
async fn links_are_not_followed_and_pipes_are_listed() {
    let place = Place::new();
    std::fs::write(place.o.join("secret.txt"), "TOPSECRET").unwrap();
    symlink(place.o.join("secret.txt"), place.w.join("l.txt")).unwrap();
    symlink(&place.o, place.w.join("ld")).unwrap();
    fifo(&place.w.join("pipe"));
    check(&place, "ld/**", &[]).await;
    check(&place, "**/secret.txt", &[]).await;
    let found = place.entries(&GlobFileSearch, json!({"glob_pattern": "*"})).await;
    let mut kinds: Vec<_> = found.entries.iter().map(|entry| (entry.path.as_str(), entry.kind)).collect();
    kinds.sort_by_key(|(path, _)| *path);
    assert_eq!(kinds, [("l.txt", EntryKind::Link), ("ld", EntryKind::Link), ("pipe", EntryKind::Special)]);
}

#[tokio::test]
async fn odd_names_match() {
    let place = Place::new();
    place.write(OsStr::from_bytes(b"bad-\xFF.txt"), "x");
    place.write("good.txt", "x");
    check(&place, "*.txt", &["bad-\\xFF.txt", "good.txt"]).await;
}

#[tokio::test]
async fn wrong_patterns_are_explained() {
    let place = Place::new();
    let problem = async |pattern: &str| place.problem(&GlobFileSearch, json!({ "glob_pattern": pattern })).await;
    assert!(problem("a[").await.starts_with("`glob_pattern`: "));
    assert!(problem("").await.contains("empty"));
    assert!(problem("../x/*").await.contains("target_directory"));
    std::fs::remove_dir_all(&place.w).unwrap();
    assert!(problem("*").await.starts_with("workspace missing: "));
}
