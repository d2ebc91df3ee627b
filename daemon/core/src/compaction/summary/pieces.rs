//! Turns as records of text for a call that stands alone: as in the mirror, but each record bounded.

use crate::escape::data;
use crate::id::CallId;
use crate::media::Image;
use crate::tokens::{prefix_within, suffix_within, tokens};
use crate::transcript::batch::StoredProjection;
use crate::transcript::item::{Item, ItemBody, MetaCause};
use crate::transcript::mirror::{escape, full_text};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Most tokens of one record by its kind; all of them at most half of a piece.
const USER: u64 = 4_000;
const ANSWER: u64 = 3_000;
const CALL: u64 = 1_000;
const RESULT: u64 = 2_000;
const BESIDE: u64 = 300;

/// The records of these items in pieces of at most `room` tokens each, in order. Images stand in them by name, never with
/// their bytes; no tag of Plimsoll's own is left in them; what is too long is shown as head and tail, with its item. What only clients see has no record, nor has a
/// restatement of an earlier compaction. There is no piece where there is nothing, or no room at all.
pub fn pieces(items: &[Item], projections: &BTreeMap<CallId, StoredProjection>, room: u64) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut left = 0;
    for item in items {
        let Some(record) = record(item, projections, room) else { continue };
        let cost = tokens(&record);
        match pieces.last_mut() {
            Some(piece) if cost <= left => {
                left -= cost;
                piece.push_str(&record);
            }
            Some(_) | None if cost <= room => {
                left = room - cost;
                pieces.push(record);
            }
            // Not even its head has room.
            Some(_) | None => {}
        }
    }
    pieces
}

fn record(item: &Item, projections: &BTreeMap<CallId, StoredProjection>, room: u64) -> Option<String> {
    let (head, body, most) = match &item.body {
        ItemBody::User(message) => {
            let head = if message.steering { "user (steering):" } else { "user:" };
            let mut body = message.text.clone();
            push_images(&mut body, &message.images);
            if !message.additional_data.is_empty() {
                let data = bounded(&message.additional_data, item.no.0, BESIDE);
                let _ = write!(body, "\n[sent with it: {data}]");
            }
            (head.to_owned(), body, USER)
        }
        ItemBody::Meta(message) if message.cause == MetaCause::Compacted => return None,
        ItemBody::Meta(message) => ("meta:".to_owned(), message.text.clone(), BESIDE),
        ItemBody::Assistant(text) => {
            let head = if text.cut { "assistant (cut):" } else { "assistant:" };
            (head.to_owned(), text.text.clone(), ANSWER)
        }
        ItemBody::Reasoning(reasoning) if reasoning.text.is_empty() => return None,
        ItemBody::Reasoning(reasoning) => ("reasoning:".to_owned(), reasoning.text.clone(), BESIDE),
        ItemBody::ToolCall(call) => {
            let head = format!("[Tool call] {} {}", name(&call.tool), call.call);
            (head, call.arguments.clone(), CALL)
        }
        ItemBody::ToolResult(result) => {
            let mut head = format!("[Tool result] {} {}", name(&result.tool), result.call);
            if result.outcome.status.is_error() {
                let _ = write!(head, " ({})", result.outcome.status.word());
            }
            let shown = projections.get(&result.call).map(|projection| projection.text.clone());
            (head, shown.unwrap_or_else(|| full_text(&result.outcome.body)), RESULT)
        }
        ItemBody::Observation(observation) => {
            let calls: Vec<String> = observation.calls.iter().map(ToString::to_string).collect();
            let body = format!("[images of the results of {}]", calls.join(", "));
            ("observation:".to_owned(), body, BESIDE)
        }
        ItemBody::Notice(_) | ItemBody::Rewind(_) => return None,
    };
    let head = format!("#{} {} {head}\n", item.no, item.at);
    let most = most.min(room / 2).min(room.saturating_sub(tokens(&head) + 1));
    let body = bounded(data(&escape(&body)).trim_end(), item.no.0, most);
    Some(format!("{head}{body}\n"))
}

fn push_images(body: &mut String, images: &[Image]) {
    for image in images {
        let _ = write!(body, "\n[image {}: {}]", one_line(image.title()), one_line(&image.facts()));
    }
}

/// Longest name in characters.
const NAME: usize = 80;

fn name(text: &str) -> String {
    let named: String = one_line(text).chars().take(NAME).collect();
    data(&named).into_owned()
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A text within so many tokens: all of it, else head and tail around what is said of the rest, else nothing.
fn bounded(text: &str, item: u64, most: u64) -> String {
    if tokens(text) <= most {
        return text.to_owned();
    }
    let gap = format!("\n[… {} characters in all: #{item} …]\n", text.chars().count());
    let Some(left) = most.checked_sub(tokens(&gap)) else { return String::new() };
    let head = text.get(..prefix_within(text, left * 2 / 3)).unwrap_or_default();
    let rest = text.get(head.len()..).unwrap_or_default();
    let tail = rest.get(suffix_within(rest, left / 3)..).unwrap_or_default();
    format!("{head}{gap}{tail}")
}
