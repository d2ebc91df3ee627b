//! Cursors: `<call id>:<entry>`, a place in the saved result of an earlier call.
//!
//! They are resolved by the turn machine from what is saved; a tool never sees one.

use crate::id::CallId;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// A place in a saved result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The call whose saved result is meant.
    pub call: CallId,
    /// The first entry to show, from 0.
    pub entry: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.call, self.entry)
    }
}

/// A text that is no cursor; the text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cursor: a result names its next page as `<call id>:<entry>`, such as c7:40")]
pub struct NotACursor(String);

impl FromStr for Cursor {
    type Err = NotACursor;
    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let wrong = || NotACursor(text.chars().take(80).collect());
        let (call, entry) = text.trim().split_once(':').ok_or_else(wrong)?;
        if !entry.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        Ok(Self { call: call.parse().map_err(|_| wrong())?, entry: entry.parse().map_err(|_| wrong())? })
    }
}

/// The cursor field of a call's arguments, when there is one.
pub fn of_args(args: &Value) -> Option<Result<Cursor, NotACursor>> {
    args.get("cursor").and_then(Value::as_str).map(str::parse)
}

/// The text for a cursor that leads nowhere: why, and the first call that starts afresh.
pub fn dead(tool: &str, args: &Value, why: &str) -> String {
    let mut fresh = args.clone();
    if let Value::Object(fields) = &mut fresh {
        fields.remove("cursor");
    }
    format!("This cursor leads nowhere: {why}. Start afresh: {tool} {fresh}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cursors_parse_from_their_printed_form() {
        let cursor = Cursor { call: CallId(7), entry: 40 };
        assert_eq!(cursor.to_string(), "c7:40");
        assert_eq!("c7:40".parse(), Ok(cursor));
        assert_eq!(of_args(&json!({"cursor": " c7:40"})), Some(Ok(cursor)));
        assert_eq!(of_args(&json!({"pattern": "x"})), None);
        for bad in ["", "c7", "c7:", "c7:-1", "7:40", "c7:40:1", "c7:+4"] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_dead_cursor_gives_the_first_call() {
        assert_eq!(
            dead("grep", &json!({"pattern": "x", "cursor": "c9:4"}), "c9 is unknown"),
            "This cursor leads nowhere: c9 is unknown. Start afresh: grep {\"pattern\":\"x\"}"
        );
    }
}
