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
    /// The caller's executable. With a path: the build that the daemon shall make room for, when it is the newer one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<Binary>,
    /// Of an `acp` bridge that survives its daemon: what it had with the one before. Empty on its first connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

/// What orders two builds: the version first, and for builds of one version when the executable was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Binary {
    /// The version of the package, as semantic versioning has it.
    pub version: String,
    /// When the executable was last modified, in milliseconds of Unix time.
    pub modified: i64,
    /// Its absolute path, in text form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Binary {
    /// Whether this build is newer. Of two different builds at most one is newer than the other.
    #[must_use]
    pub fn is_newer_than(&self, other: &Self) -> bool {
        (release(&self.version), self.modified) > (release(&other.version), other.modified)
    }
}

/// A version in an order: its numbers, then whether it is a release (what comes before one is older), then the rest.
type Release<'a> = (Vec<u64>, bool, Vec<(bool, u64, &'a str)>);

fn release(version: &str) -> Release<'_> {
    let version = version.split('+').next().unwrap_or_default();
    let (numbers, rest) = version.split_once('-').map_or((version, None), |(numbers, rest)| (numbers, Some(rest)));
    let number = |part: &str| part.parse().unwrap_or(0);
    let rest: Vec<(bool, u64, &str)> = rest.map_or_else(Vec::new, |rest| {
        // Numbers are older than words.
        let part = |part| str::parse::<u64>(part).map_or((true, 0, part), |number| (false, number, ""));
        rest.split('.').map(part).collect()
    });
    (numbers.split('.').map(number).collect(), rest.is_empty(), rest)
}

/// What a surviving bridge had with a daemon that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resume {
    /// The parameters of its `initialize`, once that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialize: Option<serde_json::Value>,
    /// The highest number of a request that a daemon sent it; those of the next daemon go on from there.
    #[serde(default)]
    pub last_request: u64,
    /// The sessions that are open on it.
    #[serde(default)]
    pub sessions: Vec<ResumedSession>,
}

/// A session that was open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumedSession {
    /// Its id.
    pub session: String,
    /// The last event that was told; absent: not known, what comes from now on is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The parameters of the call that opened it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<serde_json::Value>,
    /// Prompts that were not answered. They come again, with these keys.
    #[serde(default)]
    pub prompts: Vec<ResumedPrompt>,
}

/// A prompt that comes again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumedPrompt {
    /// Its key.
    pub key: String,
    /// The last event that was told when it was first sent: its turn is later.
    pub after: u64,
}

/// The member that a surviving bridge puts first into calls that must be done once; its value is a text.
pub const KEY_MEMBER: &str = "plimsollKey";

/// The notification, `{sessionId, seq}`, by which the daemon says to a surviving bridge that everything up to an event was
/// told. It is not for the editor.
pub const TOLD: &str = "$/plimsoll/told";

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
    /// The daemon's executable, as it was when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<Binary>,
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
            binary: None,
            resume: Some(Resume::default()),
        };
        let line = serde_json::to_string(&hello).unwrap();
        assert!(line.starts_with(HELLO_PREFIX), "{line}");
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<Hello>(&line).unwrap(), hello);
    }

    #[test]
    fn builds_are_ordered_by_version_then_by_time() {
        let newer = |one: (&str, i64), other: (&str, i64)| {
            let binary = |(version, modified): (&str, i64)| Binary { version: version.into(), modified, path: None };
            binary(one).is_newer_than(&binary(other))
        };
        for (new, old) in [
            (("0.2.0", 1), ("0.1.9", 9)),
            (("0.10.0", 1), ("0.9.0", 9)),
            (("1.0.0", 1), ("1.0.0-rc.2", 9)),
            (("1.0.0-rc.10", 1), ("1.0.0-rc.9", 9)),
            (("1.0.0-rc.1", 1), ("1.0.0-beta.3", 9)),
            (("1.0.0-rc.x", 1), ("1.0.0-rc.7", 9)),
            (("1.0.0", 2), ("1.0.0", 1)),
        ] {
            assert!(newer(new, old), "{new:?} {old:?}");
            assert!(!newer(old, new), "{new:?} {old:?}");
        }
        assert!(!newer(("1.0.0+a", 1), ("1.0.0+b", 1)));
        assert!(!newer(("1.0.0", 1), ("1.0.0", 1)));
    }
}
