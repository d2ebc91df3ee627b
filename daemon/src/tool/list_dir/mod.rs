//! `list_dir`: the entries of one folder.

use super::scope::{recheck, resolve_existing};
use super::walk::Walk;
use super::{Tool, ToolEnv, ToolRun, blocking};
use crate::file_io::{OpenError, open_dir};
use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use plimsoll_core::path::escape;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::{Body, Entries, Entry, EntryKind, Outcome, Status};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use serde::Deserialize;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// Entries that a listing keeps; a folder with more is for a glob.
const MOST_ENTRIES: usize = 20_000;

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct ListDir;

#[derive(Debug, Clone, Deserialize)]
struct Args {
    target_directory: String,
    #[serde(default)]
    ignore_globs: Vec<String>,
    #[serde(default)]
    include_ignored: bool,
}

impl Tool for ListDir {
    fn name(&self) -> &'static str {
        "list_dir"
    }

    fn prepare<'a>(&'a self, call: &'a Call, env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            let args: Args = super::arguments(call)?;
            globs(&args.ignore_globs)?;
            let env = env.clone();
            blocking::look(move || {
                let folder = resolve_existing(&env, &args.target_directory)?;
                let title = format!("list {}", folder.shown);
                Ok(Prepared { targets: vec![folder.target()], title, ..Prepared::default() })
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
                let list = || {
                    let folder = recheck(&env, &args.target_directory, target.as_ref())?;
                    let fd = open_dir(&folder.path).map_err(|error| {
                        let advice = if matches!(error, OpenError::NotDir) { " Use read_file to read it." } else { "" };
                        format!("`{}` {error}.{advice}", folder.shown)
                    })?;
                    let kept = Walk::new(&env, &folder, args.include_ignored).kept_names();
                    let left_out = globs(&args.ignore_globs)?;
                    let keep = |name: &OsStr| match &kept {
                        Some(kept) => kept.contains(name),
                        None => true,
                    };
                    let listing = entries(&fd, &keep, &left_out, &|| stop.is_set());
                    let mut listing =
                        listing.map_err(|error| format!("`{}` cannot be listed: {error}.", folder.shown))?;
                    listing.base.clone_from(&folder.shown);
                    Ok::<_, String>(listing)
                };
                match list() {
                    Ok(listing) => {
                        Outcome { status: Status::Ok, body: Body::Entries(Entries { args: given, ..listing }) }
                    }
                    Err(problem) => Outcome::failed(problem),
                }
            })
            .await
        })
    }
}

/// The entries of an open folder: folders first, each group by name.
fn entries(
    fd: &OwnedFd,
    keep: &dyn Fn(&OsStr) -> bool,
    left_out: &GlobSet,
    stop: &dyn Fn() -> bool,
) -> rustix::io::Result<Entries> {
    let mut listing = Entries::default();
    let mut beyond = 0_u64;
    let mut unreadable = 0_u64;
    for entry in Dir::read_from(fd.as_fd())? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if stop() {
            break;
        }
        if name == "." || name == ".." || left_out.is_match(name) {
            continue;
        }
        if name == ".git" {
            listing.notes.push(".git is not listed".to_owned());
        } else if !keep(name) {
            listing.ignored += 1;
        } else if listing.entries.len() >= MOST_ENTRIES {
            beyond += 1;
        } else {
            let stat = statat(fd.as_fd(), entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok();
            unreadable += u64::from(stat.is_none());
            let kind = stat.map_or(entry.file_type(), |stat| FileType::from_raw_mode(stat.st_mode));
            let kind = match kind {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Dir,
                FileType::Symlink => EntryKind::Link,
                _ => EntryKind::Special,
            };
            let size = stat.filter(|_| kind == EntryKind::File).and_then(|stat| u64::try_from(stat.st_size).ok());
            listing.entries.push(Entry { path: escape(name.as_bytes()), kind, size });
        }
    }
    listing.entries.sort_by(|a, b| (a.kind != EntryKind::Dir, &a.path).cmp(&(b.kind != EntryKind::Dir, &b.path)));
    if beyond > 0 {
        listing.notes.push(format!("{beyond} further entries were counted only; find them with glob_file_search"));
    }
    if unreadable > 0 {
        listing.notes.push(format!("{unreadable} entries could not be looked at"));
    }
    Ok(listing)
}

fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // Names are matched, so a pattern for any depth means its last part.
        let name = pattern.trim_end_matches("/**").trim_end_matches('/').rsplit('/').next().unwrap_or(pattern);
        let glob = GlobBuilder::new(name).literal_separator(true).build();
        set.add(glob.map_err(|error| format!("`ignore_globs`: {error}."))?);
    }
    set.build().map_err(|error| format!("`ignore_globs`: {error}."))
}

#[cfg(test)]
mod tests;
