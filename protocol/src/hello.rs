//! The first line of a connection that a bridge or the command line opens, and the daemon's one line of answer. Both
//! are one JSON object on one line, before any framing; what follows belongs to the facade that the hello names.

use crate::error::ErrorKind;
use crate::version::ProtocolRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a hello line begins, byte for byte: by these bytes the daemon tells it from the first message of a client that
/// sends none.
pub const HELLO_PREFIX: &str = r#"{"plimsoll""#;

/// The longest hello line in bytes. An environment is at most a few MiB on the systems that we know.
pub const HELLO_LIMIT: usize = 8 * 1024 * 1024;

/// Who is there, and what it wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// Always `hello`; the first field, so that the line begins with [`HELLO_PREFIX`].
    pub plimsoll: HelloMark,
    /// What the rest of the connection speaks.
    pub facade: Facade,
    /// The caller's build.
    pub build: String,
    /// The versions of the native protocol that the caller speaks.
    pub protocol: ProtocolRange,
    /// The caller's current folder: absolute, in text form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The caller's environment. It stays in the daemon's memory.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Marks a [`Hello`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HelloMark {
    /// The only value.
    Hello,
}

/// What a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Facade {
    /// Plimsoll's own API.
    Native,
    /// The Agent Client Protocol.
    Acp,
}

/// The daemon's answer to a hello. With an `error` the daemon closes the connection after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// Always `welcome`.
    pub plimsoll: WelcomeMark,
    /// The daemon's build.
    pub build: String,
    /// The versions of the native protocol that the daemon speaks.
    pub protocol: ProtocolRange,
    /// The daemon's process.
    pub pid: u32,
    /// When it started.
    pub started_at: i64,
    /// Why the connection is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Refusal>,
}

/// Marks a [`Welcome`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WelcomeMark {
    /// The only value.
    Welcome,
}

/// Why a connection is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// To branch on.
    pub kind: ErrorKind,
    /// For people.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_one_line_that_begins_with_its_mark() {
        let hello = Hello {
            plimsoll: HelloMark::Hello,
            facade: Facade::Acp,
            build: "b1".into(),
            protocol: ProtocolRange::OURS,
            cwd: None,
            env: BTreeMap::from([("A".into(), "x\ny".into())]),
        };
        let line = serde_json::to_string(&hello).unwrap();
        assert!(line.starts_with(HELLO_PREFIX), "{line}");
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<Hello>(&line).unwrap(), hello);
    }
}
