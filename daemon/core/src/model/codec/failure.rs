//! What a provider's refusal or failure calls for, and how people are told. Works on HTTP answers and on errors inside a
//! stream; the vendors' forms do not collide, and servers mix them (llama.cpp answers Anthropic's wire with OpenAI's
//! form), so the wire plays no role.

use super::overflow;
use crate::model::error::{ErrorClass, ModelError};
use crate::time::Timestamp;
use serde_json::Value;
use std::fmt::Write;
use std::time::UNIX_EPOCH;

/// Most characters of a provider's own words that are passed on.
const MAX_WORDS: usize = 600;

/// The failure that an HTTP answer other than 2xx stands for. Header names are compared without case; `now` serves dates
/// in `retry-after`. The message has the status and the provider's words, bounded; where it came from and which key was
/// used, the caller adds.
pub fn classify(status: u16, headers: &[(String, String)], body: &[u8], now: Timestamp) -> ModelError {
    let words = Words::read(&String::from_utf8_lossy(body));
    let class = words.class(Some(status));
    let mut message = format!("HTTP {status}");
    if !words.kind.is_empty() {
        let _ = write!(message, " ({})", bounded(&words.kind, 60));
    }
    let said = if words.message.is_empty() { reason(status) } else { words.said() };
    if !said.is_empty() {
        message.push_str(": ");
        message.push_str(&said);
    }
    if let (300..400, Some(to)) = (status, header(headers, "location")) {
        let _ = write!(message, "; it redirects to {}: set base_url to where the API really is", bounded(to, 200));
    }
    if class == ErrorClass::Quota {
        message.push_str("; the account has no credit or quota left, waiting does not help");
    }
    ModelError { class, message, status: Some(status), retry_after_ms: retry_after_ms(headers, now) }
}

/// The failure that an error inside a stream stands for; `json` is the event's data.
pub(super) fn in_stream(json: &str) -> ModelError {
    let words = Words::read(json);
    let mut message = "the provider broke off the answer".to_owned();
    if !words.kind.is_empty() {
        let _ = write!(message, " ({})", bounded(&words.kind, 60));
    }
    if !words.message.is_empty() {
        message.push_str(": ");
        message.push_str(&words.said());
    }
    ModelError { class: words.class(words.status), message, status: words.status, retry_after_ms: None }
}

/// What came is not the protocol; some of it is quoted.
pub(super) fn not_the_protocol(text: &str) -> ModelError {
    let message = format!("the provider sent something that is not its protocol: {}", bounded(text, 200));
    ModelError::new(ErrorClass::Protocol, message)
}

/// Whether a JSON document is the report of a failure.
pub(super) fn is_failure(json: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(json) else { return false };
    let says_error = |name: &str| value.get(name).and_then(Value::as_str) == Some("error");
    says_error("type")
        || says_error("object")
        || value.get("error").is_some_and(|error| !error.is_null())
        || value.get("detail").is_some()
}

/// What a report of a failure says.
#[derive(Debug, Default)]
struct Words {
    /// The vendor's `type`, else its `code`.
    kind: String,
    code: String,
    message: String,
    /// A code that is an HTTP status.
    status: Option<u16>,
}

impl Words {
    fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of(&value, 0),
            Err(_) if body.trim_start().starts_with('<') => {
                Self { message: title(body).unwrap_or_else(|| "a web page".to_owned()), ..Self::default() }
            }
            Err(_) => Self { message: body.trim().to_owned(), ..Self::default() },
        }
    }

    /// `depth` bounds reports inside of reports.
    fn of(value: &Value, depth: u8) -> Self {
        let value = value.as_array().and_then(|all| all.first()).unwrap_or(value);
        let error = value.get("error").filter(|error| !error.is_null());
        let inner = error.filter(|error| error.is_object()).unwrap_or(value);
        let text = |name: &str| inner.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let code = inner.get("code").map(plain).unwrap_or_default();
        let mut kind = text("type");
        if kind.is_empty() || kind == "error" {
            kind.clone_from(&code);
        }
        let message = [inner.get("message"), inner.get("detail"), value.get("message"), value.get("detail"), error]
            .into_iter()
            .flatten()
            .map(plain)
            .find(|message| !message.is_empty())
            .unwrap_or_default();
        let status = code.parse().ok().filter(|status| (400..600).contains(status));
        let mut words = Self { kind, code, message, status };
        // OpenRouter's place for what the provider behind it said.
        let raw = inner.get("metadata").and_then(|metadata| metadata.get("raw"));
        if let Some(raw) = raw.filter(|_| depth == 0) {
            let behind = match raw.as_str().map(serde_json::from_str::<Value>) {
                Some(Ok(value)) => Self::of(&value, depth + 1),
                Some(Err(_)) => Self { message: plain(raw), ..Self::default() },
                None => Self::of(raw, depth + 1),
            };
            if !behind.message.is_empty() {
                words.message = format!("{}: {}", words.message, behind.message);
            }
            if words.kind.is_empty() || words.kind.parse::<u16>().is_ok() {
                words.kind = behind.kind;
            }
            if words.code.is_empty() || words.status.is_some() {
                words.code = behind.code;
            }
        }
        words
    }

    fn said(&self) -> String {
        bounded(&self.message, MAX_WORDS)
    }

    fn class(&self, status: Option<u16>) -> ErrorClass {
        let named = |names: &[&str]| names.iter().any(|name| self.kind == *name || self.code == *name);
        let lower = self.message.to_lowercase();
        if status == Some(402)
            || named(&["insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active"])
            || lower.starts_with("your credit balance is too low")
            || lower.starts_with("insufficient balance")
        {
            return ErrorClass::Quota;
        }
        // Before the window: "too many tokens" is a matter of waiting.
        if status == Some(429) || named(&["rate_limit_error", "rate_limit_exceeded", "too_many_requests"]) {
            return ErrorClass::RateLimited;
        }
        if status == Some(401)
            || status == Some(403)
            || named(&["authentication_error", "permission_error", "invalid_api_key"])
        {
            return ErrorClass::Auth;
        }
        if status == Some(413)
            || overflow::by_code(&self.kind)
            || overflow::by_code(&self.code)
            || overflow::by_message(&self.message)
        {
            return ErrorClass::ContextTooLong;
        }
        if named(&["overloaded_error", "api_error", "server_error", "timeout_error", "internal_server_error"]) {
            return ErrorClass::Unavailable;
        }
        match status {
            Some(408 | 409 | 425 | 500..) => ErrorClass::Unavailable,
            Some(400..) => ErrorClass::BadRequest,
            Some(_) => ErrorClass::Protocol,
            None if named(&["invalid_request_error", "not_found_error", "model_not_found", "BadRequestError"]) => {
                ErrorClass::BadRequest
            }
            // The request was accepted, so that something has happened since.
            None => ErrorClass::Unavailable,
        }
    }
}

/// A string as it is, anything else but null as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The title of a web page.
fn title(page: &str) -> Option<String> {
    let start = page.find("<title>")?;
    let (title, _) = page.get(start..)?.strip_prefix("<title>")?.split_once('<')?;
    Some(title.trim().to_owned()).filter(|title| !title.is_empty())
}

/// What a status means when the answer has no words.
fn reason(status: u16) -> String {
    match status {
        400 => "the request is refused, without a reason",
        401 => "the key is missing or wrong",
        403 => "the key may not do this",
        404 => "there is no such API or model here",
        408 | 504 => "the server gave up waiting",
        413 => "the request is too large",
        429 => "too many requests",
        500 | 502 | 503 | 529 => "the server has a problem or too much to do",
        _ => "",
    }
    .to_owned()
}

/// One line of at most `max` characters, without control characters.
fn bounded(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut blank = false;
    for (count, c) in text.trim().chars().enumerate() {
        if count >= max {
            out.push('…');
            break;
        }
        if c.is_whitespace() || c.is_control() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// `retry-after-ms`, else `retry-after` in seconds or as a date. What is neither is as if it were not there; a date in the
/// past is 0.
fn retry_after_ms(headers: &[(String, String)], now: Timestamp) -> Option<u64> {
    let milliseconds = |text: &str, unit: f64| -> Option<u64> {
        let value = text.parse::<f64>().ok()? * unit;
        // A year of milliseconds; more is no time to wait.
        (0.0..3.2e10).contains(&value).then_some(value.ceil() as u64)
    };
    if let Some(wait) = header(headers, "retry-after-ms").and_then(|value| milliseconds(value, 1.0)) {
        return Some(wait);
    }
    let value = header(headers, "retry-after")?;
    milliseconds(value, 1000.0).or_else(|| {
        let date = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Timestamp(i64::try_from(date.as_millis()).ok()?).since(now))
    })
}

#[cfg(test)]
mod tests;
