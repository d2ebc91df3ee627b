//! Identifiers. Every id is a newtype, prints in one fixed form and parses from that form only.
//!
//! Ids that must be unique in the world (sessions, projects) are made by the shell and handed in;
//! ids that count within a session (items, calls, turns) are derived from what is already there.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A text that is not the printed form of the id it was parsed as.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}")]
pub struct ParseIdError {
    what: &'static str,
    text: String,
}

impl ParseIdError {
    fn new(what: &'static str, text: &str) -> Self {
        Self { what, text: text.chars().take(80).collect() }
    }
}

macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The printed form.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl FromStr for $name {
            type Err = ParseIdError;
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let mut chars = text.chars();
                let first = chars.next().is_some_and(|c| c.is_ascii_alphanumeric());
                let rest = chars.all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
                if first && rest && text.len() <= 80 {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(ParseIdError::new($what, text))
                }
            }
        }
        impl TryFrom<String> for $name {
            type Error = ParseIdError;
            fn try_from(text: String) -> Result<Self, ParseIdError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

macro_rules! counter_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The one that follows.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

string_id!(
    /// Names one session in the world: letters, digits, `-` and `_`, never beginning with `-`.
    SessionId,
    "a session id"
);
string_id!(
    /// Names one project's folder below the data folder: a random part and a readable slug.
    ProjectKey,
    "a project key"
);

counter_id!(
    /// Position of an item in its session's transcript: from 1, without gaps.
    ItemNo
);
counter_id!(
    /// Position of a durable event in its session: from 1, without gaps. 0 means "before the first".
    Seq
);
counter_id!(
    /// A turn of a session, from 1.
    TurnNo
);
counter_id!(
    /// A step (one model request and its response) of a turn, from 1.
    StepNo
);
counter_id!(
    /// An epoch of a session's view, from 1.
    EpochNo
);
counter_id!(
    /// A model request of a session, from 1.
    RequestNo
);
counter_id!(
    /// A request beside the conversation of a session, from 1.
    SideNo
);

macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub u64);

        impl $name {
            /// The one that follows.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl FromStr for $name {
            type Err = ParseIdError;
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                text.strip_prefix($prefix)
                    .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
                    .and_then(|digits| digits.parse().ok())
                    .map(Self)
                    .ok_or_else(|| ParseIdError::new($what, text))
            }
        }
        impl TryFrom<String> for $name {
            type Error = ParseIdError;
            fn try_from(text: String) -> Result<Self, ParseIdError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

prefixed_id!(
    /// One tool call of a session, printed `c<N>`: the daemon's own id, used on every wire, because
    /// providers repeat and omit theirs.
    CallId, "c", "a call id such as c7"
);
prefixed_id!(
    /// A project's revision, printed `r<N>`, over all its roots.
    Revision, "r", "a revision such as r42"
);
prefixed_id!(
    /// One question to the clients (a permission request), printed `a<N>`.
    AskId, "a", "an ask id such as a3"
);

/// What one call showed at one revision, printed `e/c7@r42`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EvidenceId {
    /// The call whose result is meant.
    pub call: CallId,
    /// The project's revision when the call ended.
    pub revision: Revision,
}

impl fmt::Display for EvidenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e/{}@{}", self.call, self.revision)
    }
}

impl TryFrom<String> for EvidenceId {
    type Error = ParseIdError;
    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl From<EvidenceId> for String {
    fn from(id: EvidenceId) -> String {
        id.to_string()
    }
}

impl FromStr for EvidenceId {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let wrong = || ParseIdError::new("an evidence id such as e/c7@r42", text);
        let (call, revision) = text.strip_prefix("e/").and_then(|rest| rest.split_once('@')).ok_or_else(wrong)?;
        Ok(Self { call: call.parse().map_err(|_| wrong())?, revision: revision.parse().map_err(|_| wrong())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_parse_from_their_printed_form_only() {
        assert_eq!("c7".parse(), Ok(CallId(7)));
        assert_eq!(CallId(7).to_string(), "c7");
        assert_eq!("e/c7@r42".parse(), Ok(EvidenceId { call: CallId(7), revision: Revision(42) }));
        for bad in ["", "c", "7", "c-1", "c+1", "c1x", "C7"] {
            assert!(bad.parse::<CallId>().is_err(), "{bad:?}");
        }
        for bad in ["-rf", "", "a/b", "..", "a b"] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
    }
}
