//! What sessions and items are looked for by.

use super::super::error::param;
use super::{id, within};
use crate::session::api::{Archived, SearchScope};
use jsonrpsee_types::ErrorObjectOwned;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_protocol::session;

/// Hits of a search when the client does not say.
const HITS: usize = 50;

/// Most hits of one answer.
const MAX_HITS: usize = 200;

/// The kinds of items, by their names on the wire and in the store.
const KINDS: [(&str, &str); 8] = [
    ("user", "user"),
    ("meta", "meta"),
    ("assistant", "assistant"),
    ("reasoning", "reasoning"),
    ("toolCall", "tool_call"),
    ("toolResult", "tool_result"),
    ("observation", "observation"),
    ("notice", "notice"),
];

/// States of sessions.
pub fn states(states: &[session::SessionState]) -> Result<Vec<SessionState>, ErrorObjectOwned> {
    let state = |state: &session::SessionState| {
        Ok(match state {
            session::SessionState::Idle => SessionState::Idle,
            session::SessionState::Running => SessionState::Running,
            session::SessionState::Waiting => SessionState::Waiting,
            session::SessionState::Interrupted => SessionState::Interrupted,
            session::SessionState::Other(other) => {
                let known = "`idle`, `running`, `waiting` and `interrupted` are";
                return Err(param("states", format_args!("`{other}` is no state; {known}")));
            }
        })
    };
    states.iter().map(state).collect()
}

/// Whether archived sessions are listed.
pub fn archived(archived: session::Archived) -> Archived {
    match archived {
        session::Archived::No => Archived::No,
        session::Archived::Only => Archived::Only,
        session::Archived::Also => Archived::Also,
    }
}

/// Where to look for words.
pub fn scope(session: Option<&str>, project: Option<&str>) -> Result<SearchScope, ErrorObjectOwned> {
    match (session, project) {
        (Some(_), Some(_)) => Err(param("project", "not together with `session`")),
        (Some(session), None) => Ok(SearchScope::Session(id("session", session)?)),
        (None, Some(project)) => Ok(SearchScope::Project(id("project", project)?)),
        (None, None) => Ok(SearchScope::All),
    }
}

/// Kinds of items, by their stored names.
pub fn kinds(kinds: &[String]) -> Result<Vec<&'static str>, ErrorObjectOwned> {
    let kind = |kind: &String| {
        KINDS.iter().find(|(wire, _)| wire == kind).map(|(_, stored)| *stored).ok_or_else(|| {
            let known = KINDS.map(|(wire, _)| wire).join(", ");
            param("kinds", format_args!("`{kind}` is no kind of items; they are {known}"))
        })
    };
    kinds.iter().map(kind).collect()
}

/// The name on the wire of a kind of items.
pub fn wire_kind(stored: &str) -> &str {
    KINDS.iter().find(|(_, kind)| *kind == stored).map_or(stored, |(wire, _)| wire)
}

/// How many hits to give.
pub fn limit(limit: Option<u32>) -> Result<usize, ErrorObjectOwned> {
    within("limit", limit, HITS, MAX_HITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_named() {
        let message = |error: ErrorObjectOwned| error.message().to_owned();
        let other = session::SessionState::Other("asleep".into());
        assert_eq!(
            message(states(&[other]).unwrap_err()),
            "`states`: `asleep` is no state; `idle`, `running`, `waiting` and `interrupted` are"
        );
        assert!(message(kinds(&["tool_call".into()]).unwrap_err()).starts_with("`kinds`: `tool_call` is no kind of"));
        assert_eq!(message(scope(Some("s1"), Some("p")).unwrap_err()), "`project`: not together with `session`");
        assert_eq!(message(limit(Some(201)).unwrap_err()), "`limit`: 201 is not between 1 and 200");
        assert_eq!(kinds(&["toolCall".into(), "user".into()]).unwrap(), ["tool_call", "user"]);
        assert_eq!((wire_kind("tool_result"), wire_kind("later")), ("toolResult", "later"));
    }
}
