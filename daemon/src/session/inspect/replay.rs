//! What was sent, from the store alone: the list of requests, one of them with its segments, its exact body. None of this
//! needs the project's folder.

use super::list::{self, Sent, wire};
use super::next::{body, view_at};
use super::segments;
use super::side;
use super::value::{Checked, RequestDetail, RequestPage, SegmentDetail};
use crate::session::api::{ApiError, ApiErrorKind, Client};
use crate::session::beside::transcript_path;
use crate::session::load::store_error;
use crate::session::service::Service;
use crate::store::{ProjectStore, ProjectionStats, RequestBody};
use plimsoll_core::context::explain::{Difference, Request, Tail, differences, sources};
use plimsoll_core::id::{CallId, ItemNo, RequestNo, SessionId};
use plimsoll_core::model::codec;
use plimsoll_core::transcript::batch::StoredProjection;
use plimsoll_core::transcript::epoch::{Epoch, RequestRow};
use plimsoll_core::transcript::item::Item;
use std::collections::BTreeMap;

impl Service {
    /// Up to `limit` requests before `before`, the newest of them, ascending.
    pub async fn requests(
        &self,
        client: &Client,
        id: &SessionId,
        before: Option<RequestNo>,
        limit: usize,
    ) -> Result<RequestPage, ApiError> {
        let (sent, store) = self.sent(id).await?;
        let mut listed = self.listed(client, id, &sent, &store).await?;
        let mut total = list::total(&listed);
        listed.retain(|one| before.is_none_or(|before| one.no < before));
        let first = listed.len().saturating_sub(limit);
        let requests = listed.split_off(first);
        let next_before = requests.first().map(|one| one.no).filter(|_| !listed.is_empty());
        let all = self.side_listed(client, id, &store).await?;
        total.side = side::total(&all);
        let side = if before.is_none() { all } else { Vec::new() };
        Ok(RequestPage { requests, side, next_before, total })
    }

    /// One request with its segments, whose hashes were compared. With `check` its messages are also made anew from their
    /// items.
    pub async fn request(
        &self,
        client: &Client,
        id: &SessionId,
        no: RequestNo,
        check: bool,
    ) -> Result<RequestDetail, ApiError> {
        let (sent, store) = self.sent(id).await?;
        if !sent.numbers().any(|known| known == no) {
            return Err(no_request(no, sent.numbers().next_back()));
        }
        let replayed = body(&store, id, no).await?;
        let listed = self.listed(client, id, &sent, &store).await?.into_iter().find(|one| one.no == no);
        let listed = listed.ok_or_else(|| no_request(no, None))?;
        let rows: Vec<&RequestRow> = sent.of_epoch(&replayed.request).collect();
        let (items, shown) = view_at(&store, id, &replayed.epoch, replayed.request.last_item).await?;
        let transcript = transcript_path(&store, id);
        Ok(RequestDetail {
            listed,
            hash: replayed.request.hash,
            segments: segments_of(&replayed, &rows, &items, &shown, &transcript),
            checked: check.then(|| checked(&replayed.epoch, &rows, &items, &shown, &transcript)),
        })
    }

    /// The exact body of a request.
    pub async fn replay(&self, id: &SessionId, no: RequestNo) -> Result<String, ApiError> {
        let (_, store) = self.store_of(id).await?;
        let replayed = match store.request_body_segments(id, no).await {
            Ok(replayed) => replayed,
            Err(error) => {
                let told = store_error(&error);
                if told.kind == ApiErrorKind::NotFound {
                    let last = store.session(id).await.map_err(|error| store_error(&error))?.counters.request;
                    return Err(no_request(no, (last > RequestNo(0)).then_some(last)));
                }
                return Err(told);
            }
        };
        let wire = wire(&replayed.epoch, &replayed.request, &replayed.messages);
        let marks = &replayed.request.marks;
        let request = Request { api: replayed.epoch.api, wire, marks, prompts: &replayed.epoch.prompts, sources: &[] };
        // Bodies are put together from texts.
        String::from_utf8(request.body()).map_err(|error| ApiError::new(ApiErrorKind::Internal, error.to_string()))
    }

    /// What shortened results saved, by model and tool: of this session, or of all of its project.
    pub async fn projections(&self, id: &SessionId, all: bool) -> Result<Vec<ProjectionStats>, ApiError> {
        let (_, store) = self.store_of(id).await?;
        store.projection_stats((!all).then_some(id)).await.map_err(|error| store_error(&error))
    }

    async fn sent(&self, id: &SessionId) -> Result<(Sent, ProjectStore), ApiError> {
        let (_, store) = self.store_of(id).await?;
        let all = store.all_sent(id).await.map_err(|error| store_error(&error))?;
        Ok((Sent(all), store))
    }

    async fn listed(
        &self,
        client: &Client,
        id: &SessionId,
        sent: &Sent,
        store: &ProjectStore,
    ) -> Result<Vec<super::Listed>, ApiError> {
        let model = store.session(id).await.map_err(|error| store_error(&error))?.model;
        let project = store.record();
        Ok(sent.list(|epoch| self.profile_of(client, &project.roots, &model, epoch)))
    }
}

fn no_request(no: RequestNo, last: Option<RequestNo>) -> ApiError {
    let (message, hint) = match last {
        Some(last) => (
            format!("the session has no request {no}; its last is {last}"),
            "request/list (`plimsoll requests`) shows them".to_owned(),
        ),
        None => (
            "the session has sent no request yet".to_owned(),
            "context/inspect (`plimsoll inspect`) shows what the next one would be".to_owned(),
        ),
    };
    ApiError::new(ApiErrorKind::NotFound, message).hint(hint)
}

fn segments_of(
    replayed: &RequestBody,
    rows: &[&RequestRow],
    items: &[Item],
    shown: &BTreeMap<CallId, StoredProjection>,
    transcript: &str,
) -> Vec<SegmentDetail> {
    let wire = wire(&replayed.epoch, &replayed.request, &replayed.messages);
    let sources = sources(replayed.epoch.api, &Tail::of(&replayed.epoch, rows), items, shown, transcript);
    let head = wire.tools.len() + wire.system.len() + wire.preamble;
    segments::segments(&wire, replayed.epoch.api, &replayed.request.marks, |at| {
        let source = at.checked_sub(head).and_then(|at| sources.get(at));
        let mut items: Vec<ItemNo> = source.into_iter().flat_map(|source| &source.items).map(|(no, _)| *no).collect();
        items.sort_unstable();
        items
    })
}

/// Compares what the present code makes of the items with what was sent, but for what an older version of it wrote.
fn checked(
    epoch: &Epoch,
    rows: &[&RequestRow],
    items: &[Item],
    shown: &BTreeMap<CallId, StoredProjection>,
    transcript: &str,
) -> Checked {
    let mut ours: Vec<bool> = Vec::new();
    for row in rows {
        ours.extend(row.tail.iter().map(|_| row.codec == codec::VERSION));
    }
    let older = ours.iter().filter(|ours| !**ours).count();
    let is_ours = |difference: &Difference| ours.get(difference.message).copied().unwrap_or(true);
    let differences =
        differences(epoch.api, &Tail::of(epoch, rows), items, shown, transcript).into_iter().filter(is_ours).collect();
    Checked { messages: ours.len() - older, older, differences }
}
