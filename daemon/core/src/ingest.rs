//! The one seam through which text from outside enters: tool output, file content, model text, names, user text.
//!
//! What passes here is stored, sent and shown as the same string. The seam makes bytes into text, takes out what
//! breaks stores and providers (NUL, terminal control), and is the place where secrets will be replaced.

pub mod command;

use std::borrow::Cow;

/// Where a text comes from; each source has its own rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Typed by the user or sent by a client on the user's behalf.
    User,
    /// Written by a model.
    Model,
    /// Printed by a command: terminal control is taken out.
    Command,
    /// The content of a file: everything printable is kept.
    File,
}

/// Text as it may be stored and sent: UTF-8 without NUL; invalid bytes became U+FFFD.
pub fn text(source: Source, bytes: &[u8]) -> String {
    match source {
        Source::Command => clean_command(bytes),
        Source::User | Source::Model | Source::File => drop_nul(String::from_utf8_lossy(bytes)),
    }
}

/// [`text`] for what already is a string, without a copy when nothing changes.
pub fn string(source: Source, value: String) -> String {
    match source {
        Source::Command => clean_command(value.as_bytes()),
        Source::User | Source::Model | Source::File if value.contains('\0') => value.replace('\0', ""),
        Source::User | Source::Model | Source::File => value,
    }
}

fn drop_nul(value: Cow<'_, str>) -> String {
    if value.contains('\0') { value.replace('\0', "") } else { value.into_owned() }
}

fn clean_command(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut cleaner = command::CommandCleaner::default();
    cleaner.push(bytes, &mut out);
    cleaner.finish(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(text(Source::Command, bytes), expected);
    }

    #[test]
    fn command_output_is_clean_text() {
        check(b"a\xFFb\0c\x1b]0;t\x07d\n", "a\u{FFFD}bcd\n");
        check(b"\x1b[31mRED\x1b[0m\n", "RED\n");
        check(b"10%\r20%\r100%\ndone\r\n", "100%\ndone\n");
        check(b"cut \x1b[3", "cut ");
        check("x \u{20ac} y\n".as_bytes(), "x \u{20ac} y\n");
    }

    #[test]
    fn file_content_keeps_everything_but_nul() {
        assert_eq!(text(Source::File, b"a\x1b[1m\0\r\n"), "a\u{1b}[1m\r\n");
    }
}
