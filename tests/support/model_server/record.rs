//! Requests as they came, and one reading of them for both APIs.

use bytes::Bytes;
use plimsoll_core::model::request::Api;
use serde_json::Value;
use std::fmt;
use std::time::Instant;

/// How the answer to a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It has not ended yet.
    Open,
    /// Everything that the step says was written.
    Delivered,
    /// The client went away first.
    Dropped,
}

/// One request.
#[derive(Clone)]
pub struct Recorded {
    /// When all of it had come.
    pub at: Instant,
    /// The API that its path names; Chat Completions for a path that is not known.
    pub api: Api,
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Bytes,
    /// The body as JSON; null when it is none.
    pub json: Value,
    /// How its answer ended.
    pub end: End,
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({:?}) {:#?}", self.method, self.path, self.end, self.seen())
    }
}

/// A message of a request, read alike for both APIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Text of a system message or of the `system` field.
    System(String),
    /// Text in the user's role.
    User(String),
    /// What the model had said.
    Assistant {
        /// Its text, blocks joined.
        text: String,
        /// Its calls: id, name, arguments.
        calls: Vec<(String, String, Value)>,
    },
    /// A result: id of its call, text.
    Result(String, String),
}

impl Recorded {
    /// The first header of this name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Names of the tools that were offered, in order.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.json["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().map(|tool| string(&tool.get("function").unwrap_or(tool)["name"])).collect()
    }

    /// The conversation.
    pub fn seen(&self) -> Vec<Seen> {
        let mut seen = Vec::new();
        if !self.json["system"].is_null() {
            seen.push(Seen::System(text_of(&self.json["system"])));
        }
        for message in self.json["messages"].as_array().map(Vec::as_slice).unwrap_or_default() {
            read(message, &mut seen);
        }
        seen
    }

    /// All results: id of the call, text.
    pub fn results(&self) -> Vec<(String, String)> {
        self.seen()
            .into_iter()
            .filter_map(|seen| match seen {
                Seen::Result(id, text) => Some((id, text)),
                Seen::System(_) | Seen::User(_) | Seen::Assistant { .. } => None,
            })
            .collect()
    }

    /// The newest text in the user's role.
    pub fn last_user_text(&self) -> Option<String> {
        self.seen().into_iter().rev().find_map(|seen| match seen {
            Seen::User(text) => Some(text),
            Seen::System(_) | Seen::Assistant { .. } | Seen::Result(..) => None,
        })
    }
}

fn read(message: &Value, seen: &mut Vec<Seen>) {
    let content = &message["content"];
    match message["role"].as_str().unwrap_or_default() {
        "system" | "developer" => seen.push(Seen::System(text_of(content))),
        "tool" => seen.push(Seen::Result(string(&message["tool_call_id"]), text_of(content))),
        "assistant" => {
            let mut calls = Vec::new();
            for call in message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default() {
                let function = &call["function"];
                let arguments = function["arguments"].as_str().unwrap_or_default();
                let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
                calls.push((string(&call["id"]), string(&function["name"]), arguments));
            }
            for block in blocks(content, "tool_use") {
                calls.push((string(&block["id"]), string(&block["name"]), block["input"].clone()));
            }
            seen.push(Seen::Assistant { text: text_of(content), calls });
        }
        _ => {
            for block in blocks(content, "tool_result") {
                seen.push(Seen::Result(string(&block["tool_use_id"]), text_of(&block["content"])));
            }
            let text = text_of(content);
            if !text.is_empty() {
                seen.push(Seen::User(text));
            }
        }
    }
}

fn blocks<'a>(content: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().filter(move |block| block["type"] == kind)
}

fn text_of(content: &Value) -> String {
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => blocks(content, "text").map(|block| string(&block["text"])).collect::<Vec<_>>().join("\n"),
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
