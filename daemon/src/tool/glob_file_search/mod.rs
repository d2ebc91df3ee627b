//! `glob_file_search`: files below a folder whose path matches a pattern, newest first.

use super::scope::{self, Resolved, recheck, resolve_existing};
use super::walk::{Walk, Walked, unreadable_note};
use super::{Tool, ToolEnv, ToolRun, blocking};
use crate::tool::blocking::Stop;
use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use plimsoll_core::tool::call::{Call, Prepared, Zone};
use plimsoll_core::tool::outcome::{Body, Entries, Entry, EntryKind, Outcome, Status};
use serde::Deserialize;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files that a result keeps, the newest ones: more than any model pages through.
const MOST_FILES: usize = 10_000;

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct GlobFileSearch;

#[derive(Debug, Clone, Deserialize)]
struct Args {
    glob_pattern: String,
    target_directory: Option<String>,
    #[serde(default)]
    include_ignored: bool,
}

/// A pattern, taken apart.
#[derive(Debug)]
struct Pattern {
    /// The folder that it begins with, when it is absolute; then no other folder counts.
    absolute: Option<String>,
    /// Folders that it names without wildcards, below the base.
    prefix: PathBuf,
    /// The whole pattern has no wildcard.
    literal: bool,
    /// The pattern relative to the base.
    relative: String,
    matcher: GlobMatcher,
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        let mut pattern = text.trim();
        if pattern.is_empty() {
            return Err("`glob_pattern` is empty. Use `**` for all files.".to_owned());
        }
        let mut absolute = None;
        if pattern.starts_with('/') {
            let fixed = literal_folders(pattern);
            absolute = Some(format!("/{}", pattern.get(1..fixed).unwrap_or_default().trim_end_matches('/')));
            pattern = pattern.get(fixed..).unwrap_or_default();
        }
        while let Some(rest) = pattern.strip_prefix("./") {
            pattern = rest;
        }
        if pattern.split('/').any(|part| part == "..") {
            return Err("`glob_pattern` cannot climb with `..`: name the folder in `target_directory`.".to_owned());
        }
        let mut relative = pattern.to_owned();
        if relative.ends_with('/') {
            relative.push_str("**");
        }
        let fixed = literal_folders(&relative);
        let prefix = PathBuf::from(relative.get(..fixed).unwrap_or_default());
        let literal = !relative.contains(WILD);
        let any_depth = !relative.contains('/') && absolute.is_none();
        let full = if any_depth { format!("**/{relative}") } else { relative.clone() };
        let glob = GlobBuilder::new(&full).literal_separator(true).build();
        let matcher = glob.map_err(|error| format!("`glob_pattern`: {error}."))?.compile_matcher();
        Ok(Self { absolute, prefix, literal, relative, matcher })
    }
}

const WILD: [char; 5] = ['*', '?', '[', '{', '\\'];

/// Length of the leading folders of a pattern that have no wildcards, with their last slash.
fn literal_folders(pattern: &str) -> usize {
    let fixed = pattern.find(WILD).unwrap_or(pattern.len());
    pattern.get(..fixed).and_then(|fixed| fixed.rfind('/')).map_or(0, |slash| slash + 1)
}

impl Args {
    fn base<'a>(&'a self, pattern: &'a Pattern) -> &'a str {
        pattern.absolute.as_deref().or(self.target_directory.as_deref()).unwrap_or(".")
    }
}

impl Tool for GlobFileSearch {
    fn name(&self) -> &'static str {
        "glob_file_search"
    }

    fn prepare<'a>(&'a self, call: &'a Call, env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            let args: Args = super::arguments(call)?;
            let pattern = Pattern::parse(&args.glob_pattern)?;
            let env = env.clone();
            blocking::look(move || {
                let base = resolve_existing(&env, args.base(&pattern))?;
                let title = format!("find {} in {}", args.glob_pattern, base.shown);
                Ok(Prepared { targets: vec![base.target()], title, ..Prepared::default() })
            })
            .await
        })
    }

    fn run<'a>(&'a self, run: ToolRun<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let args: Args = match super::arguments(run.call) {
                Ok(args) => args,
                Err(problem) => return Outcome::failed(problem),
            };
            let (env, target, given) = (run.env.clone(), run.prepared.targets.first().cloned(), run.call.args.clone());
            blocking::run(&run.cancel, move |stop| {
                let find = || {
                    let pattern = Pattern::parse(&args.glob_pattern)?;
                    let base = recheck(&env, args.base(&pattern), target.as_ref())?;
                    if !base.path.is_dir() {
                        return Err(format!("`{}` is not a directory. Use read_file to read it.", base.shown));
                    }
                    Ok(find(&env, &args, &pattern, &base, stop))
                };
                match find() {
                    Ok(entries) => {
                        Outcome { status: Status::Ok, body: Body::Entries(Entries { args: given, ..entries }) }
                    }
                    Err(problem) => Outcome::failed(problem),
                }
            })
            .await
        })
    }
}

/// A file that matched, in the order of the result.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    age: std::cmp::Reverse<Option<SystemTime>>,
    path: PathBuf,
    kind: Kind,
    size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    File,
    Link,
    Special,
}

impl Hit {
    fn of(path: &Path, metadata: &Metadata) -> Option<Self> {
        let kind = metadata.file_type();
        let kind = match () {
            () if kind.is_dir() => return None,
            () if kind.is_file() => Kind::File,
            () if kind.is_symlink() => Kind::Link,
            () => Kind::Special,
        };
        let age = std::cmp::Reverse(metadata.modified().ok());
        Some(Self { age, path: path.to_path_buf(), kind, size: metadata.len() })
    }
}

fn find(env: &ToolEnv, args: &Args, pattern: &Pattern, base: &Resolved, stop: &Stop) -> Entries {
    let narrowed = base.path.join(&pattern.prefix);
    // A folder that is reached through a link is not walked, as if the walk had come to the link.
    let linked = !std::fs::canonicalize(&narrowed).is_ok_and(|real| real == narrowed);
    let protected = scope::protected(env);
    let allowed = |path: &Path| base.zone == Zone::Protected || !protected(path);
    let reachable = !linked && allowed(&narrowed);
    let mut walked = if reachable {
        let walk = Walk::new(env, base, args.include_ignored).narrowed(narrowed);
        Walked::of(env, &walk, stop, &|entry| {
            let inside = entry.path().strip_prefix(&base.path).ok()?;
            if entry.file_type().is_some_and(|kind| kind.is_dir()) || !pattern.matcher.is_match(inside) {
                return None;
            }
            Hit::of(entry.path(), &entry.metadata().ok()?)
        })
    } else {
        Walked::empty()
    };
    // A file that is named in full is seen, whatever ignores it.
    if pattern.literal && reachable {
        let path = base.path.join(&pattern.relative);
        let known = walked.found.iter().any(|hit| hit.path == path);
        let hit = std::fs::symlink_metadata(&path).ok().and_then(|metadata| Hit::of(&path, &metadata));
        if let Some(hit) = hit.filter(|_| !known && allowed(&path)) {
            walked.found.push(hit);
        }
    }
    walked.found.sort_unstable();
    let mut notes = Vec::new();
    if !linked && !reachable {
        notes.push(format!("{} is protected and was not searched", scope::show(env, &base.path.join(&pattern.prefix))));
    }
    let found = walked.found.len();
    if found > MOST_FILES {
        notes.push(format!("{} older files matched too and are not kept; narrow the pattern", found - MOST_FILES));
        walked.found.truncate(MOST_FILES);
    }
    if walked.more {
        notes.push("the search stopped at its bound; name a folder in target_directory".to_owned());
    }
    notes.extend(unreadable_note(&walked.unreadable));
    let entries = walked.found.iter().map(|hit| Entry {
        path: scope::show(env, &hit.path),
        kind: match hit.kind {
            Kind::File => EntryKind::File,
            Kind::Link => EntryKind::Link,
            Kind::Special => EntryKind::Special,
        },
        size: (hit.kind == Kind::File).then_some(hit.size),
    });
    Entries {
        base: base.shown.clone(),
        pattern: Some(args.glob_pattern.clone()),
        entries: entries.collect(),
        ignored: walked.ignored,
        notes,
        args: serde_json::Value::Null,
    }
}

#[cfg(test)]
mod tests;
