//! Who may use whom: between the modules of the shell, and between the floors of the core.

use super::assert_none;
use super::rust;
use super::tree::{self, File};
use std::collections::{BTreeMap, BTreeSet};

/// Ground floor of the shell: every module may use these.
const GROUND: &[&str] = &["file_io", "process", "shutdown"];

/// Modules of the shell, and which others each may use besides the ground. `cli` starts everything and so knows everything.
const SHELL: &[(&str, &[&str])] = &[
    ("file_io", &[]),
    ("process", &[]),
    ("shutdown", &[]),
    ("telemetry", &["config"]),
    ("config", &["provider"]),
    ("store", &[]),
    ("provider", &[]),
    ("tool", &["workspace", "search"]),
    ("workspace", &[]),
    ("search", &["workspace"]),
    ("mcp", &["tool"]),
    ("session", &["config", "mcp", "provider", "search", "store", "tool", "workspace"]),
    ("rpc", &["config", "session"]),
    // It is carried by the connection of `rpc`: the same frames, queue and errors.
    ("acp", &["config", "rpc", "session"]),
    (
        "cli",
        &["acp", "config", "mcp", "provider", "rpc", "search", "session", "store", "telemetry", "tool", "workspace"],
    ),
];

/// Modules of the shell that may use the wire types.
const PROTOCOL_USERS: &[&str] = &["acp", "cli", "rpc"];

/// Floors of the core from the ground up; a module uses its own floor and those below. An event stands with the items
/// that it refers to, because one batch holds both.
const FLOORS: &[&[&str]] = &[
    &["escape", "id", "ingest", "media", "path", "prompt", "time", "tokens"],
    &["edit", "tool", "workspace"],
    &["event", "ledger", "model", "permission", "task", "transcript", "verification"],
    &["checkpoint", "context"],
    &["compaction", "reminder"],
    &["turn"],
];

/// Where a file's module stands: the top module and how deep the file is in the crate.
fn module(path: &str, source: &str) -> Option<(String, usize)> {
    let inside = path.strip_prefix(source)?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    let top = inside.split('/').next()?;
    Some((top.to_owned(), inside.split('/').count()))
}

/// Top modules of its own crate that a file names.
fn uses(file: &File, depth: usize, known: &BTreeSet<&str>) -> BTreeSet<String> {
    let code = rust::code(&file.text);
    let code = rust::without_tests(&code);
    let mut paths: Vec<&str> = rust::after_word(code, "crate").filter_map(|rest| rest.strip_prefix("::")).collect();
    // `super::` as often as the file is deep leads to the crate.
    let supers = "super::".repeat(depth);
    paths.extend(
        code.match_indices(&supers)
            .filter(|(at, _)| !code[..*at].ends_with("super::"))
            .map(|(at, _)| &code[at + supers.len()..]),
    );
    paths.into_iter().flat_map(first_names).filter(|name| known.contains(name.as_str())).collect()
}

/// The first name of a path, or of each path in a group.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let mut names = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(name(group[start..at].trim_start()));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(name(group[start..at].trim_start()));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// What each module uses, with a file that shows it.
type Edges = BTreeMap<(String, String), String>;

fn edges(files: &[File], source: &str, known: &BTreeSet<&str>) -> Edges {
    let mut edges = Edges::new();
    for file in tree::without_tests(files) {
        let Some((from, depth)) = module(&file.path, source) else { continue };
        for to in uses(file, depth, known) {
            if to != from && known.contains(from.as_str()) {
                edges.entry((from.clone(), to)).or_insert_with(|| file.path.clone());
            }
        }
    }
    edges
}

fn unknown_modules(files: &[File], source: &str, known: &BTreeSet<&str>) -> Vec<String> {
    let tops = files.iter().filter_map(|file| module(&file.path, source)).map(|(top, _)| top);
    let tops: BTreeSet<String> = tops.filter(|top| !["lib", "main"].contains(&top.as_str())).collect();
    tops.into_iter()
        .filter(|top| !known.contains(top.as_str()))
        .map(|top| format!("{source}{top} has no place in the table of layers"))
        .collect()
}

fn check_shell(files: &[File]) -> Vec<String> {
    let source = "daemon/src/";
    let known: BTreeSet<&str> = SHELL.iter().map(|(name, _)| *name).collect();
    let mut findings = unknown_modules(files, source, &known);
    for ((from, to), file) in edges(files, source, &known) {
        let allowed =
            SHELL.iter().find(|(name, _)| *name == from).is_some_and(|(_, to_all)| to_all.contains(&to.as_str()));
        let to_ground = GROUND.contains(&to.as_str()) && !GROUND.contains(&from.as_str());
        let among_ground = GROUND.contains(&to.as_str()) && to != "shutdown";
        if !(allowed || to_ground || among_ground) {
            findings.push(format!("{file}: `{from}` may not use `{to}`"));
        }
    }
    for file in tree::without_tests(files) {
        let Some((from, _)) = module(&file.path, source) else { continue };
        let code = rust::code(&file.text);
        let used = rust::after_word(rust::without_tests(&code), "plimsoll_protocol").next().is_some();
        if used && !PROTOCOL_USERS.contains(&from.as_str()) {
            findings.push(format!("{}: `{from}` may not use the wire types", file.path));
        }
    }
    findings
}

fn check_core(files: &[File]) -> Vec<String> {
    let source = "daemon/core/src/";
    let known: BTreeSet<&str> = FLOORS.concat().into_iter().collect();
    let floor = |name: &str| FLOORS.iter().position(|floor| floor.contains(&name));
    let mut findings = unknown_modules(files, source, &known);
    let edges = edges(files, source, &known);
    for ((from, to), file) in &edges {
        if floor(to) > floor(from) {
            findings.push(format!("{file}: `{from}` uses `{to}`, which stands above it"));
        } else if edges.contains_key(&(to.clone(), from.clone())) && from < to {
            findings.push(format!("{file}: `{from}` and `{to}` use each other"));
        }
    }
    findings
}

#[test]
fn the_shell_keeps_its_layers() {
    assert_none("layers of the shell", &check_shell(&tree::with_ending(".rs")));
}

#[test]
fn the_core_keeps_its_floors() {
    assert_none("floors of the core", &check_core(&tree::with_ending(".rs")));
}

#[test]
fn a_wrong_edge_in_the_shell_is_found() {
    let found = |path: &str, text: &str| check_shell(&[File::sample(path, text)]);
    assert_eq!(
        found("daemon/src/store/mod.rs", "use crate::session::api;"),
        ["daemon/src/store/mod.rs: `store` may not use `session`"]
    );
    assert_eq!(
        found("daemon/src/tool/grep/run.rs", "use crate::{file_io, store::{a, b}};"),
        ["daemon/src/tool/grep/run.rs: `tool` may not use `store`"]
    );
    assert_eq!(
        found("daemon/src/tool/grep.rs", "use super::super::store;"),
        ["daemon/src/tool/grep.rs: `tool` may not use `store`"]
    );
    assert_eq!(
        found("daemon/src/session/mod.rs", "use plimsoll_protocol::session;"),
        ["daemon/src/session/mod.rs: `session` may not use the wire types"]
    );
    assert_eq!(
        found("daemon/src/process/mod.rs", "use crate::config;"),
        ["daemon/src/process/mod.rs: `process` may not use `config`"]
    );
    assert_eq!(found("daemon/src/helpers.rs", ""), ["daemon/src/helpers has no place in the table of layers"]);
    for right in [
        "//! See crate::session.\nuse crate::process;",
        "use super::batch;",
        "fn a() { \"crate::session\"; }\n#[cfg(test)]\nmod tests { use crate::session; }",
    ] {
        assert_eq!(found("daemon/src/store/batch.rs", right), Vec::<String>::new(), "{right}");
    }
}

#[test]
fn a_wrong_edge_in_the_core_is_found() {
    let found = |files: &[(&str, &str)]| {
        check_core(&files.iter().map(|(path, text)| File::sample(path, text)).collect::<Vec<_>>())
    };
    assert_eq!(
        found(&[("daemon/core/src/tool/mod.rs", "use crate::context::view;")]),
        ["daemon/core/src/tool/mod.rs: `tool` uses `context`, which stands above it"]
    );
    assert_eq!(
        found(&[("daemon/core/src/event.rs", "crate::model::X"), ("daemon/core/src/model/x.rs", "crate::event::Y")]),
        ["daemon/core/src/event.rs: `event` and `model` use each other"]
    );
    assert_eq!(found(&[("daemon/core/src/turn/mod.rs", "use crate::{context, tool};")]), Vec::<String>::new());
}
