use super::*;
use crate::tool::testing::Place;
use plimsoll_core::workspace::FileVersion;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};

const THREE: &str = "\
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
--- /dev/null
+++ b/sub/new.txt
@@ -0,0 +1,2 @@
+first
+second
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
";

fn three() -> Place {
    let place = Place::new();
    place.write("a.txt", "one\r\ntwo\r\nthree\r\n");
    place.write("old.txt", "gone\n");
    place
}

#[tokio::test]
async fn several_files_are_changed_made_and_deleted() {
    let place = three();
    let edited = place.edited(&ApplyPatch, json!({"patch": THREE, "purpose": "tidy"})).await;
    assert_eq!(place.bytes("a.txt"), b"one\r\nTWO\r\nthree\r\n");
    assert_eq!(
        (place.bytes("sub/new.txt"), place.names()),
        (b"first\nsecond\n".to_vec(), vec!["a.txt".into(), "sub".into()])
    );
    let told: Vec<_> = edited
        .files
        .iter()
        .map(|file| {
            (
                file.change.shown.as_str(),
                file.change.before.is_some(),
                file.change.after.is_some(),
                file.change.anchored,
            )
        })
        .collect();
    assert_eq!(told, [("a.txt", true, true, true), ("sub/new.txt", false, true, true), ("old.txt", true, false, true)]);
}

#[tokio::test]
async fn when_one_file_does_not_fit_none_is_changed() {
    let place = three();
    place.write("old.txt", "not gone\n");
    let problem = place.problem(&ApplyPatch, json!({"patch": THREE})).await;
    assert!(problem.contains("old.txt") && problem.ends_with("Nothing was written."), "{problem}");
    assert_eq!(place.bytes("a.txt"), b"one\r\ntwo\r\nthree\r\n");
    assert_eq!(place.names(), ["a.txt", "old.txt"]);
}

#[tokio::test]
async fn when_a_later_file_cannot_be_written_the_earlier_ones_are_put_back() {
    let place = three();
    std::fs::set_permissions(place.w.join("old.txt"), PermissionsExt::from_mode(0o444)).unwrap();
    std::fs::set_permissions(place.w.join("a.txt"), PermissionsExt::from_mode(0o640)).unwrap();
    let problem = place.problem(&ApplyPatch, json!({"patch": THREE})).await;
    assert_eq!(problem, "`old.txt` is read-only (mode 0444); everything is as it was before.");
    assert_eq!(
        (place.bytes("a.txt"), place.bytes("old.txt")),
        (b"one\r\ntwo\r\nthree\r\n".to_vec(), b"gone\n".to_vec())
    );
    assert_eq!(std::fs::metadata(place.w.join("a.txt")).unwrap().permissions().mode() & 0o7777, 0o640);
    assert!(!place.w.join("sub/new.txt").exists());
}

#[tokio::test]
async fn expected_versions_are_by_path() {
    let place = three();
    let (right, wrong) = (FileVersion::of(b"gone\n").to_string(), FileVersion::of(b"x").to_string());
    let problem = place.problem(&ApplyPatch, json!({"patch": THREE, "expected_versions": {"./old.txt": wrong}})).await;
    assert!(problem.contains(&right) && problem.contains(&wrong), "{problem}");
    let problem = place.problem(&ApplyPatch, json!({"patch": THREE, "expected_versions": {"other.txt": wrong}})).await;
    assert!(problem.contains("`other.txt`, which the patch does not change"), "{problem}");
    let problem =
        place.problem(&ApplyPatch, json!({"patch": THREE, "expected_versions": {"sub/new.txt": wrong}})).await;
    assert!(problem.contains("does not exist"), "{problem}");
    assert_eq!(place.names(), ["a.txt", "old.txt"]);
    place.edited(&ApplyPatch, json!({"patch": THREE, "expected_versions": {"old.txt": right}})).await;
}

#[tokio::test]
async fn a_file_is_changed_by_one_path_only_and_made_only_where_none_is() {
    let place = Place::new();
    place.write("a.txt", "1\n");
    symlink("a.txt", place.w.join("b.txt")).unwrap();
    let part = |name: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-1\n+2\n");
    let problem = place.problem(&ApplyPatch, json!({"patch": part("a.txt") + &part("b.txt")})).await;
    assert!(problem.contains("`a.txt` is named twice"), "{problem}");
    let problem = place.problem(&ApplyPatch, json!({"patch": part("c.txt")})).await;
    assert!(problem.contains("`c.txt` does not exist"), "{problem}");
    let create = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n";
    let problem = place.problem(&ApplyPatch, json!({"patch": create})).await;
    assert!(problem.contains("`a.txt`, which exists already"), "{problem}");
    let problem = place.problem(&ApplyPatch, json!({"patch": "do it"})).await;
    assert!(problem.contains("unified diff") && problem.ends_with("Nothing was written."), "{problem}");
    assert_eq!(place.bytes("a.txt"), b"1\n");
}

#[tokio::test]
async fn only_lines_that_stand_once_are_right_whatever_was_shown() {
    let place = Place::new();
    place.write("a.txt", "x\ny\nx\nz\n");
    let anchored = async |patch: &str| {
        let (_, prepared) = place.prepare(&ApplyPatch, json!({"patch": patch})).await.unwrap();
        prepared.changes[0].anchored
    };
    assert!(anchored("--- a/a.txt\n+++ b/a.txt\n@@ -2,1 +2,1 @@\n-y\n+Y\n").await);
    assert!(!anchored("--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-x\n+X\n").await);
    assert!(!anchored("--- a/a.txt\n+++ b/a.txt\n@@ -1,0 +2,1 @@\n+new\n").await);
}
