//! Every prompt file is named by the core's code, and every name is a file. Every lean text was made from the full text
//! that is there now.

use super::assert_none;
use super::rust;
use super::tree::{self, File};
use std::collections::{BTreeMap, BTreeSet};

const PROMPTS: &str = "daemon/core/prompts/";
const SOURCE: &str = "daemon/core/src/";
/// For each lean text the hash of the full one that it was made from. No text itself.
const RECORD: &str = "daemon/core/prompts/lean/made_from.txt";

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
    let prompts: BTreeSet<&str> = files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| path.starts_with(PROMPTS) && *path != RECORD)
        .collect();
    let orphans = prompts.iter().filter(|path| !named.iter().any(|(name, _)| name == *path));
    let mut findings: Vec<String> = orphans.map(|path| format!("{path}: no `include_str!` names it")).collect();
    for (name, whole) in &named {
        if *whole && name.starts_with(PROMPTS) && !prompts.contains(name.as_str()) {
            findings.push(format!("{name}: named, but not there"));
        }
    }
    findings
}

/// Each lean text with the hash of what it is made from: that of a tool from the tool's full one, that of the bundle from
/// the file of the same name, and `system.md` from all of the other bundle.
fn lean_texts(files: &[File]) -> Vec<(&str, Option<u64>)> {
    let prompts: Vec<(&str, &str)> =
        files.iter().filter_map(|file| Some((file.path.strip_prefix(PROMPTS)?, file.text.as_str()))).collect();
    let of = |wanted: &dyn Fn(&str) -> bool| {
        let mut texts: Vec<_> = prompts.iter().filter(|(path, _)| wanted(path)).collect();
        texts.sort_unstable();
        (!texts.is_empty()).then(|| hash(texts.iter().flat_map(|(path, text)| [*path, *text])))
    };
    let made_from = |path: &str| {
        if path == "lean/system.md" {
            return Some(of(&|other| other.starts_with("full/")));
        }
        let full = match (path.strip_prefix("lean/"), path.strip_suffix("/lean.md")) {
            (Some(name), _) if name.rsplit_once('.').is_some_and(|(_, end)| end == "md") => format!("full/{name}"),
            (_, Some(folder)) => format!("{folder}/full.md"),
            _ => return None,
        };
        Some(of(&|other| other == full))
    };
    prompts.iter().filter_map(|(path, _)| Some((*path, made_from(path)?))).collect()
}

/// FNV-1a, because it must be the same for ever and nobody attacks it.
fn hash<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    let bytes = texts.flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn check_record(files: &[File]) -> Vec<String> {
    let record = files.iter().find(|file| file.path == RECORD).map_or("", |file| file.text.as_str());
    let recorded: BTreeMap<&str, &str> =
        record.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' ')).collect();
    let lean = lean_texts(files);
    let mut findings = Vec::new();
    for (path, made_from) in &lean {
        let Some(hash) = made_from else {
            findings.push(format!("{PROMPTS}{path}: there is no full text of which it is the lean one"));
            continue;
        };
        let line = format!("{path} {hash:016x}");
        match recorded.get(path) {
            Some(known) if *known == format!("{hash:016x}") => {}
            Some(_) => findings.push(format!(
                "{PROMPTS}{path}: the full text has changed since this was made from it; read both, bring the lean one \
                 up to date where it must be, then write `{line}` in {RECORD}"
            )),
            None => findings.push(format!("{PROMPTS}{path}: write `{line}` in {RECORD}")),
        }
    }
    let unknown = recorded.keys().filter(|path| !lean.iter().any(|(lean, _)| lean == *path));
    findings.extend(unknown.map(|path| format!("{RECORD}: `{path}` is no lean text; take the line out")));
    findings
}

#[test]
fn every_lean_text_is_made_from_the_present_full_one() {
    assert_none("lean texts", &check_record(&tree::files()));
}

#[test]
fn a_full_text_that_changed_is_found_until_the_record_says_that_the_lean_one_was_looked_at() {
    let files = |full: &str, record: &str| {
        vec![
            File::sample("daemon/core/prompts/tools/grep/lean.md", "Search.\n"),
            File::sample("daemon/core/prompts/tools/grep/full.md", full),
            File::sample(RECORD, record),
        ]
    };
    let record =
        format!("# lean, full\ntools/grep/lean.md {:016x}\n", hash(["tools/grep/full.md", "A.\n"].into_iter()));
    assert_eq!(check_record(&files("A.\n", &record)), [""; 0]);
    let [changed] = check_record(&files("B.\n", &record)).try_into().expect("one finding");
    assert!(changed.contains("has changed since") && changed.contains("then write `tools/grep/lean.md "), "{changed}");
    let [missing] = check_record(&files("A.\n", "")).try_into().expect("one finding");
    assert!(missing.contains(&format!("write `{}`", record.lines().nth(1).expect("a line"))), "{missing}");
    let [gone] = check_record(&files("A.\n", &format!("{record}tools/x/lean.md 0\n"))).try_into().expect("one finding");
    assert!(gone.contains("`tools/x/lean.md` is no lean text"), "{gone}");
    let alone = [File::sample("daemon/core/prompts/tools/grep/lean.md", "")];
    let [alone] = check_record(&alone).try_into().expect("one finding");
    assert!(alone.contains("there is no full text"), "{alone}");
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
