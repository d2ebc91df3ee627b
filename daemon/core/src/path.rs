//! Paths as the model and the clients see them.
//!
//! On disk a path is bytes. In text it is those bytes when they are printable UTF-8; every other byte is
//! written `\xNN`, and a backslash that would read as such an escape is itself written `\x5C`. The form is
//! reversible, one line long, and [`unescape`] is its exact inverse.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A path below one root of a project: the root's number and a `/`-separated relative path in text form.
/// The root itself is the empty path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkspacePath {
    /// Number of the root, 0 for the first.
    pub root: u16,
    /// Relative path in text form, without a leading or trailing `/`, without `.` and `..`.
    pub rel: String,
}

impl WorkspacePath {
    /// `rel` under root number `root`.
    pub fn new(root: u16, rel: impl Into<String>) -> Self {
        Self { root, rel: rel.into() }
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.rel.is_empty() { "." } else { &self.rel })
    }
}

/// The text form of path bytes. See the module's head.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let text = chunk.valid();
        for (at, c) in text.char_indices() {
            let looks_escaped = c == '\\' && text.as_bytes().get(at + 1) == Some(&b'x');
            if c.is_control() || looks_escaped || is_direction_mark(c) {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    push_escape(&mut out, byte);
                }
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            push_escape(&mut out, *byte);
        }
    }
    out
}

/// The bytes that a text form stands for; text without an escape stands for itself.
pub fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, tail)) = rest.split_first() {
        if let [b'\\', b'x', high, low, after @ ..] = rest
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            out.push(high * 16 + low);
            rest = after;
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    out
}

fn push_escape(out: &mut String, byte: u8) {
    use fmt::Write as _;
    // Writing to a String cannot fail.
    let _ = write!(out, "\\x{byte:02X}");
}

/// Marks that make text read in another order than its bytes: a name with them could pose as another.
pub fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_names_have_one_escaped_form() {
        assert_eq!(escape(b"bad-\xFF.txt"), "bad-\\xFF.txt");
        assert_eq!(escape("caf\u{e9}.txt".as_bytes()), "caf\u{e9}.txt");
        assert_eq!(escape(b"a\nb"), "a\\x0Ab");
        assert_eq!(escape(br"a\x41"), r"a\x5Cx41");
        assert_eq!(escape(br"a\b"), r"a\b");
    }

    proptest! {
        #[test]
        fn escape_is_reversible(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(unescape(&escape(&bytes)), bytes);
        }

        #[test]
        fn text_form_is_one_line(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(!escape(&bytes).contains(['\n', '\r', '\0']));
        }
    }
}
