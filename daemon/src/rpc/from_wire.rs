//! From the wire's values to ours. What does not fit is an error that names the parameter.

use super::error::param;
use crate::session::api::{TranscriptRange, WhenBusy};
use jsonrpsee_types::ErrorObjectOwned;
use plimsoll_core::checkpoint::Scope;
use plimsoll_core::event::AskChoice;
use plimsoll_core::id::{ItemNo, TurnNo};
use plimsoll_core::workspace as core;
use plimsoll_protocol::{editor, permission, turn};
use std::ffi::OsString;
use std::fmt::Display;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::str::FromStr;

/// Items of a page when the client does not say.
const PAGE: usize = 100;

/// Most items of a page.
const MAX_PAGE: usize = 1000;

/// Sessions of a list when the client does not say.
const LIST: usize = 50;

/// Most sessions of a list.
const MAX_LIST: usize = 500;

/// The path that a text form stands for.
pub fn path(text: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(plimsoll_core::path::unescape(text)))
}

/// An absolute path.
pub fn absolute(name: &str, text: &str) -> Result<PathBuf, ErrorObjectOwned> {
    let path = path(text);
    if path.is_absolute() { Ok(path) } else { Err(param(name, format_args!("`{text}` is not an absolute path"))) }
}

/// An id in its printed form.
pub fn id<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, ErrorObjectOwned> {
    text.parse().map_err(|error| param(name, error))
}

/// A text that says something.
pub fn text(name: &str, text: String) -> Result<String, ErrorObjectOwned> {
    if text.trim().is_empty() { Err(param(name, "must not be blank")) } else { Ok(text) }
}

/// How many sessions to list.
pub fn list_limit(limit: Option<u32>) -> Result<usize, ErrorObjectOwned> {
    within("limit", limit, LIST, MAX_LIST)
}

/// Which items to read.
pub fn range(after: Option<u64>, before: Option<u64>, limit: Option<u32>) -> Result<TranscriptRange, ErrorObjectOwned> {
    let limit = within("limit", limit, PAGE, MAX_PAGE)?;
    match (after, before) {
        (Some(_), Some(_)) => Err(param("before", "not together with `after`")),
        (Some(after), None) => Ok(TranscriptRange::After { after: ItemNo(after), limit }),
        (None, before) => Ok(TranscriptRange::Before { before: before.map(ItemNo), limit }),
    }
}

fn within(name: &str, given: Option<u32>, default: usize, most: usize) -> Result<usize, ErrorObjectOwned> {
    let Some(given) = given else { return Ok(default) };
    usize::try_from(given)
        .ok()
        .filter(|given| (1..=most).contains(given))
        .ok_or_else(|| param(name, format_args!("{given} is not between 1 and {most}")))
}

/// What to do when a turn runs.
pub fn when_busy(when: Option<turn::WhenBusy>) -> WhenBusy {
    match when.unwrap_or_default() {
        turn::WhenBusy::Queue => WhenBusy::Queue,
        turn::WhenBusy::Refuse => WhenBusy::Refuse,
    }
}

/// An answer to a question.
pub fn choice(choice: permission::Choice) -> AskChoice {
    match choice {
        permission::Choice::AllowOnce => AskChoice::AllowOnce,
        permission::Choice::AllowSession => AskChoice::AllowSession,
        permission::Choice::AllowAlways => AskChoice::AllowAlways,
        permission::Choice::Reject => AskChoice::Reject,
    }
}

/// What to undo: exactly one of the three.
pub fn scope(turn: Option<u64>, from: Option<u64>, call: Option<&str>) -> Result<Scope, ErrorObjectOwned> {
    match (turn, from, call) {
        (Some(turn), None, None) => Ok(Scope::Turn(TurnNo(turn))),
        (None, Some(from), None) => Ok(Scope::From(TurnNo(from))),
        (None, None, Some(call)) => Ok(Scope::Call(id("call", call)?)),
        (None, None, None) => Err(param("turn", "one of `turn`, `from` and `call` is needed")),
        _ => Err(param("turn", "only one of `turn`, `from` and `call` can be given")),
    }
}

/// What an editor shows.
pub fn editor_state(files: Vec<editor::EditorFile>) -> core::EditorState {
    let file = |file: editor::EditorFile| core::EditorFile {
        path: file.path,
        total_lines: file.total_lines,
        open: file.open,
        focused: file.focused,
        unsaved: file.unsaved,
        cursor_line: file.cursor_line,
        selection: file.selection.map(|lines| (lines.start, lines.end)),
    };
    core::EditorState { files: files.into_iter().map(file).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::id::{AskId, SessionId};

    #[test]
    fn what_does_not_fit_is_named() {
        let message = |error: ErrorObjectOwned| error.message().to_owned();
        assert_eq!(message(absolute("roots", "a/b").unwrap_err()), "`roots`: `a/b` is not an absolute path");
        assert_eq!(message(id::<AskId>("ask", "7").unwrap_err()), "`ask`: `7` is not an ask id such as a3");
        assert_eq!(message(id::<SessionId>("session", "../x").unwrap_err()), "`session`: `../x` is not a session id");
        assert_eq!(message(text("text", " \n".into()).unwrap_err()), "`text`: must not be blank");
        assert_eq!(message(list_limit(Some(501)).unwrap_err()), "`limit`: 501 is not between 1 and 500");
        assert_eq!(message(list_limit(Some(0)).unwrap_err()), "`limit`: 0 is not between 1 and 500");
        assert_eq!(
            message(scope(Some(1), None, Some("c1")).unwrap_err()),
            "`turn`: only one of `turn`, `from` and `call` can be given"
        );
        assert_eq!(message(scope(None, None, Some("7")).unwrap_err()), "`call`: `7` is not a call id such as c7");
        assert_eq!(message(range(Some(1), Some(2), None).unwrap_err()), "`before`: not together with `after`");
    }

    #[test]
    fn ranges_have_their_defaults() {
        assert_eq!(range(None, None, None).unwrap(), TranscriptRange::Before { before: None, limit: 100 });
        assert_eq!(range(Some(3), None, Some(1000)).unwrap(), TranscriptRange::After { after: ItemNo(3), limit: 1000 });
        assert_eq!(
            range(None, Some(9), Some(1)).unwrap(),
            TranscriptRange::Before { before: Some(ItemNo(9)), limit: 1 }
        );
    }

    #[test]
    fn paths_that_are_not_text_come_back_as_they_were() {
        let odd = PathBuf::from(OsString::from_vec(b"/a/\xFF\n".to_vec()));
        assert_eq!(path(&super::super::path_to_wire(&odd)), odd);
        assert_eq!(path("/caf\u{e9}"), PathBuf::from("/caf\u{e9}"));
    }
}
