//! Where a provider is and how it is authorised. Built by `config`, used by `provider`.

use plimsoll_core::model::request::Api;
use std::fmt;

/// A configured provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its name in the configuration.
    pub name: String,
    /// The wire.
    pub api: Api,
    /// URL up to the API's own path: before `/chat/completions`, or before `/v1/messages`.
    pub base_url: String,
    /// Where the key comes from.
    pub key: KeySource,
    /// Further headers, such as an organisation id.
    pub headers: Vec<(String, String)>,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// The server is open.
    None,
    /// A variable of the client's environment, else of the daemon's own.
    Env(String),
    /// The first line that a command prints.
    Command(String),
    /// It stands in the configuration file.
    Literal(Secret),
}

/// A text that is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the text in.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself; for the header that carries it, nowhere else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
