//! What is said of a text that is not there.

use super::*;

const FILE: &[u8] =
    b"fn main() {\n    let total = sum(values);\n    print(total);\n}\n\nfn other() {\n\tlet total = 1;\n}\n";

fn told(old: &str, expected: &str) {
    assert_eq!(refused(FILE, &[(old, "something else", false)]).kind.to_string(), expected);
}

#[test]
fn other_blanks_are_named_with_the_lines_as_they_are() {
    told(
        "  let total = sum(values);\n  print(total);",
        "old_string is not in the file. These lines differ from it only in blanks; copy them exactly:\n\
         2|    let total = sum(values);\n3|    print(total);",
    );
    told(
        "fn main() {  \n",
        "old_string is not in the file. These lines differ from it only in blanks; copy them exactly:\n\
         1|fn main() {\n2|    let total = sum(values);",
    );
}

#[test]
fn the_first_line_that_differs_is_named() {
    told(
        "fn main() {\n    let total = sum(values);\n    print(totals);\n}",
        "old_string is not in the file. It is the same here up to its line 3, which is line 3 of the file:\n\
         2|    let total = sum(values);\n3|    print(total);",
    );
}

#[test]
fn similar_lines_are_named() {
    told(
        "    let total = sum(value);",
        "old_string is not in the file. The most similar lines:\n2|    let total = sum(values);",
    );
    told("zebra crossing", "old_string is not in the file. No line is similar; read the file again.");
    told("\u{e4}", "old_string is not in the file. No line is similar; read the file again.");
}

#[test]
fn pasted_line_numbers_are_recognised() {
    told(
        "2|    let total = sum(values);\n3|    print(total);",
        "old_string is not in the file. Without the line numbers before its lines (`12|`) it is here:\n\
         2|    let total = sum(values);\n3|    print(total);",
    );
}

#[test]
fn an_edit_that_was_made_before_is_recognised() {
    let error = refused(FILE, &[("zebra", "print(total);", false)]);
    assert_eq!(
        error.kind.to_string(),
        "old_string is not in the file. new_string is there already, so the edit may have been made:\n3|    print(total);"
    );
}

#[test]
fn a_long_line_is_told_cut() {
    let file = [b"begin ".repeat(1_000), b"\n".to_vec()].concat();
    let error = refused(&file, &[(&"begin".repeat(1_000), "x", false)]);
    assert!(error.to_string().len() < 600, "{error}");
}
