//! What a session is about, as rows: the values of an [`Account`]. However long the session is, a bounded piece is read.

use super::mirror;
use super::read::{self, Reader, number};
use super::{ProjectStore, StoreError};
use plimsoll_core::id::{ItemNo, SessionId, TurnNo};
use plimsoll_core::path;
use plimsoll_core::tool::account::{Account, Background, Part, Place, Record};
use plimsoll_core::transcript::item::{Item, ItemBody};
use plimsoll_core::transcript::mirror::render;
use rusqlite::{Params, params};
use std::os::unix::ffi::OsStrExt as _;

/// Bytes of records that are read: more than any look shows.
const BYTES: usize = 256 * 1024;

/// Items that are read at once.
const PAGE: usize = 64;

impl Reader<'_> {
    /// None where the session has no such part.
    fn account(&self, sid: i64, part: Part) -> Result<Option<Account>, StoreError> {
        let row = read::session(self.connection, self.path, sid)?;
        let last = row.counters.item;
        let (records, complete) = match part {
            Part::Recent => self.until(sid, last)?,
            Part::Turn(turn) if turn.0 == 0 || turn > row.counters.turn => return Ok(None),
            Part::Turn(turn) => self.until(sid, self.end_of(sid, turn, last)?)?,
            Part::From(place) => match self.onward(sid, place, last)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let before = match records.first() {
            Some(first) => {
                let sql = "SELECT max(turn) FROM item WHERE sid = ?1 AND turn < ?2 AND turn > 0";
                self.figure(sql, params![sid, first.turn.0 as i64])?.map(TurnNo)
            }
            None => None,
        };
        let background = if part == Part::Recent { self.background(sid)? } else { Background::Nothing };
        Ok(Some(Account {
            session: Some(row.id),
            title: row.title,
            items: last,
            turns: row.counters.turn,
            transcript: path::escape(mirror::transcript(self.folder).as_os_str().as_bytes()),
            background,
            records,
            complete,
            before,
        }))
    }

    /// What a session began with, in short: the latest summary of its view, or the first request.
    fn background(&self, sid: i64) -> Result<Background, StoreError> {
        if let Some(summary) = self.present_shape(sid)?.summary {
            return Ok(Background::Summary(summary.text));
        }
        let sql = "SELECT min(no) FROM item WHERE sid = ?1 AND kind = 'user'";
        let first = self.figure(sql, params![sid])?;
        let item = first.map(|no| self.item(sid, ItemNo(no))).transpose()?.flatten();
        Ok(match item.map(|item| (item.no, item.body)) {
            Some((item, ItemBody::User(message))) => Background::Request { item, text: message.text },
            _ => Background::Nothing,
        })
    }

    /// Records of whole turns up to an item; of one turn that is too long, its beginning. And whether the item is the last.
    fn until(&self, sid: i64, end: ItemNo) -> Result<(Vec<Record>, bool), StoreError> {
        let (mut items, mut bytes) = (Vec::new(), 0);
        let mut before = end.next();
        while bytes < BYTES && before > ItemNo(1) {
            let page = self.page_before(sid, Some(before), PAGE)?.items;
            let Some(first) = page.first() else { break };
            before = first.no;
            for item in page.into_iter().rev() {
                let text = self.record_of(&item)?;
                bytes += text.len();
                items.push((item, text));
            }
        }
        items.reverse();
        let mut records = by_turn(items, TurnNo(1));
        let Some(first) = records.first().map(|record| (record.no, record.turn)) else { return Ok((records, true)) };
        let start = self.start_of(sid, first.1)?;
        if start < first.0 {
            // What is read of this turn is not its beginning.
            let last = records.last().map(|record| record.turn);
            if last == Some(first.1) {
                return self.forward(sid, start, first.1, end);
            }
            records.retain(|record| record.turn > first.1);
        }
        Ok((records, true))
    }

    /// Records from a place on to the end of its turn. None where no record has that place.
    fn onward(&self, sid: i64, place: Place, last: ItemNo) -> Result<Option<(Vec<Record>, bool)>, StoreError> {
        let sql = "SELECT max(turn) FROM item WHERE sid = ?1 AND no <= ?2";
        let at = place.item.0.min(last.0);
        let turn = TurnNo(self.figure(sql, params![sid, at as i64])?.unwrap_or_default().max(1));
        let end = self.end_of(sid, turn, last)?;
        let found = self.forward(sid, place.item, turn, end)?;
        let first = found.0.first().filter(|record| record.no == place.item);
        let there =
            first.is_some_and(|record| place.byte < record.text.len() && record.text.is_char_boundary(place.byte));
        Ok(there.then_some(found))
    }

    fn forward(&self, sid: i64, from: ItemNo, turn: TurnNo, end: ItemNo) -> Result<(Vec<Record>, bool), StoreError> {
        let (mut records, mut bytes) = (Vec::<Record>::new(), 0);
        let mut after = ItemNo(from.0.saturating_sub(1));
        while bytes < BYTES && after < end {
            let page = self.page_after(sid, after, PAGE)?.items;
            let Some(last) = page.last() else { break };
            after = last.no;
            for item in page.into_iter().take_while(|item| item.no <= end) {
                let text = self.record_of(&item)?;
                bytes += text.len();
                records.push(Record { no: item.no, turn, text });
            }
        }
        let complete = records.last().is_none_or(|record| record.no >= end);
        Ok((records, complete))
    }

    fn record_of(&self, item: &Item) -> Result<String, StoreError> {
        Ok(render(item, mirror::artifact(item, self.folder)?.as_deref()))
    }

    /// The first item of a turn.
    fn start_of(&self, sid: i64, turn: TurnNo) -> Result<ItemNo, StoreError> {
        if turn <= TurnNo(1) {
            return Ok(ItemNo(1));
        }
        let sql = "SELECT no FROM item WHERE sid = ?1 AND turn >= ?2 ORDER BY no LIMIT 1";
        Ok(ItemNo(self.figure(sql, params![sid, turn.0 as i64])?.unwrap_or(1)))
    }

    /// The last item of a turn.
    fn end_of(&self, sid: i64, turn: TurnNo, last: ItemNo) -> Result<ItemNo, StoreError> {
        let next = self.start_of(sid, turn.next());
        let sql = "SELECT max(turn) FROM item WHERE sid = ?1";
        let newest = self.figure(sql, params![sid])?.unwrap_or_default();
        if turn.0 >= newest { Ok(last) } else { next.map(|next| ItemNo(next.0.saturating_sub(1))) }
    }

    /// One number; none where the row or its value is missing.
    fn figure(&self, sql: &str, params: impl Params) -> Result<Option<u64>, StoreError> {
        let found = self.rows(sql, params, |row| {
            Ok(Ok(if row.get_ref(0)?.data_type() == rusqlite::types::Type::Null {
                None
            } else {
                Some(number(row, 0)?)
            }))
        })?;
        Ok(found.into_iter().next().flatten())
    }
}

/// Items with the turn in which each stands: one that is of no turn, or of an earlier one, stands where it was written.
fn by_turn(items: Vec<(Item, String)>, first: TurnNo) -> Vec<Record> {
    let mut turn = first;
    let each = items.into_iter().map(|(item, text)| {
        turn = turn.max(item.turn);
        Record { no: item.no, turn, text }
    });
    each.collect()
}

impl ProjectStore {
    /// What a session is about, or another part of it; none where it has no such part.
    pub async fn account(&self, id: &SessionId, part: Part) -> Result<Option<Account>, StoreError> {
        self.read(id, move |reader, sid| reader.account(sid, part)).await
    }
}
