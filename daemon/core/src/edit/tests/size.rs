//! Large contents and many edits: bounded results.

use super::*;
use std::fmt::Write as _;

fn numbered(lines: usize) -> String {
    (0..lines).fold(String::new(), |mut text, line| {
        writeln!(text, "line number {line} of the file").unwrap();
        text
    })
}

#[test]
fn a_large_difference_is_cut_and_counted() {
    let before = numbered(5_000);
    let after = before.replace("number", "no.");
    let edit = replace(before.as_bytes(), &[Replacement { old: "number", new: "no.", all: true }], &Utf8).unwrap();
    let written = whole(Some(before.as_bytes()), after.as_bytes(), &Utf8).diff;
    for diff in [edit.diff(before.as_bytes(), &Utf8), written] {
        assert_eq!((diff.added, diff.removed), (5_000, 5_000));
        let lines = diff.text.lines().count() as u64;
        assert!(lines <= 401 && diff.text.len() <= 33 * 1024, "{lines} lines, {} bytes", diff.text.len());
        assert_eq!(diff.cut, 10_001 - lines);
    }
}

#[test]
fn a_long_line_is_shown_cut_in_a_difference() {
    let file = ["x".repeat(3 << 20), "needle".to_owned(), "y".repeat(3 << 20)].concat();
    let edit = replace(file.as_bytes(), &[Replacement { old: "needle", new: "pin", all: false }], &Utf8).unwrap();
    let diff = edit.diff(file.as_bytes(), &Utf8);
    assert_eq!((diff.added, diff.removed, diff.cut), (1, 1, 0));
    assert!(diff.text.len() < 3_000, "{}", diff.text.len());
}

#[test]
fn many_places_in_a_file_become_few_splices() {
    let file = "a,".repeat(200_000);
    let edit = replace(file.as_bytes(), &[Replacement { old: ",", new: ";", all: true }], &Utf8).unwrap();
    assert_eq!(edit.splices.len(), 1);
    assert_eq!(edit.pieces(file.as_bytes()).concat(), "a;".repeat(200_000).into_bytes());
}

#[test]
fn hundreds_of_edits_are_one_edit() {
    let file = numbered(1_000);
    let texts: Vec<(String, String)> =
        (0..500).map(|line| (format!("number {line} of"), format!("no. {line} in"))).collect();
    let edits: Vec<Replacement<'_>> = texts.iter().map(|(old, new)| Replacement { old, new, all: false }).collect();
    let edit = replace(file.as_bytes(), &edits, &Utf8).unwrap();
    let expected = texts.iter().fold(file.clone(), |file, (old, new)| file.replace(old, new));
    assert_eq!(edit.pieces(file.as_bytes()).concat(), expected.into_bytes());
    assert_eq!((edit.splices.len(), edit.touches), (500, vec![(1, 500)]));
}

#[test]
fn too_many_edits_of_a_huge_file_are_refused_with_their_number() {
    let file = vec![b'x'; 32 << 20];
    let edits = vec![Replacement { old: "a", new: "b", all: false }; 300];
    let error = replace(&file, &edits, &Utf8).unwrap_err();
    assert_eq!(error.kind, EditErrorKind::TooMuch { most: 256 });
}
