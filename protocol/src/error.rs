//! What an error says to a client: a JSON-RPC code, a message for people, and `data` with a kind to branch on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `data` of every error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// What went wrong, to branch on.
    pub kind: ErrorKind,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// The message is not JSON.
    ParseError,
    /// The message is JSON and not a request.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// A parameter is missing, of the wrong type, or not valid.
    InvalidParams,
    /// A fault of Plimsoll's own.
    Internal,
    /// The call was cancelled by `$/cancelRequest`.
    Cancelled,
    /// The connection has as many subscriptions as one may have.
    TooManySubscriptions,
    /// The message is longer than a message may be.
    MessageTooLarge,
    /// The answer would be longer than a message may be.
    ResponseTooLarge,
    /// The batch has more entries than one may have.
    BatchTooLong,
    /// The project, session, item or question does not exist.
    NotFound,
    /// The project's folder is gone.
    WorkspaceMissing,
    /// A turn runs and the client asked not to wait.
    Busy,
    /// The call does not fit the session's state.
    Conflict,
    /// The store cannot be read or written.
    Store,
    /// The database was written by a newer version.
    NewerStore,
    /// The configuration is not valid.
    Config,
    /// The key of the configured model is missing.
    AuthRequired,
    /// The daemon is about to end.
    ShuttingDown,
    /// The two sides have no protocol version in common.
    IncompatibleVersion,
    /// The caller may not talk to the daemon.
    Forbidden,
    /// A kind that this build does not know.
    #[serde(untagged)]
    Other(String),
}

impl ErrorKind {
    /// Every kind of this version, in the order of the table in the reference.
    pub const ALL: &'static [Self] = &[
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::Cancelled,
        Self::TooManySubscriptions,
        Self::MessageTooLarge,
        Self::ResponseTooLarge,
        Self::BatchTooLong,
        Self::NotFound,
        Self::WorkspaceMissing,
        Self::Busy,
        Self::Conflict,
        Self::Store,
        Self::NewerStore,
        Self::Config,
        Self::AuthRequired,
        Self::ShuttingDown,
        Self::IncompatibleVersion,
        Self::Forbidden,
    ];

    /// The JSON-RPC code. -32700 to -32603 are JSON-RPC's own, -32800 is the Language Server Protocol's, -32006 to
    /// -32010 are about the transport, -32020 to -32039 are Plimsoll's.
    pub fn code(&self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal | Self::Other(_) => -32603,
            Self::Cancelled => -32800,
            Self::TooManySubscriptions => -32006,
            Self::MessageTooLarge => -32007,
            Self::ResponseTooLarge => -32008,
            Self::BatchTooLong => -32010,
            Self::NotFound => -32020,
            Self::WorkspaceMissing => -32021,
            Self::Busy => -32022,
            Self::Conflict => -32023,
            Self::Store => -32024,
            Self::NewerStore => -32025,
            Self::Config => -32026,
            Self::AuthRequired => -32027,
            Self::ShuttingDown => -32028,
            Self::IncompatibleVersion => -32029,
            Self::Forbidden => -32030,
        }
    }

    /// The kind that belongs to a code.
    pub fn of_code(code: i32) -> Option<Self> {
        Self::ALL.iter().find(|kind| kind.code() == code).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_code_and_unknown_kinds_survive() {
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::of_code(kind.code()).as_ref(), Some(kind));
        }
        let text = r#"{"kind":"somethingNew","hint":"h","more":1}"#;
        assert_eq!(
            serde_json::from_str::<ErrorData>(text).unwrap(),
            ErrorData { kind: ErrorKind::Other("somethingNew".into()), hint: Some("h".into()) }
        );
    }
}
