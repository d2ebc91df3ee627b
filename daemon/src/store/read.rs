//! What is read of sessions, as SQL: rows to values.

use super::StoreError;
use super::encode::FileRef;
use super::pack::unpack;
use super::record::{Counters, ItemPage, ResolvedEvent, SessionOrigin, SessionRow, ViewItem};
use plimsoll_core::event::{Ask, AskChoice, AskResolution, Event, EventBody};
use plimsoll_core::id::{AskId, CallId, EpochNo, ItemNo, RequestNo, Revision, Seq, SessionId, SideNo, StepNo, TurnNo};
use plimsoll_core::ledger::Operation;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::Outcome;
use plimsoll_core::tool::projection::Shown;
use plimsoll_core::transcript::batch::{SessionState, StoredProjection};
use plimsoll_core::transcript::codec::{self, CodecError};
use plimsoll_core::transcript::item::{Item, ItemBody};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

/// The word that is stored for a state.
pub(super) fn state_word(state: SessionState) -> &'static str {
    match state {
        SessionState::Idle => "idle",
        SessionState::Running => "running",
        SessionState::Waiting => "waiting",
        SessionState::Interrupted => "interrupted",
    }
}

/// The state of a word; an unknown one counts as cut short, which is always safe to show.
pub(super) fn word_state(word: &str) -> SessionState {
    match word {
        "idle" => SessionState::Idle,
        "running" => SessionState::Running,
        "waiting" => SessionState::Waiting,
        _ => SessionState::Interrupted,
    }
}

/// A session's number in its database.
pub(super) fn sid(connection: &Connection, path: &Path, id: &SessionId) -> Result<i64, StoreError> {
    let found = connection
        .prepare_cached("SELECT sid FROM session WHERE id = ?1")
        .and_then(|mut statement| statement.query_row([id.as_str()], |row| row.get(0)).optional())
        .map_err(|source| StoreError::sqlite(path, source))?;
    found.ok_or_else(|| StoreError::NotFound { what: "session", id: id.to_string() })
}

/// A session by its number.
pub(super) fn session(connection: &Connection, path: &Path, sid: i64) -> Result<SessionRow, StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    let mut session = connection
        .prepare_cached(&format!("SELECT {SESSION} FROM session WHERE sid = ?1"))
        .and_then(|mut statement| statement.query_row([sid], |row| session_row(path, row)))
        .map_err(sqlite)??;
    let reader = Reader { connection, path, folder: Path::new("") };
    session.open_asks = reader.open_asks(sid)?;
    Ok(session)
}

/// Every session with its number, oldest change first.
pub(super) fn sessions(connection: &Connection, path: &Path) -> Result<Vec<(i64, SessionRow)>, StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    let mut statement = connection.prepare("SELECT sid FROM session ORDER BY updated_at, sid").map_err(sqlite)?;
    let sids: Vec<i64> = statement.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(sqlite)?;
    sids.into_iter().map(|sid| Ok((sid, session(connection, path, sid)?))).collect()
}

const SESSION: &str = "id, title, mode, model, created_at, updated_at, state, last_item, last_seq, last_turn, \
                       last_call, last_request, last_epoch, last_ask, bytes, archived, forked_from, \
                       (SELECT coalesce(max(no), 0) FROM side_request s WHERE s.sid = session.sid)";

fn session_row(path: &Path, row: &Row<'_>) -> rusqlite::Result<Result<SessionRow, StoreError>> {
    let id: String = row.get(0)?;
    let Ok(id) = id.parse() else {
        let detail = format!("`{id}` is no session id");
        return Ok(Err(StoreError::Damaged { path: path.to_owned(), detail }));
    };
    let state: String = row.get(6)?;
    Ok(Ok(SessionRow {
        id,
        title: row.get(1)?,
        mode: row.get(2)?,
        model: row.get(3)?,
        created_at: Timestamp(row.get(4)?),
        updated_at: Timestamp(row.get(5)?),
        state: word_state(&state),
        counters: Counters {
            item: ItemNo(number(row, 7)?),
            seq: Seq(number(row, 8)?),
            turn: TurnNo(number(row, 9)?),
            call: CallId(number(row, 10)?),
            request: RequestNo(number(row, 11)?),
            epoch: EpochNo(number(row, 12)?),
            ask: AskId(number(row, 13)?),
            side: SideNo(number(row, 17)?),
        },
        bytes: number(row, 14)?,
        open_asks: Vec::new(),
        archived: row.get(15)?,
        origin: origin(row.get(16)?),
    }))
}

/// Where a session comes from; what cannot be read is not known.
pub(super) fn origin(json: Option<String>) -> Option<SessionOrigin> {
    serde_json::from_str(&json?).ok()
}

/// A counter column; SQLite's integers are signed, the store's are not.
pub(super) fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(|value| value.max(0) as u64)
}

/// What cannot be read was not shown: files are read again then, and nothing else is lost.
fn shown(json: &str) -> Vec<Shown> {
    serde_json::from_str(json).unwrap_or_else(|error| {
        tracing::warn!(%error, "what a result showed of files cannot be read");
        Vec::new()
    })
}

/// Reads one session's rows.
pub(super) struct Reader<'a> {
    pub(super) connection: &'a Connection,
    pub(super) path: &'a Path,
    /// The session's folder, where large results lie.
    pub(super) folder: &'a Path,
}

pub(super) const ITEM: &str = "no, turn, step, at, kind, version, codec, len, body, file";

/// Notes what an attachment shows of files, behind the results before it. The reading is [`Reader::shown`].
pub(super) const ATTACH: &str = "INSERT INTO attached (sid, item, after_projection, shown) \
    VALUES (?1, ?2, (SELECT coalesce(max(rid), 0) FROM projection WHERE sid = ?1), ?3)";

impl Reader<'_> {
    pub(super) fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::sqlite(self.path, source)
    }

    pub(super) fn damaged(&self, detail: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: self.path.to_owned(), detail: detail.into() }
    }

    fn codec(&self, source: CodecError) -> StoreError {
        StoreError::Codec { path: self.path.to_owned(), source }
    }

    pub(super) fn record<T: DeserializeOwned>(&self, what: &str, version: u8, json: &str) -> Result<T, StoreError> {
        codec::decode_record(what, version, json).map_err(|source| self.codec(source))
    }

    /// All rows of a query, each made into a value.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<Result<T, StoreError>>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|source| self.error(source))?;
        let mut rows = statement.query(params).map_err(|source| self.error(source))?;
        let mut out = Vec::new();
        while let Some(row) = rows.next().map_err(|source| self.error(source))? {
            out.push(each(row).map_err(|source| self.error(source))??);
        }
        Ok(out)
    }

    /// The text of a packed column triple that begins at column `at`.
    pub(super) fn text(&self, row: &Row<'_>, at: usize) -> rusqlite::Result<Result<String, StoreError>> {
        let (codec, len) = (row.get::<_, i64>(at)?, number(row, at + 1)?);
        let body = row.get_ref(at + 2)?.as_blob()?;
        Ok(unpack(codec, len as usize, body).map_err(|error| self.damaged(error.to_string())))
    }

    pub(super) fn item_row(&self, row: &Row<'_>) -> rusqlite::Result<Result<Item, StoreError>> {
        // One that was forked names a file of another session's folder.
        let file: Option<String> = row.get(9)?;
        self.item_with(row, file.and_then(|file| self.whole(&file)))
    }

    /// The same; a large result that lies in a file is what the row says in its place.
    pub(super) fn item_of_row(&self, row: &Row<'_>) -> rusqlite::Result<Result<Item, StoreError>> {
        self.item_with(row, None)
    }

    fn item_with(&self, row: &Row<'_>, whole: Option<String>) -> rusqlite::Result<Result<Item, StoreError>> {
        let kind: String = row.get(4)?;
        let version: u8 = row.get(5)?;
        let json = match self.text(row, 6)? {
            Ok(json) => whole.unwrap_or(json),
            Err(error) => return Ok(Err(error)),
        };
        let body = match codec::decode(&kind, version, &json) {
            Ok(body) => body,
            Err(error) => return Ok(Err(self.codec(error))),
        };
        Ok(Ok(Item {
            no: ItemNo(number(row, 0)?),
            turn: TurnNo(number(row, 1)?),
            step: StepNo(number(row, 2)?),
            at: Timestamp(row.get(3)?),
            body,
        }))
    }

    /// The stored form that lies in a file. None when the file is not as it was saved: the row's own text says so then,
    /// and the rest of the session stays readable.
    fn whole(&self, file: &str) -> Option<String> {
        let place: FileRef = serde_json::from_str(file).ok()?;
        let path = match place.path.strip_prefix("../") {
            Some(elsewhere) => self.folder.parent()?.join(elsewhere),
            None => self.folder.join(&place.path),
        };
        let bytes = std::fs::read(path).ok()?;
        if blake3::hash(&bytes).to_hex().as_str() != place.hash {
            tracing::warn!(file = %place.path, "a saved result is not as it was saved");
            return None;
        }
        let len = usize::try_from(place.len).ok()?;
        String::from_utf8(zstd::bulk::decompress(&bytes, len).ok()?).ok()
    }

    pub(super) fn items_after(&self, sid: i64, after: ItemNo, limit: usize) -> Result<Vec<Item>, StoreError> {
        self.rows(
            &format!("SELECT {ITEM} FROM item WHERE sid = ?1 AND no > ?2 ORDER BY no LIMIT ?3"),
            params![sid, after.0 as i64, limit as i64],
            |row| self.item_row(row),
        )
    }

    pub(super) fn page(&self, sid: i64, items: Vec<Item>) -> Result<ItemPage, StoreError> {
        let mut projections = BTreeMap::new();
        for item in &items {
            if let ItemBody::ToolResult(result) = &item.body
                && let Some(shown) = self.projection(sid, result.call)?
            {
                projections.insert(result.call, shown.text);
            }
        }
        Ok(ItemPage { items, projections, last: session(self.connection, self.path, sid)?.counters.item })
    }

    pub(super) fn item(&self, sid: i64, no: ItemNo) -> Result<Option<Item>, StoreError> {
        let found = self.rows(
            &format!("SELECT {ITEM} FROM item WHERE sid = ?1 AND no = ?2"),
            params![sid, no.0 as i64],
            |row| self.item_row(row),
        )?;
        Ok(found.into_iter().next())
    }

    pub(super) fn result(&self, sid: i64, call: CallId) -> Result<Option<Item>, StoreError> {
        let found = self.rows(
            &format!(
                "SELECT {ITEM} FROM item WHERE sid = ?1 AND call = ?2 AND kind = 'tool_result' ORDER BY no LIMIT 1"
            ),
            params![sid, call.0 as i64],
            |row| self.item_row(row),
        )?;
        Ok(found.into_iter().next())
    }

    pub(super) fn outcome(&self, sid: i64, call: CallId) -> Result<Option<Outcome>, StoreError> {
        Ok(match self.result(sid, call)?.map(|item| item.body) {
            Some(ItemBody::ToolResult(result)) => Some(result.outcome),
            Some(_) | None => None,
        })
    }

    pub(super) fn projection(&self, sid: i64, call: CallId) -> Result<Option<StoredProjection>, StoreError> {
        let found = self.rows(
            "SELECT call, is_error, tokens, partial, codec, len, body, shown, whole, saved FROM projection \
             WHERE sid = ?1 AND call = ?2",
            params![sid, call.0 as i64],
            |row| {
                let (is_error, tokens, partial) = (row.get(1)?, number(row, 2)?, row.get(3)?);
                let shown = shown(row.get_ref(7)?.as_str()?);
                let (whole, saved) = (number(row, 8)?, number(row, 9)?);
                Ok(self.text(row, 4)?.map(|text| StoredProjection {
                    call,
                    text,
                    is_error,
                    tokens,
                    partial,
                    whole,
                    saved,
                    shown,
                }))
            },
        )?;
        Ok(found.into_iter().next())
    }

    /// What results and attachments of the view showed of files, oldest first. Read from an index alone: the texts are many times as long.
    pub(super) fn shown(&self, sid: i64) -> Result<Vec<Shown>, StoreError> {
        let out = self.out_of_view(sid)?;
        let mut rows = self.rows(
            "SELECT rid, shown FROM projection INDEXED BY projection_shown WHERE sid = ?1 AND shown <> '[]'",
            [sid],
            |row| Ok(Ok((row.get::<_, i64>(0)?, shown(row.get_ref(1)?.as_str()?)))),
        )?;
        let gone = self.projections_out_of_view(sid, &out)?;
        rows.retain(|(rid, _)| !gone.contains(rid));
        let attached = self.rows(
            "SELECT after_projection, shown, item FROM attached WHERE sid = ?1 ORDER BY item",
            [sid],
            |row| {
                let item = ItemNo(number(row, 2)?);
                Ok(Ok((row.get::<_, i64>(0)?, shown(row.get_ref(1)?.as_str()?), item)))
            },
        )?;
        let seen = attached.into_iter().filter(|(.., item)| !out.contains(*item));
        rows.extend(seen.map(|(rid, shown, _)| (rid, shown)));
        // The sort keeps the order of equals: an attachment stands behind the result that it came after.
        rows.sort_by_key(|(rid, _)| *rid);
        Ok(rows.into_iter().flat_map(|(_, shown)| shown).collect())
    }

    /// An item with the projection of its result.
    pub(super) fn with_projection(&self, sid: i64, item: Item) -> Result<ViewItem, StoreError> {
        let projection = match &item.body {
            ItemBody::ToolResult(result) => self.projection(sid, result.call)?,
            _ => None,
        };
        Ok(ViewItem { item, projection })
    }

    pub(super) fn operations(&self, sid: i64, open_only: bool) -> Result<Vec<Operation>, StoreError> {
        let sql = if open_only {
            "SELECT version, body FROM operation WHERE sid = ?1 AND settled = 0 ORDER BY call"
        } else {
            "SELECT version, body FROM operation WHERE sid = ?1 ORDER BY call"
        };
        self.rows(sql, [sid], |row| Ok(self.record("operation", row.get(0)?, row.get_ref(1)?.as_str()?)))
    }

    pub(super) fn open_asks(&self, sid: i64) -> Result<Vec<Ask>, StoreError> {
        self.rows("SELECT version, body FROM ask WHERE sid = ?1 AND open = 1 ORDER BY no", [sid], |row| {
            Ok(self.record("ask", row.get(0)?, row.get_ref(1)?.as_str()?))
        })
    }

    /// Questions of which the answer holds for the rest of the session.
    pub(super) fn granted(&self, sid: i64) -> Result<Vec<Ask>, StoreError> {
        let mut asks: Vec<Ask> =
            self.rows("SELECT version, body FROM ask WHERE sid = ?1 AND open = 0 ORDER BY no", [sid], |row| {
                Ok(self.record("ask", row.get(0)?, row.get_ref(1)?.as_str()?))
            })?;
        let lasts =
            |ask: &Ask| matches!(ask.resolution, Some(AskResolution::Answered { choice: AskChoice::AllowSession, .. }));
        asks.retain(lasts);
        Ok(asks)
    }

    pub(super) fn ask(&self, sid: i64, id: AskId) -> Result<Option<Ask>, StoreError> {
        let sql = "SELECT version, body FROM ask WHERE sid = ?1 AND no = ?2";
        let found = self.rows(sql, params![sid, id.0 as i64], |row| {
            Ok(self.record("ask", row.get(0)?, row.get_ref(1)?.as_str()?))
        })?;
        Ok(found.into_iter().next())
    }

    pub(super) fn prompt_turn(&self, sid: i64, key: &str) -> Result<Option<TurnNo>, StoreError> {
        let sql = "SELECT turn FROM prompt_key WHERE sid = ?1 AND key = ?2";
        let found = self.rows(sql, params![sid, key], |row| number(row, 0).map(|turn| Ok(TurnNo(turn))))?;
        Ok(found.into_iter().next())
    }

    /// The turn that began and has no end, and those that wait behind it, in order. Reads every event of a turn: meant for
    /// sessions that were cut.
    pub(super) fn open_turns(&self, sid: i64) -> Result<(Option<TurnNo>, Vec<TurnNo>), StoreError> {
        let events: Vec<EventBody> = self.rows(
            "SELECT version, body FROM event WHERE sid = ?1 AND body LIKE '{\"type\":\"turn\\_%' ESCAPE '\\' ORDER BY seq",
            [sid],
            |row| Ok(self.record("event", row.get(0)?, row.get_ref(1)?.as_str()?)),
        )?;
        let mut open: BTreeMap<TurnNo, bool> = BTreeMap::new();
        for event in events {
            match event {
                EventBody::TurnQueued { turn } => {
                    open.insert(turn, false);
                }
                EventBody::TurnStarted { turn } => {
                    open.insert(turn, true);
                }
                EventBody::TurnCompleted { turn, .. } => {
                    open.remove(&turn);
                }
                _ => {}
            }
        }
        let running = open.iter().find(|(_, began)| **began).map(|(turn, _)| *turn);
        Ok((running, open.into_iter().filter(|(_, began)| !began).map(|(turn, _)| turn).collect()))
    }

    pub(super) fn revision(&self) -> Result<Revision, StoreError> {
        let found = self.rows("SELECT revision FROM project", [], |row| number(row, 0).map(|no| Ok(Revision(no))))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    pub(super) fn event_rows(&self, sid: i64, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.rows(
            "SELECT seq, at, version, body FROM event WHERE sid = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            params![sid, after.0 as i64, limit as i64],
            |row| {
                let (seq, at) = (Seq(number(row, 0)?), Timestamp(row.get(1)?));
                let body = self.record::<EventBody>("event", row.get(2)?, row.get_ref(3)?.as_str()?);
                Ok(body.map(|body| Event { seq, at, body }))
            },
        )
    }

    pub(super) fn resolve(&self, sid: i64, event: Event) -> Result<ResolvedEvent, StoreError> {
        let (mut item, mut projection, mut ask, mut given_up) = (None, None, None, None);
        match &event.body {
            EventBody::ItemAdded { item: no } => {
                item = self.item(sid, *no)?;
                if let Some(Item { body: ItemBody::ToolResult(result), .. }) = &item {
                    projection = self.projection(sid, result.call)?.map(|projection| projection.text);
                }
            }
            EventBody::PlanChanged { call } => item = self.result(sid, *call)?,
            EventBody::PermissionAsked { ask: id, .. } | EventBody::PermissionResolved { ask: id, .. } => {
                ask = self.ask(sid, *id)?;
            }
            EventBody::CompactionFinished { epoch: Some(no), .. } => {
                given_up = self.epoch_price(sid, *no)?.map(|price| price.given_up);
            }
            EventBody::TurnStarted { .. }
            | EventBody::TurnQueued { .. }
            | EventBody::CompactionStarted { .. }
            | EventBody::CompactionFinished { epoch: None, .. }
            | EventBody::ToolStarted { .. }
            | EventBody::TaskEnded { .. }
            | EventBody::StepStarted { .. }
            | EventBody::StepCompleted { .. }
            | EventBody::TurnCompleted { .. }
            | EventBody::OperationChanged { .. }
            | EventBody::TaskChanged
            | EventBody::SessionChanged => {}
        }
        Ok(ResolvedEvent { event, item, projection, ask, given_up })
    }
}
