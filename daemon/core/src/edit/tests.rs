//! Replacements and differences, byte for byte.

use super::*;

fn edit(content: &[u8], edits: &[(&str, &str, bool)]) -> Result<(Vec<u8>, Edit), EditError> {
    let edits: Vec<Replacement<'_>> = edits.iter().map(|(old, new, all)| Replacement { old, new, all: *all }).collect();
    replace(content, &edits, &Utf8).map(|edit| (edit.pieces(content).concat(), edit))
}

fn check(content: &[u8], edits: &[(&str, &str, bool)], expected: &[u8]) -> Edit {
    let (after, edit) = edit(content, edits).unwrap();
    assert_eq!(after, expected, "{} / {}", String::from_utf8_lossy(&after), String::from_utf8_lossy(expected));
    edit
}

fn refused(content: &[u8], edits: &[(&str, &str, bool)]) -> EditError {
    edit(content, edits).unwrap_err()
}

#[test]
fn line_ends_of_a_crlf_file_are_kept() {
    let file = b"foo\r\nbar\r\n";
    let one = check(file, &[("foo", "FOO", false)], b"FOO\r\nbar\r\n");
    let diff = one.diff(file, &Utf8);
    assert_eq!((diff.removed, diff.added, diff.text.as_str()), (1, 1, "@@ -1,2 +1,2 @@\n-foo\n+FOO\n bar\n"));
    let two = check(file, &[("foo\nbar", "FOO\nBAZ\nQUX", false)], b"FOO\r\nBAZ\r\nQUX\r\n");
    let diff = two.diff(file, &Utf8);
    assert_eq!(
        (diff.removed, diff.added, diff.text.as_str()),
        (2, 3, "@@ -1,2 +1,3 @@\n-foo\n-bar\n+FOO\n+BAZ\n+QUX\n")
    );
    assert_eq!((two.touches, two.wrote, two.lines_before, two.lines_after), (vec![(1, 2)], vec![(1, 3)], 2, 3));
    check(file, &[("\nbar", "\nbar\nbaz", false)], b"foo\r\nbar\r\nbaz\r\n");
    check(b"a\rb\rc", &[("a\nb", "x\ny\nz", false)], b"x\ry\rz\rc");
    check(b"one line", &[("one", "1\r\n2", false)], b"1\r\n2 line");
    assert!(matches!(refused(file, &[("foo\r", "x", false)]).kind, EditErrorKind::NotFound(_)));
}

#[test]
fn in_a_file_of_mixed_line_ends_each_place_keeps_its_own() {
    let file = b"a\r\nb\nc\r\nd\r\n";
    check(file, &[("a\nb\nc", "x\ny", false)], b"x\r\ny\r\nd\r\n");
    check(file, &[("b\nc", "x\ny", false)], b"a\r\nx\ny\r\nd\r\n");
    check(file, &[("d", "d\ne", false)], b"a\r\nb\nc\r\nd\r\ne\r\n");
    check(b"x\r\ny\nx\ny\n", &[("x\ny", "1\n2", true)], b"1\r\n2\n1\n2\n");
}

#[test]
fn a_final_line_end_is_neither_added_nor_removed() {
    let edit = check(b"one\ntwo", &[("one", "ONE", false)], b"ONE\ntwo");
    assert_eq!((edit.lines_before, edit.lines_after), (2, 2));
    let edit = check(b"one\ntwo", &[("two", "2", false)], b"one\n2");
    assert_eq!(
        edit.diff(b"one\ntwo", &Utf8).text,
        "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n"
    );
}

#[test]
fn bytes_that_are_no_text_stay_where_they_are() {
    check(b"const x = 1;\n// caf\xE9 note\n", &[("x = 1", "x = 2", false)], b"const x = 2;\n// caf\xE9 note\n");
    check(b"\x00\xFF\xC3a\xC3\x00", &[("a", "b\u{e4}", false)], b"\x00\xFF\xC3b\xC3\xA4\xC3\x00");
}

#[test]
fn the_new_text_is_literal() {
    let new = r"[$& $1 ${x} $$ $' $` \1 \n]";
    let expected = [b"A ".as_slice(), new.as_bytes(), b" B\n"].concat();
    check(b"A mark B\n", &[("mark", new, false)], &expected);
    check(b"A mark B\n", &[("mark", new, true)], &expected);
}

#[test]
fn an_empty_old_text_is_refused() {
    for edits in [&[("", "X", false)][..], &[("", "X", true)], &[("a", "b", false), ("", "X", false)]] {
        let error = refused(b"abc", edits);
        assert_eq!((error.index, error.kind.clone()), (edits.len() - 1, EditErrorKind::Empty));
        assert!(error.to_string().contains("old_string is empty"), "{error}");
    }
}

#[test]
fn one_bad_edit_of_many_names_its_index() {
    let file = b"const a = 1;\nconst b = 2;\n";
    let error = refused(file, &[("a = 1", "a = 10", false), ("const zz", "const yy", false)]);
    assert_eq!(error.index, 1);
    assert!(error.to_string().starts_with("edits[1]: old_string is not in the file."), "{error}");
}
