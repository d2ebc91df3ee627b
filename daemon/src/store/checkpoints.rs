//! What undoing needs to know of a session and its neighbours, as SQL.

use super::StoreError;
use super::read::{ITEM, Reader};
use super::record::Elsewhere;
use plimsoll_core::id::TurnNo;
use plimsoll_core::transcript::item::ItemBody;
use rusqlite::params;
use std::collections::BTreeMap;

impl Reader<'_> {
    /// Operations of other sessions whose record names this text, such as a version, with their sessions' titles.
    pub(super) fn elsewhere(&self, sid: i64, text: &str) -> Result<Vec<Elsewhere>, StoreError> {
        self.rows(
            "SELECT session.id, session.title, operation.version, operation.body FROM operation \
             JOIN session ON session.sid = operation.sid \
             WHERE operation.sid <> ?1 AND instr(operation.body, ?2) > 0 ORDER BY operation.sid, operation.call",
            params![sid, text],
            |row| {
                let (id, title): (String, String) = (row.get(0)?, row.get(1)?);
                let operation = self.record("operation", row.get(2)?, row.get_ref(3)?.as_str()?);
                let session = id.parse().map_err(|_| self.damaged(format!("`{id}` is no session id")));
                Ok(session.and_then(|session| Ok(Elsewhere { session, title, operation: operation? })))
            },
        )
    }

    /// The first line of each turn's prompt.
    pub(super) fn prompts(&self, sid: i64) -> Result<BTreeMap<TurnNo, String>, StoreError> {
        let items = self.rows(
            &format!("SELECT {ITEM} FROM item WHERE sid = ?1 AND kind = 'user' ORDER BY no"),
            [sid],
            |row| self.item_row(row),
        )?;
        let mut prompts = BTreeMap::new();
        for item in items {
            if let ItemBody::User(message) = item.body
                && !message.steering
            {
                let line = message.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                prompts.entry(item.turn).or_insert_with(|| line.trim().to_owned());
            }
        }
        Ok(prompts)
    }
}
