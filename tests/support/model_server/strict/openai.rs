//! Rules of Chat Completions.

use super::{Faults, list, object};
use crate::model_server::record::Recorded;
use serde_json::Value;
use std::collections::HashSet;

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "user",
    "n",
    "response_format",
    "reasoning_effort",
    "store",
    "metadata",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "verbosity",
    "modalities",
    "logit_bias",
];

pub(super) fn check(request: &Recorded, faults: &mut Faults) {
    let Some(body) = object(&request.json, faults, "the body") else { return };
    faults.need_known(body, FIELDS, "the body");
    let body = &request.json;
    faults.need_text(&body["model"], "model");
    faults.need(body["stream"] == true, || "this server streams only: `stream` must be true".to_owned());
    let limits = ["max_tokens", "max_completion_tokens"].map(|name| body.get(name));
    faults.need(limits.iter().flatten().count() < 2, || "max_tokens and max_completion_tokens together".to_owned());
    for limit in limits.into_iter().flatten() {
        faults.need_positive(limit, "max_tokens");
    }
    if let Some(temperature) = body.get("temperature").filter(|value| !value.is_null()) {
        faults.need(temperature.as_f64().is_some_and(|t| (0.0..=2.0).contains(&t)), || {
            format!("temperature is {temperature}, not in 0..=2")
        });
    }
    tools(body, faults);
    messages(list(&body["messages"], faults, "messages"), faults);
}

fn tools(body: &Value, faults: &mut Faults) {
    let Some(tools) = body.get("tools") else {
        faults.need(body.get("tool_choice").is_none(), || "tool_choice without tools".to_owned());
        faults.need(body.get("parallel_tool_calls").is_none(), || "parallel_tool_calls without tools".to_owned());
        return;
    };
    let mut names = HashSet::new();
    for (at, tool) in list(tools, faults, "tools").iter().enumerate() {
        let place = format!("tools[{at}]");
        faults.need(tool["type"] == "function", || format!("{place}: type {} is not function", tool["type"]));
        let function = &tool["function"];
        if let Some(fields) = object(function, faults, &place) {
            faults.need_known(fields, &["name", "description", "parameters", "strict"], &place);
        }
        faults.need_tool_name(&function["name"], &place);
        faults.need(names.insert(function["name"].to_string()), || format!("{place}: {} twice", function["name"]));
        faults.need_schema(&function["parameters"], &place);
    }
}

fn messages(messages: &[Value], faults: &mut Faults) {
    let mut ids = HashSet::new();
    // Calls of the assistant message before, with its place, and the results that followed it so far.
    let mut open: Option<(String, Vec<String>, Vec<String>)> = None;
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool"
            && let Some((place, calls, results)) = open.take()
        {
            faults.need_paired(&calls, &results, &place);
        }
        match role {
            "system" | "developer" | "user" => content(&message["content"], role == "user", faults, &place),
            "assistant" => {
                let calls = assistant(message, &mut ids, faults, &place);
                if !calls.is_empty() {
                    open = Some((place, calls, Vec::new()));
                }
            }
            "tool" => {
                content(&message["content"], false, faults, &place);
                let id = message["tool_call_id"].as_str().unwrap_or_default().to_owned();
                match &mut open {
                    Some((_, _, results)) => results.push(id),
                    None => faults.add(format!("{place}: a tool message that follows no message with tool_calls")),
                }
            }
            other => faults.add(format!("{place}: role `{other}` does not exist")),
        }
    }
    if let Some((place, calls, results)) = open {
        faults.need_paired(&calls, &results, &place);
    }
}

fn assistant(message: &Value, ids: &mut HashSet<String>, faults: &mut Faults, place: &str) -> Vec<String> {
    let calls = match message.get("tool_calls") {
        Some(calls) => list(calls, faults, &format!("{place}.tool_calls")),
        None => &[],
    };
    if message["content"].is_null() {
        faults.need(!calls.is_empty(), || format!("{place}: an assistant message with neither content nor calls"));
    } else {
        content(&message["content"], false, faults, place);
    }
    let mut sent = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let place = format!("{place}.tool_calls[{at}]");
        sent.push(faults.need_new_id(&call["id"], ids, &place));
        faults.need(call["type"] == "function", || format!("{place}: type {} is not function", call["type"]));
        faults.need_tool_name(&call["function"]["name"], &place);
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let parsed = serde_json::from_str::<Value>(arguments);
        faults.need(parsed.is_ok_and(|value| value.is_object()), || {
            format!("{place}: the arguments {arguments:?} are not the text of a JSON object")
        });
    }
    sent
}

fn content(content: &Value, media: bool, faults: &mut Faults, place: &str) {
    if content.is_string() {
        return faults.need_text(content, place);
    }
    for (at, part) in list(content, faults, &format!("{place}.content")).iter().enumerate() {
        let place = format!("{place}.content[{at}]");
        match part["type"].as_str().unwrap_or_default() {
            "text" => faults.need_text(&part["text"], &place),
            "image_url" if media => {
                let url = part["image_url"]["url"].as_str().unwrap_or_default();
                let inline = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
                let whole = inline.is_some_and(|(_, data)| !data.is_empty()) || url.starts_with("https://");
                faults.need(whole, || format!("{place}: the image's address is {:?}", url.get(..40).unwrap_or(url)));
            }
            "input_audio" | "file" if media => {}
            other => faults.add(format!("{place}: a part of type `{other}` may not stand here")),
        }
    }
}
