//! From the wire's values to ours. What does not fit is an error that names the parameter.

pub mod search;

use super::error::{WireError, param};
use crate::config::Overrides;
use crate::session::api::{TranscriptRange, WhenBusy};
use jsonrpsee_types::ErrorObjectOwned;
use plimsoll_core::checkpoint::Scope;
use plimsoll_core::event::AskChoice;
use plimsoll_core::id::{ItemNo, TurnNo};
use plimsoll_core::workspace as core;
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::life::ClientOptions;
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

/// Most attachments of a prompt.
pub const MAX_ATTACHMENTS: usize = 64;

/// Most bytes of a text among them.
pub const MAX_TEXT: usize = 256 * 1024;

/// Most bytes of an image's base64: a larger one is not even looked at. A message has 64 MiB in all.
pub const MAX_IMAGE: usize = 16 * 1024 * 1024;

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

/// What stands beside a prompt's text.
pub fn attachments(given: Vec<turn::Attachment>) -> Result<Vec<core::Attachment>, ErrorObjectOwned> {
    if given.len() > MAX_ATTACHMENTS {
        return Err(param("attachments", format_args!("{} of them; at most {MAX_ATTACHMENTS} are taken", given.len())));
    }
    given.into_iter().enumerate().map(|(at, given)| attachment(&format!("attachments[{at}]"), given)).collect()
}

fn attachment(name: &str, given: turn::Attachment) -> Result<core::Attachment, ErrorObjectOwned> {
    Ok(match given {
        turn::Attachment::File { path, lines } => {
            if path.is_empty() {
                return Err(param(name, "the path is empty"));
            }
            let lines = lines.map(|lines| (lines.start, lines.end));
            if let Some((first, last)) = lines.filter(|(first, last)| *first == 0 || first > last) {
                return Err(param(name, format_args!("lines {first}-{last} are no range; lines count from 1")));
            }
            core::Attachment::File { path, lines }
        }
        turn::Attachment::Text { name: title, text } => {
            if text.len() > MAX_TEXT {
                let advice = "attach it as a file instead";
                return Err(param(
                    name,
                    format_args!("its text has {} bytes, more than {MAX_TEXT}; {advice}", text.len()),
                ));
            }
            core::Attachment::Text { name: title, text }
        }
        turn::Attachment::Session { session } => {
            if session.is_empty() {
                return Err(param(name, "the session is empty"));
            }
            core::Attachment::Session { session }
        }
        turn::Attachment::Image { name: title, mime_type, data } => {
            if data.len() > MAX_IMAGE {
                return Err(param(name, format_args!("its base64 has {} bytes, more than {MAX_IMAGE}", data.len())));
            }
            core::Attachment::Image { name: title.unwrap_or_default(), mime: mime_type, data }
        }
    })
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

/// What a client asks for when it begins; each must have its form.
pub fn options(options: ClientOptions) -> Result<Overrides, ErrorObjectOwned> {
    let ClientOptions { model, mode, language, max_steps } = options;
    let language = language.filter(|language| !language.trim().is_empty());
    let overrides = Overrides { model, mode, language, max_steps };
    overrides.check().map_err(|error| {
        WireError::new(ErrorKind::InvalidParams, format!("{}: {}", error.place, error.problem)).hint(error.fix)
    })?;
    Ok(overrides)
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
    fn attachments_have_bounds_and_are_named_by_their_place() {
        let file =
            |start, end| turn::Attachment::File { path: "a".into(), lines: Some(editor::LineRange { start, end }) };
        let message = |given| attachments(given).unwrap_err().message().to_owned();
        assert_eq!(
            message(vec![file(1, 2), file(3, 2)]),
            "`attachments[1]`: lines 3-2 are no range; lines count from 1"
        );
        let text = turn::Attachment::Text { name: "a".into(), text: "x".repeat(MAX_TEXT + 1) };
        assert_eq!(
            message(vec![text]),
            "`attachments[0]`: its text has 262145 bytes, more than 262144; attach it as a file instead"
        );
        assert_eq!(message(vec![file(1, 1); 65]), "`attachments`: 65 of them; at most 64 are taken");
        let expected = core::Attachment::File { path: "a".into(), lines: Some((1, 2)) };
        assert_eq!(attachments(vec![file(1, 2)]).unwrap(), [expected]);
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
