//! Projection of edits: each file with its new version and what changed.

use super::Parts;
use super::entries::counted;
use crate::tool::outcome::Edited;

/// One head line and the difference per file.
pub(super) fn edit(edited: &Edited) -> Parts {
    let mut body = Vec::new();
    for file in &edited.files {
        let change = &file.change;
        let version = change.after.as_deref().map_or("deleted".to_owned(), |after| format!("version {after}"));
        body.push(format!("{} · {version} · +{} -{}", change.shown, change.diff.added, change.diff.removed));
        body.push(change.diff.text.trim_end_matches('\n').to_owned());
    }
    body.extend(edited.notes.iter().cloned());
    let facts = vec![counted(edited.files.len() as u64, "file", "files")];
    Parts { facts, body: body.join("\n"), partial: false }
}
