//! `write`: a file as a whole, new or in place of what is there.

use super::edit::{self, After, Content, Facts, FilePlan, Plan, check_version};
use super::scope::{Resolved, resolve};
use super::{Tool, ToolEnv, ToolRun};
use crate::file_io::encoding::Decoder;
use futures_util::future::BoxFuture;
use plimsoll_core::edit::{Utf8, keep_eol, whole};
use plimsoll_core::tool::call::{Call, FileChange, Prepared};
use plimsoll_core::tool::outcome::Outcome;
use serde::Deserialize;

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct Write;

#[derive(Debug, Deserialize)]
struct Args {
    file_path: String,
    contents: String,
    expected_version: Option<String>,
    #[serde(default)]
    must_not_exist: bool,
}

impl Tool for Write {
    fn name(&self) -> &'static str {
        "write"
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
    let place = resolve(env, &args.file_path)?;
    if args.file_path.ends_with('/') {
        return Err(format!(
            "`{}` names a folder. Give the path of a file; folders above it are made.",
            args.file_path
        ));
    }
    if place.exists { over(place, args) } else { new(place, args) }
}

fn new(place: Resolved, args: Args) -> Result<Plan, String> {
    if let Some(expected) = args.expected_version {
        return Err(format!(
            "`{}` does not exist, so it does not have the expected version {expected}. Nothing was written.",
            place.shown
        ));
    }
    let bytes = args.contents.into_bytes();
    let whole = whole(None, &bytes, &Utf8);
    let facts = facts(whole);
    let title = format!("create {}", place.shown);
    let file = FilePlan::new(place, None, After::Whole(bytes), facts);
    Ok(Plan { files: vec![file], notes: Vec::new(), title })
}

fn over(place: Resolved, args: Args) -> Result<Plan, String> {
    let shown = place.shown.clone();
    let content = edit::read(&place)?;
    if args.must_not_exist {
        return Err(format!(
            "`{shown}` exists already (version {}) and must not, as the call says. Nothing was written.",
            content.version
        ));
    }
    check_version(&shown, content.version, args.expected_version.as_deref())?;
    let decoder = content.text(&shown)?;
    let (bytes, notes) = encoded(&shown, &content, decoder, &args.contents)?;
    let facts = facts(whole(Some(&content.bytes), &bytes, &decoder));
    let file = FilePlan::new(place, Some(content.into()), After::Whole(bytes), facts);
    Ok(Plan { files: vec![file], notes, title: format!("write {shown}") })
}

/// The contents as bytes of the kind that the file has, and what to tell about that.
fn encoded(shown: &str, content: &Content, decoder: Decoder, contents: &str) -> Result<(Vec<u8>, Vec<String>), String> {
    let mut notes = Vec::new();
    // The mark is no part of the text, and a model that gives it does not mean two.
    let text = if decoder.bom > 0 { contents.strip_prefix('\u{FEFF}').unwrap_or(contents) } else { contents };
    // Carriage returns in the contents say that line ends are meant as they are given.
    let text = if text.contains('\r') { text.to_owned() } else { keep_eol(&content.bytes, text, &decoder) };
    if text.contains('\r') && !contents.contains('\r') {
        let word = if text.contains('\n') { "CRLF" } else { "CR" };
        notes.push(format!("The file's line ends, {word}, are kept."));
    }
    let encoded = decoder.encode(&text).map_err(|c| {
        let why = if c == char::REPLACEMENT_CHARACTER && decoder.lossy {
            "which stands for bytes of the file that are not valid and would be lost; change parts of it with string_replace"
        } else {
            "which it does not have"
        };
        format!(
            "`{shown}` is in the encoding {}, and the contents have the character `{c}` (U+{:04X}), {why}. Nothing was \
             written.",
            decoder.name(),
            u32::from(c)
        )
    })?;
    if decoder != Decoder::UTF8 {
        notes.push(format!("The file's encoding, {}, is kept.", decoder.name()));
    }
    Ok(([decoder.mark(), &encoded].concat(), notes))
}

fn facts(whole: plimsoll_core::edit::Whole) -> Facts {
    let plimsoll_core::edit::Whole { diff, lines_before, lines_after } = whole;
    Facts {
        change: FileChange {
            touches: if lines_before > 0 { vec![(1, lines_before)] } else { Vec::new() },
            lines_before,
            whole: true,
            diff,
            ..FileChange::default()
        },
        lines_after,
        wrote: if lines_after > 0 { vec![(1, lines_after)] } else { Vec::new() },
    }
}

#[cfg(test)]
mod tests;
