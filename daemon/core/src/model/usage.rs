//! Token usage with one meaning for all vendors.

use serde::{Deserialize, Serialize};

/// Tokens of one request. `input` is everything that was sent: cached reads and cache writes included, whatever the
/// vendor's own field of that name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens of the request.
    pub input: u64,
    /// Of these, read from the provider's cache.
    pub cache_read: u64,
    /// Of these, written to the provider's cache.
    pub cache_write: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
}

impl Usage {
    /// The sum of two requests.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
        }
    }
}
