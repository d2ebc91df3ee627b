//! `string_replace`: one text of a file by another.

use super::edit::{self, Plan};
use super::{Tool, ToolEnv, ToolRun};
use futures_util::future::BoxFuture;
use plimsoll_core::edit::Replacement;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::Outcome;
use serde::Deserialize;

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct StringReplace;

#[derive(Debug, Deserialize)]
struct Args {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
    expected_version: Option<String>,
}

impl Tool for StringReplace {
    fn name(&self) -> &'static str {
        "string_replace"
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
    let edit = Replacement { old: &args.old_string, new: &args.new_string, all: args.replace_all };
    edit::replacing(env, &args.file_path, &[edit], args.expected_version.as_deref(), |error| error.kind.to_string())
}

#[cfg(test)]
mod tests;
