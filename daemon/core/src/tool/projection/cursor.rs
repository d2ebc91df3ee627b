//! Cursors: `<call id>:<entry>`, a place in the saved result of an earlier call.
//!
//! They are resolved by the turn machine from what is saved; a tool never sees one.

use super::matches;
use crate::id::CallId;
use crate::tool::outcome::{Body, Outcome};
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

/// Whether a call of `tool` can go on with this saved outcome at this place; else why not.
pub fn check(tool: &str, at: Cursor, outcome: &Outcome) -> Result<(), String> {
    let (of, entries) = match &outcome.body {
        Body::Entries(list) => {
            (if list.pattern.is_some() { "glob_file_search" } else { "list_dir" }, list.entries.len() as u64)
        }
        Body::Matches(found) => ("grep", matches::entries(found)),
        Body::Text(_)
        | Body::File(_)
        | Body::Image(_)
        | Body::Command(_)
        | Body::Todos(_)
        | Body::Edit(_)
        | Body::Task(_)
        | Body::Tests(_) => {
            return Err(format!("the result of {} has no further pages", at.call));
        }
    };
    if of != tool {
        return Err(format!("the result of {} is one of {of}", at.call));
    }
    if at.entry >= entries {
        return Err(format!("the result of {} ends with entry {entries}", at.call));
    }
    Ok(())
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
    use crate::tool::outcome::{Entries, Entry, EntryKind, Status};
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
    fn a_cursor_fits_one_kind_of_result_and_ends_with_it() {
        let listing = |pattern: Option<&str>| {
            let entry = Entry { path: "a".into(), kind: EntryKind::File, size: None };
            let list = Entries {
                base: ".".into(),
                pattern: pattern.map(str::to_owned),
                entries: vec![entry; 3],
                ignored: 0,
                notes: vec![],
                args: Value::Null,
            };
            Outcome { status: Status::Ok, body: Body::Entries(list) }
        };
        let at = |entry| Cursor { call: CallId(7), entry };
        assert_eq!(check("list_dir", at(2), &listing(None)), Ok(()));
        assert_eq!(check("list_dir", at(3), &listing(None)), Err("the result of c7 ends with entry 3".into()));
        let other = "the result of c7 is one of glob_file_search";
        assert_eq!(check("list_dir", at(1), &listing(Some("*"))), Err(other.into()));
        assert_eq!(check("grep", at(0), &Outcome::failed("x")), Err("the result of c7 has no further pages".into()));
    }

    #[test]
    fn a_dead_cursor_gives_the_first_call() {
        assert_eq!(
            dead("grep", &json!({"pattern": "x", "cursor": "c9:4"}), "c9 is unknown"),
            "This cursor leads nowhere: c9 is unknown. Start afresh: grep {\"pattern\":\"x\"}"
        );
    }
}
