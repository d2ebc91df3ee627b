//! Which files a command is seen to write or to delete, and the rules about changing files that speak of them.

use super::command::changer::{Changed, changed};
use super::command::word::Word;
use super::command::wrapper::{Inner, inner};
use super::command::{Parsed, RedirectionKind, Simple};
use super::policy::Rules;
use super::rule::{Matcher, Rule, Verdict};
use crate::path::WorkspacePath;
use crate::tool::call::{Target, Zone};

/// How many programs that run programs are looked through.
const MAX_LEVEL: u8 = 12;

/// Most folders that a command goes to that are looked into.
const MAX_FOLDERS: usize = 8;

/// The tool whose rules are about files that go.
const DELETE: &str = "delete_file";

/// The rule that speaks of a file that the command changes, with the file's path: by a redirection, or by a program that is
/// known to change what its words name.
pub fn written<'a>(
    parsed: &Parsed,
    folder: &Target,
    rules: &Rules<'a>,
    verdict: Verdict,
) -> Option<(&'a Rule, String)> {
    rules.with(verdict).next()?;
    let mut commands = Vec::new();
    flatten(parsed, 0, &mut commands);
    let mut folders = vec![folder.clone()];
    for simple in &commands {
        let redirections = simple.redirections.iter().filter(|redirection| redirection.kind == RedirectionKind::Write);
        let redirected = redirections
            .filter_map(|redirection| Some(Changed { path: redirection.target.literal()?.to_owned(), removes: false }));
        for file in redirected.chain(changed(simple)) {
            for folder in &folders {
                let target = place(folder, &file.path);
                let about = |rule: &&Rule| speaks_of(&rule.matcher, &target, &file);
                if let Some(rule) = rules.with(verdict).find(about) {
                    return Some((rule, target.path));
                }
            }
        }
        if let (Some("cd" | "pushd"), Some(to)) = (simple.name(), simple.words.get(1).and_then(Word::literal))
            && folders.len() < MAX_FOLDERS
        {
            let next = folders.last().map(|last| place(last, to));
            folders.extend(next);
        }
    }
    None
}

/// Every simple command, also those that others would run.
fn flatten(parsed: &Parsed, level: u8, all: &mut Vec<Simple>) {
    for simple in &parsed.commands {
        all.push(simple.clone());
        match inner(simple, level) {
            Inner::Runs { parsed, .. } if level < MAX_LEVEL => flatten(&parsed, level + 1, all),
            Inner::Perhaps(commands) => all.extend(commands),
            Inner::Runs { .. } | Inner::Nothing | Inner::Unknown(..) => {}
        }
    }
}

/// Whether a rule speaks of a file that is changed, or of one below a folder that goes.
fn speaks_of(matcher: &Matcher, target: &Target, file: &Changed) -> bool {
    if matcher.tool == DELETE && !file.removes {
        return false;
    }
    let named = matcher.is_about(&matcher.tool, target);
    // What begins with a folder's name may be any file in it.
    let inside = file.path.ends_with('/') && {
        let mut below = target.clone();
        below.path.push_str("/_");
        if let Zone::Root(path) = &mut below.zone {
            path.rel.push_str("/_");
            if path.rel.starts_with('/') {
                path.rel.remove(0);
            }
        }
        matcher.is_about(&matcher.tool, &below)
    };
    let below = file.removes
        && matcher.pattern.as_ref().is_some_and(|pattern| match &target.zone {
            _ if pattern.starts_with('/') => pattern.starts_with(&format!("{}/", target.path.trim_end_matches('/'))),
            Zone::Root(path) if path.rel.is_empty() => true,
            Zone::Root(path) => pattern.starts_with(&format!("{}/", path.rel)),
            Zone::Readable | Zone::Plan | Zone::Protected | Zone::Outside => false,
        });
    named || inside || below
}

/// A path as a command in that folder means it, without looking at the disk.
fn place(folder: &Target, text: &str) -> Target {
    let join = |base: &str| {
        let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        parts.join("/")
    };
    if text.starts_with('/') {
        let within = match &folder.zone {
            Zone::Root(path) => inside_root(folder, path, text),
            Zone::Readable | Zone::Plan | Zone::Protected | Zone::Outside => None,
        };
        return Target { path: text.to_owned(), zone: within.unwrap_or(Zone::Outside) };
    }
    let zone = match &folder.zone {
        Zone::Root(path) => Zone::Root(WorkspacePath::new(path.root, join(&path.rel))),
        other => other.clone(),
    };
    Target { path: format!("/{}", join(&folder.path)), zone }
}

/// The place of an absolute path in the root that this folder lies in.
fn inside_root(folder: &Target, at: &WorkspacePath, text: &str) -> Option<Zone> {
    let root = if at.rel.is_empty() { Some(folder.path.as_str()) } else { folder.path.strip_suffix(at.rel.as_str()) };
    let rest = text.strip_prefix(root?.trim_end_matches('/'))?;
    let rel = rest.strip_prefix('/')?.trim_end_matches('/');
    (!rel.split('/').any(|part| part == "..")).then(|| Zone::Root(WorkspacePath::new(at.root, rel)))
}
