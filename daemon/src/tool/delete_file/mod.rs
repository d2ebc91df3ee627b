//! `delete_file`: a file or a symbolic link. Of a link the link itself goes, wherever it leads.

use super::edit::{self, After, Before, Facts, FilePlan, Plan, check_version};
use super::scope::{Resolved, resolve_existing_entry};
use super::{Tool, ToolEnv, ToolRun};
use futures_util::future::BoxFuture;
use plimsoll_core::edit::{Utf8, deleted};
use plimsoll_core::path::escape;
use plimsoll_core::tool::call::{Call, FileChange, Prepared};
use plimsoll_core::tool::outcome::Outcome;
use plimsoll_core::workspace::FileVersion;
use serde::Deserialize;
use std::os::unix::ffi::OsStrExt;

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct DeleteFile;

#[derive(Debug, Deserialize)]
struct Args {
    target_file: String,
    expected_version: Option<String>,
}

impl Tool for DeleteFile {
    fn name(&self) -> &'static str {
        "delete_file"
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
    let place = resolve_existing_entry(env, &args.target_file)?;
    let title = format!("delete {}", place.shown);
    let expected = args.expected_version.as_deref();
    let (file, notes) = match std::fs::read_link(&place.path) {
        Ok(target) => link(place, target.as_os_str().as_bytes(), expected)?,
        Err(_) => content(place, expected)?,
    };
    Ok(Plan { files: vec![file], notes, title })
}

fn link(place: Resolved, target: &[u8], expected: Option<&str>) -> Result<(FilePlan, Vec<String>), String> {
    let version = FileVersion::of(target);
    check_version(&place.shown, version, expected)?;
    let note = format!("`{}` was a symbolic link to `{}`, which is untouched.", place.shown, escape(target));
    let before = Before { bytes: target.to_vec(), version: version.to_string(), mode: None };
    let diff = deleted(target, &Utf8).diff;
    let change = FileChange { link: true, anchored: true, diff, ..FileChange::default() };
    let facts = Facts { change, ..Facts::default() };
    Ok((FilePlan::new(place, Some(before), After::Nothing, facts), vec![note]))
}

fn content(place: Resolved, expected: Option<&str>) -> Result<(FilePlan, Vec<String>), String> {
    let content = edit::read(&place)?;
    check_version(&place.shown, content.version, expected)?;
    let (mut change, mut notes) = (FileChange { anchored: true, ..FileChange::default() }, Vec::new());
    match content.decoder {
        Some(decoder) => {
            let whole = deleted(&content.bytes, &decoder);
            change.lines_before = whole.lines_before;
            change.diff = whole.diff;
        }
        None => notes.push(format!("It was a binary file of {} bytes.", content.bytes.len())),
    }
    let facts = Facts { change, ..Facts::default() };
    Ok((FilePlan::new(place, Some(content.into()), After::Nothing, facts), notes))
}

#[cfg(test)]
mod tests;
