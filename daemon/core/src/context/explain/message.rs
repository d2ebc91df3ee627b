//! The pieces of one segment: what its JSON holds, each with its origin, and the framing around it.

use super::scan::{Span, elements, inside, members};
use super::source::{Source, SourceKind};
use super::text::{self, is_prompt};
use super::{Origin, Piece};
use crate::context::compare::Layer;
use crate::id::{CallId, ItemNo};
use crate::prompt::Prompts;

/// Something found in a segment, before its items are looked up.
type Found = (Span, Layer, Origin);

/// The pieces of a segment, in order and without gaps.
pub(super) fn pieces(text: &str, layer: Layer, source: Option<&Source>, prompts: &Prompts) -> Vec<Piece> {
    let mut found = match layer {
        Layer::Params => Vec::new(),
        Layer::Tools => tool(text),
        Layer::StaticSystem | Layer::DynamicSystem => system(text, layer, prompts),
        Layer::Instructions | Layer::Summary | Layer::History | Layer::Turn | Layer::Injection => {
            message(text, layer, source.and_then(|source| source.kind))
        }
    };
    found.sort_by_key(|(span, ..)| span.start);
    let mut out = Vec::with_capacity(2 * found.len() + 1);
    let mut at = 0;
    let all = || source.map(|source| numbers(source, |_| true)).unwrap_or_default();
    let mut put = |span: Span, layer, origin, items| {
        if !span.is_empty() {
            out.push(Piece { span, layer, origin, items });
        }
    };
    for (span, layer, origin) in found {
        put(at..span.start, layer, Origin::Framing, all());
        at = span.end;
        let items = source.map(|source| items(source, &origin)).unwrap_or_default();
        put(span, layer, origin, items);
    }
    put(at..text.len(), layer, Origin::Framing, all());
    out
}

/// The items of one piece of a message.
fn items(source: &Source, origin: &Origin) -> Vec<ItemNo> {
    match origin {
        Origin::Call(id) | Origin::Result(id) => numbers(source, |call| call == Some(*id)),
        Origin::Answer | Origin::Reasoning => numbers(source, |call| call.is_none()),
        _ => numbers(source, |_| true),
    }
}

fn numbers(source: &Source, wanted: impl Fn(Option<CallId>) -> bool) -> Vec<ItemNo> {
    source.items.iter().filter(|(_, call)| wanted(*call)).map(|(no, _)| *no).collect()
}

fn whole(text: &str) -> Span {
    0..text.len()
}

/// The member of this name.
fn member(text: &str, of: Span, name: &str) -> Option<Span> {
    members(text, of).into_iter().find(|(found, _)| *found == name).map(|(_, span)| span)
}

/// What a member that is a string says, as it stands there.
fn word<'a>(text: &'a str, of: Span, name: &str) -> Option<&'a str> {
    let span = inside(text, &member(text, of, name)?)?;
    text.get(span)
}

fn tool(text: &str) -> Vec<Found> {
    let name = word(text, whole(text), "name").or_else(|| word(text, member(text, whole(text), "function")?, "name"));
    vec![(whole(text), Layer::Tools, Origin::Tool(name.unwrap_or_default().to_owned()))]
}

fn system(text: &str, layer: Layer, prompts: &Prompts) -> Vec<Found> {
    let value = member(text, whole(text), "text").or_else(|| member(text, whole(text), "content"));
    let Some(span) = value.and_then(|value| inside(text, &value)) else { return Vec::new() };
    let (fixed, dynamic) = text::system(text, span, prompts, layer == Layer::DynamicSystem);
    let fixed = fixed.into_iter().map(|(span, origin)| (span, Layer::StaticSystem, origin));
    fixed.chain(dynamic.into_iter().map(|(span, origin)| (span, Layer::DynamicSystem, origin))).collect()
}

fn message(text: &str, layer: Layer, kind: Option<SourceKind>) -> Vec<Found> {
    let role = word(text, whole(text), "role").unwrap_or_default();
    let mut found = Vec::new();
    for (name, span) in members(text, whole(text)) {
        match name {
            "content" if inside(text, &span).is_some() => {
                if let Some(inner) = inside(text, &span) {
                    found.extend(said(text, inner, layer, role, kind));
                }
            }
            "content" => {
                found.extend(elements(text, span).into_iter().flat_map(|block| part(text, block, layer, role, kind)));
            }
            "tool_calls" => {
                for call in elements(text, span) {
                    let origin = id(text, call.clone(), "id").map_or(Origin::Message, Origin::Call);
                    found.push((call, layer, origin));
                }
            }
            _ => {}
        }
    }
    found
}

fn id(text: &str, of: Span, name: &str) -> Option<CallId> {
    word(text, of, name)?.parse().ok()
}

/// A block of content.
fn part(text: &str, block: Span, layer: Layer, role: &str, kind: Option<SourceKind>) -> Vec<Found> {
    let origin = match word(text, block.clone(), "type").unwrap_or_default() {
        "text" => {
            let inner = member(text, block.clone(), "text").and_then(|value| inside(text, &value));
            return inner.map(|inner| said(text, inner, layer, role, kind)).unwrap_or_default();
        }
        "tool_use" => id(text, block.clone(), "id").map_or(Origin::Message, Origin::Call),
        "tool_result" => id(text, block.clone(), "tool_use_id").map_or(Origin::Message, Origin::Result),
        "thinking" | "redacted_thinking" => Origin::Reasoning,
        _ => Origin::Media,
    };
    vec![(block, layer, origin)]
}

/// A text in a message.
fn said(text: &str, inner: Span, layer: Layer, role: &str, kind: Option<SourceKind>) -> Vec<Found> {
    let says = text.get(inner.clone()).unwrap_or_default();
    let pieces = match (role, kind) {
        ("assistant", _) => vec![(inner, Origin::Answer)],
        ("tool", _) => {
            let origin = id(text, whole(text), "tool_call_id").map_or(Origin::Message, Origin::Result);
            vec![(inner, origin)]
        }
        (_, Some(SourceKind::Steering)) => vec![(inner, Origin::Steering)],
        (_, Some(SourceKind::Meta(cause))) => text::reminder(text, inner, &Origin::Reminder(cause)),
        (_, _) if layer == Layer::Instructions => text::reminder(text, inner, &Origin::Frame),
        (_, Some(SourceKind::Prompt) | None) if is_prompt(says) => text::prompt(text, inner),
        (_, Some(SourceKind::Summary)) => vec![(inner, Origin::Summary)],
        (_, Some(SourceKind::Shortened)) => vec![(inner, Origin::Shortened)],
        // What is said beside the images of results.
        (_, Some(SourceKind::Results)) => vec![(inner, Origin::Media)],
        (_, Some(SourceKind::Prompt | SourceKind::Answer) | None) => vec![(inner, Origin::Message)],
    };
    pieces.into_iter().map(|(span, origin)| (span, layer, origin)).collect()
}
