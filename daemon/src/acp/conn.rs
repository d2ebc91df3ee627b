//! One ACP connection on the wire: lines of JSON-RPC both ways, requests of both sides, cancelling by id. What the
//! methods do is the handler's.

use super::error;
use super::peer::Peer;
use super::resume;
use crate::rpc::calls::Calls;
use crate::rpc::cancel::InFlight;
use crate::rpc::framing::{Decoder, Frame, Framing};
use crate::rpc::message::{self, Envelope, Message, RequestId};
use crate::rpc::outbox::{self, Gone, Outbox, WriterEnd};
use agent_client_protocol_schema::v1::{Error, ErrorCode, PROTOCOL_LEVEL_METHOD_NAMES};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use plimsoll_protocol::error::ErrorKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Calls that run at a time; a client that sends more is not read until one is answered.
const MAX_IN_FLIGHT: usize = 256;

/// How long calls may still run after the client has said its last.
const DRAIN: Duration = Duration::from_secs(1);

/// How long the last messages may take to be written when the daemon ends.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A request or a notification.
#[derive(Debug)]
pub struct Call {
    /// Its method.
    pub method: String,
    /// Its parameters.
    pub params: Option<Box<RawValue>>,
    /// Whether it is a request, which gets an answer.
    pub wants_answer: bool,
    /// Names this call among all of a bridge that survives its daemon: it may come again.
    pub key: Option<String>,
    /// Cancelled when the client cancels this call.
    pub cancelled: CancellationToken,
}

/// What a handler made of a call.
pub struct Outcome {
    /// The answer, for a request.
    pub answer: Result<Box<RawValue>, Error>,
    /// What has to be done once the answer is on its way.
    pub then: Option<BoxFuture<'static, ()>>,
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outcome").field("answer", &self.answer).finish_non_exhaustive()
    }
}

impl From<Result<Box<RawValue>, Error>> for Outcome {
    fn from(answer: Result<Box<RawValue>, Error>) -> Self {
        Self { answer, then: None }
    }
}

/// Serves a connection until its client leaves, stops reading, or the daemon ends. `handler` is made for the peer.
pub async fn run<S, H, F>(stream: S, closing: CancellationToken, make_handler: impl FnOnce(Peer) -> H)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
    H: Fn(Call) -> F + Send + Sync + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    let (mut from, to) = tokio::io::split(stream);
    let (outbox, mut writer) = outbox::start(to, Arc::new(OnceLock::from(Framing::Lines)), outbox::STALL);
    let peer = Peer::new(outbox.clone());
    let mut connection = Connection {
        handler: Arc::new(make_handler(peer.clone())),
        outbox,
        peer,
        in_flight: InFlight::default(),
        room: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
        calls: Calls::default(),
    };
    let gone = tokio::select! {
        gone = connection.read(&mut from) => gone.is_err(),
        () = closing.cancelled() => true,
    };
    connection.calls.finish(if gone { Duration::ZERO } else { DRAIN }).await;
    // Handler, peer and outbox go; the writer ends when everything is written.
    drop(connection);
    match tokio::time::timeout(LAST_WORDS, &mut writer).await {
        Ok(Ok(WriterEnd::Done)) => {}
        Ok(Ok(end)) => tracing::debug!(?end, "an ACP connection ended"),
        Ok(Err(error)) => tracing::error!(%error, "a writer failed"),
        Err(_) => writer.abort(),
    }
}

struct Connection<H> {
    handler: Arc<H>,
    outbox: Outbox,
    peer: Peer,
    in_flight: InFlight,
    room: Arc<Semaphore>,
    calls: Calls,
}

impl<H, F> Connection<H>
where
    H: Fn(Call) -> F + Send + Sync + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    /// Reads to the end of input; an error says that the client can't be written to.
    async fn read<R: AsyncRead + Unpin>(&mut self, from: &mut R) -> Result<(), Gone> {
        let mut decoder = Decoder::new(Some(Framing::Lines));
        loop {
            let read = tokio::select! {
                read = from.read_buf(decoder.buffer()) => read,
                () = self.outbox.closed() => return Err(Gone),
            };
            if !matches!(read, Ok(1..)) {
                return Ok(());
            }
            loop {
                match decoder.next_frame() {
                    Ok(None) => break,
                    Ok(Some(Frame::Message(bytes))) => self.take(&bytes).await?,
                    // Lines announce no length.
                    Ok(Some(Frame::TooLarge(_))) => {}
                    Err(wrong) => {
                        return self.fail(&RequestId::null(), &error::invalid_request(wrong.to_string())).await;
                    }
                }
            }
        }
    }

    async fn take(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        let envelope = match message::read(bytes) {
            Ok(envelope) => envelope,
            Err(wrong) => {
                let error = error::of(ErrorCode::ParseError, ErrorKind::ParseError, format!("not JSON: {wrong}"), None);
                return self.fail(&RequestId::null(), &error).await;
            }
        };
        match envelope {
            Envelope::Batch(_) => {
                self.fail(&RequestId::null(), &error::invalid_request("batches are not part of this protocol")).await
            }
            Envelope::One(Message::Invalid { id, reason }) => self.fail(&id, &error::invalid_request(reason)).await,
            Envelope::One(Message::Response { id, result }) => {
                self.peer.answered(&id, result.map(ToOwned::to_owned).map_err(ToOwned::to_owned));
                Ok(())
            }
            Envelope::One(Message::Notification { method, params })
                if method == PROTOCOL_LEVEL_METHOD_NAMES.cancel_request =>
            {
                self.cancel(params);
                Ok(())
            }
            Envelope::One(Message::Notification { method, params }) => {
                let call = Call {
                    method: method.into_owned(),
                    params: params.map(ToOwned::to_owned),
                    wants_answer: false,
                    key: None,
                    cancelled: CancellationToken::new(),
                };
                let (handler, room) = (Arc::clone(&self.handler), self.room().await?);
                self.calls
                    .begin(async move {
                        let outcome = guarded(&*handler, call).await;
                        if let Some(then) = outcome.then {
                            then.await;
                        }
                        drop(room);
                    })
                    .await;
                Ok(())
            }
            Envelope::One(Message::Request { id, method, params }) => {
                let Some(noted) = self.in_flight.begin(&id) else {
                    let error = error::invalid_request(format!("a call with id {} is not answered yet", id.json()));
                    return self.fail(&id, &error).await;
                };
                let call = Call {
                    method: method.into_owned(),
                    params: params.map(ToOwned::to_owned),
                    wants_answer: true,
                    key: resume::key(bytes),
                    cancelled: noted.cancelled.clone(),
                };
                let (handler, room) = (Arc::clone(&self.handler), self.room().await?);
                let outbox = self.outbox.clone();
                self.calls
                    .begin(async move {
                        let outcome = guarded(&*handler, call).await;
                        drop(noted);
                        let answer = match &outcome.answer {
                            Ok(result) => message::response(&id, result),
                            Err(error) => message::failure(&id, error),
                        };
                        let sent = match answer {
                            Ok(json) => outbox.send(json).await,
                            Err(error) => {
                                tracing::error!(%error, "an answer has no JSON form");
                                Ok(())
                            }
                        };
                        if let (Ok(()), Some(then)) = (sent, outcome.then) {
                            then.await;
                        }
                        drop(room);
                    })
                    .await;
                Ok(())
            }
        }
    }

    fn cancel(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        let id = params
            .and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok())
            .and_then(|params| RequestId::parse(params.request_id));
        if let Some(id) = id {
            self.in_flight.cancel_id(&id);
        }
    }

    async fn fail(&self, id: &RequestId, error: &Error) -> Result<(), Gone> {
        match message::failure(id, error) {
            Ok(json) => self.outbox.send(json).await,
            Err(error) => {
                tracing::error!(%error, "an error has no JSON form");
                Ok(())
            }
        }
    }

    /// Waits until one call more may run.
    async fn room(&self) -> Result<OwnedSemaphorePermit, Gone> {
        tokio::select! {
            room = Arc::clone(&self.room).acquire_owned() => room.map_err(|_| Gone),
            () = self.outbox.closed() => Err(Gone),
        }
    }
}

/// Runs a handler; its panic is an error of this call only.
async fn guarded<H, F>(handler: &H, call: Call) -> Outcome
where
    H: Fn(Call) -> F,
    F: Future<Output = Outcome>,
{
    let method = call.method.clone();
    let run = AssertUnwindSafe(async { handler(call).await }).catch_unwind();
    run.await.unwrap_or_else(|_| {
        tracing::error!(method, "a handler panicked");
        Err(error::internal(format!("`{method}` failed inside"))).into()
    })
}

#[cfg(test)]
#[path = "conn_tests.rs"]
mod tests;
