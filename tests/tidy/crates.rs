//! Crates and parts of `std` that only certain modules may use.

use super::assert_none;
use super::rust;
use super::tree::{self, File};

/// A name that begins a path, and the places where it may stand.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("rusqlite", &["daemon/src/store/"]),
    ("git2", &["daemon/src/workspace/"]),
    ("notify", &["daemon/src/workspace/"]),
    ("jsonrpsee", &["daemon/src/rpc/", "protocol/src/"]),
    ("jsonrpsee_core", &["daemon/src/rpc/", "protocol/src/"]),
    ("jsonrpsee_types", &["daemon/src/rpc/", "protocol/src/"]),
    ("agent_client_protocol_schema", &["daemon/src/acp/"]),
    ("reqwest", &["daemon/src/provider/", "daemon/src/tool/web_fetch/"]),
    ("rmcp", &["daemon/src/mcp/"]),
    ("directories", &["daemon/src/config/"]),
];

/// What starts a process or makes one's pipes. The rest of `std::process` is about this process itself.
const STARTS: &[&str] = &["Command", "Child", "Stdio", "ChildStdin", "ChildStdout", "ChildStderr"];

/// Paths that reach outside, time or chance: not for the core.
const NOT_IN_CORE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::thread",
    "std::process",
    "std::os",
    "std::time::Instant",
    "std::time::SystemTime",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "tokio",
    "rand",
    "uuid",
];

fn check(files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree::without_tests(files) {
        let code = rust::code(&file.text);
        let code = rust::without_tests(&code);
        for (name, places) in ONLY_IN {
            let used = rust::after_word(code, name).any(begins_path) || imported(code, name);
            if used && !places.iter().any(|place| file.path.starts_with(place)) {
                findings.push(format!("{}: `{name}` only in {}", file.path, places.join(", ")));
            }
        }
        if !file.path.starts_with("daemon/src/process/") && starts_processes(code) {
            findings.push(format!("{}: processes are started only by daemon/src/process", file.path));
        }
        if file.path.starts_with("daemon/core/src/") {
            for name in NOT_IN_CORE {
                if rust::after_word(code, name).next().is_some() {
                    findings.push(format!("{}: the core may not use `{name}`", file.path));
                }
            }
        }
    }
    findings
}

fn begins_path(after: &str) -> bool {
    after.starts_with("::")
}

fn imported(code: &str, name: &str) -> bool {
    code.lines().any(|line| {
        let path = line.trim_start().strip_prefix("use ").map(|rest| rest.trim_start_matches("::"));
        path.and_then(|path| path.strip_prefix(name)).is_some_and(|after| after.starts_with([';', ' ']))
    })
}

fn starts_processes(code: &str) -> bool {
    let names = |after: &str| {
        after.strip_prefix("::").map(|rest| rest.split([';', '(', ')']).next().unwrap_or(rest).to_owned())
    };
    let std = rust::after_word(code, "std::process").any(|after| {
        let named = names(after);
        named.is_none_or(|path| {
            let mut words = path.split(|c: char| !c.is_alphanumeric() && c != '_');
            let first = words.next().unwrap_or_default();
            if path.starts_with('{') { words.any(|word| STARTS.contains(&word)) } else { STARTS.contains(&first) }
        })
    });
    std || rust::after_word(code, "tokio::process").next().is_some()
}

#[test]
fn crates_stay_in_their_modules() {
    let files: Vec<File> = tree::with_ending(".rs")
        .into_iter()
        .filter(|file| file.path.starts_with("daemon/") || file.path.starts_with("protocol/"))
        .collect();
    assert_none("crates outside their modules", &check(&files));
}

#[test]
fn a_crate_outside_its_module_is_found() {
    let found = |path: &str, text: &str| check(&[File::sample(path, text)]);
    assert_eq!(
        found("daemon/src/session/a.rs", "fn a(c: &rusqlite::Connection) {}"),
        ["daemon/src/session/a.rs: `rusqlite` only in daemon/src/store/"]
    );
    assert_eq!(
        found("daemon/src/tool/a.rs", "use git2;"),
        ["daemon/src/tool/a.rs: `git2` only in daemon/src/workspace/"]
    );
    for starting in [
        "use std::process::Command;",
        "use std::process::{ExitCode, Stdio};",
        "std::process::Command::new(x)",
        "use std::process;",
        "use tokio::process::Command;",
    ] {
        assert_eq!(
            found("daemon/src/cli/a.rs", starting),
            ["daemon/src/cli/a.rs: processes are started only by daemon/src/process"],
            "{starting}"
        );
    }
    assert_eq!(
        found("daemon/core/src/time.rs", "let now = std::time::SystemTime::now();"),
        [
            "daemon/core/src/time.rs: the core may not use `std::time::SystemTime`",
            "daemon/core/src/time.rs: the core may not use `SystemTime::now`",
        ]
    );
    for right in [
        "use std::process::ExitCode; fn a() { std::process::exit(std::process::id()) }",
        "//! Not `rusqlite::Connection`.\nlet notify = Notify::new(); notify.notify_one();",
        "#[cfg(test)]\nmod tests { use std::process::Command; }",
    ] {
        assert_eq!(found("daemon/src/cli/a.rs", right), Vec::<String>::new(), "{right}");
    }
}
