//! Requests beside a conversation, from the store alone: the list, one of them with its segments, its exact body.

use super::list::side_wire;
use super::segments::segments;
use super::value::{SideDetail, SideListed, SideTotal};
use crate::session::api::{ApiError, ApiErrorKind, Client};
use crate::session::load::store_error;
use crate::session::service::Service;
use crate::store::{ProjectStore, SideEntry};
use plimsoll_core::id::{SessionId, SideNo};
use plimsoll_core::model::catalog::{Catalog, ModelProfile};
use plimsoll_core::model::codec;
use plimsoll_core::transcript::epoch::Segment;
use plimsoll_core::transcript::side::SideRow;
use std::sync::Arc;

impl Service {
    /// One request beside the conversation with its segments, whose hashes were compared.
    pub async fn side_request(&self, client: &Client, id: &SessionId, no: SideNo) -> Result<SideDetail, ApiError> {
        let (_, store) = self.store_of(id).await?;
        let row = side_row(&store, id, no).await?;
        let listed = self.side_listed(client, id, &store).await?;
        let last = listed.last().map(|one| one.entry.no);
        let listed = listed.into_iter().find(|one| one.entry.no == no).ok_or_else(|| no_side_request(no, last))?;
        let segments = segments(&side_wire(&row), row.api, &row.marks, |_| Vec::new());
        Ok(SideDetail { listed, hash: row.hash, segments })
    }

    /// The exact body of one.
    pub async fn replay_side(&self, id: &SessionId, no: SideNo) -> Result<String, ApiError> {
        let (_, store) = self.store_of(id).await?;
        let row = side_row(&store, id, no).await?;
        let texts = |segments: &[Segment]| segments.iter().map(|segment| Arc::clone(&segment.text)).collect::<Vec<_>>();
        let (tools, system, messages) = (texts(&row.tools), texts(&row.system), texts(&row.messages));
        let body = codec::body(row.api, &row.params, &tools, &system, &messages, &row.marks);
        // Bodies are put together from texts.
        String::from_utf8(body).map_err(|error| ApiError::new(ApiErrorKind::Internal, error.to_string()))
    }

    /// All of a session, oldest first.
    pub(super) async fn side_listed(
        &self,
        client: &Client,
        id: &SessionId,
        store: &ProjectStore,
    ) -> Result<Vec<SideListed>, ApiError> {
        let entries = store.side_requests(id).await.map_err(|error| store_error(&error))?;
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let model = store.session(id).await.map_err(|error| store_error(&error))?.model;
        let config = self.config_of(client, &store.record().roots).ok();
        let other = config.and_then(|config| config.summary_model().ok().flatten()).map(|(profile, _)| profile);
        let cost = |entry: &SideEntry| {
            let price = priced(other.as_ref(), &model, entry).price?;
            Some(price.cost(entry.end.as_ref()?.usage?))
        };
        Ok(entries.into_iter().map(|entry| SideListed { cost: cost(&entry), entry }).collect())
    }
}

/// What is known of the model that one was sent to: the one that writes summaries now, else one of the session's provider.
fn priced(other: Option<&ModelProfile>, model: &str, entry: &SideEntry) -> ModelProfile {
    if let Some(other) = other.filter(|other| other.name == entry.params.model && other.api == entry.api) {
        return other.clone();
    }
    let provider = model.split_once('/').map_or(model, |(provider, _)| provider);
    Catalog::builtin().profile(provider, entry.api, &entry.params.model)
}

/// What all of them come to; none where there are none.
pub(super) fn total(listed: &[SideListed]) -> Option<SideTotal> {
    let total = listed.iter().fold(SideTotal::default(), |mut total, one| {
        total.requests += 1;
        total.bytes = total.bytes.saturating_add(one.entry.bytes);
        let usage = one.entry.end.as_ref().and_then(|end| end.usage);
        total.usage = total.usage.plus(usage.unwrap_or_default());
        if let Some(cost) = one.cost {
            total.cost = Some(total.cost.unwrap_or_default() + cost);
        }
        total
    });
    (total.requests > 0).then_some(total)
}

async fn side_row(store: &ProjectStore, id: &SessionId, no: SideNo) -> Result<SideRow, ApiError> {
    match store.side_request(id, no).await {
        Ok(row) => Ok(row),
        Err(error) => {
            let told = store_error(&error);
            if told.kind != ApiErrorKind::NotFound {
                return Err(told);
            }
            let last = store.session(id).await.map_err(|error| store_error(&error))?.counters.side;
            Err(no_side_request(no, (last > SideNo(0)).then_some(last)))
        }
    }
}

fn no_side_request(no: SideNo, last: Option<SideNo>) -> ApiError {
    let message = match last {
        Some(last) => format!("the session has no side request {no}; its last is {last}"),
        None => "the session has sent no request beside its conversation".to_owned(),
    };
    ApiError::new(ApiErrorKind::NotFound, message).hint("request/list (`plimsoll requests`) shows them")
}
