//! Points in time as values. The core never reads a clock: the shell hands the time in.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Milliseconds since 1970-01-01T00:00:00Z. Wall time: it may go backwards, so nothing is ordered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Milliseconds from `earlier` to this, 0 when the clock went back between the two.
    pub fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// RFC 3339 in UTC with whole seconds, such as `2029-01-02T10:00:00Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0.div_euclid(1000)) {
            Ok(at) => write!(f, "{at}"),
            Err(_) => f.write_str("0000-00-00T00:00:00Z"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_prints_as_whole_utc_seconds() {
        assert_eq!(Timestamp(1_861_869_600_999).to_string(), "2028-12-31T10:00:00Z");
        assert_eq!(Timestamp(-1).to_string(), "1969-12-31T23:59:59Z");
        assert_eq!(Timestamp(5).since(Timestamp(9)), 0);
    }
}
