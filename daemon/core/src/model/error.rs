//! Failures of a model call, by what has to be done about them.

use serde::{Deserialize, Serialize};

/// What a failure calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// No connection, a time-out, a cut stream.
    Connection,
    /// 408, 409, 5xx, overloaded: the same request may work later.
    Unavailable,
    /// 429: too many requests; may work later.
    RateLimited,
    /// The account has no money or quota left: retrying is useless.
    Quota,
    /// The key is missing, wrong, or may not use this model.
    Auth,
    /// The request does not fit the model's window.
    ContextTooLong,
    /// The provider refuses the request as it is.
    BadRequest,
    /// The provider answered something that is not its protocol.
    Protocol,
}

impl ErrorClass {
    /// Whether the same request may work when sent again.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Connection | Self::Unavailable | Self::RateLimited)
    }
}

/// A failed model call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What it calls for.
    pub class: ErrorClass,
    /// For people: what happened, where, and the fix when there is one. Holds no key.
    pub message: String,
    /// HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

impl ModelError {
    /// A failure without HTTP facts.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), status: None, retry_after_ms: None }
    }
}
