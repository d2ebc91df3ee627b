//! Request pieces for Chat Completions. Content is one string in every message without images, because some servers take
//! nothing else.

use crate::media::Image;
use crate::model::codec::{EMPTY_RESULT, object_or_empty, push_array, quoted};
use crate::model::request::{AssistantBlock, Message, Params, ToolDef};
use std::fmt::Write;
use std::sync::Arc;

pub(in crate::model::codec) fn params(params: &Params) -> String {
    let dialect = Dialect::of(&params.model);
    let mut out = format!("\"model\":{}", quoted(&params.model));
    let _ = write!(out, ",\"{}\":{}", dialect.output_limit, params.max_output);
    if let Some(temperature) = params.temperature.filter(|value| value.is_finite()) {
        let _ = write!(out, ",\"temperature\":{temperature}");
    }
    out.push_str(dialect.no_reasoning);
    out.push_str(",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    out
}

/// What the makers' own servers want other than those that copied the API. Models of gateways have their maker's name
/// before them (`openai/gpt-6-sol`) and are not meant.
struct Dialect {
    /// OpenAI's reasoning models refuse `max_tokens`; other servers know nothing else.
    output_limit: &'static str,
    /// What switches reasoning off where tools can't be had together with it:
    ///
    /// - OpenAI, from GPT-5.6 on: this API refuses tools unless the effort is none. From GPT-6.1 on reasoning can't be
    ///   switched off; those models take tools over the Responses API only, and their refusal says so.
    /// - DeepSeek: a request is refused when its calls come without the reasoning before them, which this wire does not
    ///   send back.
    no_reasoning: &'static str,
}

impl Dialect {
    fn of(model: &str) -> Self {
        let (series, gpt) = match (model.strip_prefix("gpt-"), model.strip_prefix('o')) {
            (Some(rest), _) => (version(rest), true),
            (None, Some(rest)) => (version(rest), false),
            (None, None) => (None, false),
        };
        // Azure writes GPT-3.5 as `gpt-35`.
        let reasons = series.is_some_and(|series| !gpt || ((5, 0)..(30, 0)).contains(&series));
        let deepseek = model == "deepseek-flash" || model.starts_with("deepseek-v");
        Self {
            output_limit: if reasons { "max_completion_tokens" } else { "max_tokens" },
            no_reasoning: match series {
                Some(series) if gpt && ((5, 6)..=(6, 0)).contains(&series) => ",\"reasoning_effort\":\"none\"",
                _ if deepseek => ",\"thinking\":{\"type\":\"disabled\"}",
                Some(_) | None => "",
            },
        }
    }
}

/// `5.6-sol` → (5, 6); `5` → (5, 0); none when it does not begin with a number that ends there, as in `4o`.
fn version(text: &str) -> Option<(u32, u32)> {
    let number = text.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

pub(in crate::model::codec) fn tool(tool: &ToolDef) -> String {
    format!(
        "{{\"type\":\"function\",\"function\":{{\"name\":{},\"description\":{},\"parameters\":{}}}}}",
        quoted(&tool.name),
        quoted(&tool.description),
        tool.schema.trim()
    )
}

pub(in crate::model::codec) fn system(blocks: &[String]) -> Vec<String> {
    let blocks: Vec<&str> = blocks.iter().map(String::as_str).filter(|block| !block.trim().is_empty()).collect();
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![format!("{{\"role\":\"system\",\"content\":{}}}", quoted(&blocks.join("\n\n")))]
}

pub(in crate::model::codec) fn message(message: &Message) -> Vec<String> {
    match message {
        Message::User(text) if text.trim().is_empty() => Vec::new(),
        Message::User(text) => vec![format!("{{\"role\":\"user\",\"content\":{}}}", quoted(text))],
        Message::Pictures { text, images } => {
            let mut parts = vec![format!("{{\"type\":\"text\",\"text\":{}}}", quoted(text))];
            parts.extend(images.iter().map(image_part));
            vec![format!("{{\"role\":\"user\",\"content\":[{}]}}", parts.join(","))]
        }
        Message::Assistant(blocks) => assistant(blocks).into_iter().collect(),
        Message::Results(results) => results
            .iter()
            .map(|result| {
                let text = if result.text.trim().is_empty() { EMPTY_RESULT } else { &result.text };
                format!("{{\"role\":\"tool\",\"tool_call_id\":\"{}\",\"content\":{}}}", result.id, quoted(text))
            })
            .collect(),
    }
}

fn image_part(image: &Image) -> String {
    let url = format!("data:{};base64,{}", image.mime, image.data);
    format!("{{\"type\":\"image_url\",\"image_url\":{{\"url\":{}}}}}", quoted(&url))
}

/// Reasoning has no place in this wire's requests and is left out.
fn assistant(blocks: &[AssistantBlock]) -> Option<String> {
    let mut text = String::new();
    let mut calls = String::new();
    for block in blocks {
        match block {
            AssistantBlock::Text(more) => text.push_str(more),
            AssistantBlock::Reasoning(_) => {}
            AssistantBlock::Call { id, name, arguments } => {
                if !calls.is_empty() {
                    calls.push(',');
                }
                let _ = write!(
                    calls,
                    "{{\"id\":\"{id}\",\"type\":\"function\",\"function\":{{\"name\":{},\"arguments\":{}}}}}",
                    quoted(name),
                    quoted(object_or_empty(arguments))
                );
            }
        }
    }
    let blank = text.trim().is_empty();
    match (blank, calls.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("{{\"role\":\"assistant\",\"content\":{}}}", quoted(&text))),
        (true, false) => Some(format!("{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{calls}]}}")),
        (false, false) => {
            Some(format!("{{\"role\":\"assistant\",\"content\":{},\"tool_calls\":[{calls}]}}", quoted(&text)))
        }
    }
}

/// Appends tools and messages; the system message is the first of the messages.
pub(in crate::model::codec) fn body(out: &mut String, tools: &[Arc<str>], system: &[Arc<str>], messages: &[Arc<str>]) {
    if !tools.is_empty() {
        push_array(out, "tools", tools, |out, _, tool| out.push_str(tool));
    }
    out.push_str(",\"messages\":[");
    for (at, message) in system.iter().chain(messages).enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(message);
    }
    out.push(']');
}
