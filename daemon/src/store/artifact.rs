//! Texts of results as files, `artifacts/<call>.txt`: exactly the text, for `read_file` and `grep`.
//!
//! The file that a projection names is on disk before the result is committed. It can be made again from the result's
//! item, and is when it is gone or torn as the session is opened.

use super::read::{Reader, number};
use super::{StoreError, private};
use plimsoll_core::id::CallId;
use plimsoll_core::tool::outcome::Body;
use std::path::{Path, PathBuf};

/// Where the text of a call's result lies below its session's folder.
pub(super) fn path(folder: &Path, call: CallId) -> PathBuf {
    folder.join("artifacts").join(format!("{call}.txt"))
}

/// Writes it as a whole. With `sync` it is on disk when this returns.
pub(super) fn save(folder: &Path, call: CallId, text: &str, sync: bool) -> Result<(), StoreError> {
    private::folder(&folder.join("artifacts"))?;
    let path = path(folder, call);
    private::replace(&path, text.as_bytes(), sync).inspect_err(|_| {
        // What could not be written takes the room that is missing.
        let _ = private::remove(&private::beside(&path, ".new"));
    })
}

/// Makes again what projections of a session name and is not there as it was saved. Gives how many were made, and how many
/// cannot be.
pub(super) fn restore(reader: &Reader<'_>, sid: i64) -> Result<(u64, u64), StoreError> {
    let (mut restored, mut lost) = (0, 0);
    let named = reader.rows("SELECT call, saved FROM projection WHERE sid = ?1 AND saved > 0", [sid], |row| {
        Ok(Ok((CallId(number(row, 0)?), number(row, 1)?)))
    })?;
    for (call, saved) in named {
        let folder = reader.folder_of(sid, call)?;
        let found = std::fs::metadata(path(&folder, call)).ok().map(|file| file.len());
        if found == Some(saved) {
            continue;
        }
        match reader.outcome(sid, call)?.map(|outcome| outcome.body) {
            Some(Body::Text(text)) if text.len() as u64 == saved => {
                save(&folder, call, &text, false)?;
                restored += 1;
            }
            _ => {
                tracing::warn!(%call, "the saved text of a result is gone");
                lost += 1;
            }
        }
    }
    Ok((restored, lost))
}
