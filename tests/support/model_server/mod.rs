//! A model server for tests: real HTTP/1.1 and SSE on a free port of 127.0.0.1, Chat Completions and Anthropic Messages.
//!
//! It plays a [`Script`], records every request, misbehaves where a step says so, and is strict where no step can: a
//! request that breaks a provider's rules is answered with 400 and kept for [`ModelServer::assert_clean`]. It judges
//! requests only; what the daemon makes of the answers is for the tests.

pub mod gate;
pub mod misbehave;
pub mod record;
pub mod script;
pub mod strict;
#[cfg(test)]
mod tests;
mod wire;

pub use gate::Gate;
pub use misbehave::{Cut, UsagePlace};
pub use record::{End, Recorded, Seen};
pub use script::{Call, Script, Step, Usage};

use crate::PATIENCE;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use plimsoll_core::model::request::Api;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// A running server; it ends when it is dropped.
pub struct ModelServer {
    addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    /// Counts changes of `state`, so that waiting needs no polling.
    changed: watch::Sender<u64>,
}

struct State {
    script: Script,
    requests: Vec<Recorded>,
    violations: Vec<String>,
    strict: bool,
    forgetful: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// The answer to request `index` is over, in this way. The first word counts.
    pub(crate) fn ended(&self, index: usize, end: End) {
        if let Some(request) = self.lock().requests.get_mut(index)
            && request.end == End::Open
        {
            request.end = end;
        }
        self.changed();
    }
}

impl ModelServer {
    /// Starts a strict server that plays `script`.
    pub async fn start(script: Script) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port on 127.0.0.1");
        let addr = listener.local_addr().expect("the address of a bound socket");
        let state = State { script, requests: Vec::new(), violations: Vec::new(), strict: true, forgetful: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: watch::Sender::new(0) });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { addr, shared, accepting }
    }

    /// Switches the provider's rules on or off.
    pub fn set_strict(&self, strict: bool) {
        self.shared.lock().strict = strict;
    }

    /// Keeps of requests from now on only that they came: a long run would fill the memory with bodies.
    pub fn forget_bodies(&self) {
        self.shared.lock().forgetful = true;
    }

    /// Appends a step to the script.
    pub fn push(&self, step: Step) {
        self.shared.lock().script.push(step);
    }

    /// Takes the steps that no request has taken out of the script, and puts these in their place.
    pub fn rewrite(&self, steps: impl IntoIterator<Item = Step>) {
        self.shared.lock().script.rewrite(steps);
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What a configuration has to say as `base_url` for this API.
    pub fn base_url(&self, api: Api) -> String {
        match api {
            Api::AnthropicMessages => format!("http://{}", self.addr),
            Api::OpenaiChat | Api::Offline => format!("http://{}/v1", self.addr),
        }
    }

    /// All requests until now, in order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().requests.clone()
    }

    /// Waits until at least `count` requests have come, whole, and gives them.
    pub async fn wait_for(&self, count: usize) -> Vec<Recorded> {
        self.wait_until(&format!("{count} requests"), |requests| requests.len() >= count).await
    }

    /// Waits until the requests are as `reached` says. `what` names that for the failure's message.
    pub async fn wait_until(&self, what: &str, reached: impl Fn(&[Recorded]) -> bool) -> Vec<Recorded> {
        let mut changes = self.shared.changed.subscribe();
        let waiting = async {
            loop {
                let requests = self.requests();
                if reached(&requests) {
                    return requests;
                }
                changes.changed().await.expect("the sender lives as long as the server");
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| {
            panic!("waited in vain for {what}; got {:#?}; refused: {:#?}", self.requests(), self.violations())
        })
    }

    /// Everything that broke a provider's rule or found no step.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().violations.clone()
    }

    /// Steps that no request has taken yet.
    pub fn steps_left(&self) -> usize {
        self.shared.lock().script.left()
    }

    /// Fails the test when a request broke a rule or found no step.
    pub fn assert_clean(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "the model server refused requests: {violations:#?}");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and with it every connection.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&shared)))),
                Err(error) => {
                    shared.lock().violations.push(format!("accept failed: {error}"));
                    return;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Each write is its own packet, as near as TCP allows.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(request, &shared).await) }
    });
    // An error is a client that went away or a step that cuts: both are recorded by the body itself.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// What is asked for without a body is no part of the script: the list of models, as a server with one model gives it.
fn look_up(path: &str) -> Response<Body> {
    let model = json!({"id": "scripted", "object": "model", "owned_by": "vllm", "max_model_len": 200_000});
    match path {
        "/v1/models" => {
            plain(StatusCode::OK, "application/json", json!({"object": "list", "data": [model]}).to_string().into())
        }
        _ => plain(StatusCode::NOT_FOUND, "application/json", "{}".into()),
    }
}

async fn answer(request: Request<Incoming>, shared: &Arc<Shared>) -> Response<Body> {
    let (head, body) = request.into_parts();
    if head.method == hyper::Method::GET {
        return look_up(head.uri.path());
    }
    let Ok(body) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return plain(StatusCode::BAD_REQUEST, "application/json", "{}".into());
    };
    let path = head.uri.path().to_owned();
    let api = match path.as_str() {
        "/v1/messages" => Api::AnthropicMessages,
        _ => Api::OpenaiChat,
    };
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let parsed = serde_json::from_slice::<Value>(&body);
    let recorded = Recorded {
        at: Instant::now(),
        api,
        method: head.method.as_str().to_owned(),
        path,
        headers,
        json: parsed.as_ref().ok().cloned().unwrap_or_default(),
        body,
        end: End::Open,
    };

    let (index, step) = {
        let mut state = shared.lock();
        let index = state.requests.len();
        let kept = if state.forgetful {
            Recorded { headers: Vec::new(), body: Bytes::new(), json: Value::Null, ..recorded.clone() }
        } else {
            recorded.clone()
        };
        state.requests.push(kept);
        let faults = match &parsed {
            Err(error) => vec![format!("the body is not JSON: {error}")],
            Ok(_) if state.strict => strict::check(&recorded),
            Ok(_) => Vec::new(),
        };
        let step = if faults.is_empty() {
            state.script.take(&recorded).ok_or_else(|| vec!["the script has no step left for this request".to_owned()])
        } else {
            Err(faults)
        };
        if let Err(faults) = &step {
            state.violations.extend(faults.iter().map(|fault| format!("request {index}: {fault}")));
        }
        (index, step)
    };
    shared.changed();
    match step {
        Ok(step) => wire::respond(&step, &recorded, index, Arc::clone(shared)).await,
        Err(faults) => {
            shared.ended(index, End::Delivered);
            refuse(api, &faults.join("; "))
        }
    }
}

fn refuse(api: Api, message: &str) -> Response<Body> {
    let body = match api {
        Api::AnthropicMessages => {
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
        }
        Api::OpenaiChat | Api::Offline => {
            json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}})
        }
    };
    plain(StatusCode::BAD_REQUEST, "application/json", body.to_string().into())
}

fn plain(status: StatusCode, content_type: &str, body: Bytes) -> Response<Body> {
    let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
    Response::builder()
        .status(status)
        .header(hyper::header::CONTENT_TYPE, content_type)
        .body(body)
        .expect("a status and a fixed header make a response")
}
