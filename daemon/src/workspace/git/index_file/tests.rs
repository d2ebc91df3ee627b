//! What is read here is what libgit2 reads.

use super::super::index::{Entry, EntryKind};
use super::*;
use crate::workspace::tests::Folder;
use std::path::Path;

type Line = (String, Record);

fn lines(index: &Index) -> Vec<Line> {
    let line = |(_, entry): (u32, Entry<'_>)| (String::from_utf8(entry.path.to_vec()).unwrap(), Record::clone(&entry));
    index.iter().map(line).collect()
}

fn ours(path: &Path) -> Option<Index> {
    read(File::open(path).unwrap())
}

#[test]
fn entries_are_those_that_libgit2_reads() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    let path = repo.path.join(".git/index");
    let long = format!("{}/{}", "d".repeat(200), "f".repeat(200));
    // Every remainder of the padding.
    for name in ["a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh", "d/e/f.txt", &long] {
        repo.write(name, name);
    }
    repo.commit("one");
    let one = ours(&path).unwrap();
    let theirs = Index::of(&git2::Index::open(&path).unwrap());
    assert_eq!(lines(&one), lines(&theirs));
    assert_eq!(one.iter().count(), 10);
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    assert_eq!(one.tree.map(|tree| git2::Oid::from_bytes(&tree).unwrap().to_string()), Some(tree));
    // The longer form of entries, flags, a conflict.
    repo.write("new", "n");
    repo.git(["add", "-N", "new"]);
    repo.git(["update-index", "--assume-unchanged", "ab"]);
    repo.git(["update-index", "--skip-worktree", "abc"]);
    let blob = repo.git(["rev-parse", "HEAD:a"]);
    let sides = (1..4).map(|stage| format!("100644 {blob} {stage}\tboth")).collect::<Vec<_>>().join("\n");
    repo.write("sides", &sides);
    let script = "git update-index --index-info < sides";
    std::process::Command::new("sh").args(["-c", script]).current_dir(&repo.path).status().unwrap();
    let other = ours(&path).unwrap();
    assert_eq!(lines(&other), lines(&Index::of(&git2::Index::open(&path).unwrap())));
    let kind = |name: &str| other.find(name.as_bytes()).and_then(|number| other.get(number)).map(|entry| entry.kind);
    let kinds = ["a", "ab", "abc", "new", "both"].map(kind);
    let expected = [
        EntryKind::Plain,
        EntryKind::AssumeValid,
        EntryKind::SkipWorktree,
        EntryKind::IntentToAdd,
        EntryKind::Conflict,
    ];
    assert_eq!(kinds, expected.map(Some));
    assert_eq!(other.tree, None);
}

#[test]
fn a_tree_is_known_only_while_nothing_is_staged() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    let path = repo.path.join(".git/index");
    repo.write("d/a", "1");
    repo.write("b", "1");
    repo.commit("one");
    assert!(ours(&path).unwrap().tree.is_some());
    repo.write("d/a", "2");
    repo.git(["add", "d/a"]);
    assert_eq!(ours(&path).unwrap().tree, None);
}

#[test]
fn other_forms_and_damaged_files_are_left_to_libgit2() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    let path = repo.path.join(".git/index");
    for name in ["a", "b/c"] {
        repo.write(name, name);
    }
    repo.commit("one");
    let whole = std::fs::read(&path).unwrap();
    let other = repo.path.join("other");
    // Up to the last extension's end; what follows is the checksum.
    for end in 0..whole.len() - 20 {
        std::fs::write(&other, &whole[..end]).unwrap();
        let read = ours(&other);
        assert!(read.is_none_or(|index| index.tree.is_none()), "{end}");
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        std::fs::write(&other, &damaged).unwrap();
        // Any answer will do, as long as there is one.
        let _ = ours(&other);
    }
    repo.git(["update-index", "--index-version", "4"]);
    assert!(ours(&path).is_none());
    repo.git(["update-index", "--index-version", "2"]);
    repo.git(["update-index", "--split-index"]);
    assert!(ours(&path).is_none());
}
