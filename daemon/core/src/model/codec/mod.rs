//! Between the vendor-neutral request and answer and each vendor's wire. Pure: bodies are made here and streams are read
//! here, `provider` carries the bytes. Called by `context` (segments and bodies) and by `provider` (answers, failures).
//!
//! A request is put together from **segments**, the JSON text of one tool, system block or message each. A segment is
//! made once, stored, and copied verbatim into every later body, so that what was sent stays a prefix of what is sent.

mod answer;
mod anthropic;
mod decoder;
mod failure;
mod lenient;
mod openai_chat;
mod overflow;

#[cfg(test)]
mod streams;

pub use decoder::{Decoder, decode_whole};
pub use failure::classify;

/// What stands in a body where a cached prefix ends. Segments are without it.
pub const CACHE_MARK: &str = anthropic::encode::MARK;

/// Counts what is written of an item. Raise it with every change after which the same item gives other bytes on any wire,
/// be it here or in [`transcript::view`](crate::transcript::view): what an older version sent is copied as it was, and not
/// compared with what this one would make of it.
pub const VERSION: u32 = 1;

use super::request::{Api, Message, Params, ToolDef};
use std::sync::Arc;

/// The JSON text of a tool's definition.
pub fn encode_tool(api: Api, tool: &ToolDef) -> String {
    match api {
        Api::OpenaiChat | Api::Offline => openai_chat::encode::tool(tool),
        Api::AnthropicMessages => anthropic::encode::tool(tool),
    }
}

/// The JSON texts of the system part: one message for Chat Completions, one block each for Anthropic. Blank blocks are
/// left out.
pub fn encode_system(api: Api, blocks: &[String]) -> Vec<String> {
    match api {
        Api::OpenaiChat | Api::Offline => openai_chat::encode::system(blocks),
        Api::AnthropicMessages => anthropic::encode::system(blocks),
    }
}

/// The JSON text of each wire message that stands for `message`: none when it would be empty, several for the results of
/// several calls over Chat Completions.
pub fn encode_message(api: Api, message: &Message) -> Vec<String> {
    match api {
        Api::OpenaiChat | Api::Offline => openai_chat::encode::message(message),
        Api::AnthropicMessages => anthropic::encode::message(message),
    }
}

/// The members of the body that come before tools, system and messages, without the braces around them.
pub fn params_text(api: Api, params: &Params) -> String {
    match api {
        Api::OpenaiChat | Api::Offline => openai_chat::encode::params(params),
        Api::AnthropicMessages => anthropic::encode::params(params),
    }
}

/// The whole body: parameters, tools, system, messages, in this order. The segments are those that the functions above
/// made for the same `api`; they are copied as they are.
///
/// `marks` are indices into `messages` whose last block ends a cached prefix; the last two that exist count. Anthropic's
/// tools and first system block are always marked. Without its marks the body is exactly the concatenation. Chat
/// Completions has no marks.
pub fn body(
    api: Api,
    params: &Params,
    tools: &[Arc<str>],
    system: &[Arc<str>],
    messages: &[Arc<str>],
    marks: &[u32],
) -> Vec<u8> {
    let size: usize = tools.iter().chain(system).chain(messages).map(|segment| segment.len() + 1).sum();
    // Parameters, field names and four marks fit into the addition.
    let mut out = String::with_capacity(size + 512);
    out.push('{');
    out.push_str(&params_text(api, params));
    match api {
        Api::OpenaiChat | Api::Offline => openai_chat::encode::body(&mut out, tools, system, messages),
        Api::AnthropicMessages => anthropic::encode::body(&mut out, tools, system, messages, marks),
    }
    out.push('}');
    out.into_bytes()
}

/// Appends `"name":[a,b,…]`, each segment through `put`, which gets its index.
fn push_array(out: &mut String, name: &str, segments: &[Arc<str>], put: impl Fn(&mut String, usize, &str)) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":[");
    for (at, segment) in segments.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        put(out, at, segment);
    }
    out.push(']');
}

/// `text` as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What the model reads when a result has no text: vendors refuse empty text, and the call needs its result.
const EMPTY_RESULT: &str = "(no output)";

/// `arguments` when they are a JSON object, else the empty object: a provider refuses every later request that has
/// anything else.
fn object_or_empty(arguments: &str) -> &str {
    if is_object(arguments) { arguments } else { "{}" }
}

/// Whether `text` is one complete JSON object.
fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<serde_json::Value>(text).is_ok()
}

#[cfg(test)]
mod tests;
