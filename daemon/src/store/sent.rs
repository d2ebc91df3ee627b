//! All that a session sent, also where some of it is damaged: what can be had is there, the rest is named.

use super::read::{Reader, number};
use super::record::{AllSent, DamagedRequest, RequestEntry, SentRequest};
use super::requests::REQUEST;
use super::{ProjectStore, StoreError};
use plimsoll_core::id::{EpochNo, ItemNo, RequestNo, SessionId, StepNo, TurnNo};
use plimsoll_core::time::Timestamp;
use rusqlite::Row;

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime is not general enough"
)]
impl ProjectStore {
    /// Every epoch and every request of a session, oldest first. One whose texts are not as they were sent is among them, with
    /// what is wrong; an error only where nothing can be read. Epochs that damage took whole are left out.
    pub async fn all_sent(&self, id: &SessionId) -> Result<AllSent, StoreError> {
        self.read(id, |reader, sid| reader.all_sent(sid)).await
    }
}

impl Reader<'_> {
    fn all_sent(&self, sid: i64) -> Result<AllSent, StoreError> {
        let mut all = AllSent::default();
        let numbers =
            self.rows("SELECT no FROM epoch WHERE sid = ?1 ORDER BY no", [sid], |row| Ok(Ok(number(row, 0)?)))?;
        for no in numbers.into_iter().map(EpochNo) {
            match self.epoch_by_no(sid, no) {
                Ok(epoch) => all.epochs.extend(epoch.map(|(epoch, _)| epoch)),
                Err(error) => drop(all.damaged.insert(no, damage(error)?)),
            }
        }
        let sql = format!("SELECT {REQUEST} FROM request WHERE sid = ?1 ORDER BY no");
        all.requests = self.rows(&sql, [sid], |row| self.sent_request(sid, row))?;
        Ok(all)
    }

    fn sent_request(&self, sid: i64, row: &Row<'_>) -> rusqlite::Result<Result<SentRequest, StoreError>> {
        let no = RequestNo(number(row, 0)?);
        let end = self.request_end(sid, no).unwrap_or_else(|error| {
            tracing::warn!(%error, request = %no, "how a request ended cannot be read");
            None
        });
        let error = match self.request_row(sid, row)? {
            Ok(request) => return Ok(Ok(SentRequest::Whole(Box::new(RequestEntry { request, end })))),
            Err(error) => error,
        };
        let why = match damage(error) {
            Ok(why) => why,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(SentRequest::Damaged(DamagedRequest {
            no,
            epoch: EpochNo(number(row, 1)?),
            turn: TurnNo(number(row, 2)?),
            step: StepNo(number(row, 3)?),
            at: Timestamp(row.get(4)?),
            last_item: ItemNo(number(row, 5)?),
            bytes: number(row, 7)?,
            end,
            why,
        })))
    }
}

/// What is wrong with a stored text; an error when it is the reading that failed.
fn damage(error: StoreError) -> Result<String, StoreError> {
    match error {
        StoreError::Damaged { detail, .. } => Ok(detail),
        StoreError::Codec { source, .. } => Ok(source.to_string()),
        other => Err(other),
    }
}
