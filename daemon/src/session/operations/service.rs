//! What facades ask of a service about operations.

use super::{Asked, OperationFilter, OperationPage};
use crate::session::actor::Msg;
use crate::session::api::ApiError;
use crate::session::load::store_error;
use crate::session::service::Service;
use plimsoll_core::id::{CallId, SessionId};
use plimsoll_core::ledger::Operation;

impl Service {
    /// Operations of a session, the newest first.
    pub async fn operations(&self, id: &SessionId, filter: &OperationFilter) -> Result<OperationPage, ApiError> {
        // Taken up, so that what a dead daemon left is settled.
        self.live(id).await?;
        let (_, store) = self.store_of(id).await?;
        let open_only = filter.unsettled == Some(true);
        let all = store.operations(id, open_only).await.map_err(|error| store_error(&error))?;
        let wanted = |operation: &Operation| {
            filter.before.is_none_or(|before| operation.call < before)
                && (filter.states.is_empty() || filter.states.contains(&operation.state))
                && filter.unsettled.is_none_or(|unsettled| operation.is_unsettled() == unsettled)
        };
        let mut operations: Vec<Operation> = all.into_iter().rev().filter(wanted).take(filter.limit + 1).collect();
        let more = operations.len() > filter.limit;
        operations.truncate(filter.limit);
        let next = operations.last().map(|operation| operation.call).filter(|_| more);
        Ok(OperationPage { operations, next })
    }

    /// Looks at an operation again, or takes what the user says of it. One that is settled is only given.
    pub async fn operation(&self, id: &SessionId, call: CallId, asked: Asked) -> Result<Operation, ApiError> {
        self.live(id).await?.ask(|reply| Msg::Operation { call, asked, reply }).await?
    }
}
