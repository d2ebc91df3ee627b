//! A client of the native API that knows JSON and nothing else: what it sends and gets is what stands on the wire. It has
//! its own framing, so that the daemon's is tested against another one.

use crate::in_time;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// How messages are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One JSON value a line.
    Lines,
    /// `Content-Length` headers.
    Headers,
}

impl Framing {
    /// A message as it is sent.
    pub fn frame(self, message: &str) -> Vec<u8> {
        match self {
            Self::Lines => format!("{message}\n").into_bytes(),
            Self::Headers => format!("Content-Length: {}\r\n\r\n{message}", message.len()).into_bytes(),
        }
    }

    async fn read(self, from: &mut (impl AsyncBufRead + Unpin)) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        from.read_until(b'\n', &mut line).await.ok().filter(|count| *count > 0)?;
        if self == Self::Lines {
            return Some(line);
        }
        let mut length = None;
        while line != b"\r\n" {
            let header = String::from_utf8(line).expect("headers are text").to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>().expect("a length"));
            }
            line = Vec::new();
            from.read_until(b'\n', &mut line).await.ok().filter(|count| *count > 0)?;
        }
        let mut body = vec![0; length.expect("a header block with a length")];
        from.read_exact(&mut body).await.ok()?;
        Some(body)
    }
}

/// What came in.
struct Inbox {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Value>>,
    others: Vec<Value>,
    /// The session events among them.
    events: Vec<Value>,
    closed: bool,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection. It ends when it is dropped.
pub struct Client {
    framing: Framing,
    to: tokio::sync::Mutex<Box<dyn AsyncWrite + Send + Unpin>>,
    next: AtomicU64,
    inbox: Arc<Inbox>,
    reading: JoinHandle<()>,
}

impl Client {
    /// Connects without a hello, as an editor's library does.
    pub async fn connect(socket: &Path, framing: Framing) -> Self {
        Self::over(UnixStream::connect(socket).await.expect("a daemon listens"), framing)
    }

    /// Speaks over a connection that has been greeted, or needs no greeting.
    pub fn over(stream: UnixStream, framing: Framing) -> Self {
        let (from, to) = stream.into_split();
        Self::between(from, to, framing)
    }

    /// Speaks over the pipes of a bridge, as the editor that started it.
    pub fn editor_of(bridge: &mut Child, framing: Framing) -> Self {
        let (to, from) = (bridge.stdin.take().expect("a pipe"), bridge.stdout.take().expect("a pipe"));
        Self::between(from, to, framing)
    }

    /// Speaks over any two ends.
    pub fn between(
        from: impl AsyncRead + Send + Unpin + 'static,
        to: impl AsyncWrite + Send + Unpin + 'static,
        framing: Framing,
    ) -> Self {
        let inbox = Arc::new(Inbox { state: Mutex::default(), changed: watch::Sender::new(0) });
        let reading = tokio::spawn(read(from, framing, Arc::clone(&inbox)));
        Self { framing, to: tokio::sync::Mutex::new(Box::new(to)), next: AtomicU64::new(1), inbox, reading }
    }

    /// Says who it is, as the first call of a connection.
    pub async fn initialize(&self) -> Value {
        self.ok("initialize", json!({"clientInfo": {"name": "test"}, "protocolVersion": "1.0"})).await
    }

    /// How many calls it has made.
    pub fn calls(&self) -> usize {
        usize::try_from(self.next.load(Ordering::Relaxed)).expect("few calls") - 1
    }

    /// Says nothing more; what is still answered comes.
    pub async fn shut_down(&self) {
        let mut to = self.to.lock().await;
        to.shutdown().await.expect("a connection that can be shut down");
        // A pipe ends when nobody holds it.
        *to = Box::new(tokio::io::sink());
    }

    /// Calls a method: its result, or its error object.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, Value> {
        let answer = self.attempt(method, params).await;
        answer.unwrap_or_else(|| panic!("the connection ended before the answer to {method}"))
    }

    /// The same; nothing when the connection ends before the answer.
    pub async fn attempt(&self, method: &str, params: Value) -> Option<Result<Value, Value>> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.inbox.lock();
            if state.closed {
                return None;
            }
            state.waiting.insert(id, answer);
        }
        let call = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        // A daemon that has gone is noticed by whoever reads, too.
        self.to.lock().await.write_all(&self.framing.frame(&call.to_string())).await.ok()?;
        let mut answer = in_time(&format!("the answer to {method}"), answered).await.ok()?;
        Some(match answer.get_mut("error") {
            Some(error) => Err(error.take()),
            None => Ok(answer["result"].take()),
        })
    }

    /// Calls a method that must succeed.
    pub async fn ok(&self, method: &str, params: Value) -> Value {
        self.call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Calls a method that must fail; gives the error object.
    pub async fn err(&self, method: &str, params: Value) -> Value {
        match self.call(method, params).await {
            Ok(result) => panic!("{method} succeeded: {result}"),
            Err(error) => error,
        }
    }

    /// Sends any message.
    pub async fn send(&self, message: &Value) {
        self.send_bytes(&self.framing.frame(&message.to_string())).await;
    }

    /// Sends any bytes.
    pub async fn send_bytes(&self, bytes: &[u8]) {
        self.to.lock().await.write_all(bytes).await.expect("the daemon reads");
    }

    /// Everything that came and was no answer to [`Self::call`], in order.
    pub fn others(&self) -> Vec<Value> {
        self.inbox.lock().others.clone()
    }

    /// The session events among it, in order: the `result` of each notification.
    pub fn events(&self) -> Vec<Value> {
        self.inbox.lock().events.clone()
    }

    /// The events of one session among it.
    pub fn events_of(&self, session: &str) -> Vec<Value> {
        self.inbox.lock().events.iter().filter(|event| event["session"] == session).cloned().collect()
    }

    /// Forgets everything that came and was no answer, so that long tests need not keep it.
    pub fn forget_events(&self) {
        let mut state = self.inbox.lock();
        state.events.clear();
        state.others.clear();
    }

    /// Waits until the events are as `reached` says. `what` names that for the failure's message.
    pub async fn wait_events(&self, what: &str, reached: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        self.wait(what, |state| &state.events, reached).await
    }

    /// Waits until what came is as `reached` says.
    pub async fn wait_others(&self, what: &str, reached: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        self.wait(what, |state| &state.others, reached).await
    }

    async fn wait(
        &self,
        what: &str,
        of: impl Fn(&State) -> &Vec<Value>,
        reached: impl Fn(&[Value]) -> bool,
    ) -> Vec<Value> {
        let mut changes = self.inbox.changed.subscribe();
        let waiting = async {
            loop {
                {
                    let state = self.inbox.lock();
                    if reached(of(&state)) {
                        return of(&state).clone();
                    }
                    assert!(!state.closed, "the connection ended before {what}; got {:#?}", state.others);
                }
                changes.changed().await.expect("the sender lives as long as the client");
            }
        };
        let waited = tokio::time::timeout(crate::PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("waited in vain for {what}; got {:#?}", self.others()))
    }

    /// Waits until the events are as `reached` says, which is `true`, or the connection has ended without that.
    pub async fn reached_or_closed(&self, what: &str, reached: impl Fn(&[Value]) -> bool) -> bool {
        let mut changes = self.inbox.changed.subscribe();
        in_time(what, async {
            loop {
                {
                    let state = self.inbox.lock();
                    if reached(&state.events) || state.closed {
                        return reached(&state.events);
                    }
                }
                changes.changed().await.expect("the sender lives as long as the client");
            }
        })
        .await
    }

    /// Waits until the daemon has closed the connection.
    pub async fn closed(&self) {
        let mut changes = self.inbox.changed.subscribe();
        in_time("the end of the connection", async {
            while !self.inbox.lock().closed {
                changes.changed().await.expect("the sender lives as long as the client");
            }
        })
        .await;
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn read(from: impl AsyncRead + Unpin, framing: Framing, inbox: Arc<Inbox>) {
    let mut from = BufReader::new(from);
    while let Some(message) = framing.read(&mut from).await {
        let message: Value = serde_json::from_slice(&message)
            .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&message)));
        {
            let mut state = inbox.lock();
            let answered = message["id"].as_u64().filter(|_| message.get("method").is_none());
            if let Some(waiting) = answered.and_then(|id| state.waiting.remove(&id)) {
                drop(waiting.send(message));
            } else {
                if message["method"] == "session/event" {
                    state.events.push(message["params"]["result"].clone());
                }
                state.others.push(message);
            }
        }
        inbox.changed.send_modify(|count| *count += 1);
    }
    let mut state = inbox.lock();
    state.closed = true;
    state.waiting.clear();
    drop(state);
    inbox.changed.send_modify(|count| *count += 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    /// A peer that answers each message with itself as the result, after one event.
    async fn peer(listener: UnixListener, framing: Framing) {
        let (stream, _) = listener.accept().await.unwrap();
        let (from, mut to) = stream.into_split();
        let mut from = BufReader::new(from);
        while let Some(message) = framing.read(&mut from).await {
            let message: Value = serde_json::from_slice(&message).unwrap();
            let event =
                json!({"jsonrpc": "2.0", "method": "session/event", "params": {"subscription": "s", "result": 7}});
            let answer = if message["method"] == "fail" {
                json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1}})
            } else {
                json!({"jsonrpc": "2.0", "id": message["id"], "result": message})
            };
            for message in [event, answer] {
                to.write_all(&framing.frame(&message.to_string())).await.unwrap();
            }
            if message["method"] == "last" {
                return;
            }
        }
    }

    #[tokio::test]
    async fn calls_and_events_come_through_both_framings() {
        for framing in [Framing::Lines, Framing::Headers] {
            let folder = tempfile::tempdir().unwrap();
            let socket = folder.path().join("s");
            let peer = tokio::spawn(peer(UnixListener::bind(&socket).unwrap(), framing));
            let client = Client::connect(&socket, framing).await;
            assert_eq!(client.ok("a", json!({"x": 1})).await["params"], json!({"x": 1}));
            assert_eq!(client.err("fail", json!({})).await, json!({"code": -1}));
            client.ok("last", json!({})).await;
            assert_eq!(client.wait_events("three events", |events| events.len() == 3).await, [7, 7, 7]);
            client.closed().await;
            peer.await.unwrap();
        }
    }
}
