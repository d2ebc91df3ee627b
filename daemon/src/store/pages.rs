//! Pages of a session: as many items or events as were asked for, fewer where they are long, so that no page takes much
//! memory however long the session and its items are.

use super::StoreError;
use super::read::{ITEM, Reader, number};
use super::record::{ItemPage, ResolvedEvent};
use plimsoll_core::event::{Event, EventBody};
use plimsoll_core::id::{ItemNo, Seq};
use plimsoll_core::transcript::item::Item;
use rusqlite::params;

/// Bytes of items in a page, as they are stored unpacked. The one that goes beyond is the last.
const PAGE: u64 = 16 << 20;

impl Reader<'_> {
    /// Up to `limit` items after `after`, ascending.
    pub(super) fn page_after(&self, sid: i64, after: ItemNo, limit: usize) -> Result<ItemPage, StoreError> {
        let sql = format!("SELECT {ITEM} FROM item WHERE sid = ?1 AND no > ?2 ORDER BY no LIMIT ?3");
        let items = self.bounded(&sql, [sid, after.0 as i64, limit as i64])?;
        self.page(sid, items)
    }

    /// Up to `limit` items before `before`, ascending; without it, the last ones.
    pub(super) fn page_before(&self, sid: i64, before: Option<ItemNo>, limit: usize) -> Result<ItemPage, StoreError> {
        let sql = format!("SELECT {ITEM} FROM item WHERE sid = ?1 AND no < ?2 ORDER BY no DESC LIMIT ?3");
        let before = before.map_or(i64::MAX, |before| before.0 as i64);
        let mut items = self.bounded(&sql, [sid, before, limit as i64])?;
        items.reverse();
        self.page(sid, items)
    }

    fn bounded(&self, sql: &str, values: [i64; 3]) -> Result<Vec<Item>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|source| self.error(source))?;
        let mut rows = statement.query(values).map_err(|source| self.error(source))?;
        let (mut items, mut bytes) = (Vec::new(), 0);
        while bytes < PAGE
            && let Some(row) = rows.next().map_err(|source| self.error(source))?
        {
            bytes += number(row, 7).map_err(|source| self.error(source))?;
            items.push(self.item_row(row).map_err(|source| self.error(source))??);
        }
        Ok(items)
    }

    /// The events among these that make one page, with what they refer to.
    pub(super) fn resolved(&self, sid: i64, events: Vec<Event>) -> Result<Vec<ResolvedEvent>, StoreError> {
        let (mut resolved, mut bytes) = (Vec::with_capacity(events.len()), 0);
        for event in events {
            if bytes >= PAGE {
                break;
            }
            if let EventBody::ItemAdded { item } = &event.body {
                bytes += self.item_bytes(sid, *item)?;
            }
            resolved.push(self.resolve(sid, event)?);
        }
        Ok(resolved)
    }

    fn item_bytes(&self, sid: i64, no: ItemNo) -> Result<u64, StoreError> {
        let sql = "SELECT len FROM item WHERE sid = ?1 AND no = ?2";
        let found = self.rows(sql, params![sid, no.0 as i64], |row| Ok(Ok(number(row, 0)?)))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// Up to `limit` durable events after `after` with what they refer to.
    pub(super) fn events(&self, sid: i64, after: Seq, limit: usize) -> Result<Vec<ResolvedEvent>, StoreError> {
        let events = self.event_rows(sid, after, limit)?;
        self.resolved(sid, events)
    }
}
