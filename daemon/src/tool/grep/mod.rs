//! `grep`: a regular expression over files, with ripgrep's libraries.
//!
//! Files are listed first and searched in the order of their paths, so that the result is the same every time, however
//! many threads search.

mod pattern;
mod sink;
mod source;

use super::blocking::Stop;
use super::scope::{self, Resolved, recheck, resolve_existing};
use super::walk::{Walk, Walked, threads, unreadable_note};
use super::{Tool, ToolEnv, ToolRun, blocking};
use crate::file_io::{OpenError, open_file};
use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use ignore::types::{Types, TypesBuilder};
use plimsoll_core::tool::call::{Call, Prepared, Target};
use plimsoll_core::tool::name::distance;
use plimsoll_core::tool::outcome::{Body, FileMatches, MatchMode, Matches, Outcome, Status};
use serde::Deserialize;
use sink::{Collector, Found};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines that a result keeps, of one file and of all: more than any model pages through. The rest is counted.
const MOST_LINES: usize = 2_000;

/// Lines after which searching threads only count. The first [`MOST_LINES`] in the order of paths are kept whatever the
/// threads' order, since at most `threads` files are ahead of the first one that is not finished.
const ENOUGH_LINES: usize = MOST_LINES * 5;

/// Longest context around a match, in lines.
const MOST_CONTEXT: usize = 100;

/// Memory that one thread may use for a file's longest line, or for a whole file in multiline mode, in bytes.
const HEAP_LIMIT: usize = 12 * 1024 * 1024;

/// A search ends after this time with what it has: a model that waits longer should ask for less.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct Grep;

#[derive(Debug, Clone, Deserialize)]
struct Args {
    pattern: String,
    #[serde(default)]
    literal: bool,
    path: Option<String>,
    glob: Option<String>,
    r#type: Option<String>,
    #[serde(default)]
    include_ignored: bool,
    #[serde(default)]
    output_mode: MatchMode,
    #[serde(default)]
    case_insensitive: bool,
    #[serde(default)]
    multiline: bool,
    context_lines: Option<usize>,
    before_lines: Option<usize>,
    after_lines: Option<usize>,
    head_limit: Option<u64>,
}

impl Args {
    fn searcher(&self) -> Searcher {
        let shown = self.output_mode == MatchMode::Content;
        let context = |lines: Option<usize>| {
            if shown { lines.or(self.context_lines).unwrap_or(0).min(MOST_CONTEXT) } else { 0 }
        };
        SearcherBuilder::new()
            .line_terminator(if self.multiline {
                grep_matcher::LineTerminator::byte(b'\n')
            } else {
                grep_matcher::LineTerminator::crlf()
            })
            .multi_line(self.multiline)
            .before_context(context(self.before_lines))
            .after_context(context(self.after_lines))
            .binary_detection(BinaryDetection::quit(0))
            .memory_map(MmapChoice::never())
            .heap_limit(Some(HEAP_LIMIT))
            .build()
    }

    fn bases(&self, env: &ToolEnv) -> Result<Vec<Resolved>, String> {
        if let Some(path) = &self.path {
            return Ok(vec![resolve_existing(env, path)?]);
        }
        let (present, absent): (Vec<&PathBuf>, Vec<&PathBuf>) = env.roots.iter().partition(|root| root.is_dir());
        match (present.is_empty(), absent.first()) {
            (true, Some(root)) => scope::present(root).map(|()| Vec::new()),
            _ => present.into_iter().map(|root| resolve_existing(env, &scope::shown_absolute(root))).collect(),
        }
    }
}

/// Which files below a folder are searched.
struct Filter {
    glob: Option<(GlobMatcher, bool)>,
    types: Option<Types>,
}

impl Filter {
    fn parse(args: &Args) -> Result<Self, String> {
        let glob = match args.glob.as_deref().map(str::trim) {
            None | Some("") => None,
            Some(text) => {
                let wanted = text.strip_prefix('!').unwrap_or(text);
                let full = if wanted.contains('/') {
                    wanted.trim_start_matches('/').to_owned()
                } else {
                    format!("**/{wanted}")
                };
                let glob = GlobBuilder::new(&full).literal_separator(true).build();
                let glob = glob.map_err(|error| format!("`glob`: {error}."))?;
                Some((glob.compile_matcher(), wanted.len() == text.len()))
            }
        };
        let types = args.r#type.as_deref().map(types).transpose()?;
        Ok(Self { glob, types })
    }

    fn takes(&self, path: &Path, base: &Path) -> bool {
        let inside = path.strip_prefix(base).ok().filter(|inside| !inside.as_os_str().is_empty());
        let inside = inside.or_else(|| path.file_name().map(Path::new)).unwrap_or(path);
        self.glob.as_ref().is_none_or(|(glob, wanted)| glob.is_match(inside) == *wanted)
            && self.types.as_ref().is_none_or(|types| types.matched(path, false).is_whitelist())
    }
}

fn types(name: &str) -> Result<Types, String> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let wanted = name.trim().trim_start_matches('.').to_ascii_lowercase();
    let known = builder.definitions();
    if !known.iter().any(|known| known.name() == wanted) {
        let mut near: Vec<(usize, &str)> = known
            .iter()
            .map(|known| (distance(known.name(), &wanted), known.name()))
            .filter(|(apart, _)| *apart <= 1)
            .collect();
        near.sort_unstable();
        let names: Vec<&str> = near.iter().take(3).map(|(_, name)| *name).collect();
        let near = if names.is_empty() { String::new() } else { format!(" Near: {}.", names.join(", ")) };
        return Err(format!("`type`: {name:?} is unknown.{near} Use `glob` instead, such as \"*.{wanted}\"."));
    }
    builder.select(&wanted);
    builder.build().map_err(|error| format!("`type`: {error}."))
}

impl Tool for Grep {
    fn name(&self) -> &'static str {
        "grep"
    }

    fn prepare<'a>(&'a self, call: &'a Call, env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            let args: Args = super::arguments(call)?;
            Filter::parse(&args)?;
            matcher(&args)?;
            let env = env.clone();
            blocking::look(move || {
                let bases = args.bases(&env)?;
                let place =
                    if args.path.is_some() { bases.first().map(|base| format!(" in {}", base.shown)) } else { None };
                let title = format!("search {:?}{}", args.pattern, place.unwrap_or_default());
                Ok(Prepared { targets: bases.iter().map(Resolved::target).collect(), title, ..Prepared::default() })
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
            let (env, targets, given) = (run.env.clone(), run.prepared.targets.clone(), run.call.args.clone());
            blocking::run(&run.cancel, move |stop| match search(&env, &args, &targets, stop) {
                Ok(found) => Outcome { status: Status::Ok, body: Body::Matches(Matches { args: given, ..found }) },
                Err(problem) => Outcome::failed(problem),
            })
            .await
        })
    }
}

fn matcher(args: &Args) -> Result<RegexMatcher, String> {
    pattern::compile(&args.pattern, args.literal, args.case_insensitive, args.multiline)
}

fn search(env: &ToolEnv, args: &Args, targets: &[Target], stop: &Stop) -> Result<Matches, String> {
    let matcher = matcher(args)?;
    let filter = Filter::parse(args)?;
    let bases = match &args.path {
        Some(path) => vec![recheck(env, path, targets.first())?],
        None => args.bases(env)?.into_iter().filter(|base| targets.contains(&base.target())).collect(),
    };
    let mut walked = Walked::empty();
    for base in &bases {
        special_base(base)?;
        let walk = Walk::new(env, base, args.include_ignored);
        walked.extend(Walked::of(env, &walk, stop, &|entry| {
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            (is_file && filter.takes(entry.path(), &base.path)).then(|| entry.path().to_path_buf())
        }));
    }
    walked.found.sort_unstable();
    walked.found.dedup();
    let searched = search_files(&walked.found, &matcher, args, stop);
    let mut unreadable = walked.unreadable;
    let mut found = Matches {
        pattern: args.pattern.clone(),
        base: args.path.as_ref().and_then(|_| bases.first()).map(|base| base.shown.clone()),
        mode: args.output_mode,
        head_limit: args.head_limit,
        more: walked.more || searched.timed_out,
        ..Matches::default()
    };
    let (mut binary, mut too_long, mut kept, mut matched) = (0, Vec::new(), 0, Vec::new());
    for (path, file) in walked.found.iter().zip(searched.files) {
        match file {
            None | Some(Found::Nothing) => {}
            Some(Found::Binary) => binary += 1,
            Some(Found::TooLong) => too_long.push(scope::show(env, path)),
            Some(Found::Unreadable(reason)) => unreadable.push(format!("{} ({reason})", scope::show(env, path))),
            Some(Found::Matches { count, mut lines }) => {
                lines.truncate(MOST_LINES.saturating_sub(kept));
                kept += lines.len();
                found.total += count;
                found.files.push(FileMatches { path: scope::show(env, path), count, lines, source: None });
                matched.push(path.clone());
            }
        }
    }
    source::note(&mut found.files, &matched, &|| stop.is_set());
    found.notes = notes(env, args, walked.ignored, binary, &too_long, &unreadable, searched.timed_out, walked.more);
    Ok(found)
}

/// A base that is neither a folder nor a regular file is an error, not "no matches".
fn special_base(base: &Resolved) -> Result<(), String> {
    if base.path.is_dir() {
        return Ok(());
    }
    match open_file(&base.path) {
        Ok(_) | Err(OpenError::IsDir) => Ok(()),
        Err(error) => Err(format!("`{}` {error}.", base.shown)),
    }
}

struct Searched {
    /// One for each file, in their order; none when it was not searched.
    files: Vec<Option<Found>>,
    timed_out: bool,
}

fn search_files(paths: &[PathBuf], matcher: &RegexMatcher, args: &Args, stop: &Stop) -> Searched {
    let next = AtomicUsize::new(0);
    let kept = AtomicUsize::new(0);
    let timed_out = AtomicBool::new(false);
    let results: Mutex<Vec<Option<Found>>> = Mutex::new(paths.iter().map(|_| None).collect());
    let began = Instant::now();
    let work = || {
        let mut searcher = args.searcher();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(at) else { return };
            if stop.is_set() {
                return;
            }
            if began.elapsed() > TIME_LIMIT {
                timed_out.store(true, Ordering::Relaxed);
                return;
            }
            let enough = kept.load(Ordering::Relaxed) >= ENOUGH_LINES;
            let most = if args.output_mode == MatchMode::Content && !enough { MOST_LINES } else { 0 };
            let until = || stop.is_set() || began.elapsed() > TIME_LIMIT;
            let found = search_file(&mut searcher, matcher, path, most, &until);
            if let Found::Nothing = found {
                continue;
            }
            if let Found::Matches { lines, .. } = &found {
                kept.fetch_add(lines.len(), Ordering::Relaxed);
            }
            if let Some(slot) = results.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                *slot = Some(found);
            }
        }
    };
    let threads = threads().min(paths.len());
    if threads <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }
    Searched {
        files: results.into_inner().unwrap_or_else(PoisonError::into_inner),
        timed_out: timed_out.into_inner() || began.elapsed() > TIME_LIMIT,
    }
}

fn search_file(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &Path,
    most: usize,
    until: &dyn Fn() -> bool,
) -> Found {
    let file = match open_file(path) {
        Ok((file, _)) => file,
        // It went, or became something else, since it was listed.
        Err(OpenError::Missing | OpenError::IsDir | OpenError::NotDir | OpenError::Special(_) | OpenError::Link) => {
            return Found::Nothing;
        }
        Err(error) => return Found::Unreadable(error.to_string()),
    };
    let mut collector = Collector::new(matcher, most, until);
    match searcher.search_file(matcher, &file, &mut collector) {
        Ok(()) => collector.found(),
        Err(error) if error.kind() == std::io::ErrorKind::Other || error.kind() == std::io::ErrorKind::OutOfMemory => {
            Found::TooLong
        }
        Err(error) => Found::Unreadable(error.to_string()),
    }
}

fn notes(
    env: &ToolEnv,
    args: &Args,
    ignored: u64,
    binary: u64,
    too_long: &[String],
    unreadable: &[String],
    timed_out: bool,
    more: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    if ignored > 0 {
        let entries = if ignored == 1 { "entry was" } else { "entries were" };
        notes.push(format!("{ignored} ignored {entries} not searched; include_ignored: true searches them"));
    }
    if binary > 0 {
        let files = if binary == 1 { "binary file was" } else { "binary files were" };
        notes.push(format!("{binary} {files} not searched"));
    }
    if let Some(first) = too_long.first() {
        let mode = if args.multiline { "too large for multiline" } else { "with a line too long to search" };
        notes.push(format!("{} files {mode} (over {} MiB), the first is {first}", too_long.len(), HEAP_LIMIT >> 20));
    }
    notes.extend(unreadable_note(unreadable));
    if timed_out {
        notes.push(format!("the search stopped after {} s; narrow it by path, glob or type", TIME_LIMIT.as_secs()));
    }
    if more {
        notes.push("not all files were searched: there are too many; name a folder in path".to_owned());
    }
    if args.path.is_none() {
        let absent = env.roots.iter().filter_map(|root| scope::present(root).err());
        notes.extend(absent);
    }
    notes
}

#[cfg(test)]
mod tests;
