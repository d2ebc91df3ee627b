//! Patches as models send them.

use super::*;
use crate::edit::{Utf8, whole};

fn applied(content: &str, patch: &str) -> Result<String, String> {
    let files = parse(patch).map_err(|error| error.to_string())?;
    let [file] = files.as_slice() else { panic!("one file") };
    let edit = apply(content.as_bytes(), file, &Utf8).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(edit.pieces(content.as_bytes()).concat()).unwrap())
}

fn check(content: &str, hunks: &str, expected: &str) {
    let patch = format!("--- a/f\n+++ b/f\n{hunks}");
    assert_eq!(applied(content, &patch).as_deref(), Ok(expected), "{patch}");
}

fn refused(content: &str, hunks: &str, expected: &str) {
    assert_eq!(applied(content, &format!("--- a/f\n+++ b/f\n{hunks}")), Err(expected.to_owned()));
}

#[test]
fn a_hunk_is_applied_at_its_place() {
    check("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n");
    check("a\r\nb\r\nc\r\n", "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+BB\n c\n", "a\r\nB\r\nBB\r\nc\r\n");
    check("a\r\nb\r\n", "@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+B\r\n", "a\r\nB\r\n");
    check("a\nb\nc\n", "@@ -1,2 +1,1 @@\n-a\n b\n@@ -3 +2,2 @@\n c\n+d\n", "b\nc\nd\n");
}

#[test]
fn counts_that_are_wrong_or_missing_are_counted_anew() {
    for head in ["@@ -1,9 +1,9 @@", "@@ -1 +1 @@", "@@ -1,1 +1,1 @@ fn x()", "@@ -1,3 +1,3", "@@ @@", "@@", "@@ ... @@"]
    {
        check("a\n\nb\nc\n", &format!("{head}\n a\n\n-b\n+B\n c\n\n"), "a\n\nB\nc\n");
    }
    // An empty line of context at the end, as its count says.
    check("a\n\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n\n", "A\n\nb\n");
}

#[test]
fn content_that_looks_like_a_head_is_content() {
    check("-- a\nb\n", "@@ -1,2 +1,2 @@\n--- a\n+++ a\n b\n", "++ a\nb\n");
    check("x\n-- a\n", "@@ -1,2 +1,2 @@\n x\n--- a\n+++ a\n", "x\n++ a\n");
    let two = "--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-c\n+d\n";
    assert_eq!(parse(two).unwrap().iter().map(FilePatch::path).collect::<Vec<_>>(), ["f", "g"]);
}

#[test]
fn a_final_line_end_stays_as_it_is_unless_the_patch_says_so() {
    let open = "\\ No newline at end of file\n";
    check("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB");
    check("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc");
    check("a\nb", &format!("@@ -1,2 +1,2 @@\n a\n-b\n{open}+b\n"), "a\nb\n");
    check("a\nb\n", &format!("@@ -1,2 +1,2 @@\n a\n-b\n+b\n{open}"), "a\nb");
    check("a\nb", &format!("@@ -1,2 +1,3 @@\n a\n-b\n{open}+b\n+c\n{open}"), "a\nb\nc");
    refused(
        "a\nb\nc\n",
        &format!("@@ -1,3 +1,3 @@\n-a\n+A\n{open}"),
        "f, hunk 1: `\\ No newline at end of file` stands after a line that is not the last of the file.",
    );
}

#[test]
fn a_hunk_may_stand_at_the_one_place_near_its_own() {
    let file: String = (1..=600).map(|n| if n % 100 == 50 { "same\n".to_owned() } else { format!("{n}\n") }).collect();
    check(&file, "@@ -3,1 +3,1 @@\n-17\n+x\n", &file.replace("\n17\n", "\nx\n"));
    refused(
        &file,
        "@@ -100,1 +100,1 @@\n-same\n+x\n",
        "f, hunk 1: its lines do not stand at line 100, but stand at lines 50, 150, 250. Correct the number in its head, \
         or add lines of context.",
    );
    check(&file, "@@ -150,1 +150,1 @@\n-same\n+x\n", &file.replacen("149\nsame\n", "149\nx\n", 1));
    refused(
        &file,
        "@@ -10,2 +10,2 @@\n 10\n-511\n+x\n",
        "f, hunk 1: its lines are not there. Line 11 of the file is `11`, the patch has `511`.",
    );
    refused(
        &file,
        "@@ -10,2 +10,2 @@\n 510\n-511\n+x\n",
        "f, hunk 1: its lines are not there. Line 10 of the file is `10`, the patch has `510`. All of them stand at line \
         510: correct the number in the hunk's head, and keep the hunks in the order of the file.",
    );
    refused(
        &file,
        "@@ -10,3 +10,3 @@\n 77\n-78\n 80\n",
        "f, hunk 1: its lines are not at line 10 nor near it. Most of them agree at line 77. Line 79 of the file is `79`, \
         the patch has `80`.",
    );
    refused(
        &file,
        "@@ @@\n-same\n+x\n",
        "f, hunk 1: its lines stand at lines 50, 150, 250, 350, 450. Correct the number in its head, or add lines of \
         context.",
    );
    check(&file, "@@ @@\n-511\n+x\n", &file.replace("\n511\n", "\nx\n"));
}

#[test]
fn hunks_keep_the_order_of_the_file() {
    refused(
        "a\nb\nc\nd\n",
        "@@ -3,1 +3,1 @@\n-c\n+C\n@@ -1,1 +1,1 @@\n-a\n+A\n",
        "f, hunk 2: its lines are not at line 1 nor near it. The first of them is `a`. All of them stand at line 1: \
         correct the number in the hunk's head, and keep the hunks in the order of the file.",
    );
}

#[test]
fn what_was_applied_before_is_said_so() {
    refused(
        "a\nB\nc\n",
        "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
        "f, hunk 1: its lines are there as they would be after it, at line 1: it seems to have been applied already.",
    );
}

#[test]
fn files_are_made_and_deleted() {
    assert_eq!(applied("", "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n").unwrap(), "a\nb\n");
    assert_eq!(applied("a\nb\n", "--- a/n\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n").unwrap(), "");
    assert_eq!(
        applied("a\nb\n", "--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n").unwrap_err(),
        "n: the patch deletes the file but leaves 1 of its lines. Remove all of them, or use delete_file."
    );
}

#[test]
fn what_a_patch_cannot_do_is_refused_by_name() {
    let check = |patch: &str, expected: &str| {
        let error = parse(patch).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("", "names no file");
    check("hello", "names no file");
    check("*** Begin Patch\n*** Update File: x\n", "not a unified diff");
    check("diff --git a/x b/y\nrename from x\nrename to y\n", "renames");
    check("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "renames");
    check("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "mode");
    check("Binary files a/x and b/x differ\n", "binary");
    check("--- a/x\n@@ -1 +1 @@\n", "a `+++` line must follow");
    check("@@ -1 +1 @@\n-a\n+b\n", "before any file");
    check("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\nfoo\n", "x, hunk 1: line 6 of the patch begins with none of");
    check("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "no line of its hunk");
    check("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n", "named twice");
}

#[test]
fn what_git_writes_between_is_passed_over() {
    let patch = "From 1 Mon Sep 17\nSubject: x\n---\n f | 2 +-\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n\
                 @@ -1 +1 @@ fn\n-a\n+b\n-- \n2.40.0\n\n";
    assert_eq!(applied("a\n", patch).unwrap(), "b\n");
    assert_eq!(applied("a\n", "```diff\n--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n```\n").unwrap(), "b\n");
}

#[test]
fn a_patch_made_of_a_difference_makes_it_again() {
    use proptest::prelude::*;
    let line = prop::sample::select(vec!["a", "b", "", " c", "-- d", "++ e", "\u{e4}"]);
    let text = (prop::collection::vec(line, 0..40), any::<bool>(), prop::sample::select(vec!["\n", "\r\n"]));
    proptest!(|((before, before_ends, eol) in text.clone(), (after, after_ends, _) in text)| {
        let join = |lines: &[&str], ends: bool| {
            lines.join(eol) + if ends && !lines.is_empty() { eol } else { "" }
        };
        let (before, after) = (join(&before, before_ends), join(&after, after_ends));
        let diff = whole(Some(before.as_bytes()), after.as_bytes(), &Utf8).diff;
        prop_assume!(!diff.text.is_empty() && diff.cut == 0);
        // Line ends that only one of the two has are taken from it; a difference does not show them.
        prop_assume!(before.contains(eol) || !after.contains("\r\n"));
        let patch = format!("--- a/f\n+++ b/f\n{}", diff.text);
        prop_assert_eq!(applied(&before, &patch), Ok(after));
    });
}
