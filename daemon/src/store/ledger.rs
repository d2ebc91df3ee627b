//! What is read of calls and turns to say what became of them.

use super::read::{Reader, number};
use super::{ProjectStore, StoreError};
use plimsoll_core::event::{EventBody, TurnEnd};
use plimsoll_core::id::{CallId, ItemNo, SessionId, TurnNo};
use plimsoll_core::time::Timestamp;
use rusqlite::params;

/// How a session's last turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastEnd {
    /// The turn.
    pub turn: TurnNo,
    /// Why it ended.
    pub reason: TurnEnd,
    /// Its last item; none when it has none.
    pub last_item: Option<ItemNo>,
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime is not general enough"
)]
impl ProjectStore {
    /// When the model made a call; none where the session has no such call. Looks through the session's items: meant for
    /// what happens rarely.
    pub async fn called_at(&self, id: &SessionId, call: CallId) -> Result<Option<Timestamp>, StoreError> {
        self.read(id, move |reader, sid| reader.called_at(sid, call)).await
    }

    /// How the session's last turn ended; none when no turn of it has.
    pub async fn last_end(&self, id: &SessionId) -> Result<Option<LastEnd>, StoreError> {
        self.read(id, |reader, sid| reader.last_end(sid)).await
    }
}

impl Reader<'_> {
    fn called_at(&self, sid: i64, call: CallId) -> Result<Option<Timestamp>, StoreError> {
        let found = self.rows(
            "SELECT at FROM item WHERE sid = ?1 AND call = ?2 AND kind = 'tool_call' LIMIT 1",
            params![sid, call.0.cast_signed()],
            |row| Ok(Ok(Timestamp(row.get(0)?))),
        )?;
        Ok(found.into_iter().next())
    }

    fn last_end(&self, sid: i64) -> Result<Option<LastEnd>, StoreError> {
        let found: Vec<EventBody> = self.rows(
            "SELECT version, body FROM event WHERE sid = ?1 AND body LIKE '{\"type\":\"turn\\_completed%' ESCAPE '\\' \
             ORDER BY seq DESC LIMIT 1",
            [sid],
            |row| Ok(self.record("event", row.get(0)?, row.get_ref(1)?.as_str()?)),
        )?;
        let Some(EventBody::TurnCompleted { turn, reason, .. }) = found.into_iter().next() else { return Ok(None) };
        let last_item = self.rows(
            "SELECT max(no) FROM item WHERE sid = ?1 AND turn = ?2 HAVING max(no) IS NOT NULL",
            params![sid, turn.0.cast_signed()],
            |row| number(row, 0).map(|no| Ok(ItemNo(no))),
        )?;
        Ok(Some(LastEnd { turn, reason, last_item: last_item.into_iter().next() }))
    }
}
