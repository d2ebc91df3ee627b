//! Arguments as a model wrote them → an object that fits the tool's schema.
//!
//! Tolerant in form (types as strings, JSON in a string, one value for a list), strict in content: a required field is
//! never guessed. Called by the turn machine before anything else is done with a call.

use serde_json::{Map, Value};
use std::fmt::Write as _;

pub use super::name::{close_names, normalise};

/// Longest piece of the model's own text that an error quotes, in characters.
const QUOTED: usize = 60;

/// Arguments that cannot be used. The text is for the model: what is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgsError {
    /// The text is not JSON.
    #[error(
        "the arguments are not valid JSON: {problem} (line {line}, column {column}), after {before:?}. Send {right}"
    )]
    Json {
        /// The parser's words.
        problem: String,
        /// From 1.
        line: usize,
        /// From 1; 0 when the line has only begun.
        column: usize,
        /// The text just before that place.
        before: String,
        /// What the schema wants.
        right: String,
    },
    /// The text is JSON, but not an object.
    #[error("the arguments are {got}, not a JSON object. Send {right}")]
    NotAnObject {
        /// What it is instead.
        got: &'static str,
        /// What the schema wants.
        right: String,
    },
    /// Fields are missing or do not fit.
    #[error("the arguments do not fit: {}. Send {right}", problems.join("; "))]
    Fields {
        /// One sentence per field.
        problems: Vec<String>,
        /// What the schema wants.
        right: String,
    },
    /// The tool's own schema is unusable; no arguments can be right.
    #[error("the tool's schema is not usable: {0}")]
    Schema(String),
}

/// The arguments in `raw` as an object that fits `schema`: without unknown fields, without nulls, each field of its type.
///
/// An optional field that is null or the empty text is absent.
pub fn parse(raw: &str, schema: &str) -> Result<Value, ArgsError> {
    let schema: Value = serde_json::from_str(schema).map_err(|error| ArgsError::Schema(error.to_string()))?;
    let right = || describe(&schema);
    let object = match json(raw, right)? {
        Value::Object(object) => object,
        Value::Null => Map::new(),
        Value::String(inner) => match json(&inner, right) {
            Ok(Value::Object(object)) => object,
            Ok(Value::Null) => Map::new(),
            Err(error) if inner.trim_start().starts_with('{') => return Err(error),
            Ok(_) | Err(_) => return Err(ArgsError::NotAnObject { got: "a string", right: right() }),
        },
        other => return Err(ArgsError::NotAnObject { got: kind(&other), right: right() }),
    };
    let mut problems = Vec::new();
    let fitted = fit_object(object, &schema, "", &mut problems);
    if problems.is_empty() { Ok(Value::Object(fitted)) } else { Err(ArgsError::Fields { problems, right: right() }) }
}

/// JSON text as a value; blank text is null.
fn json(text: &str, right: impl Fn() -> String) -> Result<Value, ArgsError> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(text).map_err(|error| {
        let whole = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        ArgsError::Json {
            problem: whole.strip_suffix(&place).unwrap_or(&whole).to_owned(),
            line: error.line(),
            column: error.column(),
            before: before(text, error.line(), error.column()),
            right: right(),
        }
    })
}

/// The last characters before a place that the parser named (bytes in a line).
fn before(text: &str, line: usize, column: usize) -> String {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let mut end = column.min(line.len());
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let start = line.get(..end).unwrap_or_default();
    let skipped = start.chars().count().saturating_sub(QUOTED);
    start.chars().skip(skipped).collect()
}

fn fit_object(
    mut object: Map<String, Value>,
    schema: &Value,
    at: &str,
    problems: &mut Vec<String>,
) -> Map<String, Value> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return fit_entries(object, schema, at, problems);
    };
    let mut fitted = Map::new();
    for (name, property) in properties {
        let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        let required = is_required(schema, name);
        let value = match object.remove(name) {
            Some(Value::Null) | None => None,
            Some(Value::String(text)) if !required && text.is_empty() => None,
            Some(value) => Some(value),
        };
        match value {
            Some(value) => {
                if let Some(value) = fit(value, property, &path, problems) {
                    fitted.insert(name.clone(), value);
                }
            }
            None if required => problems.push(format!("`{path}` is missing ({})", expected(property))),
            None => {}
        }
    }
    fitted
}

/// An object whose names are not known: each value as `additionalProperties` wants it. A null is absent.
fn fit_entries(object: Map<String, Value>, schema: &Value, at: &str, problems: &mut Vec<String>) -> Map<String, Value> {
    let Some(entry) = schema.get("additionalProperties").filter(|entry| entry.is_object()) else { return object };
    let entries = object.into_iter().filter(|(_, value)| !value.is_null());
    entries
        .filter_map(|(name, value)| {
            let value = fit(value, entry, &format!("{at}[{name:?}]"), problems)?;
            Some((name, value))
        })
        .collect()
}

/// `value` as the type that `schema` wants; none, with a problem noted, when it cannot be.
fn fit(value: Value, schema: &Value, at: &str, problems: &mut Vec<String>) -> Option<Value> {
    let wrong = |value: &Value, problems: &mut Vec<String>| {
        problems.push(format!("`{at}` should be {}, got {}", expected(schema), shown(value)));
        None
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => match reparsed(value, Value::is_object) {
            Value::Object(object) => Some(Value::Object(fit_object(object, schema, at, problems))),
            other => wrong(&other, problems),
        },
        Some("array") => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            let item_type = items.get("type").and_then(Value::as_str);
            let list = match reparsed(value, Value::is_array) {
                Value::Array(list) => list,
                single @ Value::String(_) if item_type == Some("string") => vec![single],
                single @ Value::Object(_) if item_type == Some("object") => vec![single],
                other => return wrong(&other, problems),
            };
            if let Some(least) = least_items(schema).filter(|least| (list.len() as u64) < *least) {
                let got = if list.is_empty() { "none".to_owned() } else { list.len().to_string() };
                problems.push(format!("`{at}` should have at least {least} {}, got {got}", entries(least)));
                return None;
            }
            let before = problems.len();
            let fitted: Vec<Value> = list
                .into_iter()
                .enumerate()
                .filter_map(|(no, item)| fit(item, items, &format!("{at}[{no}]"), problems))
                .collect();
            (problems.len() == before).then_some(Value::Array(fitted))
        }
        Some("string") => {
            let text = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                Value::Bool(truth) => truth.to_string(),
                other => return wrong(&other, problems),
            };
            let Some(allowed) = schema.get("enum").and_then(Value::as_array) else { return Some(Value::String(text)) };
            let word = text.trim();
            let found = allowed.iter().find(|one| one.as_str().is_some_and(|one| one.eq_ignore_ascii_case(word)));
            found.cloned().or_else(|| wrong(&Value::String(text), problems))
        }
        Some("integer") => match integer(&value).filter(|number| in_range(*number, schema)) {
            Some(number) => Some(number.into()),
            None => wrong(&value, problems),
        },
        Some("number") => {
            let number = match &value {
                Value::Number(_) => Some(value.clone()),
                Value::String(text) => serde_json::from_str(text.trim()).ok().filter(Value::is_number),
                _ => None,
            };
            number.or_else(|| wrong(&value, problems))
        }
        Some("boolean") => match &value {
            Value::Bool(_) => Some(value),
            Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
            Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
            other => wrong(other, problems),
        },
        Some(_) | None => Some(value),
    }
}

/// A string that holds JSON of the wanted kind, as that JSON; anything else unchanged.
fn reparsed(value: Value, wanted: impl Fn(&Value) -> bool) -> Value {
    match &value {
        Value::String(text) => serde_json::from_str(text).ok().filter(wanted).unwrap_or(value),
        _ => value,
    }
}

/// Whole numbers up to 2^53 in either sign, also as `5.0` and as text.
fn integer(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() <= EXACT).map(|f| f as i64)),
        Value::String(text) => {
            serde_json::from_str(text.trim()).ok().filter(Value::is_number).and_then(|n| integer(&n))
        }
        _ => None,
    }
}

fn in_range(number: i64, schema: &Value) -> bool {
    let bound = |name| schema.get(name).and_then(Value::as_i64);
    bound("minimum").is_none_or(|least| number >= least) && bound("maximum").is_none_or(|most| number <= most)
}

fn least_items(schema: &Value) -> Option<u64> {
    schema.get("minItems").and_then(Value::as_u64).filter(|least| *least > 0)
}

fn entries(count: u64) -> &'static str {
    if count == 1 { "entry" } else { "entries" }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|one| one == name))
}

/// What a schema wants, in a few words.
fn expected(schema: &Value) -> String {
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", words.join(", "));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => {
            let bound = |name| schema.get(name).and_then(Value::as_i64);
            match (bound("minimum"), bound("maximum")) {
                (Some(least), Some(most)) => format!("an integer from {least} to {most}"),
                (Some(least), None) => format!("an integer of at least {least}"),
                (None, Some(most)) => format!("an integer of at most {most}"),
                (None, None) => "an integer".to_owned(),
            }
        }
        Some("array") => {
            let least =
                least_items(schema).map_or(String::new(), |least| format!(" of at least {least} {}", entries(least)));
            match schema.get("items") {
                Some(items) if items.get("type").and_then(Value::as_str) == Some("object") => {
                    format!("an array{least}{} objects {}", if least.is_empty() { " of" } else { ":" }, describe(items))
                }
                Some(items) => format!("an array{least}, each entry {}", expected(items)),
                None => format!("an array{least}"),
            }
        }
        Some("object") => describe(schema),
        Some("boolean") => "true or false".to_owned(),
        Some("number") => "a number".to_owned(),
        Some("string") => "a string".to_owned(),
        Some(_) | None => "a value".to_owned(),
    }
}

/// The fields of an object: required ones with their types, optional ones by name.
fn describe(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return match schema.get("additionalProperties").filter(|entry| entry.is_object()) {
            Some(entry) => format!("a JSON object, each value {}", expected(entry)),
            None => "a JSON object".to_owned(),
        };
    };
    let mut out = String::from("{");
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for (no, name) in required.enumerate() {
        let wanted = properties.get(name).map_or_else(|| "a value".to_owned(), expected);
        let comma = if no == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(out, "{comma}\"{name}\": {wanted}");
    }
    out.push('}');
    let optional: Vec<&str> = properties.keys().map(String::as_str).filter(|name| !is_required(schema, name)).collect();
    if !optional.is_empty() {
        let _ = write!(out, ", optional: {}", optional.join(", "));
    }
    out
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A value as an error quotes it: short ones whole, long ones by their kind and beginning.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= QUOTED {
        return text;
    }
    let start: String = text.chars().take(QUOTED).collect();
    format!("{} beginning {start}", kind(value))
}

#[cfg(test)]
mod tests;
