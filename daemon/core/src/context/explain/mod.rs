//! Every byte of a request, with the layer it belongs to and where it came from. A pure function of what is stored: the
//! parts stand in the order of the body, touch each other, and together are the body.
//!
//! Inside a message the parts are told apart by its JSON, and inside a text by Plimsoll's own tags, which nothing from
//! outside can write. Called by `session::inspect`.

mod message;
mod scan;
mod source;
#[cfg(test)]
mod tests;
mod text;

pub use source::{Difference, Differs, Source, SourceKind, Tail, differences, gathered, sources};

use super::compare::{Layer, Wire};
use crate::id::{CallId, ItemNo};
use crate::model::codec;
use crate::model::request::Api;
use crate::prompt::Prompts;
use crate::tokens::json_tokens;
use crate::transcript::epoch::Segment;
use crate::transcript::item::MetaCause;
use std::ops::Range;
use std::sync::Arc;

/// A request to be explained.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The wire.
    pub api: Api,
    /// Its segments.
    pub wire: Wire<'a>,
    /// Messages that carry a cache mark.
    pub marks: &'a [u32],
    /// The texts that its head was made from.
    pub prompts: &'a Prompts,
    /// Where each message after the head's came from; what is missing is not known.
    pub sources: &'a [Source],
}

/// A stretch of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The layer that it belongs to. Brackets and commas between two segments belong to the second; what is around all of
    /// them to the parameters.
    pub layer: Layer,
    /// Where it came from.
    pub origin: Origin,
    /// Its bytes in the body.
    pub bytes: u64,
    /// Estimated tokens. Those of a segment are shared out among its parts by their own estimates; what stands between
    /// segments has none.
    pub tokens: u64,
    /// The items that it was made from, ascending; none of what is no item.
    pub items: Vec<ItemNo>,
    /// The segment that it stands in, counted over tools, system text and messages; none between segments.
    pub segment: Option<usize>,
}

/// Where a part came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The wire's own form: brackets, commas, field names, roles.
    Framing,
    /// The parameters.
    Params,
    /// A cache mark.
    CacheMark,
    /// The definition of a tool.
    Tool(String),
    /// The static system text.
    Static,
    /// Plimsoll's own words around what the head states.
    Frame,
    /// A block of the head or of collected state, by its tag or heading, with the file that it shows.
    Block {
        /// `git_status`, `project_instructions`, `language`, …
        tag: String,
        /// The file, where the block is about one.
        path: Option<String>,
    },
    /// What the user said.
    Prompt,
    /// What the user said while a turn ran.
    Steering,
    /// What the harness says of its own accord.
    Reminder(MetaCause),
    /// Text by the model.
    Answer,
    /// The summary of the beginning.
    Summary,
    /// The line of a turn that is shown in short.
    Shortened,
    /// Reasoning by the model.
    Reasoning,
    /// A call.
    Call(CallId),
    /// A result, as the view shows it.
    Result(CallId),
    /// An image or a file, and what is said about those of results.
    Media,
    /// A message of which nothing more is known.
    Message,
}

impl Request<'_> {
    /// The exact body.
    pub fn body(&self) -> Vec<u8> {
        let texts = |segments: &[Segment]| segments.iter().map(|segment| Arc::clone(&segment.text)).collect::<Vec<_>>();
        let Wire { params, tools, system, messages, .. } = self.wire;
        codec::body(self.api, params, &texts(tools), &texts(system), &texts(messages), self.marks)
    }
}

/// The parts of a body that was made of this request. See the module's head.
pub fn explain(request: &Request<'_>, body: &[u8]) -> Vec<Part> {
    let Ok(body) = std::str::from_utf8(body) else { return vec![framing(Layer::Params, body.len())] };
    let head = request.wire.tools.len() + request.wire.system.len();
    let params = codec::params_text(request.api, request.wire.params);
    let mut walk = Walk { body, at: 0, parts: Vec::new() };
    walk.framing_until(1, Layer::Params);
    if body.get(1..).is_some_and(|rest| rest.starts_with(&params)) {
        walk.put(params.len(), Layer::Params, Origin::Params);
    }
    for (at, (layer, segment)) in request.wire.layers().into_iter().enumerate() {
        // Every segment is an object, and nothing between two segments has a brace.
        let start = body.get(walk.at..).and_then(|rest| rest.find('{')).map_or(body.len(), |found| walk.at + found);
        walk.framing_until(start, layer);
        let source = at.checked_sub(head + request.wire.preamble).and_then(|at| request.sources.get(at));
        let pieces = message::pieces(&segment.text, layer, source, request.prompts);
        walk.segment(at, segment, &pieces);
    }
    walk.framing_until(body.len(), Layer::Params);
    walk.parts
}

/// A piece of a segment.
struct Piece {
    span: Range<usize>,
    layer: Layer,
    origin: Origin,
    items: Vec<ItemNo>,
}

/// Goes along a body.
struct Walk<'a> {
    body: &'a str,
    at: usize,
    parts: Vec<Part>,
}

impl Walk<'_> {
    fn put(&mut self, len: usize, layer: Layer, origin: Origin) {
        self.at += len;
        self.parts.push(Part { origin, ..framing(layer, len) });
    }

    fn framing_until(&mut self, end: usize, layer: Layer) {
        let end = end.min(self.body.len());
        if end > self.at {
            self.put(end - self.at, layer, Origin::Framing);
        }
    }

    /// Takes a segment that begins here, with the mark that may stand in it before its last brackets.
    fn segment(&mut self, no: usize, segment: &Segment, pieces: &[Piece]) {
        let text: &str = &segment.text;
        let here = self.body.get(self.at..).unwrap_or_default();
        let same = text.bytes().zip(here.bytes()).take_while(|(sent, here)| sent == here).count();
        let marked = here.get(same..).is_some_and(|rest| rest.starts_with(codec::CACHE_MARK));
        if same < text.len() && !marked {
            // The body was not made of this segment: the rest is counted as a whole.
            return;
        }
        let first = self.parts.len();
        let mut weights = Vec::new();
        for piece in pieces {
            // A mark cuts the piece that it stands in.
            let cuts = if marked {
                [piece.span.start, same.clamp(piece.span.start, piece.span.end), piece.span.end]
            } else {
                [piece.span.start, piece.span.end, piece.span.end]
            };
            for (half, cut) in cuts.windows(2).enumerate() {
                let &[start, end] = cut else { continue };
                if half == 1 && marked && (piece.span.start..piece.span.end).contains(&same) {
                    self.put(codec::CACHE_MARK.len(), piece.layer, Origin::CacheMark);
                    weights.push((0, false));
                }
                if end > start {
                    self.put(end - start, piece.layer, piece.origin.clone());
                    let own = text.get(start..end).unwrap_or_default();
                    // A block of its own; what is said about it is text.
                    let is_media = piece.origin == Origin::Media && own.starts_with('{');
                    weights.push((if is_media { 0 } else { json_tokens(own) }, is_media));
                    if let Some(part) = self.parts.last_mut() {
                        part.items.clone_from(&piece.items);
                    }
                }
            }
        }
        // An image has tokens of its own, whatever the length of its text.
        let written: u64 = weights.iter().map(|(weight, media)| if *media { 0 } else { *weight }).sum();
        let media = segment.tokens.saturating_sub(written) / u64::from(segment.images.max(1));
        let weights: Vec<u64> =
            weights.into_iter().map(|(weight, is_media)| if is_media { media } else { weight }).collect();
        let total = segment.tokens;
        for (part, tokens) in self.parts.iter_mut().skip(first).zip(shared(total, &weights)) {
            part.tokens = tokens;
            part.segment = Some(no);
        }
    }
}

fn framing(layer: Layer, len: usize) -> Part {
    let bytes = u64::try_from(len).unwrap_or(u64::MAX);
    Part { layer, origin: Origin::Framing, bytes, tokens: 0, items: Vec::new(), segment: None }
}

/// `total` in whole shares that stand to each other about as the weights do and add up to it.
fn shared(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum = u128::from(weights.iter().sum::<u64>().max(1));
    let mut passed = 0_u128;
    let share = |upto: u128| u64::try_from(u128::from(total) * upto / sum).unwrap_or(u64::MAX);
    weights
        .iter()
        .map(|weight| {
            let before = share(passed);
            passed += u128::from(*weight);
            share(passed) - before
        })
        .collect()
}
