//! What a session knows of its work, as SQL: the files that a turn changed, and the last run of the tests.

use super::StoreError;
use super::read::{Reader, number};
use plimsoll_core::id::{CallId, TurnNo};
use plimsoll_core::ledger::{Operation, changed_files};
use plimsoll_core::permission::rule::TESTS;
use plimsoll_core::tool::outcome::Body;
use plimsoll_core::transcript::item::ItemBody;
use plimsoll_core::verification::Verification;
use rusqlite::params;
use std::collections::BTreeSet;

impl Reader<'_> {
    /// Files that the calls of this turn are known to have changed, each once.
    pub(super) fn turn_files(&self, sid: i64, turn: Option<TurnNo>) -> Result<Vec<String>, StoreError> {
        let Some(turn) = turn else { return Ok(Vec::new()) };
        let operations: Vec<Operation> = self.rows(
            "SELECT version, body FROM operation WHERE sid = ?1 AND json_extract(body, '$.turn') = ?2",
            params![sid, turn.0 as i64],
            |row| Ok(self.record("operation", row.get(0)?, row.get_ref(1)?.as_str()?)),
        )?;
        let files: BTreeSet<&str> = operations.iter().flat_map(changed_files).collect();
        Ok(files.into_iter().map(str::to_owned).collect())
    }

    /// The last run of the tests that came to an end and is in the view. A fork has run none itself.
    pub(super) fn verification(&self, sid: i64) -> Result<Option<Verification>, StoreError> {
        let calls: Vec<CallId> = self.rows(
            "SELECT call FROM operation WHERE sid = ?1 AND json_extract(body, '$.tool') = ?2 ORDER BY call DESC",
            params![sid, TESTS],
            |row| Ok(Ok(CallId(number(row, 0)?))),
        )?;
        if calls.is_empty() {
            return Ok(None);
        }
        let out = self.out_of_view(sid)?;
        for call in calls {
            let Some(item) = self.result(sid, call)?.filter(|item| !out.contains(item.no)) else { continue };
            if let ItemBody::ToolResult(result) = &item.body
                && let Body::Tests(run) = &result.outcome.body
                && let Some(verification) = Verification::of(call, run, item.at)
            {
                return Ok(Some(verification));
            }
        }
        Ok(None)
    }
}
