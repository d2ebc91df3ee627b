//! What people are told about a failed call: which provider, which machine, what happened, what to do. Never a key.

use super::endpoint::{Endpoint, KeySource, Secret};
use plimsoll_core::model::error::{ErrorClass, ModelError};
use std::error::Error;
use std::fmt::Write;
use std::io;
use std::time::Duration;

/// The configuration of a provider can't be used.
pub(super) fn configuration(endpoint: &Endpoint, what: &str) -> ModelError {
    ModelError::new(ErrorClass::BadRequest, format!("provider `{}`: {what}", endpoint.name))
}

/// Puts provider, machine and fix around what was found, and takes the key out of it: servers like to quote it.
pub(super) fn situate(mut error: ModelError, endpoint: &Endpoint, origin: &str, key: Option<&Secret>) -> ModelError {
    let mut message = format!("provider `{}` at {origin}: {}", endpoint.name, error.message);
    if let Some(key) = key.map(|key| key.reveal().trim()).filter(|key| !key.is_empty()) {
        message = message.replace(key, "[key]");
    }
    if error.class == ErrorClass::Auth {
        let _ = match &endpoint.key {
            KeySource::None => write!(message, "; no key was sent: give it one with api_key_env"),
            KeySource::Env(name) => write!(message, "; the key came from the variable {name}"),
            KeySource::Command(command) => write!(message, "; the key came from the command `{command}`"),
            KeySource::Literal(_) => write!(message, "; the key came from the configuration file"),
        };
    }
    error.message = message;
    error
}

/// No connection, or one that broke, as `reqwest` reports it. Its own text names the whole URL, so only causes are used.
pub(super) fn transport(error: &reqwest::Error, origin: &str) -> ModelError {
    let causes: Vec<&(dyn Error + 'static)> =
        std::iter::successors(error.source(), |error| (*error).source()).collect();
    let io = causes.iter().rev().find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    let root = causes.last().map(ToString::to_string).unwrap_or_default();
    let message = match io {
        Some(io::ErrorKind::ConnectionRefused) => {
            format!("no answer from {origin}: connection refused; is the server running?")
        }
        _ if error.is_timeout() => format!("no connection to {origin} in time; is it the right address?"),
        _ if causes.iter().any(|cause| cause.to_string().contains("dns error")) => {
            format!("{origin} has no address: {root}; is base_url right, and is there a network?")
        }
        _ if root.contains("certificate") => {
            format!("{origin} can't be trusted: {root}; a certificate authority of your own goes into SSL_CERT_FILE")
        }
        _ if error.is_connect() => format!("no connection to {origin}: {root}"),
        _ => format!("the connection to {origin} broke: {root}"),
    };
    ModelError::new(ErrorClass::Connection, message)
}

/// Nothing came for too long.
pub(super) fn silence(origin: &str, waited: Duration, begun: bool) -> ModelError {
    let what = if begun { "nothing more" } else { "no answer" };
    let message = format!("{what} from {origin} for {} s", waited.as_secs_f32());
    ModelError::new(ErrorClass::Connection, message)
}

/// Our own side is not able to send anything.
pub(super) fn internal(error: impl Error) -> ModelError {
    let mut message = format!("no HTTP client could be made: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(message, ": {error}");
        cause = error.source();
    }
    ModelError::new(ErrorClass::BadRequest, message)
}
