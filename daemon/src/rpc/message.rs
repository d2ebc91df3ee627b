//! What a message is: a request, a notification, a response, a batch, or none of these. It looks at the envelope only.
//! Used by the native connection and by the ACP facade.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The id of a request, kept as it was written so that it is echoed without loss.
#[derive(Debug, Clone)]
pub struct RequestId(Box<RawValue>);

impl RequestId {
    /// The id of an answer to something whose id is not known.
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// The id as JSON.
    pub fn json(&self) -> &str {
        self.0.get()
    }

    /// Whether it is `null`: such a request cannot be named again.
    pub fn is_null(&self) -> bool {
        self.0.get() == "null"
    }

    /// The text that equal ids share: `7` and `"7"` differ, `"a"` and `"\u0061"` do not.
    pub fn key(&self) -> String {
        match serde_json::from_str::<String>(self.json()) {
            Ok(text) => format!("\"{text}"),
            Err(_) => self.json().to_owned(),
        }
    }

    /// An id from a string, a number or null; nothing else names a request.
    pub fn parse(raw: &RawValue) -> Option<Self> {
        let names = matches!(raw.get().as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9' | b'n'));
        names.then(|| Self(raw.to_owned()))
    }
}

/// One message.
#[derive(Debug)]
pub enum Message<'a> {
    /// A call that wants an answer.
    Request {
        /// Its id.
        id: RequestId,
        /// The method.
        method: Cow<'a, str>,
        /// Its parameters: an object or an array.
        params: Option<&'a RawValue>,
    },
    /// A call that gets none.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// Its parameters: an object or an array.
        params: Option<&'a RawValue>,
    },
    /// The answer to a request of ours.
    Response {
        /// The id of that request.
        id: RequestId,
        /// The result, or the error object.
        result: Result<&'a RawValue, &'a RawValue>,
    },
    /// JSON that is none of these.
    Invalid {
        /// Its id as far as it has one, else null.
        id: RequestId,
        /// What is wrong with it.
        reason: String,
    },
}

/// A frame.
#[derive(Debug)]
pub enum Envelope<'a> {
    /// One message.
    One(Message<'a>),
    /// Several in an array, not looked at yet; possibly none.
    Batch(Vec<&'a RawValue>),
}

/// Looks at a frame; an error says where it is not JSON.
pub fn read(bytes: &[u8]) -> Result<Envelope<'_>, serde_json::Error> {
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return serde_json::from_slice(bytes).map(Envelope::Batch);
    }
    match serde_json::from_slice::<Probe<'_>>(bytes) {
        Ok(probe) => Ok(Envelope::One(probe.classify())),
        Err(error) if error.is_data() => Ok(Envelope::One(Message::not_a_request(&error))),
        Err(error) => Err(error),
    }
}

/// Looks at one entry of a batch.
pub fn read_entry(entry: &RawValue) -> Message<'_> {
    match serde_json::from_str::<Probe<'_>>(entry.get()) {
        Ok(probe) => probe.classify(),
        Err(error) => Message::not_a_request(&error),
    }
}

#[derive(Deserialize)]
struct Probe<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A field that is there, also when it is `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Probe<'a> {
    fn classify(self) -> Message<'a> {
        let named = self.id.map(RequestId::parse);
        let id = named.clone().flatten().unwrap_or_else(RequestId::null);
        let invalid = |reason: &str| Message::Invalid { id: id.clone(), reason: reason.to_owned() };
        if matches!(named, Some(None)) {
            return invalid("`id` must be a string or a number");
        }
        if self.jsonrpc.is_none_or(|version| version.get() != r#""2.0""#) {
            return invalid("`jsonrpc` must be \"2.0\"");
        }
        let Some(method) = self.method else {
            return match (self.result, self.error) {
                (Some(result), None) if self.id.is_some() => Message::Response { id, result: Ok(result) },
                (None, Some(error)) if self.id.is_some() => Message::Response { id, result: Err(error) },
                _ => invalid("`method` is missing"),
            };
        };
        let Ok(method) = serde_json::from_str::<Text<'a>>(method.get()) else {
            return invalid("`method` must be a string");
        };
        if self.params.is_some_and(|params| !matches!(params.get().as_bytes().first(), Some(b'{' | b'['))) {
            return invalid("`params` must be an object");
        }
        let (method, params) = (method.0, self.params);
        if self.id.is_some() {
            Message::Request { id, method, params }
        } else {
            Message::Notification { method, params }
        }
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Message<'_> {
    fn not_a_request(error: &serde_json::Error) -> Self {
        Self::Invalid { id: RequestId::null(), reason: error.to_string() }
    }
}

/// A successful response.
pub fn response(id: &RequestId, result: &impl Serialize) -> Result<Box<RawValue>, serde_json::Error> {
    #[derive(Serialize)]
    struct Response<'a, T> {
        jsonrpc: &'static str,
        id: &'a RawValue,
        result: &'a T,
    }
    serde_json::value::to_raw_value(&Response { jsonrpc: "2.0", id: &id.0, result })
}

/// A failed response.
pub fn failure(id: &RequestId, error: &impl Serialize) -> Result<Box<RawValue>, serde_json::Error> {
    #[derive(Serialize)]
    struct Response<'a, T> {
        jsonrpc: &'static str,
        id: &'a RawValue,
        error: &'a T,
    }
    serde_json::value::to_raw_value(&Response { jsonrpc: "2.0", id: &id.0, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        let shown = match read(input.as_bytes()) {
            Err(_) => "not JSON".to_owned(),
            Ok(Envelope::Batch(entries)) => format!("batch of {}", entries.len()),
            Ok(Envelope::One(Message::Request { id, method, params })) => {
                format!("request {} {method} {}", id.json(), params.map_or("-", RawValue::get))
            }
            Ok(Envelope::One(Message::Notification { method, params })) => {
                format!("notification {method} {}", params.map_or("-", RawValue::get))
            }
            Ok(Envelope::One(Message::Response { id, result })) => format!("response {} {}", id.json(), result.is_ok()),
            Ok(Envelope::One(Message::Invalid { id, .. })) => format!("invalid {}", id.json()),
        };
        assert_eq!(shown, expected, "{input}");
    }

    #[test]
    fn messages_are_told_apart_and_ids_are_kept_as_written() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"x":1}}"#, r#"request 1 a/b {"x":1}"#);
        check(r#"{"jsonrpc":"2.0","id":null,"method":"m","params":null}"#, "request null m -");
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"\u0061"}"#, "request 1.5 a -");
        check(r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"m"}"#, "request 12345678901234567890123 m -");
        check(r#"{"jsonrpc":"2.0","method":"m"}"#, "notification m -");
        check(r#"{"jsonrpc":"2.0","id":"s1","result":null}"#, r#"response "s1" true"#);
        check(r#"{"jsonrpc":"2.0","id":"s1","error":{}}"#, r#"response "s1" false"#);
        check("[]", "batch of 0");
        check(" [1, {}]", "batch of 2");
        check("{bad", "not JSON");
        check("[1,", "not JSON");
        check("{} x", "not JSON");
        check("1", "invalid null");
        check("{}", "invalid null");
        check(r#"{"jsonrpc":"2.0","id":5,"method":1}"#, "invalid 5");
        check(r#"{"jsonrpc":"1.0","id":6,"method":"ping"}"#, "invalid 6");
        check(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}"#, "invalid 7");
        check(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "invalid null");
        check(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "invalid null");
    }

    #[test]
    fn equal_ids_have_equal_keys() {
        let key = |text: &str| RequestId(RawValue::from_string(text.to_owned()).unwrap()).key();
        assert_eq!(key(r#""a""#), key(r#""\u0061""#));
        assert_ne!(key("7"), key(r#""7""#));
    }
}
