//! Compactions by hand.

use super::super::actor::Msg;
use super::super::api::{ApiError, ApiErrorKind, Client};
use super::super::live;
use super::Service;
use plimsoll_core::id::SessionId;
use plimsoll_core::ingest::{self, Source};

/// Longest focus, in bytes: a few sentences.
const LONGEST: usize = 4_000;

impl Service {
    /// Has the history of a session shortened for the model: at once, or where a turn runs, before its next request. Returns when
    /// that has begun; its end is an event.
    pub async fn compact(&self, client: &Client, id: &SessionId, focus: Option<String>) -> Result<(), ApiError> {
        let _beginning = self.beginning();
        let focus = focus.map(|focus| ingest::string(Source::User, focus).trim().to_owned());
        let focus = focus.filter(|focus| !focus.is_empty());
        if let Some(long) = focus.as_ref().filter(|focus| focus.len() > LONGEST) {
            let message = format!("`focus` has {} bytes; at most {LONGEST} are taken", long.len());
            return Err(ApiError::new(ApiErrorKind::InvalidParams, message));
        }
        let handle = self.live(id).await?;
        let order = handle.order.lock().await;
        let setup = Box::new(handle.project.turn(id, client, &handle.chosen).await);
        let answer = handle.send(|reply| Msg::Compact { setup, focus, reply }).await?;
        drop(order);
        answer.await.map_err(|_| live::gone())?
    }
}
