//! One native connection, from its first byte to its last: reads frames, runs calls side by side, writes what they
//! give. One reader (this future), one writer task, and a set of calls that ends with the connection. A turn does not:
//! it belongs to its session.

use super::calls::Calls;
use super::cancel::{self, InFlight};
use super::dispatch::{Dispatch, Reply};
use super::error::WireError;
use super::framing::{Decoder, Frame, MESSAGE_LIMIT};
use super::life::Life;
use super::message::{self, Envelope, Message, RequestId};
use super::outbox::{self, Outbox, WriterEnd};
use crate::config::Overrides;
use crate::session::api::{Client, Secret};
use crate::session::service::Service;
use jsonrpsee_core::server::{Extensions, Methods};
use plimsoll_protocol::error::ErrorKind;
use serde_json::value::RawValue;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Calls that run at a time; a peer that sends more is not read until one is answered.
pub const MAX_IN_FLIGHT: u32 = 256;

/// The most entries of a batch.
pub const MAX_BATCH: usize = 64;

/// How long a connection waits for its peer.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For the peer to take a byte.
    pub stall: Duration,
    /// For calls that still run after the peer has said its last: scripts close their end before they read.
    pub drain: Duration,
    /// For the last messages to be written when the daemon ends.
    pub last_words: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { stall: outbox::STALL, drain: Duration::from_secs(2), last_words: Duration::from_secs(1) }
    }
}

/// What handlers may ask about their connection.
#[derive(Debug)]
pub struct Peer {
    client: Mutex<Client>,
    leaving: CancellationToken,
}

impl Peer {
    pub fn new(client: Client) -> Self {
        Self { client: Mutex::new(client), leaving: CancellationToken::new() }
    }

    /// Who calls.
    pub fn client(&self) -> Client {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the connection: nothing more is read, what is under way is answered, what waits is written.
    pub fn leave(&self) {
        self.leaving.cancel();
    }

    /// The name that the client gave itself.
    pub fn set_name(&self, name: String) {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).name = name;
    }

    /// What the client asks for over the configuration.
    pub fn set_options(&self, options: Overrides) {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).options = options;
    }

    /// Keeps a key for what the client starts from now on, or forgets it.
    pub fn set_key(&self, provider: String, key: Option<Secret>) {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = Arc::make_mut(&mut client.keys);
        match key {
            Some(key) => drop(keys.insert(provider, key)),
            None => drop(keys.remove(&provider)),
        }
    }
}

/// Serves one native connection until its peer leaves, stops reading, or the daemon ends.
pub async fn serve<S>(stream: S, client: Client, service: Service, life: Life)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let _count = life.count_client();
    let methods = super::methods::module(service.clone(), life.clone());
    let peer = Arc::new(Peer::new(client));
    run(stream, methods, Arc::clone(&peer), life.closing(), Patience::default()).await;
    service.disconnected(&peer.client()).await;
}

/// The connection itself, over any table of methods.
pub async fn run<S>(stream: S, methods: Methods, peer: Arc<Peer>, closing: CancellationToken, patience: Patience)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (mut from, to) = tokio::io::split(stream);
    let framing = Arc::new(OnceLock::new());
    let (outbox, writer) = outbox::start(to, Arc::clone(&framing), patience.stall);
    let mut context = Extensions::new();
    let connection = peer.client().connection;
    let shut_down = peer.leaving.clone();
    context.insert(peer);
    let mut connection = Connection {
        dispatch: Arc::new(Dispatch::new(methods, connection, context)),
        outbox,
        in_flight: InFlight::default(),
        room: Arc::new(Semaphore::new(MAX_IN_FLIGHT as usize)),
        calls: Calls::default(),
        ended: CancellationToken::new(),
    };
    let mut decoder = Decoder::new(None);
    let leaving = tokio::select! {
        end = connection.read(&mut from, &mut decoder, &framing) => end,
        () = closing.cancelled() => ReadEnd::Closing,
        () = shut_down.cancelled() => ReadEnd::EndOfInput,
    };
    connection.finish(leaving, writer, patience).await;
}

/// Why reading ended.
#[derive(Debug)]
enum ReadEnd {
    /// The peer has said its last.
    EndOfInput,
    /// The peer can't be written to.
    Gone,
    /// What comes next can't be known.
    Framing,
    /// The daemon ends.
    Closing,
}

struct Connection {
    dispatch: Arc<Dispatch>,
    outbox: Outbox,
    in_flight: InFlight,
    room: Arc<Semaphore>,
    calls: Calls,
    /// Ends the subscriptions.
    ended: CancellationToken,
}

impl Connection {
    async fn read<R: AsyncRead + Unpin>(
        &mut self,
        from: &mut R,
        decoder: &mut Decoder,
        framing: &OnceLock<super::framing::Framing>,
    ) -> ReadEnd {
        loop {
            let read = tokio::select! {
                read = from.read_buf(decoder.buffer()) => read,
                () = self.outbox.closed() => return ReadEnd::Gone,
            };
            match read {
                Ok(0) => return ReadEnd::EndOfInput,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "a connection can't be read");
                    return ReadEnd::EndOfInput;
                }
            }
            loop {
                let next = decoder.next_frame();
                if let Some(known) = decoder.framing() {
                    let _ = framing.set(known);
                }
                let taken = match next {
                    Ok(None) => break,
                    Ok(Some(Frame::Message(bytes))) => self.take(&bytes).await,
                    Ok(Some(Frame::TooLarge(length))) => self.refuse(&too_large(length)).await,
                    Err(error) => {
                        let kind = if error.is_size() { ErrorKind::MessageTooLarge } else { ErrorKind::InvalidRequest };
                        let _ = self.refuse(&WireError::new(kind, error.to_string())).await;
                        tracing::debug!(%error, "a connection's framing is broken");
                        return ReadEnd::Framing;
                    }
                };
                if taken.is_err() {
                    return ReadEnd::Gone;
                }
            }
        }
    }

    /// Answers something whose id is not known.
    async fn refuse(&self, error: &WireError) -> Result<(), outbox::Gone> {
        self.outbox.send(error.response(&RequestId::null())).await
    }

    async fn take(&mut self, bytes: &[u8]) -> Result<(), outbox::Gone> {
        match message::read(bytes) {
            Err(error) => self.refuse(&WireError::new(ErrorKind::ParseError, format!("not JSON: {error}"))).await,
            Ok(Envelope::Batch(entries)) => self.batch(&entries).await,
            Ok(Envelope::One(Message::Invalid { id, reason })) => self.outbox.send(invalid(&id, &reason)).await,
            Ok(Envelope::One(Message::Response { id, .. })) => {
                tracing::debug!(id = id.json(), "a response to nothing was ignored");
                Ok(())
            }
            Ok(Envelope::One(Message::Notification { method, params })) if method == cancel::METHOD => {
                self.in_flight.cancel(params);
                Ok(())
            }
            Ok(Envelope::One(Message::Notification { method, params })) => {
                let room = self.room(1).await?;
                let (dispatch, method, params) = (Arc::clone(&self.dispatch), method.into_owned(), params.map(own));
                self.calls
                    .begin(async move {
                        let _room = room;
                        dispatch.notification(&method, params).await;
                    })
                    .await;
                Ok(())
            }
            Ok(Envelope::One(Message::Request { id, method, params })) => {
                let Some(call) = self.in_flight.begin(&id) else { return self.outbox.send(repeated(&id)).await };
                let room = self.room(1).await?;
                let (dispatch, outbox, ended) = (Arc::clone(&self.dispatch), self.outbox.clone(), self.ended.clone());
                let (method, params) = (method.into_owned(), params.map(own));
                self.calls
                    .begin(async move {
                        match dispatch.request(call, &id, &method, params).await {
                            Reply::Answer(answer) => {
                                // A peer that is gone needs no answer.
                                let _ = outbox.send(answer).await;
                                drop(room);
                            }
                            Reply::Subscribed(answer, mut events) => {
                                let mut next = Some(answer);
                                drop(room);
                                while let Some(json) = next {
                                    if outbox.send(json).await.is_err() {
                                        return;
                                    }
                                    next = tokio::select! {
                                        event = events.recv() => event,
                                        () = ended.cancelled() => None,
                                        () = outbox.closed() => None,
                                    };
                                }
                            }
                        }
                    })
                    .await;
                Ok(())
            }
        }
    }

    async fn batch(&mut self, entries: &[&RawValue]) -> Result<(), outbox::Gone> {
        if entries.is_empty() {
            return self.refuse(&WireError::new(ErrorKind::InvalidRequest, "a batch has at least one entry")).await;
        }
        if entries.len() > MAX_BATCH {
            let error = WireError::new(
                ErrorKind::BatchTooLong,
                format!("a batch has at most {MAX_BATCH} entries, this one has {}", entries.len()),
            );
            return self.refuse(&error.hint("send several batches")).await;
        }
        let room = self.room(u32::try_from(entries.len()).unwrap_or(MAX_IN_FLIGHT)).await?;
        let mut runs = Vec::with_capacity(entries.len());
        for entry in entries {
            runs.push(self.entry(message::read_entry(entry)));
        }
        let outbox = self.outbox.clone();
        self.calls
            .begin(async move {
                let answers: Vec<Box<RawValue>> =
                    futures_util::future::join_all(runs).await.into_iter().flatten().collect();
                if let Some(answer) = join(&answers) {
                    let _ = outbox.send(answer).await;
                }
                drop(room);
            })
            .await;
        Ok(())
    }

    /// What has to be done for one entry of a batch.
    fn entry(&self, message: Message<'_>) -> impl Future<Output = Option<Box<RawValue>>> + Send + use<> {
        enum Entry {
            Answered(Option<Box<RawValue>>),
            Notification(String, Option<Box<RawValue>>),
            Request(cancel::Call, RequestId, String, Option<Box<RawValue>>),
        }
        let entry = match message {
            Message::Invalid { id, reason } => Entry::Answered(Some(invalid(&id, &reason))),
            Message::Response { .. } => Entry::Answered(None),
            Message::Notification { method, params } if method == cancel::METHOD => {
                self.in_flight.cancel(params);
                Entry::Answered(None)
            }
            Message::Notification { method, params } => Entry::Notification(method.into_owned(), params.map(own)),
            Message::Request { id, method, params } => match self.in_flight.begin(&id) {
                None => Entry::Answered(Some(repeated(&id))),
                Some(call) => Entry::Request(call, id, method.into_owned(), params.map(own)),
            },
        };
        let dispatch = Arc::clone(&self.dispatch);
        async move {
            match entry {
                Entry::Answered(answer) => answer,
                Entry::Notification(method, params) => {
                    dispatch.notification(&method, params).await;
                    None
                }
                Entry::Request(call, id, method, params) => Some(dispatch.batched(call, &id, &method, params).await),
            }
        }
    }

    /// Waits until so many calls more may run.
    async fn room(&self, calls: u32) -> Result<OwnedSemaphorePermit, outbox::Gone> {
        tokio::select! {
            room = Arc::clone(&self.room).acquire_many_owned(calls) => room.map_err(|_| outbox::Gone),
            () = self.outbox.closed() => Err(outbox::Gone),
        }
    }

    async fn finish(mut self, leaving: ReadEnd, writer: tokio::task::JoinHandle<WriterEnd>, patience: Patience) {
        let drain = match &leaving {
            ReadEnd::EndOfInput | ReadEnd::Framing => patience.drain,
            // The sessions have ended, and so do the subscriptions once they have said what waits.
            ReadEnd::Closing => patience.last_words / 2,
            ReadEnd::Gone => Duration::ZERO,
        };
        if !matches!(leaving, ReadEnd::Closing) {
            self.ended.cancel();
        }
        self.calls.finish(drain).await;
        // The writer ends when the last outbox is gone and everything is written.
        drop(self.outbox);
        let mut writer = writer;
        let written = match leaving {
            ReadEnd::Closing => tokio::time::timeout(patience.last_words, &mut writer).await.ok(),
            ReadEnd::EndOfInput | ReadEnd::Framing | ReadEnd::Gone => Some((&mut writer).await),
        };
        match written {
            None => writer.abort(),
            Some(Ok(end)) => tracing::debug!(?leaving, ?end, "a connection ended"),
            Some(Err(error)) => tracing::error!(%error, "a writer failed"),
        }
    }
}

fn own(raw: &RawValue) -> Box<RawValue> {
    raw.to_owned()
}

fn invalid(id: &RequestId, reason: &str) -> Box<RawValue> {
    WireError::new(ErrorKind::InvalidRequest, reason).response(id)
}

fn repeated(id: &RequestId) -> Box<RawValue> {
    invalid(id, &format!("a call with id {} is not answered yet", id.json()))
}

fn too_large(length: u64) -> WireError {
    WireError::new(
        ErrorKind::MessageTooLarge,
        format!("a message has at most {MESSAGE_LIMIT} bytes, this one announced {length}"),
    )
}

/// The answers of a batch as one message; `None` when it has none.
fn join(answers: &[Box<RawValue>]) -> Option<Box<RawValue>> {
    if answers.is_empty() {
        return None;
    }
    let bytes: usize = answers.iter().map(|answer| answer.get().len() + 1).sum();
    if bytes > MESSAGE_LIMIT {
        let error = WireError::new(ErrorKind::ResponseTooLarge, "the answers of this batch are longer than a message");
        return Some(error.hint("send the calls one by one").response(&RequestId::null()));
    }
    match serde_json::value::to_raw_value(answers) {
        Ok(joined) => Some(joined),
        Err(error) => {
            tracing::error!(%error, "the answers of a batch have no JSON form");
            None
        }
    }
}

#[cfg(test)]
#[path = "conn_tests.rs"]
mod tests;
