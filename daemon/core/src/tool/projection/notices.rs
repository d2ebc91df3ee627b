//! A notice of omission is never bare: whatever kind of result leaves something out, the words that say so end in a call
//! that can be made as it stands.

use super::tests::{VERSION, input, ok};
use super::*;
use crate::tool::args;
use crate::tool::call::{Diff, FileChange};
use crate::tool::outcome::{
    CommandRun, Edited, EditedFile, Entries, Entry, EntryKind, Exit, FileMatches, FileRead, LongLine, MatchLine,
    Matches, Output, TaskState,
};
use crate::tool::spec;
use serde_json::{Value, json};

/// Words with which something is said to be missing.
const MISSING: &[&str] = &["not shown", "counted only", " cut at ", "[cut from", "all but "];

/// The calls in a row.
fn calls(row: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (at, _) in row.match_indices(": ") {
        let Some((tool, rest)) = row[at + 2..].split_once(' ').filter(|(_, rest)| rest.starts_with('{')) else {
            continue;
        };
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        if let Some(Ok(arguments)) = values.next() {
            found.push((tool.to_owned(), arguments));
        }
    }
    found
}

/// A partial result: each of its notices, and there are `notices` of them, has a call that fits its tool.
fn check(what: &str, tool: &str, body: Body, saved: Saved<'_>, notices: usize) {
    let projection = project(&ProjectionInput { saved, ..input(tool, &ok(body)) });
    assert!(projection.partial && projection.text.lines().next().unwrap().contains(" · partial · "), "{what}");
    let mut found = 0;
    for row in projection.text.lines().skip(1).filter(|row| MISSING.iter().any(|word| row.contains(word))) {
        let calls = calls(row);
        assert!(!calls.is_empty(), "{what}: bare: {row}");
        for (tool, arguments) in calls {
            let schema = spec::find(&tool).unwrap_or_else(|| panic!("{what}: no tool `{tool}`: {row}")).schema;
            assert!(args::parse(&arguments.to_string(), schema).is_ok(), "{what}: {row}");
        }
        found += 1;
    }
    assert_eq!(found, notices, "{what}: {}", projection.text);
}

fn lines(count: usize) -> Vec<String> {
    (1..=count).map(|no| format!("line {no} of many with some words in it")).collect()
}

fn file(lines: Vec<String>) -> FileRead {
    let total_lines = lines.len() as u64;
    FileRead {
        path: "src/a \"b\".rs".into(),
        version: VERSION.into(),
        encoding: "utf-8".into(),
        eol: "lf".into(),
        total_lines,
        total_bytes: 1 << 20,
        first_line: 1,
        lines,
        ..FileRead::default()
    }
}

fn command(output: &str, stderr: &str, log: Option<&str>) -> CommandRun {
    let text = |text: &str| Output { head: text.to_owned(), total_bytes: text.len() as u64, ..Output::default() };
    CommandRun {
        command: "make".into(),
        cwd: ".".into(),
        exit: Exit::Code(1),
        duration_ms: 1,
        output: text(output),
        stderr: text(stderr),
        log: log.map(str::to_owned),
        left_running: vec![],
        limits: None,
    }
}

#[test]
fn files_and_texts() {
    check("a gap", "read_file", Body::File(file(lines(2_000))), Saved::No, 1);
    let asked = FileRead { asked_range: true, ..file(lines(2_000)) };
    check("an asked range", "read_file", Body::File(asked), Saved::No, 1);
    let long = LongLine { line: 2, chars: 9_000, cut_at: 2_010, end: 9_010 };
    let cut = FileRead { long_lines: vec![long], ..file(vec!["a".into(), "x".repeat(9_000)]) };
    check("a long line", "read_file", Body::File(cut), Saved::No, 1);
    let bytes = FileRead { bytes: Some((10, 40_010)), ..file(vec!["word ".repeat(8_000)]) };
    check("bytes", "read_file", Body::File(bytes), Saved::No, 1);
    let text = format!("{}\n{}", "long ".repeat(1_000), lines(3_000).join("\n"));
    check("a text", "mcp_tool", Body::Text(text), Saved::At("/d/s/artifacts/c7.txt"), 2);
}

#[test]
fn listings_and_matches() {
    let entry = |no: usize| Entry { path: format!("file {no}.txt"), kind: EntryKind::File, size: Some(1) };
    let listing = |pattern: Option<&str>| Entries {
        base: "src".into(),
        pattern: pattern.map(str::to_owned),
        entries: (0..900).map(entry).collect(),
        args: match pattern {
            Some(pattern) => json!({ "glob_pattern": pattern, "include_ignored": true }),
            None => json!({ "target_directory": "src", "ignore_globs": ["*.o"] }),
        },
        ..Entries::default()
    };
    check("a folder", "list_dir", Body::Entries(listing(None)), Saved::No, 1);
    check("a glob", "glob_file_search", Body::Entries(listing(Some("*.txt"))), Saved::No, 1);
    let line = |line: u64, cut: Option<u64>| MatchLine { line, text: "a match".into(), cut, is_match: true };
    let of =
        |path: &str, count: u64, lines: Vec<MatchLine>| FileMatches { path: path.into(), count, lines, source: None };
    let found = Matches {
        pattern: "a(".into(),
        files: vec![
            of("cut", 1, vec![line(1, Some(9_000))]),
            of("more", 9, vec![line(1, None)]),
            of("counted", 5, vec![]),
            of("pages", 900, (1..=900).map(|no| line(no, None)).collect()),
        ],
        total: 915,
        args: json!({ "pattern": "a(", "literal": true, "glob": "*.c" }),
        ..Matches::default()
    };
    check("a search", "grep", Body::Matches(found.clone()), Saved::No, 4);
    // A further call searches in the same way.
    let text = project(&input("grep", &ok(Body::Matches(found)))).text;
    let row = text.lines().find(|row| row.starts_with("[counted only: ")).unwrap();
    let again = json!({ "pattern": "a(", "literal": true, "glob": "*.c", "path": "counted" });
    assert_eq!(calls(row), [("grep".to_owned(), again)]);
}

#[test]
fn commands_and_edits() {
    let output = lines(2_000).join("\n");
    let log = Some("/d/s/artifacts/c7.log");
    check("a command", "run_terminal_cmd", Body::Command(command(&output, "", log)), Saved::No, 1);
    let errors = (1..=600).map(|no| format!("warning {no} about something")).collect::<Vec<_>>().join("\n");
    let both = command(&format!("{errors}\n{output}"), &errors, log);
    check("both streams", "run_terminal_cmd", Body::Command(both), Saved::No, 2);
    let capped =
        Output { omitted: 1 << 30, total_bytes: 1 << 31, tail: "end\n".into(), ..command(&output, "", log).output };
    let capped = CommandRun { output: capped, ..command("", "", log) };
    check("a capped log", "run_terminal_cmd", Body::Command(capped), Saved::No, 1);
    let wide = command(&"wide ".repeat(9_000), "", log);
    check("one long line", "run_terminal_cmd", Body::Command(wide), Saved::No, 1);
    let run = CommandRun { exit: Exit::Running, ..command("a\n", "", log) };
    let task = TaskState { id: CallId(7), run, from: 0, gap: Some((2, 900_000)) };
    check("a task", "task_output", Body::Task(task), Saved::No, 1);
    let diff = Diff {
        text: format!("@@ -1,1 +1,900 @@\n{}", "+a new line of text\n".repeat(900)),
        added: 900,
        removed: 0,
        cut: 5,
    };
    let change = FileChange {
        path: "/w/a".into(),
        shown: "a".into(),
        before: Some("b".repeat(32)),
        after: Some(VERSION.into()),
        diff,
        ..FileChange::default()
    };
    let file = EditedFile { change, lines_after: 900, wrote: vec![(1, 900)] };
    check("an edit", "string_replace", Body::Edit(Edited { files: vec![file], notes: vec![] }), Saved::No, 1);
}

#[test]
fn what_no_log_holds_is_shown_whole() {
    let output = lines(2_000).join("\n");
    let projection = project(&input("run_terminal_cmd", &ok(Body::Command(command(&output, "", None)))));
    assert!(!projection.partial && projection.text.ends_with(&output), "{}", &projection.text[..200]);
}
