//! The part of a Chat Completions body that the offline model looks at: the newest query, and the calls made since.

use crate::escape;
use serde_json::Value;

const OPEN: &str = "<user_query>";
const CLOSE: &str = "</user_query>";

/// A request, as far as it matters here.
#[derive(Debug, Default, PartialEq)]
pub struct Conversation {
    /// Text of the newest user query; empty when there is none.
    pub query: String,
    /// Calls since that query, in order, each with its result.
    pub calls: Vec<Call>,
    /// Names of the tools on offer.
    tools: Vec<String>,
}

/// A call with its result.
#[derive(Debug, PartialEq)]
pub struct Call {
    id: String,
    /// The tool.
    pub name: String,
    /// Its arguments; null when they are not JSON.
    pub arguments: Value,
    /// What it gave; empty when nothing came.
    pub result: String,
}

impl Conversation {
    /// Reads a body. The error says what is wrong with it.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let messages = body.get("messages").and_then(Value::as_array).ok_or("it has no `messages`")?;
        let mut conversation = Self::default();
        for tool in body.get("tools").and_then(Value::as_array).into_iter().flatten() {
            conversation.tools.extend(tool.pointer("/function/name").and_then(Value::as_str).map(str::to_owned));
        }
        for message in messages {
            conversation.read(message);
        }
        Ok(conversation)
    }

    /// Whether the request offers this tool.
    pub fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool == name)
    }

    fn read(&mut self, message: &Value) {
        let field = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
        match field("role") {
            "user" => {
                if let Some(query) = query(&text(message)) {
                    self.query = query;
                    self.calls.clear();
                }
            }
            "assistant" => {
                for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                    let part = |path: &str| call.pointer(path).and_then(Value::as_str).unwrap_or_default();
                    self.calls.push(Call {
                        id: part("/id").to_owned(),
                        name: part("/function/name").to_owned(),
                        arguments: serde_json::from_str(part("/function/arguments")).unwrap_or_default(),
                        result: String::new(),
                    });
                }
            }
            "tool" => {
                let id = field("tool_call_id");
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call.id == id) {
                    call.result = text(message);
                }
            }
            _ => {}
        }
    }
}

/// A message's text, whether it comes as a string or in parts.
fn text(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The last query in a message. Data can't hold the tag unescaped, so the last one is the user's.
fn query(text: &str) -> Option<String> {
    let (_, rest) = text.rsplit_once(OPEN)?;
    let query = rest.split_once(CLOSE).map_or(rest, |(query, _)| query);
    Some(escape::restore(query.trim()).into_owned())
}
