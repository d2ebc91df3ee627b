//! What the daemon says to an ACP client on its own: updates, and requests that the client answers.

use crate::rpc::message::RequestId;
use crate::rpc::outbox::{Gone, Outbox};
use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, PROTOCOL_LEVEL_METHOD_NAMES, SessionNotification, SessionUpdate,
};
use plimsoll_protocol::hello::TOLD;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// What a client answered: a result, or an error object.
pub type Answer = Result<Box<RawValue>, Box<RawValue>>;

/// See the module's head. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Peer {
    outbox: Outbox,
    requests: Arc<Mutex<Requests>>,
}

#[derive(Debug, Default)]
struct Requests {
    last: u64,
    waiting: HashMap<String, oneshot::Sender<Answer>>,
}

/// A request to the client; forgotten when dropped.
#[derive(Debug)]
pub struct Pending {
    peer: Peer,
    id: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Peer {
    pub fn new(outbox: Outbox) -> Self {
        Self { outbox, requests: Arc::default() }
    }

    /// Numbers requests after this one, which a daemon before this sent to the same client.
    pub fn after(&self, last: u64) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).last = last;
    }

    /// Tells a surviving bridge that everything up to an event was told.
    pub async fn told(&self, session: &str, seq: u64) -> Result<(), Gone> {
        self.send(None, TOLD, &json!({ "sessionId": session, "seq": seq })).await
    }

    /// Tells something about a session.
    pub async fn update(&self, session: &str, update: SessionUpdate) -> Result<(), Gone> {
        let params = SessionNotification::new(session.to_owned(), update);
        self.send(None, CLIENT_METHOD_NAMES.session_update, &params).await
    }

    /// Asks the client.
    pub async fn request(&self, method: &str, params: &impl Serialize) -> Result<Pending, Gone> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.last += 1;
            let id = requests.last;
            requests.waiting.insert(id.to_string(), sender);
            id
        };
        let pending = Pending { peer: self.clone(), id, answer };
        self.send(Some(id), method, params).await?;
        Ok(pending)
    }

    /// Hands an answer to whoever waits for it. One that nobody waits for is ignored.
    pub fn answered(&self, id: &RequestId, answer: Answer) {
        let waiting = self.requests.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(&id.key());
        if let Some(waiting) = waiting {
            // Whoever asked may have stopped waiting just now.
            drop(waiting.send(answer));
        } else {
            tracing::debug!(id = id.json(), "an answer to nothing was ignored");
        }
    }

    /// Tells the client that a request needs no answer any more, unless it came already. Nobody gets it then.
    pub async fn withdraw(&self, id: u64) -> Result<(), Gone> {
        let open = self.requests.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(&id.to_string());
        if open.is_none() {
            return Ok(());
        }
        self.send(None, PROTOCOL_LEVEL_METHOD_NAMES.cancel_request, &json!({ "requestId": id })).await
    }

    async fn send(&self, id: Option<u64>, method: &str, params: &impl Serialize) -> Result<(), Gone> {
        #[derive(Serialize)]
        struct Message<'a, P> {
            jsonrpc: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            id: Option<u64>,
            method: &'a str,
            params: &'a P,
        }
        match serde_json::value::to_raw_value(&Message { jsonrpc: "2.0", id, method, params }) {
            Ok(json) => self.outbox.send(json).await,
            Err(error) => {
                tracing::error!(%error, method, "a message has no JSON form");
                Ok(())
            }
        }
    }
}

impl Pending {
    /// What names it to [`Peer::withdraw`].
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The answer; `None` when it was withdrawn.
    pub async fn answer(mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.peer.requests.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(&self.id.to_string());
    }
}
