//! Requests beside the conversation, a summary's for example: written as they were sent, never changed, and no part of any
//! view. A fork does not have those of the session that it was forked from: that one paid for them.

use super::encode::{Text, text};
use super::read::{Reader, number};
use super::write::Sql;
use super::{ProjectStore, StoreError};
use plimsoll_core::id::{EpochNo, ItemNo, RequestNo, SessionId, SideNo};
use plimsoll_core::model::request::{Api, Params};
use plimsoll_core::model::usage::Usage;
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::codec::{self, CodecError, RECORD_VERSION};
use plimsoll_core::transcript::epoch::{Hash, Segment, request_hash};
use plimsoll_core::transcript::side::{Purpose, SideEnd, SideRow};
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

/// A request beside the conversation, in the list of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SideEntry {
    /// Its number among the session's side requests.
    pub no: SideNo,
    /// What it was for.
    pub purpose: Purpose,
    /// When it was sent.
    pub at: Timestamp,
    /// The epoch at that time.
    pub epoch: EpochNo,
    /// The last item that it knew.
    pub last_item: ItemNo,
    /// The request that it begins with; none: it stood alone.
    pub base: Option<RequestNo>,
    /// The wire.
    pub api: Api,
    /// Its parameters.
    pub params: Params,
    /// Bytes of its body.
    pub bytes: u64,
    /// Estimated tokens.
    pub tokens: u64,
    /// How it ended; none when its end was not seen.
    pub end: Option<SideEnd>,
}

/// The stored form of its own facts.
#[derive(Clone, Serialize, Deserialize)]
struct SideBody {
    api: Api,
    params: Params,
    marks: Vec<u32>,
}

/// One as rows.
pub(super) struct SideRows {
    no: u64,
    purpose: String,
    at: i64,
    epoch: u64,
    last_item: u64,
    base: Option<u64>,
    hash: Hash,
    bytes: u64,
    body: String,
    layers: [Vec<Text>; 3],
}

/// Bytes of text that one brings, for whoever decides where it is made into rows.
pub(super) fn weight(row: &SideRow) -> usize {
    row.messages.iter().map(|segment| segment.text.len()).sum()
}

pub(super) fn rows(row: SideRow) -> Result<SideRows, CodecError> {
    // Most of it is the conversation's own, and stored already.
    let layer = |segments: Vec<Segment>| segments.into_iter().map(|segment| text(segment, false)).collect();
    let body = SideBody { api: row.api, params: row.params, marks: row.marks };
    Ok(SideRows {
        no: row.no.0,
        purpose: codec::encode_record("purpose", &row.purpose)?,
        at: row.at.0,
        epoch: row.epoch.0,
        last_item: row.last_item.0,
        base: row.base.map(|base| base.0),
        hash: row.hash,
        bytes: row.bytes,
        body: codec::encode_record("side_request", &body)?,
        layers: [layer(row.tools), layer(row.system), layer(row.messages)],
    })
}

impl Sql<'_> {
    /// Writes one; the bytes that it takes.
    pub(super) fn side(&self, sid: i64, row: &SideRows) -> Result<u64, StoreError> {
        let mut bytes = row.body.len() as u64;
        self.execute(
            "INSERT INTO side_request (sid, no, purpose, at, epoch, last_item, base, hash, bytes, version, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                sid,
                row.no as i64,
                row.purpose,
                row.at,
                row.epoch as i64,
                row.last_item as i64,
                row.base.map(|base| base as i64),
                row.hash,
                row.bytes as i64,
                RECORD_VERSION,
                row.body
            ],
        )?;
        for (layer, texts) in (1_i64..).zip(&row.layers) {
            for (pos, text) in (0_i64..).zip(texts) {
                let (bid, added) = self.blob(text)?;
                bytes += added;
                self.execute(
                    "INSERT INTO side_blob (sid, no, layer, pos, bid, tokens, images) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![sid, row.no as i64, layer, pos, bid, text.tokens as i64, text.images],
                )?;
            }
        }
        Ok(bytes)
    }

    /// Writes how one ended.
    pub(super) fn side_end(&self, sid: i64, no: u64, body: &str) -> Result<u64, StoreError> {
        self.execute(
            "INSERT INTO side_end (sid, no, version, body) VALUES (?1, ?2, ?3, ?4)",
            params![sid, no as i64, RECORD_VERSION, body],
        )?;
        Ok(body.len() as u64)
    }
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime is not general enough"
)]
impl ProjectStore {
    /// A session's requests beside the conversation, oldest first.
    pub async fn side_requests(&self, id: &SessionId) -> Result<Vec<SideEntry>, StoreError> {
        self.read(id, |reader, sid| reader.side_requests(sid)).await
    }

    /// One of them with the exact segments that it was made of; an error when their hash is not the one it was sent with.
    pub async fn side_request(&self, id: &SessionId, no: SideNo) -> Result<SideRow, StoreError> {
        self.read(id, move |reader, sid| reader.side_request(sid, no)).await
    }
}

const SIDE: &str = "no, purpose, at, epoch, last_item, base, hash, bytes, version, body";

impl Reader<'_> {
    fn side_requests(&self, sid: i64) -> Result<Vec<SideEntry>, StoreError> {
        let sql = format!("SELECT {SIDE} FROM side_request WHERE sid = ?1 ORDER BY no");
        let rows = self.rows(&sql, [sid], |row| self.side_row(row))?;
        rows.into_iter()
            .map(|row| {
                let tokens = self.connection.query_row(
                    "SELECT coalesce(sum(tokens), 0) FROM side_blob WHERE sid = ?1 AND no = ?2",
                    params![sid, row.no.0 as i64],
                    |row| number(row, 0),
                );
                Ok(SideEntry {
                    no: row.no,
                    purpose: row.purpose,
                    at: row.at,
                    epoch: row.epoch,
                    last_item: row.last_item,
                    base: row.base,
                    api: row.api,
                    params: row.params,
                    bytes: row.bytes,
                    tokens: tokens.map_err(|source| self.error(source))?,
                    end: self.side_ended(sid, row.no)?,
                })
            })
            .collect()
    }

    fn side_request(&self, sid: i64, no: SideNo) -> Result<SideRow, StoreError> {
        let sql = format!("SELECT {SIDE} FROM side_request WHERE sid = ?1 AND no = ?2");
        let found = self.rows(&sql, params![sid, no.0 as i64], |row| self.side_row(row))?;
        let missing = || StoreError::NotFound { what: "side request", id: no.to_string() };
        let mut row = found.into_iter().next().ok_or_else(missing)?;
        for (layer, part) in (1_i64..).zip(["tool", "system text", "message"]) {
            let segments = self.segments(
                |at| format!("{part} {at} of side request {no}"),
                "SELECT b.hash, b.codec, b.len, b.body, s.tokens, s.images FROM side_blob s LEFT JOIN blob b USING (bid) \
                 WHERE s.sid = ?1 AND s.no = ?2 AND s.layer = ?3 ORDER BY s.pos",
                params![sid, no.0 as i64, layer],
            )?;
            match layer {
                1 => row.tools = segments,
                2 => row.system = segments,
                _ => row.messages = segments,
            }
        }
        let all = row.tools.iter().chain(&row.system).chain(&row.messages);
        if request_hash(&row.params, all) != row.hash {
            return Err(self.damaged(format!("side request {no} does not have the hash that it was sent with")));
        }
        Ok(row)
    }

    /// One without its segments.
    fn side_row(&self, row: &Row<'_>) -> rusqlite::Result<Result<SideRow, StoreError>> {
        let no = SideNo(number(row, 0)?);
        let (at, epoch, last_item) = (Timestamp(row.get(2)?), EpochNo(number(row, 3)?), ItemNo(number(row, 4)?));
        let base = row.get::<_, Option<i64>>(5)?.map(|base| RequestNo(base.max(0) as u64));
        let (hash, bytes, version) = (row.get::<_, Hash>(6)?, number(row, 7)?, row.get(8)?);
        let (purpose, body) = (row.get_ref(1)?.as_str()?, row.get_ref(9)?.as_str()?);
        let made = self.record::<Purpose>("purpose", version, purpose).and_then(|purpose| {
            let SideBody { api, params, marks } = self.record("side_request", version, body)?;
            let (tools, system, messages) = (Vec::new(), Vec::new(), Vec::new());
            Ok(SideRow {
                no,
                purpose,
                at,
                epoch,
                last_item,
                base,
                api,
                params,
                tools,
                system,
                messages,
                marks,
                hash,
                bytes,
            })
        });
        Ok(made)
    }

    fn side_ended(&self, sid: i64, no: SideNo) -> Result<Option<SideEnd>, StoreError> {
        let sql = "SELECT version, body FROM side_end WHERE sid = ?1 AND no = ?2";
        let found = self.rows(sql, params![sid, no.0 as i64], |row| {
            Ok(self.record("side_end", row.get(0)?, row.get_ref(1)?.as_str()?))
        })?;
        Ok(found.into_iter().next())
    }

    /// Tokens that were reported for a session's requests beside the conversation.
    pub(super) fn side_usage(&self, sid: i64) -> Result<Usage, StoreError> {
        self.reported("side_end WHERE sid = ?1", [sid])
    }
}
