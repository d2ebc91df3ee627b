//! `apply_patch`: a unified diff over one or more files, all of it or nothing.

use super::edit::{self, After, Content, Facts, FilePlan, Plan, check_version};
use super::scope::{Resolved, resolve};
use super::{Tool, ToolEnv, ToolRun};
use futures_util::future::BoxFuture;
use plimsoll_core::edit::patch::{FilePatch, Hunk, LineKind, PatchErrorKind, apply, parse};
use plimsoll_core::edit::{Edit, Encoding, Replacement, Utf8, replace};
use plimsoll_core::tool::call::{Call, FileChange, Prepared};
use plimsoll_core::tool::outcome::Outcome;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of all files of a patch together: they are all in memory until the last is written.
const MOST_BYTES: usize = 128 * 1024 * 1024;

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct ApplyPatch;

#[derive(Debug, Deserialize)]
struct Args {
    patch: String,
    #[serde(default)]
    expected_versions: BTreeMap<String, String>,
}

impl Tool for ApplyPatch {
    fn name(&self) -> &'static str {
        "apply_patch"
    }

    fn prepare<'a>(&'a self, call: &'a Call, env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(edit::prepare(call, env, plan))
    }

    fn run<'a>(&'a self, run: ToolRun<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(edit::run(run, plan))
    }
}

fn plan(call: &Call, env: &ToolEnv) -> Result<Plan, String> {
    let args: Args = super::arguments(call)?;
    let patches = parse(&args.patch).map_err(|error| nothing(&error.to_string()))?;
    let mut places = Vec::new();
    for patch in &patches {
        let place = resolve(env, patch.path())?;
        if places.iter().any(|(_, other): &(_, Resolved)| other.path == place.path) {
            return Err(nothing(&format!("`{}` is named twice in the patch, by different paths.", place.shown)));
        }
        places.push((patch, place));
    }
    let expected = expected(env, &args.expected_versions, &places)?;
    let (mut files, mut notes, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
    for ((patch, place), expected) in places.into_iter().zip(expected) {
        let (file, more, size) = one(patch, place, expected)?;
        bytes += size;
        if bytes > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(nothing(&format!(
                "The files of the patch have more than {most} MB together. Send it in parts."
            )));
        }
        notes.extend(more);
        files.push(file);
    }
    let shown: Vec<&str> = files.iter().map(FilePlan::shown).collect();
    let title = format!("apply a patch to {}", shown.join(", "));
    Ok(Plan { files, notes, title })
}

/// The expected version of each place. A version of a file that the patch does not change is a mistake.
fn expected<'a>(
    env: &ToolEnv,
    versions: &'a BTreeMap<String, String>,
    places: &[(&FilePatch, Resolved)],
) -> Result<Vec<Option<&'a str>>, String> {
    let mut all = vec![None; places.len()];
    for (text, version) in versions {
        let path = resolve(env, text)?.path;
        let named = all.iter_mut().zip(places).find(|(_, (patch, place))| place.path == path || patch.path() == text);
        if let Some((slot, _)) = named {
            *slot = Some(version.as_str());
        } else {
            let problem = format!("expected_versions names `{text}`, which the patch does not change.");
            return Err(nothing(&problem));
        }
    }
    Ok(all)
}

/// The plan of one file, what to tell besides, and how many bytes it has.
fn one(patch: &FilePatch, place: Resolved, expected: Option<&str>) -> Result<(FilePlan, Vec<String>, usize), String> {
    let shown = place.shown.clone();
    if patch.old.is_none() {
        return create(patch, place, expected);
    }
    if !place.exists {
        return Err(nothing(&format!("`{shown}` does not exist. To make a file, begin with `--- /dev/null`.")));
    }
    let content = edit::read(&place)?;
    check_version(&shown, content.version, expected)?;
    let decoder = content.text(&shown)?;
    let edit = apply(&content.bytes, patch, &decoder).map_err(|error| {
        let encoding = match error.kind {
            PatchErrorKind::NotInEncoding(_) => {
                format!(" The file's encoding is {}.", decoder.name())
            }
            _ => String::new(),
        };
        nothing(&format!("{error}{encoding}"))
    })?;
    let anchored = patch.hunks.iter().all(|hunk| stands_once(hunk, &content.bytes, &decoder));
    let size = content.bytes.len();
    let facts = facts(&edit, anchored, edit.diff(&content.bytes, &decoder));
    let notes = edit.notes.iter().map(|note| format!("`{shown}`: {note}")).collect();
    let after = if patch.new.is_some() { After::Edit(edit) } else { After::Nothing };
    Ok((FilePlan::new(place, Some(content.into()), after, facts), notes, size))
}

fn create(
    patch: &FilePatch,
    place: Resolved,
    expected: Option<&str>,
) -> Result<(FilePlan, Vec<String>, usize), String> {
    let shown = &place.shown;
    if place.exists {
        let version =
            edit::read(&place).map_or(String::new(), |Content { version, .. }| format!(" (version {version})"));
        return Err(nothing(&format!("The patch makes `{shown}`, which exists already{version}.")));
    }
    if let Some(expected) = expected {
        let problem = format!("`{shown}` does not exist, so it does not have the expected version {expected}.");
        return Err(nothing(&problem));
    }
    let edit = apply(&[], patch, &Utf8).map_err(|error| nothing(&error.to_string()))?;
    let bytes = edit.pieces(&[]).concat();
    let facts = facts(&edit, true, edit.diff(&[], &Utf8));
    let size = bytes.len();
    Ok((FilePlan::new(place, None, After::Whole(bytes), facts), edit.notes, size))
}

fn facts(edit: &Edit, anchored: bool, diff: plimsoll_core::tool::call::Diff) -> Facts {
    let change = FileChange {
        touches: edit.touches.clone(),
        lines_before: edit.lines_before,
        anchored,
        diff,
        ..FileChange::default()
    };
    Facts { change, lines_after: edit.lines_after, wrote: edit.wrote.clone() }
}

/// Whether the lines that the hunk wants to find stand at one place of the file only, whatever place it states.
fn stands_once(hunk: &Hunk, content: &[u8], encoding: &dyn Encoding) -> bool {
    let lines = hunk.lines.iter().filter(|line| line.kind != LineKind::Added);
    let old: Vec<&str> = lines.map(|line| line.text.as_str()).collect();
    let old = old.join("\n");
    // What it would be replaced by does not matter, only that it would be found once.
    let new = format!("{old}\n");
    !old.trim().is_empty() && replace(content, &[Replacement { old: &old, new: &new, all: false }], encoding).is_ok()
}

fn nothing(problem: &str) -> String {
    format!("{problem} Nothing was written.")
}

#[cfg(test)]
mod tests;
