//! The lines of an export. The first has the session's own facts and the version of the form; then comes one for each item, in
//! order, complete: what a result gave, and what the model was shown of it.

use crate::store::{SessionRow, ViewItem};
use plimsoll_core::id::{ItemNo, StepNo, TurnNo};
use plimsoll_core::prompt::Prompts;
use plimsoll_core::transcript::batch::StoredProjection;
use plimsoll_core::transcript::codec::{self, CodecError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::path::Path;

/// The version in which this build writes exports, and the newest that it reads.
pub(super) const VERSION: u32 = 1;

/// What the first line says it is.
pub(super) const KIND: &str = "session";

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head {
    /// What follows: [`KIND`].
    pub(super) plimsoll: String,
    pub(super) version: u32,
    /// Lines that follow, one per item.
    pub(super) items: u64,
    pub(super) session: Facts,
}

/// A session's own facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facts {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) model: String,
    pub(super) mode: String,
    pub(super) bundle: plimsoll_core::prompt::Bundle,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base_prompt: Option<String>,
    pub(super) created_at: i64,
    /// The session's folder, in text form: what texts of results name is below it.
    pub(super) folder: String,
}

/// The line of one item.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) no: ItemNo,
    pub(super) turn: TurnNo,
    pub(super) step: StepNo,
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) version: u8,
    pub(super) body: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) projection: Option<StoredProjection>,
}

/// The first line of a session's export, with its end. `last` is the last item that is exported.
pub(super) fn head(row: &SessionRow, texts: &Prompts, folder: &Path, last: ItemNo) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let head = Head {
        plimsoll: KIND.to_owned(),
        version: VERSION,
        items: last.0,
        session: Facts {
            id: row.id.to_string(),
            title: row.title.clone(),
            model: row.model.clone(),
            mode: row.mode.clone(),
            bundle: texts.bundle,
            base_prompt: texts.base.clone(),
            created_at: row.created_at.0,
            folder: plimsoll_core::path::escape(folder.as_os_str().as_bytes()),
        },
    };
    // Plain values have a JSON form.
    serde_json::to_string(&head).unwrap_or_default() + "\n"
}

/// The line of an item, with its end.
pub(super) fn item(found: &ViewItem) -> Result<String, CodecError> {
    let stored = codec::encode(&found.item.body)?;
    let malformed = |source| CodecError::Malformed { what: stored.kind.to_owned(), source };
    let line = Line {
        no: found.item.no,
        turn: found.item.turn,
        step: found.item.step,
        at: found.item.at.0,
        kind: stored.kind.to_owned(),
        version: stored.version,
        body: RawValue::from_string(stored.json.clone()).map_err(malformed)?,
        projection: found.projection.clone(),
    };
    Ok(serde_json::to_string(&line).map_err(malformed)? + "\n")
}
