//! Errors as ACP clients know them. `data` has the kind and the hint of the native API.

use crate::rpc::error::kind;
use crate::session::api::{ApiError, ApiErrorKind};
use agent_client_protocol_schema::v1::{Error, ErrorCode};
use plimsoll_protocol::error::{ErrorData, ErrorKind};

/// An error of this code.
pub fn of(code: ErrorCode, kind: ErrorKind, message: impl Into<String>, hint: Option<String>) -> Error {
    let mut error = Error::from(code);
    error.message = message.into();
    error.data = serde_json::to_value(ErrorData { kind, hint }).ok();
    error
}

/// An error of the service. The client shows its login only for a configured model whose key is missing.
pub fn api(error: ApiError) -> Error {
    let code = match error.kind {
        ApiErrorKind::InvalidParams | ApiErrorKind::WorkspaceMissing => ErrorCode::InvalidParams,
        ApiErrorKind::NotFound => ErrorCode::ResourceNotFound,
        ApiErrorKind::AuthRequired => ErrorCode::AuthRequired,
        ApiErrorKind::Busy
        | ApiErrorKind::Conflict
        | ApiErrorKind::Store
        | ApiErrorKind::NewerStore
        | ApiErrorKind::Config
        | ApiErrorKind::ShuttingDown
        | ApiErrorKind::Internal => ErrorCode::InternalError,
    };
    of(code, kind(error.kind), error.message, error.hint)
}

/// A parameter that is not valid.
pub fn invalid_params(message: impl Into<String>) -> Error {
    of(ErrorCode::InvalidParams, ErrorKind::InvalidParams, message, None)
}

/// A message that is no request, or not now.
pub fn invalid_request(message: impl Into<String>) -> Error {
    of(ErrorCode::InvalidRequest, ErrorKind::InvalidRequest, message, None)
}

/// A fault of our own, or something that failed.
pub fn internal(message: impl Into<String>) -> Error {
    of(ErrorCode::InternalError, ErrorKind::Internal, message, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_missing_key_asks_for_a_login() {
        let json = |kind| serde_json::to_value(api(ApiError::new(kind, "m").hint("h"))).unwrap();
        assert_eq!(
            json(ApiErrorKind::AuthRequired),
            json!({"code": -32000, "message": "m", "data": {"kind": "authRequired", "hint": "h"}})
        );
        assert_eq!(json(ApiErrorKind::NotFound)["code"], json!(-32002));
        assert_eq!(json(ApiErrorKind::Config)["code"], json!(-32603));
    }
}
