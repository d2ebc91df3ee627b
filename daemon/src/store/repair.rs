//! Makes the rows that came through a recovery fit together: sessions get their names back from the index, numbers have
//! no gaps again, and epochs whose bytes are not all there are given up, so that the next request begins a new one.

use super::StoreError;
use super::index::IndexRow;
use super::read::{Reader, number, state_word};
use plimsoll_core::event::EventBody;
use plimsoll_core::id::{EpochNo, ProjectKey, RequestNo};
use plimsoll_core::transcript::codec;
use plimsoll_core::transcript::item::{ItemBody, Notice, NoticeCause};
use rusqlite::{Connection, params};
use std::path::Path;

/// A stored counter that is this far beyond the rows is damage itself and not believed.
const MOST_LOST: u64 = 10_000;

/// Tables that name a session by its number.
const OF_SESSIONS: &[&str] =
    &["item", "projection", "event", "operation", "ask", "prompt_key", "epoch", "request", "side_request"];

/// See the module's head. `index` is what `user.db` knows of the project.
pub(super) fn repair(
    connection: &Connection,
    path: &Path,
    project: &ProjectKey,
    index: &[IndexRow],
) -> rusqlite::Result<()> {
    name_sessions(connection, project, index)?;
    let mut sids = connection.prepare("SELECT sid FROM session ORDER BY sid")?;
    let sids: Vec<i64> = sids.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for sid in sids {
        fill_items(connection, sid)?;
        fill_events(connection, sid)?;
        connection.execute(
            "UPDATE session SET \
             last_turn = max(last_turn, (SELECT coalesce(max(turn), 0) FROM item WHERE sid = ?1)), \
             last_call = max(last_call, (SELECT coalesce(max(call), 0) FROM item WHERE sid = ?1), \
                 (SELECT coalesce(max(call), 0) FROM operation WHERE sid = ?1)), \
             last_request = max(last_request, (SELECT coalesce(max(no), 0) FROM request WHERE sid = ?1)), \
             last_epoch = max(last_epoch, (SELECT coalesce(max(no), 0) FROM epoch WHERE sid = ?1)), \
             last_ask = max(last_ask, (SELECT coalesce(max(no), 0) FROM ask WHERE sid = ?1)) WHERE sid = ?1",
            [sid],
        )?;
        give_up_epochs(connection, path, sid)?;
    }
    connection.execute("DELETE FROM mirror", [])?;
    Ok(())
}

/// Gives every number that rows use a session: from the index, else one whose name says what it is.
fn name_sessions(connection: &Connection, project: &ProjectKey, index: &[IndexRow]) -> rusqlite::Result<()> {
    for row in index {
        let session = &row.session;
        connection.execute(
            "INSERT OR IGNORE INTO session (sid, id, title, mode, model, created_at, updated_at, state) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                row.sid,
                session.id.as_str(),
                session.title,
                session.mode,
                session.model,
                session.created_at.0,
                session.updated_at.0,
                state_word(session.state)
            ],
        )?;
    }
    for table in OF_SESSIONS {
        connection.execute(
            &format!(
                "INSERT OR IGNORE INTO session (sid, id, title, mode, model, created_at, updated_at, state) \
                 SELECT DISTINCT sid, 'recovered-' || ?1 || '-' || sid, 'Recovered session ' || sid, 'ask', '', 0, 0, \
                 'interrupted' FROM {table} WHERE sid NOT IN (SELECT sid FROM session)"
            ),
            [short(project)],
        )?;
    }
    Ok(())
}

fn short(project: &ProjectKey) -> &str {
    project.as_str().split('-').next().unwrap_or_default()
}

/// The numbers up to the last one that are not there.
fn missing(connection: &Connection, sid: i64, table: &str, key: &str, last: &str) -> rusqlite::Result<Vec<u64>> {
    let mut statement = connection.prepare(&format!("SELECT {key} FROM {table} WHERE sid = ?1 ORDER BY {key}"))?;
    let there: Vec<u64> = statement.query_map([sid], |row| number(row, 0))?.collect::<Result<_, _>>()?;
    let stored =
        connection.query_row(&format!("SELECT {last} FROM session WHERE sid = ?1"), [sid], |row| number(row, 0))?;
    let highest = there.last().copied().unwrap_or(0);
    let upto = if stored <= highest + MOST_LOST { stored.max(highest) } else { highest };
    connection.execute(&format!("UPDATE session SET {last} = ?2 WHERE sid = ?1"), params![sid, upto as i64])?;
    let there: std::collections::HashSet<u64> = there.into_iter().collect();
    Ok((1..=upto).filter(|no| !there.contains(no)).collect())
}

fn fill_items(connection: &Connection, sid: i64) -> rusqlite::Result<()> {
    let text = "This item could not be read from a damaged database.".to_owned();
    let Ok(stored) = codec::encode(&ItemBody::Notice(Notice { cause: NoticeCause::Info, text })) else { return Ok(()) };
    for no in missing(connection, sid, "item", "no", "last_item")? {
        connection.execute(
            "INSERT INTO item (sid, no, turn, step, at, kind, version, codec, len, body) VALUES (?1, ?2, \
             (SELECT coalesce(max(turn), 0) FROM item WHERE sid = ?1 AND no < ?2), 0, \
             (SELECT coalesce(max(at), 0) FROM item WHERE sid = ?1 AND no < ?2), ?3, ?4, 0, ?5, ?6)",
            params![sid, no as i64, stored.kind, stored.version, stored.json.len() as i64, stored.json.as_bytes()],
        )?;
    }
    Ok(())
}

fn fill_events(connection: &Connection, sid: i64) -> rusqlite::Result<()> {
    let Ok(body) = codec::encode_record("event", &EventBody::SessionChanged) else { return Ok(()) };
    for seq in missing(connection, sid, "event", "seq", "last_seq")? {
        connection.execute(
            "INSERT INTO event (sid, seq, at, version, body) VALUES (?1, ?2, \
             (SELECT coalesce(max(at), 0) FROM event WHERE sid = ?1 AND seq < ?2), ?3, ?4)",
            params![sid, seq as i64, codec::RECORD_VERSION, body],
        )?;
    }
    Ok(())
}

/// Takes out epochs whose last request cannot be replayed byte for byte.
fn give_up_epochs(connection: &Connection, path: &Path, sid: i64) -> rusqlite::Result<()> {
    let reader = Reader { connection, path, folder: Path::new("") };
    let mut statement = connection.prepare(
        "SELECT no, (SELECT max(r.no) FROM request r WHERE r.sid = e.sid AND r.epoch = e.no) FROM epoch e WHERE sid = ?1 \
         UNION SELECT epoch, max(no) FROM request WHERE sid = ?1 GROUP BY epoch",
    )?;
    let epochs: Vec<(i64, Option<u64>)> = statement
        .query_map([sid], |row| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?.map(|no| no.max(0) as u64))))?
        .collect::<Result<_, _>>()?;
    for (epoch, request) in epochs {
        let whole = match request {
            Some(request) => reader.request_body(sid, RequestNo(request)).map(|_| ()),
            None => reader.epoch_by_no(sid, EpochNo(epoch.max(0) as u64)).map(|_| ()),
        };
        match whole {
            Ok(()) => {}
            Err(StoreError::Sqlite { source, .. }) => return Err(source),
            Err(_) => {
                connection.execute("INSERT INTO deletion (sid) VALUES (?1)", [sid])?;
                for sql in [
                    "DELETE FROM request_blob WHERE sid = ?1 AND request IN \
                     (SELECT no FROM request WHERE sid = ?1 AND epoch = ?2)",
                    "DELETE FROM request_end WHERE sid = ?1 AND no IN \
                     (SELECT no FROM request WHERE sid = ?1 AND epoch = ?2)",
                    "DELETE FROM request WHERE sid = ?1 AND epoch = ?2",
                    "DELETE FROM epoch_blob WHERE sid = ?1 AND epoch = ?2",
                    "DELETE FROM epoch WHERE sid = ?1 AND no = ?2",
                ] {
                    connection.execute(sql, params![sid, epoch])?;
                }
                connection.execute("DELETE FROM deletion WHERE sid = ?1", [sid])?;
            }
        }
    }
    Ok(())
}
