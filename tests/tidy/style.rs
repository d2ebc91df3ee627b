//! Sizes, headers, exceptions and words.

use super::assert_none;
use super::rust;
use super::tree::{self, File};

/// Most lines of a Rust file.
const LINES: usize = 500;

/// Marks of what is not finished; in pieces, so that this file does not find itself.
const UNFINISHED: &[&str] = &[concat!("todo", "!("), concat!("unimplemented", "!("), concat!("To be", " filled")];

/// Roots of folders that exist on one machine only.
const MACHINE: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/Us", "ers/")];

fn check_rust(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    let mut find = |holds: bool, fault: &str| {
        if !holds {
            findings.push(format!("{}: {fault}", file.path));
        }
    };
    find(file.text.lines().count() <= LINES, "longer than 500 lines");
    let is_tests = file.path.ends_with("/tests.rs") || file.path.ends_with("_tests.rs");
    find(is_tests || file.text.trim_start().starts_with("//!"), "no module header (`//!`)");
    for mark in UNFINISHED {
        find(!file.text.contains(mark), &format!("`{mark}`: not finished"));
    }
    let code = rust::code(&file.text);
    for (at, _) in code.match_indices(concat!("[all", "ow(")) {
        // Shared test code is used in part by each test, so what it expects differs from one to the next.
        let attribute = code[at..].split(")]").next().unwrap_or_default();
        find(file.is_test() && attribute.contains("reason ="), "`allow`: write `expect` with a reason");
    }
    for (at, _) in code.match_indices("[expect(") {
        let attribute = code[at..].split(")]").next().unwrap_or_default();
        find(attribute.contains("reason ="), "`expect` without a reason");
    }
    for (at, _) in code.match_indices("#[ignore") {
        find(code[at..].starts_with("#[ignore ="), "`ignore` without a reason");
    }
    findings
}

fn check_paths(file: &File, home: Option<&str>) -> Vec<String> {
    let own = tree::root();
    let own = own.to_string_lossy();
    let places = MACHINE.iter().copied().chain([own.as_ref()]).chain(home);
    places
        .filter(|place| file.text.contains(place))
        .map(|place| format!("{}: `{place}` exists on one machine only", file.path))
        .collect()
}

#[test]
fn rust_files_are_short_finished_and_say_what_they_are() {
    let findings: Vec<String> = tree::with_ending(".rs").iter().flat_map(check_rust).collect();
    assert_none("style", &findings);
}

#[test]
fn no_file_names_a_machine() {
    let home = std::env::var("HOME").ok().filter(|home| home.len() > 6);
    let findings: Vec<String> = tree::files().iter().flat_map(|file| check_paths(file, home.as_deref())).collect();
    assert_none("absolute paths", &findings);
}

#[test]
fn faults_of_style_are_found() {
    let header = "//! What it is.\n";
    let found = |text: String| check_rust(&File::sample("daemon/src/a.rs", &text));
    let fault = |text: &str| vec![format!("daemon/src/a.rs: {text}")];
    assert_eq!(found(header.repeat(501)), fault("longer than 500 lines"));
    assert_eq!(found("fn a() {}".into()), fault("no module header (`//!`)"));
    assert_eq!(found(format!("{header}{}", UNFINISHED[2])), fault(&format!("`{}`: not finished", UNFINISHED[2])));
    assert_eq!(
        found(format!("{header}#![{}dead_code)]", &concat!("[all", "ow(")[1..])),
        fault("`allow`: write `expect` with a reason")
    );
    assert_eq!(found(format!("{header}#[expect(dead_code)]")), fault("`expect` without a reason"));
    assert_eq!(found(format!("{header}#[expect(dead_code, reason = \"x\")]")), Vec::<String>::new());
    assert_eq!(found(format!("{header}#[ignore]")), fault("`ignore` without a reason"));
    assert_eq!(
        found(format!("{header}// {}x)]\n\"#[{}x)]\"", concat!("[all", "ow("), &concat!("[all", "ow(")[1..])),
        Vec::<String>::new()
    );
}

#[test]
fn a_path_of_one_machine_is_found() {
    let file = File::sample("a.md", &format!("see {}x and /elsewhere/me", MACHINE[0]));
    assert_eq!(
        check_paths(&file, Some("/elsewhere")),
        [
            format!("a.md: `{}` exists on one machine only", MACHINE[0]),
            "a.md: `/elsewhere` exists on one machine only".to_owned(),
        ]
    );
}
