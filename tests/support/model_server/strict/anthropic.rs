//! Rules of Anthropic Messages.

use super::{Faults, list, object};
use crate::model_server::record::Recorded;
use serde_json::Value;
use std::collections::HashSet;

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "metadata",
    "thinking",
    "cache_control",
    "service_tier",
    "context_management",
    "output_config",
];

/// Most places of one request that may carry `cache_control`.
const BREAKPOINTS: usize = 4;

pub(super) fn check(request: &Recorded, faults: &mut Faults) {
    let Some(fields) = object(&request.json, faults, "the body") else { return };
    faults.need_known(fields, FIELDS, "the body");
    let body = &request.json;
    faults.need(request.header("anthropic-version").is_some(), || "no anthropic-version header".to_owned());
    faults.need_text(&body["model"], "model");
    faults.need_positive(&body["max_tokens"], "max_tokens");
    faults.need(body["stream"] == true, || "this server streams only: `stream` must be true".to_owned());
    if let Some(temperature) = body.get("temperature") {
        faults.need(temperature.as_f64().is_some_and(|t| (0.0..=1.0).contains(&t)), || {
            format!("temperature is {temperature}, not in 0..=1")
        });
    }
    match body.get("system") {
        None => {}
        Some(Value::String(text)) => faults.need(!text.trim().is_empty(), || "system: empty text".to_owned()),
        Some(system) => {
            for (at, block) in list(system, faults, "system").iter().enumerate() {
                faults.need(block["type"] == "text", || format!("system[{at}]: type {} is not text", block["type"]));
                faults.need_text(&block["text"], &format!("system[{at}]"));
            }
        }
    }
    tools(body, faults);
    messages(list(&body["messages"], faults, "messages"), faults);
    breakpoints(body, faults);
}

fn tools(body: &Value, faults: &mut Faults) {
    let Some(tools) = body.get("tools") else {
        return faults.need(body.get("tool_choice").is_none(), || "tool_choice without tools".to_owned());
    };
    let mut names = HashSet::new();
    for (at, tool) in list(tools, faults, "tools").iter().enumerate() {
        let place = format!("tools[{at}]");
        if let Some(fields) = object(tool, faults, &place) {
            faults.need_known(
                fields,
                &["name", "description", "input_schema", "cache_control", "type", "strict"],
                &place,
            );
        }
        faults.need_tool_name(&tool["name"], &place);
        faults.need(names.insert(tool["name"].to_string()), || format!("{place}: {} twice", tool["name"]));
        faults.need_schema(&tool["input_schema"], &place);
    }
}

fn messages(messages: &[Value], faults: &mut Faults) {
    faults.need(messages.first().is_none_or(|first| first["role"] == "user"), || {
        "messages[0]: the first message is not the user's".to_owned()
    });
    faults.need(messages.last().is_none_or(|last| last["role"] == "user"), || {
        "the last message is not the user's: the model does not continue an assistant message".to_owned()
    });
    let mut ids = HashSet::new();
    let mut open: Option<(String, Vec<String>)> = None;
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        let role = message["role"].as_str().unwrap_or_default();
        let results = match role {
            "user" => user(&message["content"], faults, &place),
            "assistant" | "" => Vec::new(),
            other => {
                faults.add(format!("{place}: role `{other}` does not exist"));
                Vec::new()
            }
        };
        match open.take() {
            Some((place, calls)) => faults.need_paired(&calls, &results, &place),
            None => faults.need_paired(&[], &results, &place),
        }
        if role == "assistant" {
            let calls = assistant(&message["content"], &mut ids, faults, &place);
            open = Some((place, calls));
        }
    }
    if let Some((place, calls)) = open {
        faults.need_paired(&calls, &[], &place);
    }
}

/// Ids of the results in a user message.
fn user(content: &Value, faults: &mut Faults, place: &str) -> Vec<String> {
    if content.is_string() {
        faults.need_text(content, place);
        return Vec::new();
    }
    let mut results = Vec::new();
    let mut others = false;
    for (at, block) in list(content, faults, &format!("{place}.content")).iter().enumerate() {
        let place = format!("{place}.content[{at}]");
        match block["type"].as_str().unwrap_or_default() {
            "text" => {
                faults.need_text(&block["text"], &place);
                others = true;
            }
            "image" => {
                image(&block["source"], faults, &place);
                others = true;
            }
            "document" => others = true,
            "tool_result" => {
                faults.need(!others, || format!("{place}: tool_result blocks come first in their message"));
                results.push(block["tool_use_id"].as_str().unwrap_or_default().to_owned());
                match &block["content"] {
                    Value::String(_) => faults.need_text(&block["content"], &place),
                    inner => {
                        for (at, part) in list(inner, faults, &format!("{place}.content")).iter().enumerate() {
                            let place = format!("{place}.content[{at}]");
                            match part["type"].as_str().unwrap_or_default() {
                                "text" => faults.need_text(&part["text"], &place),
                                "image" | "document" => {}
                                other => faults.add(format!("{place}: type `{other}` may not stand in a result")),
                            }
                        }
                    }
                }
            }
            other => faults.add(format!("{place}: a block of type `{other}` may not stand in a user message")),
        }
    }
    results
}

fn image(source: &Value, faults: &mut Faults, place: &str) {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    faults.need(source["type"] == "base64", || format!("{place}: a source of type {}", source["type"]));
    faults.need(known.iter().any(|known| source["media_type"] == *known), || {
        format!("{place}: media type {}", source["media_type"])
    });
    faults.need_text(&source["data"], &format!("{place}.source.data"));
}

/// Ids of the calls in an assistant message.
fn assistant(content: &Value, ids: &mut HashSet<String>, faults: &mut Faults, place: &str) -> Vec<String> {
    if content.is_string() {
        faults.need_text(content, place);
        return Vec::new();
    }
    let mut calls = Vec::new();
    for (at, block) in list(content, faults, &format!("{place}.content")).iter().enumerate() {
        let place = format!("{place}.content[{at}]");
        match block["type"].as_str().unwrap_or_default() {
            "text" => {
                faults.need_text(&block["text"], &place);
            }
            "thinking" => {
                faults.need_text(&block["signature"], &format!("{place}: signature"));
                faults.need(block["thinking"].is_string(), || format!("{place}: no thinking text"));
            }
            "redacted_thinking" => faults.need_text(&block["data"], &place),
            "tool_use" => {
                calls.push(faults.need_new_id(&block["id"], ids, &place));
                faults.need_tool_name(&block["name"], &place);
                faults.need(block["input"].is_object(), || format!("{place}: the input is not a JSON object"));
            }
            other => faults.add(format!("{place}: a block of type `{other}` may not stand in an assistant message")),
        }
    }
    calls
}

/// `cache_control` in the order in which the prefix is built: tools, system, messages.
fn breakpoints(body: &Value, faults: &mut Faults) {
    let mut marks = Vec::new();
    for place in ["tools", "system"] {
        mark(&body[place], place, &mut marks);
    }
    for (at, message) in body["messages"].as_array().map(Vec::as_slice).unwrap_or_default().iter().enumerate() {
        mark(&message["content"], &format!("messages[{at}].content"), &mut marks);
    }
    if let Some(automatic) = body.get("cache_control") {
        marks.push(("the body".to_owned(), automatic));
    }
    faults.need(marks.len() <= BREAKPOINTS, || {
        format!("{} places carry cache_control, at most {BREAKPOINTS} may", marks.len())
    });
    let mut short_seen = false;
    for (place, control) in marks {
        let ttl = control.get("ttl").map_or("5m", |ttl| ttl.as_str().unwrap_or_default());
        faults.need(control["type"] == "ephemeral" && matches!(ttl, "5m" | "1h"), || {
            format!("{place}: cache_control of type {} and lifetime {ttl:?} is not known", control["type"])
        });
        faults.need(!(short_seen && ttl == "1h"), || format!("{place}: a lifetime of 1h after one of 5m"));
        short_seen |= ttl == "5m";
    }
}

fn mark<'a>(blocks: &'a Value, place: &str, marks: &mut Vec<(String, &'a Value)>) {
    for (at, block) in blocks.as_array().map(Vec::as_slice).unwrap_or_default().iter().enumerate() {
        if let Some(control) = block.get("cache_control").filter(|control| !control.is_null()) {
            marks.push((format!("{place}[{at}]"), control));
        }
    }
}
