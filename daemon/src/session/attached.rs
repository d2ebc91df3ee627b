//! What a user attached to a prompt, read when the turn begins. What cannot be shown says why: a turn never fails for it.
//!
//! To attach a path is the user's own act, so it may lie outside the project; places with keys stay closed all the same.

use crate::file_io::image::{given_image, read_image};
use crate::file_io::{Ask, open_file, read_text};
use crate::tool::ToolEnv;
use crate::tool::scope::resolve_existing;
use plimsoll_core::ingest::{Source, string};
use plimsoll_core::media::Image;
use plimsoll_core::path::escape;
use plimsoll_core::tool::call::Zone;
use plimsoll_core::tool::outcome::LongLine;
use plimsoll_core::workspace::{AttachedFile, AttachedText, Attachment, Overlong};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Why some files are never shown.
const PROTECTED: &str = "it lies where Plimsoll or you keep keys and records, which no model is shown";
/// Stands behind the path of a file whose text in the editor is not the one on the disk: tools read the latter.
const UNSAVED: &str = " (as it is in the editor, not saved yet)";

/// Editors leave it out of a file's text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Files and texts, and images, each in the order in which they were attached. Blocking.
pub(super) fn read(env: &ToolEnv, attachments: Vec<Attachment>) -> (Vec<AttachedFile>, Vec<Image>) {
    let mut files = Vec::new();
    let mut images = Vec::new();
    for attachment in attachments {
        match attachment {
            Attachment::File { path, lines } => match file(env, &path, lines) {
                Ok(Found::Text(path, text)) => files.push(AttachedFile { path, content: Ok(text) }),
                Ok(Found::Image(image)) => images.push(image),
                Err(why) => files.push(AttachedFile { path, content: Err(why) }),
            },
            Attachment::Buffer { path, text } => match buffer(env, &path, text) {
                Ok((path, text)) => files.push(AttachedFile { path, content: Ok(text) }),
                Err(why) => files.push(AttachedFile { path, content: Err(why) }),
            },
            Attachment::Text { name, text } => files.push(AttachedFile { path: name, content: Ok(given(text)) }),
            Attachment::Image { name, mime: _, data } => match given_image(&name, &data) {
                Ok(image) => images.push(image),
                Err(error) => {
                    let path = if name.is_empty() { "image".to_owned() } else { name };
                    files.push(AttachedFile { path, content: Err(format!("it {error}")) });
                }
            },
            // The store has it, not the disk.
            Attachment::Session { .. } => {}
            Attachment::Named { name, why } => files.push(AttachedFile { path: name, content: Err(why) }),
        }
    }
    (files, images)
}

enum Found {
    Text(String, AttachedText),
    Image(Image),
}

fn file(env: &ToolEnv, path: &str, lines: Option<(u64, u64)>) -> Result<Found, String> {
    let found = resolve_existing(env, path)?;
    if found.zone == Zone::Protected {
        return Err(PROTECTED.to_owned());
    }
    if let Some(image) = read_image(&found.path, &found.shown).map_err(|error| format!("it {error}"))? {
        return Ok(Found::Image(image));
    }
    let ask = match lines {
        Some((first, last)) => Ask::Lines { first: first.max(1), count: Some((last + 1).saturating_sub(first).max(1)) },
        None => Ask::Whole,
    };
    let text = read_text(&found.path, ask, &|| false).map_err(|error| format!("it {error}"))?;
    let asked_until = lines.map_or(text.total_lines, |(_, last)| last.min(text.total_lines));
    let content = AttachedText {
        version: Some(text.version.to_string()),
        canonical: Some(escape(found.path.as_os_str().as_bytes())),
        first_line: text.page.first_line,
        lines: text.page.lines,
        total_lines: text.total_lines,
        asked_until,
        long_lines: text.page.long_lines.into_iter().map(overlong).collect(),
    };
    Ok(Found::Text(found.shown, content))
}

/// The editor's text of a file: the file itself when they are the same. It lies under the same rule as the file.
fn buffer(env: &ToolEnv, path: &str, text: String) -> Result<(String, AttachedText), String> {
    let found = resolve_existing(env, path)?;
    if found.zone == Zone::Protected {
        return Err(PROTECTED.to_owned());
    }
    let given = given(text);
    if is_saved(&found.path, &given.lines)
        && let Ok(Found::Text(shown, saved)) = file(env, path, None)
    {
        return Ok((shown, saved));
    }
    Ok((format!("{}{UNSAVED}", found.shown), given))
}

/// Whether a file on the disk has these lines. What cannot be read, or is no UTF-8, has others.
fn is_saved(path: &Path, lines: &[String]) -> bool {
    let most = lines.iter().map(|line| line.len() + 2).sum::<usize>() + BYTE_ORDER_MARK.len_utf8();
    let Ok((file, metadata)) = open_file(path) else { return false };
    if metadata.len() > most as u64 {
        return false;
    }
    let mut saved = String::new();
    // It may have grown since.
    file.take(most as u64 + 1).read_to_string(&mut saved).is_ok()
        && string(Source::User, saved).trim_start_matches(BYTE_ORDER_MARK).lines().eq(lines.iter().map(String::as_str))
}

fn overlong(long: LongLine) -> Overlong {
    let LongLine { line, chars, cut_at, end } = long;
    Overlong { line, chars, cut_at, end }
}

/// A text that the client gave itself.
fn given(text: String) -> AttachedText {
    let lines: Vec<String> = string(Source::User, text).lines().map(str::to_owned).collect();
    let total = lines.len() as u64;
    AttachedText {
        version: None,
        canonical: None,
        first_line: 1,
        lines,
        total_lines: total,
        asked_until: total,
        long_lines: Vec::new(),
    }
}
