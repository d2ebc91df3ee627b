//! The stored form of items and of the records beside them: JSON with a kind and a version.
//!
//! A stored form is for ever: a change of shape is a new version with its own decoder, and the golden files under
//! `tests/golden/items/` hold one example of each released one. Called by `store`; it knows no table.

use super::item::ItemBody;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version in which this build writes items.
pub const ITEM_VERSION: u8 = 1;

/// The version in which this build writes events, operations, asks and the records of requests.
pub const RECORD_VERSION: u8 = 1;

/// An item's body as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The item's kind.
    pub kind: &'static str,
    /// The version of the form.
    pub version: u8,
    /// The body without its kind.
    pub json: String,
}

/// A stored form that this build cannot read, or a value that has none.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// No item of this kind is known.
    #[error("an item of the unknown kind `{kind}` is stored; a newer version of Plimsoll wrote it")]
    UnknownKind {
        /// The kind as stored.
        kind: String,
    },
    /// The form is newer than this build.
    #[error("`{what}` is stored in version {found}; this build knows versions up to {known}")]
    NewerVersion {
        /// The kind or record.
        what: String,
        /// The stored version.
        found: u8,
        /// The newest known one.
        known: u8,
    },
    /// The text does not have the shape of its version.
    #[error("the stored form of `{what}` is damaged: {source}")]
    Malformed {
        /// The kind or record.
        what: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// The stored form of a body.
pub fn encode(body: &ItemBody) -> Result<Stored, CodecError> {
    let (kind, json) = match body {
        ItemBody::User(body) => ("user", serde_json::to_string(body)),
        ItemBody::Meta(body) => ("meta", serde_json::to_string(body)),
        ItemBody::Assistant(body) => ("assistant", serde_json::to_string(body)),
        ItemBody::Reasoning(body) => ("reasoning", serde_json::to_string(body)),
        ItemBody::ToolCall(body) => ("tool_call", serde_json::to_string(body)),
        ItemBody::ToolResult(body) => ("tool_result", serde_json::to_string(body)),
        ItemBody::Observation(body) => ("observation", serde_json::to_string(body)),
        ItemBody::Notice(body) => ("notice", serde_json::to_string(body)),
        ItemBody::Rewind(body) => ("rewind", serde_json::to_string(body)),
    };
    let json = json.map_err(|source| CodecError::Malformed { what: kind.to_owned(), source })?;
    Ok(Stored { kind, version: ITEM_VERSION, json })
}

/// The body of a stored form.
pub fn decode(kind: &str, version: u8, json: &str) -> Result<ItemBody, CodecError> {
    match kind {
        "user" => record(kind, version, ITEM_VERSION, json).map(ItemBody::User),
        "meta" => record(kind, version, ITEM_VERSION, json).map(ItemBody::Meta),
        "assistant" => record(kind, version, ITEM_VERSION, json).map(ItemBody::Assistant),
        "reasoning" => record(kind, version, ITEM_VERSION, json).map(ItemBody::Reasoning),
        "tool_call" => record(kind, version, ITEM_VERSION, json).map(ItemBody::ToolCall),
        "tool_result" => record(kind, version, ITEM_VERSION, json).map(ItemBody::ToolResult),
        "observation" => record(kind, version, ITEM_VERSION, json).map(ItemBody::Observation),
        "notice" => record(kind, version, ITEM_VERSION, json).map(ItemBody::Notice),
        "rewind" => record(kind, version, ITEM_VERSION, json).map(ItemBody::Rewind),
        unknown => Err(CodecError::UnknownKind { kind: unknown.chars().take(40).collect() }),
    }
}

/// The stored form of a record that is no item, in [`RECORD_VERSION`]. `what` names it in errors.
pub fn encode_record<T: Serialize>(what: &str, value: &T) -> Result<String, CodecError> {
    serde_json::to_string(value).map_err(|source| CodecError::Malformed { what: what.to_owned(), source })
}

/// The record of a stored form.
pub fn decode_record<T: DeserializeOwned>(what: &str, version: u8, json: &str) -> Result<T, CodecError> {
    record(what, version, RECORD_VERSION, json)
}

fn record<T: DeserializeOwned>(what: &str, version: u8, known: u8, json: &str) -> Result<T, CodecError> {
    if version > known {
        return Err(CodecError::NewerVersion { what: what.to_owned(), found: version, known });
    }
    serde_json::from_str(json).map_err(|source| CodecError::Malformed { what: what.to_owned(), source })
}

#[cfg(test)]
mod tests;
