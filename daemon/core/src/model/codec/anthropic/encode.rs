//! Request pieces for Anthropic Messages. Content is an array of blocks in every message, so that a cache mark can be
//! put into the text of a finished message.

use crate::media::Image;
use crate::model::codec::{EMPTY_RESULT, object_or_empty, push_array, quoted};
use crate::model::request::{Api, AssistantBlock, Message, Params, Reasoning, ResultBlock, ToolDef};
use std::fmt::Write;
use std::sync::Arc;

/// What ends a cached prefix; it goes before the closing brace of a block.
pub(in crate::model::codec) const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// Anthropic takes four marks in a request; tools and static text have one each.
const MESSAGE_MARKS: usize = 2;

pub(in crate::model::codec) fn params(params: &Params) -> String {
    let mut out = format!("\"model\":{},\"max_tokens\":{}", quoted(&params.model), params.max_output);
    if let Some(temperature) = params.temperature.filter(|value| value.is_finite()) {
        let _ = write!(out, ",\"temperature\":{temperature}");
    }
    out.push_str(",\"stream\":true");
    out
}

pub(in crate::model::codec) fn tool(tool: &ToolDef) -> String {
    format!(
        "{{\"name\":{},\"description\":{},\"input_schema\":{}}}",
        quoted(&tool.name),
        quoted(&tool.description),
        tool.schema.trim()
    )
}

pub(in crate::model::codec) fn system(blocks: &[String]) -> Vec<String> {
    blocks.iter().filter(|block| !block.trim().is_empty()).map(|block| text_block(block)).collect()
}

fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quoted(text))
}

fn image_block(image: &Image) -> String {
    format!(
        "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":{},\"data\":{}}}}}",
        quoted(&image.mime),
        quoted(&image.data)
    )
}

pub(in crate::model::codec) fn message(message: &Message) -> Vec<String> {
    let (role, blocks) = match message {
        Message::User(text) if text.trim().is_empty() => ("user", Vec::new()),
        Message::User(text) => ("user", vec![text_block(text)]),
        Message::Pictures { text, images } => {
            ("user", std::iter::once(text_block(text)).chain(images.iter().map(image_block)).collect())
        }
        Message::Assistant(blocks) => ("assistant", assistant(blocks)),
        Message::Results(results) => ("user", results.iter().map(result).collect()),
    };
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![format!("{{\"role\":\"{role}\",\"content\":[{}]}}", blocks.join(","))]
}

/// Blank text is refused and left out. So is reasoning at the end of a message: nothing was said after it, and neither
/// may it stand last nor may a mark be put on it.
fn assistant(blocks: &[AssistantBlock]) -> Vec<String> {
    let mut out = Vec::new();
    let mut said = 0;
    for block in blocks {
        match block {
            AssistantBlock::Text(text) if text.trim().is_empty() => {}
            AssistantBlock::Text(text) => {
                out.push(text_block(text));
                said = out.len();
            }
            AssistantBlock::Reasoning(block) => out.extend(reasoning(block)),
            AssistantBlock::Call { id, name, arguments } => {
                out.push(format!(
                    "{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":{},\"input\":{}}}",
                    quoted(name),
                    object_or_empty(arguments)
                ));
                said = out.len();
            }
        }
    }
    out.truncate(said);
    out
}

/// Reasoning goes back with its signature or in its encrypted form; anything else would be refused.
fn reasoning(reasoning: &Reasoning) -> Option<String> {
    if reasoning.api != Api::AnthropicMessages {
        return None;
    }
    if let Some(data) = &reasoning.redacted {
        return Some(format!("{{\"type\":\"redacted_thinking\",\"data\":{}}}", quoted(data)));
    }
    let signature = reasoning.signature.as_ref()?;
    Some(format!(
        "{{\"type\":\"thinking\",\"thinking\":{},\"signature\":{}}}",
        quoted(&reasoning.text),
        quoted(signature)
    ))
}

fn result(result: &ResultBlock) -> String {
    let text = if result.text.trim().is_empty() { EMPTY_RESULT } else { &result.text };
    format!(
        "{{\"type\":\"tool_result\",\"tool_use_id\":\"{}\",{}\"content\":[{}]}}",
        result.id,
        if result.is_error { "\"is_error\":true," } else { "" },
        text_block(text)
    )
}

/// Appends tools, system and messages with their marks.
pub(in crate::model::codec) fn body(
    out: &mut String,
    tools: &[Arc<str>],
    system: &[Arc<str>],
    messages: &[Arc<str>],
    marks: &[u32],
) {
    if !tools.is_empty() {
        push_array(out, "tools", tools, |out, at, tool| push(out, tool, "}", at + 1 == tools.len()));
    }
    if !system.is_empty() {
        push_array(out, "system", system, |out, at, block| push(out, block, "}", at == 0));
    }
    let mut marked: Vec<usize> =
        marks.iter().map(|&mark| mark as usize).filter(|&mark| mark < messages.len()).collect();
    marked.sort_unstable();
    marked.dedup();
    let surplus = marked.len().saturating_sub(MESSAGE_MARKS);
    marked.drain(..surplus);
    push_array(out, "messages", messages, |out, at, message| push(out, message, "}]}", marked.contains(&at)));
}

/// Appends `segment`, with a mark before `end` when `marked`. A segment that does not end so is not ours and stays as it
/// is.
fn push(out: &mut String, segment: &str, end: &str, marked: bool) {
    match segment.strip_suffix(end).filter(|_| marked) {
        Some(start) => {
            out.push_str(start);
            out.push_str(MARK);
            out.push_str(end);
        }
        None => out.push_str(segment),
    }
}
