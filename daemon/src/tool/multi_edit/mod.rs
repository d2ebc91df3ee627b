//! `MultiEdit`: several replacements in one file, all or none.

use super::edit::{self, Plan};
use super::{Tool, ToolEnv, ToolRun};
use futures_util::future::BoxFuture;
use plimsoll_core::edit::Replacement;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::Outcome;
use serde::Deserialize;

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct MultiEdit;

#[derive(Debug, Deserialize)]
struct Args {
    file_path: String,
    edits: Vec<One>,
    expected_version: Option<String>,
}

#[derive(Debug, Deserialize)]
struct One {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Tool for MultiEdit {
    fn name(&self) -> &'static str {
        "MultiEdit"
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
    let edits: Vec<Replacement<'_>> = args
        .edits
        .iter()
        .map(|one| Replacement { old: &one.old_string, new: &one.new_string, all: one.replace_all })
        .collect();
    edit::replacing(env, &args.file_path, &edits, args.expected_version.as_deref(), ToString::to_string)
}

#[cfg(test)]
mod tests;
