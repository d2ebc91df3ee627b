//! The plan of exact replacements in one file: string_replace and MultiEdit.

use super::{After, Facts, FilePlan, Plan, check_version, read};
use crate::tool::ToolEnv;
use crate::tool::scope::resolve_existing;
use plimsoll_core::edit::{EditError, EditErrorKind, Replacement, replace};
use plimsoll_core::tool::call::FileChange;

/// The plan of these replacements, made one after the other, all or none. `problem` makes the text of one that cannot be
/// made.
pub(crate) fn replacing(
    env: &ToolEnv,
    path: &str,
    edits: &[Replacement<'_>],
    expected: Option<&str>,
    problem: impl Fn(&EditError) -> String,
) -> Result<Plan, String> {
    let place = resolve_existing(env, path)?;
    let shown = place.shown.clone();
    let content = read(&place)?;
    check_version(&shown, content.version, expected)?;
    let decoder = content.text(&shown)?;
    let edit = replace(&content.bytes, edits, &decoder).map_err(|error| {
        let problem = problem(&error);
        let encoding = match error.kind {
            EditErrorKind::NotInEncoding(_) => format!(" The file's encoding is {}.", decoder.name()),
            _ => String::new(),
        };
        format!("`{shown}`: {problem}{encoding} Nothing was written.")
    })?;
    let facts = Facts {
        change: FileChange {
            touches: edit.touches.clone(),
            lines_before: edit.lines_before,
            anchored: true,
            diff: edit.diff(&content.bytes, &decoder),
            ..FileChange::default()
        },
        lines_after: edit.lines_after,
        wrote: edit.wrote.clone(),
    };
    let notes = edit.notes.clone();
    let file = FilePlan::new(place, Some(content.into()), After::Edit(edit), facts);
    Ok(Plan { files: vec![file], notes, title: format!("edit {shown}") })
}
