//! Every prompt file is named by the core's code, and every name is a file.

use super::assert_none;
use super::rust;
use super::tree::{self, File};
use std::collections::BTreeSet;

const PROMPTS: &str = "daemon/core/prompts/";
const SOURCE: &str = "daemon/core/src/";

/// Paths from the root that an `include_str!` of `file` can name, with whether the name is written out in full. One with
/// a macro's parameter in it can name as many files as there are texts in the source.
fn included(file: &File) -> Vec<(String, bool)> {
    let code = rust::without_comments(&file.text);
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let texts = rust::texts(&file.text);
    let mut named = Vec::new();
    for after in rust::after_word(&code, "include_str!") {
        let argument = argument(after);
        let whole = argument.trim().starts_with('"');
        let pieces = pieces(&argument);
        let mut paths = vec![String::new()];
        for piece in &pieces {
            paths = match piece {
                Some(text) => paths.into_iter().map(|path| path + text).collect(),
                None => paths.iter().flat_map(|path| texts.iter().map(move |text| format!("{path}{text}"))).collect(),
            };
        }
        named.extend(paths.into_iter().map(|path| (resolve(folder, &path), whole)));
    }
    named
}

/// What stands between the parentheses at the start of `after`.
fn argument(after: &str) -> String {
    let mut depth = 0;
    let mut inside = String::new();
    for c in after.trim_start().chars() {
        match c {
            ')' if depth == 1 => break,
            ')' => depth -= 1,
            '(' => {
                depth += 1;
                if depth == 1 {
                    continue;
                }
            }
            _ => {}
        }
        inside.push(c);
    }
    inside
}

/// Texts of the argument, and `None` for a macro's parameter.
fn pieces(argument: &str) -> Vec<Option<String>> {
    let inner = argument.trim().strip_prefix("concat!(").map_or(argument, |inner| inner.trim_end_matches(')'));
    inner
        .split(',')
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
        .map(|piece| piece.strip_prefix('"').map(|text| text.trim_end_matches('"').to_owned()))
        .collect()
}

fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn check(files: &[File]) -> Vec<String> {
    let sources = files.iter().filter(|file| file.path.starts_with(SOURCE) && file.has_ending(".rs"));
    let named: Vec<(String, bool)> = sources.flat_map(included).collect();
    let prompts: BTreeSet<&str> =
        files.iter().map(|file| file.path.as_str()).filter(|path| path.starts_with(PROMPTS)).collect();
    let orphans = prompts.iter().filter(|path| !named.iter().any(|(name, _)| name == *path));
    let mut findings: Vec<String> = orphans.map(|path| format!("{path}: no `include_str!` names it")).collect();
    for (name, whole) in &named {
        if *whole && name.starts_with(PROMPTS) && !prompts.contains(name.as_str()) {
            findings.push(format!("{name}: named, but not there"));
        }
    }
    findings
}

#[test]
fn every_prompt_is_named() {
    assert_none("prompt files", &check(&tree::files()));
}

#[test]
fn an_orphan_and_a_missing_prompt_are_found() {
    let source = "macro_rules! spec { ($name:literal) => { include_str!(concat!(\"../../prompts/tools/\", $name, \"/lean.md\")) } }\n\
                  spec!(\"grep\"); // spec!(\"gone\")\nconst A: &str = include_str!(\"../../prompts/a.md\");\n\
                  const B: &str = include_str!(\"../../prompts/missing.md\");";
    let files = [
        File::sample("daemon/core/src/tool/spec.rs", source),
        File::sample("daemon/core/prompts/tools/grep/lean.md", ""),
        File::sample("daemon/core/prompts/tools/gone/lean.md", ""),
        File::sample("daemon/core/prompts/a.md", ""),
    ];
    assert_eq!(
        check(&files),
        [
            "daemon/core/prompts/tools/gone/lean.md: no `include_str!` names it",
            "daemon/core/prompts/missing.md: named, but not there",
        ]
    );
}
