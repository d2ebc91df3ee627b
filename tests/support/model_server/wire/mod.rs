//! From a step to bytes on the wire.

mod anthropic;
mod openai;

use super::gate::Gate;
use super::record::{End, Recorded};
use super::script::{Call, CallIdSent, Part, Reply, Step, Usage};
use super::{Body, Shared, plain};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::{Response, StatusCode};
use plimsoll_core::model::request::Api;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// What an encoder gives: events of the stream, complete with their blank line, and places to wait at.
enum Out {
    Event(String),
    Gate(Gate),
}

/// What the body does.
enum Op {
    Write(Bytes),
    Wait(Gate),
    Break,
}

/// Tells the record how the answer ended, also when hyper drops it.
struct Ending {
    shared: Arc<Shared>,
    index: usize,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.shared.ended(self.index, End::Dropped);
    }
}

pub(super) async fn respond(step: &Step, request: &Recorded, index: usize, shared: Arc<Shared>) -> Response<Body> {
    let ending = Ending { shared, index };
    if let Some(gate) = &step.before {
        gate.pass().await;
    }
    let outs = match &step.reply {
        Reply::Never => std::future::pending().await,
        Reply::Plain { status, body } => {
            ending.shared.ended(index, End::Delivered);
            let status = StatusCode::from_u16(*status).expect("a step's status is a valid one");
            return with_headers(plain(status, "application/json", body.clone().into()), step);
        }
        Reply::Raw(chunks) => chunks.iter().map(|chunk| Op::Write(Bytes::copy_from_slice(chunk))).collect(),
        Reply::Stream(parts) => {
            let usage = step.usage.unwrap_or_else(|| estimate(request, parts));
            let outs = match request.api {
                Api::AnthropicMessages => anthropic::encode(step, parts, usage, request, index),
                Api::OpenaiChat | Api::Offline => openai::encode(step, parts, usage, request, index),
            };
            outs.into_iter()
                .flat_map(|out| match out {
                    Out::Event(event) => step.misbehave.shape(&event).into_iter().map(Op::Write).collect(),
                    Out::Gate(gate) => vec![Op::Wait(gate)],
                })
                .collect()
        }
    };
    let body = BodyExt::boxed_unsync(StreamBody::new(stream::unfold((cut(outs, step), ending, true), write)));
    let response = Response::builder()
        .status(StatusCode::OK)
        .header("content-type", "text/event-stream")
        .header("cache-control", "no-cache")
        .body(body)
        .expect("fixed headers make a response");
    with_headers(response, step)
}

type Writing = (VecDeque<Op>, Ending, bool);

async fn write((mut ops, ending, first): Writing) -> Option<(io::Result<Frame<Bytes>>, Writing)> {
    loop {
        match ops.pop_front() {
            Some(Op::Write(bytes)) => {
                if !first {
                    // Pending once makes hyper flush: each piece is a chunk and a write of its own.
                    tokio::task::yield_now().await;
                }
                return Some((Ok(Frame::data(bytes)), (ops, ending, false)));
            }
            Some(Op::Wait(gate)) => {
                tokio::task::yield_now().await;
                gate.pass().await;
            }
            Some(Op::Break) => {
                tokio::task::yield_now().await;
                ending.shared.ended(ending.index, End::Delivered);
                return Some((Err(io::Error::other("the script breaks the connection here")), (ops, ending, false)));
            }
            None => {
                ending.shared.ended(ending.index, End::Delivered);
                return None;
            }
        }
    }
}

/// The operations up to where the step wants the stream to end.
fn cut(ops: Vec<Op>, step: &Step) -> VecDeque<Op> {
    let writes = ops.iter().filter_map(|op| match op {
        Op::Write(bytes) => Some(bytes),
        Op::Wait(_) | Op::Break => None,
    });
    let Some(mut left) = step.misbehave.limit(writes) else { return ops.into() };
    let mut kept = VecDeque::new();
    for op in ops {
        match op {
            Op::Write(bytes) if bytes.len() >= left => {
                kept.push_back(Op::Write(bytes.slice(..left)));
                break;
            }
            Op::Write(bytes) => {
                left -= bytes.len();
                kept.push_back(Op::Write(bytes));
            }
            other => kept.push_back(other),
        }
    }
    if step.misbehave.cut.as_ref().is_some_and(|(_, orderly)| !orderly) {
        kept.push_back(Op::Break);
    }
    kept
}

fn with_headers(mut response: Response<Body>, step: &Step) -> Response<Body> {
    for (name, value) in &step.headers {
        let name = hyper::header::HeaderName::try_from(name.as_str()).expect("a step's header name is valid");
        let value = hyper::header::HeaderValue::try_from(value.as_str()).expect("a step's header value is valid");
        response.headers_mut().insert(name, value);
    }
    response
}

fn estimate(request: &Recorded, parts: &[Part]) -> Usage {
    let output: usize = parts
        .iter()
        .map(|part| match part {
            Part::Text(deltas) | Part::Reasoning(deltas) => deltas.iter().map(String::len).sum(),
            Part::Call(call) => call.name.len() + call.arguments.len(),
            Part::Gate(_) => 0,
        })
        .sum();
    let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
    Usage { input: tokens(request.body.len()), cached: 0, written: 0, output: tokens(output) }
}

/// The id that call `number` of answer `index` is sent with.
fn call_id(call: &Call, prefix: &str, index: usize, number: usize) -> Option<String> {
    match &call.id {
        CallIdSent::Fresh => Some(format!("{prefix}_{index:04}{number:02}")),
        CallIdSent::Given(id) => Some(id.clone()),
        CallIdSent::Missing => None,
    }
}

/// The arguments in as many pieces as the call says, none empty but for a call that says so.
fn fragments(call: &Call) -> Vec<String> {
    if call.fragments == 0 {
        return Vec::new();
    }
    let chars: Vec<char> = call.arguments.chars().collect();
    let size = chars.len().div_ceil(call.fragments).max(1);
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}

fn model(request: &Recorded) -> &str {
    request.json["model"].as_str().unwrap_or("scripted")
}
