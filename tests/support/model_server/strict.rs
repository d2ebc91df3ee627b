//! The rules that providers enforce on a request. What this refuses, a real provider answers with 400.
//!
//! Sources: the public references of both APIs and reports of requests that they refused;
//! where the two are silent the server is lenient.

mod anthropic;
mod openai;

use super::record::Recorded;
use plimsoll_core::model::request::Api;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Every broken rule, in words that name the place; empty for a request that is right.
pub fn check(request: &Recorded) -> Vec<String> {
    let mut faults = Faults::default();
    faults.need(request.method == "POST", || format!("the method is {}, not POST", request.method));
    let content_type = request.header("content-type").unwrap_or_default();
    faults.need(content_type.starts_with("application/json"), || {
        format!("content-type is {content_type:?}, not application/json")
    });
    match (request.path.as_str(), request.api) {
        ("/v1/messages", Api::AnthropicMessages) => anthropic::check(request, &mut faults),
        ("/v1/chat/completions", Api::OpenaiChat) => openai::check(request, &mut faults),
        (path, _) => faults.add(format!("there is no {path} here")),
    }
    faults.list
}

/// Collects what is wrong.
#[derive(Default)]
struct Faults {
    list: Vec<String>,
}

impl Faults {
    fn add(&mut self, fault: impl Into<String>) {
        self.list.push(fault.into());
    }

    fn need(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.list.push(fault());
        }
    }

    /// `value` must be a text with something other than blanks in it.
    fn need_text(&mut self, value: &Value, place: &str) {
        self.need(value.as_str().is_some_and(|text| !text.trim().is_empty()), || format!("{place}: empty text"));
    }

    /// Fields that the vendor does not know are refused.
    fn need_known(&mut self, object: &Map<String, Value>, known: &[&str], place: &str) {
        for field in object.keys() {
            self.need(known.contains(&field.as_str()), || format!("{place}: unknown field `{field}`"));
        }
    }

    /// A call's id: legal on every wire, and new in this request.
    fn need_new_id(&mut self, id: &Value, ids: &mut HashSet<String>, place: &str) -> String {
        let text = id.as_str().unwrap_or_default();
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        self.need(!text.is_empty() && text.chars().all(legal), || {
            format!("{place}: the call id {id} does not match ^[a-zA-Z0-9_-]+$")
        });
        self.need(ids.insert(text.to_owned()), || format!("{place}: the call id {id} is used twice"));
        text.to_owned()
    }

    /// A tool's name: legal, and new among the tools.
    fn need_tool_name(&mut self, name: &Value, place: &str) {
        let text = name.as_str().unwrap_or_default();
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        self.need((1..=64).contains(&text.len()) && text.chars().all(legal), || {
            format!("{place}: the tool name {name} does not match ^[a-zA-Z0-9_-]{{1,64}}$")
        });
    }

    fn need_schema(&mut self, schema: &Value, place: &str) {
        self.need(schema["type"] == "object" && schema.is_object(), || {
            format!("{place}: the schema is no object schema")
        });
        let properties = schema["properties"].as_object();
        for required in schema["required"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let known = required.as_str().is_some_and(|name| properties.is_some_and(|all| all.contains_key(name)));
            self.need(known, || format!("{place}: required field {required} is not among the properties"));
        }
    }

    fn need_positive(&mut self, value: &Value, place: &str) {
        self.need(value.as_u64().is_some_and(|count| count > 0), || {
            format!("{place} is {value}, not a positive integer")
        });
    }

    /// Pairs the calls of one message with the results that stand directly after it.
    fn need_paired(&mut self, calls: &[String], results: &[String], place: &str) {
        for id in calls {
            let count = results.iter().filter(|result| *result == id).count();
            self.need(count == 1, || format!("{place}: call `{id}` has {count} results directly after it, not one"));
        }
        for id in results {
            self.need(calls.contains(id), || {
                format!("{place}: result for `{id}`, which the message before does not call")
            });
        }
    }
}

fn list<'a>(value: &'a Value, faults: &mut Faults, place: &str) -> &'a [Value] {
    match value.as_array() {
        Some(list) if !list.is_empty() => list,
        Some(_) => {
            faults.add(format!("{place} is empty"));
            &[]
        }
        None => {
            faults.add(format!("{place} is not an array"));
            &[]
        }
    }
}

fn object<'a>(value: &'a Value, faults: &mut Faults, place: &str) -> Option<&'a Map<String, Value>> {
    let object = value.as_object();
    faults.need(object.is_some(), || format!("{place} is not an object"));
    object
}
