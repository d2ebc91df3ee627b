//! `turn/*`.

use super::super::error::api;
use super::super::from_wire;
use super::repeat::Repeats;
use crate::session::api::Beside;
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait, server::Extensions};
use plimsoll_protocol::Done;
use plimsoll_protocol::turn::{AcceptedTurn, Attachment, TurnApiServer, WhenBusy};

pub struct Methods {
    pub service: Service,
    pub steered: std::sync::Arc<Repeats>,
}

#[async_trait]
impl TurnApiServer for Methods {
    async fn start(
        &self,
        context: &Extensions,
        session: String,
        text: String,
        when_busy: Option<WhenBusy>,
        allow: Option<Vec<String>>,
        attachments: Option<Vec<Attachment>>,
        mode: Option<String>,
        model: Option<String>,
        idempotency_key: Option<String>,
    ) -> RpcResult<AcceptedTurn> {
        let session = from_wire::id("session", &session)?;
        let text = from_wire::text("text", text)?;
        let client = super::client(context)?;
        let busy = from_wire::when_busy(when_busy);
        let attachments = from_wire::attachments(attachments.unwrap_or_default())?;
        let beside = Beside { allow: allow.unwrap_or_default(), attachments, mode, model };
        let started = self.service.start_turn_with(&client, &session, text, idempotency_key, busy, beside).await;
        let accepted = started.map_err(api)?;
        Ok(AcceptedTurn { turn: accepted.turn.0, queued: accepted.queued })
    }

    async fn steer(
        &self,
        context: &Extensions,
        session: String,
        text: String,
        idempotency_key: Option<String>,
    ) -> RpcResult<Done> {
        let id = from_wire::id("session", &session)?;
        let text = from_wire::text("text", text)?;
        let client = super::client(context)?;
        if idempotency_key.as_deref().is_some_and(|key| !self.steered.is_new(&session, key)) {
            return Ok(Done {});
        }
        let steered = self.service.steer(&client, &id, text).await;
        if let (Err(_), Some(key)) = (&steered, &idempotency_key) {
            self.steered.forget(&session, key);
        }
        steered.map_err(api)?;
        Ok(Done {})
    }

    // Without a running turn nothing happens: the key adds nothing.
    async fn cancel(&self, session: String, _idempotency_key: Option<String>) -> RpcResult<Done> {
        self.service.cancel(&from_wire::id("session", &session)?).await.map_err(api)?;
        Ok(Done {})
    }

    async fn go_on(
        &self,
        context: &Extensions,
        session: String,
        idempotency_key: Option<String>,
    ) -> RpcResult<AcceptedTurn> {
        let session = from_wire::id("session", &session)?;
        let client = super::client(context)?;
        let accepted = self.service.continue_turn(&client, &session, idempotency_key).await.map_err(api)?;
        Ok(AcceptedTurn { turn: accepted.turn.0, queued: accepted.queued })
    }
}
