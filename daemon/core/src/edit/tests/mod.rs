//! Replacements and differences, byte for byte.

mod encodings;
mod near;
mod properties;
mod size;

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

#[test]
fn a_text_that_is_not_unique_names_its_places() {
    let error = refused(b"x = 1\ny\nx = 1\nx = 1\n", &[("x = 1", "x = 2", false)]);
    assert_eq!(error.kind, EditErrorKind::NotUnique { count: 3, lines: vec![1, 3, 4] });
    assert_eq!(
        error.to_string(),
        "edits[0]: old_string is there 3 times, at lines 1, 3, 4. Give more of the text around the one that is meant, or \
         set replace_all."
    );
    let many = "z\n".repeat(40);
    let error = refused(many.as_bytes(), &[("z", "y", false)]);
    assert!(error.to_string().contains("40 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …."), "{error}");
    // Two that overlap are two places.
    assert!(matches!(refused(b"aaa", &[("aa", "b", false)]).kind, EditErrorKind::NotUnique { count: 2, .. }));
    assert!(matches!(refused(b"\r\n\r\n\r\n", &[("\n\n", "x", false)]).kind, EditErrorKind::NotUnique { .. }));
    check(b"aaa", &[("aa", "b", true)], b"ba");
}

#[test]
fn what_would_change_nothing_is_refused() {
    assert_eq!(refused(b"a", &[("a", "a", false)]).kind, EditErrorKind::Same);
    assert_eq!(refused(b"a\r\nb", &[("a\nb", "a\r\nb", false)]).kind, EditErrorKind::Same);
}

#[test]
fn tags_that_were_shown_escaped_match_what_the_file_has() {
    let file = b"see <user_query>x</user_query>\n";
    let edit = check(
        file,
        &[("&lt;user_query>x&lt;/user_query>", "&lt;user_query>y&lt;/user_query> &lt;b>", false)],
        b"see <user_query>y</user_query> &lt;b>\n",
    );
    assert_eq!(edit.notes.len(), 1);
    // What the file has as it was given goes first.
    check(b"&lt;user_query> <user_query>", &[("&lt;user_query>", "q", false)], b"q <user_query>");
}

#[test]
fn edits_see_what_those_before_them_left() {
    let edit = check(
        b"one\ntwo\nthree\n",
        &[("two", "2\n2b", false), ("2b\nthree", "3", false), ("one", "", false), ("2", "<2>", false)],
        b"\n<2>\n3\n",
    );
    assert_eq!(edit.splices.len(), 2);
    assert_eq!((edit.touches, edit.wrote, edit.lines_before, edit.lines_after), (vec![(1, 3)], vec![(1, 3)], 3, 3));
    // Back to what was there before: nothing is left to be done.
    assert_eq!(check(b"ab", &[("a", "x", false), ("x", "a", false)], b"ab").splices, []);
}

#[test]
fn whole_lines_that_change_are_counted() {
    let lines = |content: &[u8], old: &str, new: &str| {
        let (_, edit) = edit(content, &[(old, new, false)]).unwrap();
        (edit.touches, edit.wrote, edit.lines_after)
    };
    let file = b"a\nb\nc\nd\n";
    assert_eq!(lines(file, "b\n", ""), (vec![(2, 1)], vec![(2, 0)], 3));
    assert_eq!(lines(file, "b\n", "x"), (vec![(2, 2)], vec![(2, 1)], 3));
    assert_eq!(lines(file, "b", "x\ny"), (vec![(2, 1)], vec![(2, 2)], 5));
    assert_eq!(lines(file, "b\n", "x\ny\n"), (vec![(2, 1)], vec![(2, 2)], 5));
    assert_eq!(lines(file, "\nb", "!\nb"), (vec![(1, 2)], vec![(1, 2)], 4));
    assert_eq!(lines(b"a\nb", "\nb", ""), (vec![(1, 2)], vec![(1, 1)], 1));
    let all = edit(b"x a\nb\nx\nx\n", &[("x", "y\ny", true)]).unwrap().1;
    assert_eq!((all.touches, all.wrote), (vec![(1, 1), (3, 2)], vec![(1, 2), (4, 4)]));
}

#[test]
fn a_file_that_is_written_is_compared_line_by_line() {
    let before = b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
    let after = b"a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
    let found = whole(Some(before), after, &Utf8);
    assert_eq!((found.lines_before, found.lines_after), (10, 11));
    assert_eq!(found.diff.text, "@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -8,3 +8,4 @@\n h\n i\n j\n+k\n");
    assert_eq!(whole(None, b"x\n", &Utf8).diff.text, "@@ -0,0 +1,1 @@\n+x\n");
    assert_eq!(deleted(b"x\ny", &Utf8).diff.text, "@@ -1,2 +0,0 @@\n-x\n-y\n\\ No newline at end of file\n");
    assert_eq!(whole(Some(before), before, &Utf8).diff, Diff::default());
    assert_eq!(whole(Some(b""), b"", &Utf8), Whole::default());
    let marked = whole(Some(b"\xEF\xBB\xBFa\n"), b"\xEF\xBB\xBFb\n", &Utf8);
    assert_eq!(marked.diff.text, "@@ -1,1 +1,1 @@\n-a\n+b\n");
}

#[test]
fn the_line_ends_of_a_file_are_given_to_what_is_written_over_it() {
    assert_eq!(keep_eol(b"a\r\nb\r\n", "x\ny\r\n", &Utf8), "x\r\ny\r\n");
    assert_eq!(keep_eol(b"a\nb\n", "x\r\ny\n", &Utf8), "x\ny\n");
    for before in [&b"a"[..], b"", b"a\r\nb\n"] {
        assert_eq!(keep_eol(before, "x\r\ny\n", &Utf8), "x\r\ny\n");
    }
}
