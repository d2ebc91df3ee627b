//! The version of the protocol: `major.minor`. Within one major every client and daemon understand each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The version that this build speaks.
pub const PROTOCOL: Version = Version { major: 1, minor: 0 };

/// A version, printed `major.minor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Version {
    /// Changes when an old client would be misled.
    pub major: u32,
    /// Changes when something is added.
    pub minor: u32,
}

/// A text that is not a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseVersionError(String);

impl fmt::Display for ParseVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a protocol version such as 1.0", self.0)
    }
}

impl std::error::Error for ParseVersionError {}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = ParseVersionError;
    fn from_str(text: &str) -> Result<Self, ParseVersionError> {
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse().ok()).flatten()
        };
        text.split_once('.')
            .and_then(|(major, minor)| Some(Self { major: number(major)?, minor: number(minor)? }))
            .ok_or_else(|| ParseVersionError(text.chars().take(40).collect()))
    }
}

impl TryFrom<String> for Version {
    type Error = ParseVersionError;
    fn try_from(text: String) -> Result<Self, ParseVersionError> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

/// The versions that a program speaks, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProtocolRange {
    /// The oldest.
    pub min: Version,
    /// The newest.
    pub max: Version,
}

impl ProtocolRange {
    /// What this build speaks.
    pub const OURS: Self = Self { min: PROTOCOL, max: PROTOCOL };

    /// Whether a program with this range can talk to one that speaks `version`.
    pub fn accepts(self, version: Version) -> bool {
        (self.min.major..=self.max.major).contains(&version.major)
    }
}

impl fmt::Display for ProtocolRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max { write!(f, "{}", self.min) } else { write!(f, "{} to {}", self.min, self.max) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_parse_from_two_numbers_only() {
        assert_eq!("1.12".parse(), Ok(Version { major: 1, minor: 12 }));
        for bad in ["", "1", "1.", ".1", "1.0.0", "+1.0", "v1.0", "1.99999999999"] {
            assert!(bad.parse::<Version>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_range_accepts_every_minor_of_its_majors() {
        let range = ProtocolRange { min: Version { major: 1, minor: 3 }, max: Version { major: 2, minor: 0 } };
        let accepted: Vec<bool> =
            ["0.9", "1.0", "1.9", "2.7", "3.0"].iter().map(|text| range.accepts(text.parse().unwrap())).collect();
        assert_eq!(accepted, [false, true, true, true, false]);
    }
}
