//! Errors on the wire: the one place that gives every failure its code, its kind and its hint.

use super::message::{self, RequestId};
use crate::session::api::{ApiError, ApiErrorKind};
use jsonrpsee_types::ErrorObjectOwned;
use plimsoll_protocol::error::{ErrorData, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An error as the wire has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WireError {
    code: i32,
    message: String,
    data: ErrorData,
}

impl WireError {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            code: kind.code(),
            message: message.into(),
            data: ErrorData { hint: hint(&kind).map(str::to_owned), kind },
        }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.data.hint = Some(hint.into());
        self
    }

    /// The whole response.
    pub fn response(&self, id: &RequestId) -> Box<RawValue> {
        message::failure(id, self).unwrap_or_else(|error| {
            // Texts and numbers always have a JSON form.
            tracing::error!(%error, "an error has no JSON form");
            RawValue::NULL.to_owned()
        })
    }

    /// What jsonrpsee says, in our form: its own errors carry a plain text as `data`, or nothing.
    pub fn of_response(json: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Response {
            error: Error,
        }
        #[derive(Deserialize)]
        struct Error {
            code: i32,
            message: String,
            #[serde(default)]
            data: serde_json::Value,
        }
        let Response { error: Error { code, message, data } } = serde_json::from_str(json).ok()?;
        if let Ok(data) = serde_json::from_value::<ErrorData>(data.clone()) {
            return Some(Self { code, message, data });
        }
        let kind = ErrorKind::of_code(code).unwrap_or(ErrorKind::Internal);
        let message = match data.as_str() {
            Some(detail) => format!("{message}: {detail}"),
            None => message,
        };
        Some(Self::new(kind, message))
    }
}

impl From<WireError> for ErrorObjectOwned {
    fn from(error: WireError) -> Self {
        Self::owned(error.code, error.message, Some(error.data))
    }
}

/// What to do about an error of this kind, where nothing more exact is said.
pub fn hint(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ParseError => "send one JSON value in UTF-8 as each message",
        ErrorKind::InvalidRequest => "send `jsonrpc` \"2.0\", a `method`, and an `id` that no open call has",
        ErrorKind::MethodNotFound => "`initialize` lists the methods that this daemon has",
        ErrorKind::InvalidParams => "correct the parameter; the reference describes those of each method",
        ErrorKind::Internal => "the daemon's log says more; `plimsoll doctor` names it",
        ErrorKind::Cancelled => "call again if it is still wanted",
        ErrorKind::TooManySubscriptions => "detach from sessions that are not shown, or open another connection",
        ErrorKind::MessageTooLarge => "send less at a time; name files instead of pasting them",
        ErrorKind::ResponseTooLarge => "ask for less at a time, by a smaller `limit`",
        ErrorKind::BatchTooLong => "send it in several batches",
        ErrorKind::NotFound => "project/list and session/list show what there is",
        ErrorKind::WorkspaceMissing => "put the folder back, or open the project at its new place",
        ErrorKind::Busy => "wait until the turn has ended, cancel it, or let the prompt queue",
        ErrorKind::Conflict => "look at the session again, with session/get",
        ErrorKind::Store => "`plimsoll doctor` checks the data folder and the disk",
        ErrorKind::NewerStore => "update Plimsoll",
        ErrorKind::Config => "correct what the message names; the configuration is read again by the next call",
        ErrorKind::AuthRequired => "set the key in the environment of the editor, or choose another model",
        ErrorKind::ShuttingDown => "connect again: that starts the daemon",
        ErrorKind::IncompatibleVersion => "update the older side",
        ErrorKind::Forbidden => "call it from outside the agent's own commands",
        ErrorKind::Other(_) => return None,
    })
}

/// The kind that clients see.
pub fn kind(kind: ApiErrorKind) -> ErrorKind {
    match kind {
        ApiErrorKind::InvalidParams => ErrorKind::InvalidParams,
        ApiErrorKind::NotFound => ErrorKind::NotFound,
        ApiErrorKind::WorkspaceMissing => ErrorKind::WorkspaceMissing,
        ApiErrorKind::Busy => ErrorKind::Busy,
        ApiErrorKind::Conflict => ErrorKind::Conflict,
        ApiErrorKind::Store => ErrorKind::Store,
        ApiErrorKind::NewerStore => ErrorKind::NewerStore,
        ApiErrorKind::Config => ErrorKind::Config,
        ApiErrorKind::AuthRequired => ErrorKind::AuthRequired,
        ApiErrorKind::ShuttingDown => ErrorKind::ShuttingDown,
        ApiErrorKind::Internal => ErrorKind::Internal,
    }
}

/// An error of the service, as handlers return it.
pub fn api(error: ApiError) -> ErrorObjectOwned {
    let wire = WireError::new(kind(error.kind), error.message);
    match error.hint {
        Some(hint) => wire.hint(hint),
        None => wire,
    }
    .into()
}

/// A parameter that is not valid: its name, and what is wrong with it.
pub fn param(name: &str, wrong: impl std::fmt::Display) -> ErrorObjectOwned {
    WireError::new(ErrorKind::InvalidParams, format!("`{name}`: {wrong}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_service_keep_kind_message_and_hint() {
        let error = api(ApiError::new(ApiErrorKind::Busy, "a turn runs").hint("wait"));
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"code":-32022,"message":"a turn runs","data":{"kind":"busy","hint":"wait"}}"#
        );
    }

    #[test]
    fn every_kind_says_what_to_do() {
        for kind in ErrorKind::ALL {
            assert!(hint(kind).is_some_and(|hint| hint.len() > 10), "{kind:?}");
        }
    }

    #[test]
    fn errors_of_the_dispatcher_get_our_form() {
        let check = |json: &str, expected: &str| {
            let error = WireError::of_response(json).unwrap();
            assert_eq!(error.response(&RequestId::null()).get(), expected);
        };
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params","data":"missing field `x`"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid params: missing field `x`","data":{"kind":"invalidParams","hint":"correct the parameter; the reference describes those of each method"}}}"#,
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"kind":"busy","hint":"h"}}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"m","data":{"kind":"busy","hint":"h"}}}"#,
        );
    }
}
