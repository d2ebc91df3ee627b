//! `session/*`.

use super::super::error::api;
use super::super::from_wire::search;
use super::super::life::Life;
use super::super::{from_wire, to_wire};
use crate::session::Subscription;
use crate::session::api::{ApiError, NewSession, SessionFilter, Update};
use crate::session::service::Service;
use jsonrpsee_core::server::{Extensions, PendingSubscriptionSink, SubscriptionSink};
use jsonrpsee_core::{RpcResult, SubscriptionResult, async_trait};
use jsonrpsee_types::ErrorObjectOwned;
use plimsoll_core::event::EventBody;
use plimsoll_core::id::{Seq, SessionId};
use plimsoll_protocol::Done;
use plimsoll_protocol::event::{CloseReason, Event, SessionEvent};
use plimsoll_protocol::session::{Archived, ListResult, SessionApiServer, SessionInfo, SessionState};

pub struct Methods {
    pub service: Service,
    pub life: Life,
}

#[async_trait]
impl SessionApiServer for Methods {
    async fn create(
        &self,
        context: &Extensions,
        project: String,
        title: Option<String>,
        mode: Option<String>,
        model: Option<String>,
        base_prompt: Option<String>,
        idempotency_key: Option<String>,
    ) -> RpcResult<SessionInfo> {
        let project = from_wire::id("project", &project)?;
        let new = NewSession { key: idempotency_key, title, mode, model, base_prompt };
        let info = self.service.create_session(&super::client(context)?, &project, new).await;
        info.map(|info| to_wire::session(&info)).map_err(api)
    }

    async fn list(
        &self,
        project: Option<String>,
        query: Option<String>,
        states: Option<Vec<SessionState>>,
        archived: Option<Archived>,
        cursor: Option<String>,
        limit: Option<u32>,
    ) -> RpcResult<ListResult> {
        let project = project.map(|project| from_wire::id("project", &project)).transpose()?;
        let filter = SessionFilter {
            project,
            query,
            states: search::states(&states.unwrap_or_default())?,
            archived: search::archived(archived.unwrap_or_default()),
            cursor,
            limit: from_wire::list_limit(limit)?,
        };
        let page = self.service.list_sessions(filter).await.map_err(api)?;
        Ok(ListResult { sessions: page.sessions.iter().map(to_wire::session).collect(), next_cursor: page.next })
    }

    async fn get(&self, session: String) -> RpcResult<SessionInfo> {
        let info = self.service.get_session(&from_wire::id("session", &session)?).await;
        info.map(|info| to_wire::session(&info)).map_err(api)
    }

    // The same title again changes nothing: the key adds nothing.
    async fn rename(&self, session: String, title: String, _idempotency_key: Option<String>) -> RpcResult<SessionInfo> {
        let id = from_wire::id("session", &session)?;
        let title = from_wire::text("title", title)?;
        let info = self.service.rename_session(&id, title.trim()).await;
        info.map(|info| to_wire::session(&info)).map_err(api)
    }

    // The same again changes nothing: the key adds nothing.
    async fn archive(
        &self,
        session: String,
        archived: bool,
        _idempotency_key: Option<String>,
    ) -> RpcResult<SessionInfo> {
        let info = self.service.archive_session(&from_wire::id("session", &session)?, archived).await;
        info.map(|info| to_wire::session(&info)).map_err(api)
    }

    // The same mode again changes nothing: the key adds nothing.
    async fn set_mode(
        &self,
        session: String,
        mode: String,
        _idempotency_key: Option<String>,
    ) -> RpcResult<SessionInfo> {
        let info = self.service.set_mode(&from_wire::id("session", &session)?, &mode).await;
        info.map(|info| to_wire::session(&info)).map_err(api)
    }

    // The same model again changes nothing: the key adds nothing.
    async fn set_model(
        &self,
        context: &Extensions,
        session: String,
        model: String,
        _idempotency_key: Option<String>,
    ) -> RpcResult<SessionInfo> {
        let id = from_wire::id("session", &session)?;
        let info = self.service.set_model(&super::client(context)?, &id, &model).await;
        info.map(|info| to_wire::session(&info)).map_err(api)
    }

    // What is gone stays gone: the key adds nothing.
    async fn delete(&self, session: String, _idempotency_key: Option<String>) -> RpcResult<Done> {
        self.service.delete_session(&from_wire::id("session", &session)?).await.map_err(api)?;
        Ok(Done {})
    }

    async fn attach(
        &self,
        pending: PendingSubscriptionSink,
        context: &Extensions,
        session: String,
        after: Option<u64>,
    ) -> SubscriptionResult {
        match self.subscribe(context, &session, after).await {
            Err(error) => pending.reject(error).await,
            Ok((id, subscription)) => {
                let sink = pending.accept().await?;
                pump(&self.service, &self.life, &id, subscription, &sink).await;
            }
        }
        Ok(())
    }
}

impl Methods {
    async fn subscribe(
        &self,
        context: &Extensions,
        session: &str,
        after: Option<u64>,
    ) -> Result<(SessionId, Subscription), ErrorObjectOwned> {
        let id: SessionId = from_wire::id("session", session)?;
        let client = super::client(context)?;
        let subscription = self.service.attach(&client, &id, Seq(after.unwrap_or(0))).await.map_err(api)?;
        Ok((id, subscription))
    }
}

/// Hands on what happens until one of the two sides ends.
async fn pump(service: &Service, life: &Life, id: &SessionId, mut subscription: Subscription, sink: &SubscriptionSink) {
    let mut restarts = life.restarts();
    loop {
        let updates = tokio::select! {
            updates = subscription.next() => updates,
            () = sink.closed() => return,
            // The sender lives as long as the life.
            _ = restarts.changed() => {
                let pending = restarts.borrow_and_update().clone();
                let Some(pending) = pending else { continue };
                if !send(sink, &transient(id, Event::RestartPending { build: pending.build })).await {
                    return;
                }
                continue;
            }
        };
        // The update before said that it is closed.
        let Some(updates) = updates else { return };
        for update in &updates {
            let info = match session_of(service, id, update).await {
                Some(Ok(info)) => Some(info),
                Some(Err(error)) => {
                    tracing::debug!(%error, "a changed session can't be read");
                    None
                }
                None => None,
            };
            let event = to_wire::update(id.as_str(), update, info.as_ref());
            let event = event.unwrap_or_else(|missing| unreadable(id, missing.to_string()));
            let last = matches!(event.event, Event::Closed { .. });
            if !send(sink, &event).await || last {
                return;
            }
        }
    }
}

/// The session as it is now, when the update says that it changed.
async fn session_of(
    service: &Service,
    id: &SessionId,
    update: &Update,
) -> Option<Result<crate::session::api::SessionInfo, ApiError>> {
    match update {
        Update::Event(resolved) if resolved.event.body == EventBody::SessionChanged => {
            Some(service.get_session(id).await)
        }
        Update::Event(_) | Update::Delta { .. } | Update::Closed { .. } => None,
    }
}

fn unreadable(id: &SessionId, message: String) -> SessionEvent {
    transient(id, Event::Closed { reason: CloseReason::StoreFailed, message })
}

fn transient(id: &SessionId, event: Event) -> SessionEvent {
    SessionEvent { session: id.to_string(), seq: None, at: None, event }
}

/// Whether the event was handed on.
async fn send(sink: &SubscriptionSink, event: &SessionEvent) -> bool {
    match serde_json::value::to_raw_value(event) {
        Ok(json) => sink.send(json).await.is_ok(),
        Err(error) => {
            tracing::error!(%error, "an event has no JSON form");
            false
        }
    }
}
