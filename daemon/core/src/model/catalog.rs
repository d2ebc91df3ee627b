//! What is known about models: window, limits, cache lifetime, prices. The built-in table is `models.toml`.

use super::request::Api;
use serde::{Deserialize, Serialize};

/// A model as a session uses it: the catalogue's facts under the configuration's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelProfile {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The provider's own name of the model; what the wire says.
    pub name: String,
    /// The wire.
    pub api: Api,
    /// Tokens that a request and its answer may have together.
    pub context_window: u64,
    /// Most tokens of an answer.
    pub max_output: u32,
    /// Sampling temperature, when configured.
    pub temperature: Option<f32>,
    /// Seconds after which an unused prefix is no longer cached.
    pub cache_lifetime_s: u64,
    /// Prices, when known.
    pub price: Option<Price>,
}

impl ModelProfile {
    /// `provider/model`, as the configuration writes it.
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Input that was not cached.
    pub input: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to the cache.
    pub cache_write: f64,
    /// Output.
    pub output: f64,
    /// The day on which this was read from the vendor's page, `YYYY-MM-DD`.
    pub as_of: String,
}
