//! Folders of sessions that others were forked from. The results that a fork shares name files there, byte for byte as they
//! were sent, so these files stay as long as a fork needs them, also when their own session is deleted.

use super::read::Reader;
use super::write::{Sql, Written};
use super::{StoreError, private};
use plimsoll_core::id::{CallId, SessionId};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::path::{Path, PathBuf};

impl Sql<'_> {
    pub(super) fn delete(&self, id: &SessionId) -> Result<Written, StoreError> {
        let sid = match self.sid(id) {
            Ok(sid) => sid,
            Err(StoreError::NotFound { .. }) => return Ok(Written::Done),
            Err(other) => return Err(other),
        };
        self.doom(id)?;
        // Of sessions that are gone already, and whose files it was the last to need: looked at again.
        self.execute(
            "INSERT INTO doomed_folder (id) SELECT folder FROM shared_folder WHERE sid = ?1 \
             AND NOT EXISTS (SELECT 1 FROM session WHERE id = folder) ON CONFLICT DO NOTHING",
            [sid],
        )?;
        self.execute("INSERT INTO deletion (sid) VALUES (?1)", [sid])?;
        for table in super::schema::OF_SESSION {
            self.execute(&format!("DELETE FROM {table} WHERE sid = ?1"), [sid])?;
        }
        self.execute(
            "DELETE FROM blob WHERE bid NOT IN (SELECT bid FROM epoch_blob UNION ALL SELECT bid FROM request_blob \
             UNION ALL SELECT bid FROM side_blob \
             UNION ALL SELECT value FROM epoch, json_each(epoch.body, '$.stated') \
             UNION ALL SELECT value FROM request, json_each(request.body, '$.stated'))",
            [],
        )?;
        self.execute("DELETE FROM deletion WHERE sid = ?1", [sid])?;
        Ok(Written::Done)
    }

    pub(super) fn doom(&self, id: &SessionId) -> Result<Written, StoreError> {
        self.execute("INSERT INTO doomed_folder (id) VALUES (?1) ON CONFLICT DO NOTHING", [id.as_str()])?;
        Ok(Written::Done)
    }

    /// Notes whose files the shared results of a fork name: those of calls up to `last`.
    pub(super) fn share_folders(&self, from: i64, parent: &SessionId, to: i64, last: CallId) -> Result<(), StoreError> {
        let last = last.0 as i64;
        self.execute(
            "INSERT INTO shared_folder (sid, folder, last_call) \
             SELECT ?2, folder, min(last_call, ?3) FROM shared_folder WHERE sid = ?1",
            params![from, to, last],
        )?;
        self.execute(
            "INSERT INTO shared_folder (sid, folder, last_call) SELECT ?1, ?2, ?3 \
             WHERE ?3 > (SELECT coalesce(max(last_call), 0) FROM shared_folder WHERE sid = ?1)",
            params![to, parent.as_str(), last],
        )?;
        Ok(())
    }
}

impl Reader<'_> {
    /// The folder in which the texts of a call's result lie: the session's own, or that of one that it was forked from.
    pub(super) fn folder_of(&self, sid: i64, call: CallId) -> Result<PathBuf, StoreError> {
        let found = self.rows(
            "SELECT folder FROM shared_folder WHERE sid = ?1 AND last_call >= ?2 ORDER BY last_call LIMIT 1",
            params![sid, call.0 as i64],
            |row| Ok(Ok(row.get::<_, String>(0)?)),
        )?;
        Ok(match (found.into_iter().next(), self.folder.parent()) {
            (Some(folder), Some(project)) => project.join(folder),
            (Some(_) | None, _) => self.folder.to_owned(),
        })
    }
}

/// Removes the folder of a session that is gone, but for what forks of it need.
pub(super) fn clear(connection: &Connection, path: &Path, folder: &Path, id: &SessionId) -> Result<(), StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    let lives = connection.query_row("SELECT 1 FROM session WHERE id = ?1", [id.as_str()], |_| Ok(()));
    if lives.optional().map_err(sqlite)?.is_some() {
        return Ok(());
    }
    let needed =
        connection.query_row("SELECT max(last_call) FROM shared_folder WHERE folder = ?1", [id.as_str()], |row| {
            Ok(row.get::<_, Option<i64>>(0)?.map(|last| last.max(0) as u64))
        });
    let Some(last) = needed.map_err(sqlite)? else { return private::remove(folder) };
    let artifacts = folder.join("artifacts");
    for (place, keep) in [(folder, None), (artifacts.as_path(), Some(CallId(last)))] {
        let Ok(entries) = std::fs::read_dir(place) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let needed = match keep {
                None => path == artifacts,
                Some(last) => call_of(&entry.file_name().to_string_lossy()).is_some_and(|call| call <= last),
            };
            if !needed {
                private::remove(&path)?;
            }
        }
    }
    Ok(())
}

/// The call that a file in `artifacts/` belongs to: `c7.txt`, `c7.log`, `c7.outcome.zst`.
fn call_of(name: &str) -> Option<CallId> {
    name.split('.').next()?.parse().ok()
}
