//! Cleaning what a command printed, piece by piece. The result does not depend on where the pieces are split.
//!
//! Kept: text, tab, line feed. Taken out: escape sequences and control characters that a terminal would act on. A
//! carriage return before a line feed is dropped; any other begins the line anew, as a terminal would show it. Invalid
//! UTF-8 becomes U+FFFD. Line feeds are never lost, so that a line has the same number here and in the raw log.
//! Called by [`text`](super::text) for what is whole, and by the command tool for what still comes.

/// How much of a line can still be taken back by a carriage return, in bytes. What stands before is given out, so that
/// a program that never ends its line does not fill the memory.
const LINE_HOLD: usize = 64 * 1024;

/// Where in an escape sequence the text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// In none.
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and a character that takes one more.
    OneMore,
    /// In a control sequence, up to its final character.
    Control,
    /// In a string (OSC, DCS, …) up to BEL or ST.
    Str,
}

/// Makes clean text of bytes that come in pieces. See the module's head.
#[derive(Debug, Clone, Default)]
pub struct CommandCleaner {
    state: State,
    /// The beginning of a character whose rest has not come: at most 3 bytes.
    split: Vec<u8>,
    /// The line that is being written.
    line: String,
    /// Whether a carriage return waits for what follows it.
    returned: bool,
}

impl CommandCleaner {
    /// Takes the next bytes; appends to `out` what can no longer change.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let bytes = if self.split.is_empty() {
            bytes
        } else {
            self.split.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.split);
            &joined
        };
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text(chunk.valid(), out);
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let may_go_on = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if chunks.peek().is_none() && may_go_on {
                self.split = invalid.to_vec();
            } else {
                self.char('\u{FFFD}', out);
            }
        }
    }

    /// Nothing more comes: appends the rest to `out`.
    pub fn finish(mut self, out: &mut String) {
        if !self.split.is_empty() {
            self.char('\u{FFFD}', out);
        }
        out.push_str(&self.line);
    }

    /// The unfinished line as it would be shown now.
    pub fn unfinished(&self) -> &str {
        &self.line
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            // The usual case, a run of plain text, is copied at once.
            let plain = rest.find(|c: char| c.is_control()).unwrap_or(rest.len());
            if self.state == State::Text && !self.returned && plain > 0 {
                let room = LINE_HOLD.saturating_sub(self.line.len());
                let (now, later) = rest.split_at(floor_boundary(rest, plain.min(room)));
                self.line.push_str(now);
                rest = later;
                if now.is_empty() {
                    self.give_out(out);
                }
            } else if let Some(c) = rest.chars().next() {
                self.char(c, out);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }

    fn give_out(&mut self, out: &mut String) {
        out.push_str(&self.line);
        self.line.clear();
    }

    fn char(&mut self, c: char, out: &mut String) {
        match self.state {
            State::Text => self.plain(c, out),
            State::Escape => {
                self.state = match c {
                    '[' => State::Control,
                    ']' | 'P' | 'X' | '^' | '_' => State::Str,
                    '(' | ')' | '*' | '+' | '#' | '%' => State::OneMore,
                    '\u{1b}' => State::Escape,
                    _ => State::Text,
                };
                if c == '\n' {
                    self.plain(c, out);
                }
            }
            State::OneMore => {
                self.state = State::Text;
                if c == '\n' || c == '\u{1b}' {
                    self.plain(c, out);
                }
            }
            State::Control => match c {
                '@'..='~' => self.state = State::Text,
                ' '..='?' => {}
                _ => {
                    self.state = State::Text;
                    self.plain(c, out);
                }
            },
            State::Str => match c {
                '\u{7}' => self.state = State::Text,
                '\n' => {
                    self.state = State::Text;
                    self.plain(c, out);
                }
                // ST is ESC and a backslash; ESC and anything else begins the next sequence.
                '\u{1b}' => self.state = State::Escape,
                _ => {}
            },
        }
    }

    fn plain(&mut self, c: char, out: &mut String) {
        if self.returned && c != '\r' {
            self.returned = false;
            if c != '\n' {
                self.line.clear();
            }
        }
        match c {
            '\u{1b}' => self.state = State::Escape,
            '\n' => {
                self.line.push('\n');
                self.give_out(out);
            }
            '\r' => self.returned = true,
            '\t' => self.push_char('\t', out),
            c if c.is_control() => {}
            c => self.push_char(c, out),
        }
    }

    fn push_char(&mut self, c: char, out: &mut String) {
        if self.line.len() + c.len_utf8() > LINE_HOLD {
            self.give_out(out);
        }
        self.line.push(c);
    }
}

/// Line feeds in `bytes`: as many as the clean text of them has.
pub fn line_feeds(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

/// The largest boundary between characters of `text` that is at most `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clean(pieces: &[&[u8]]) -> String {
        let mut cleaner = CommandCleaner::default();
        let mut out = String::new();
        for piece in pieces {
            cleaner.push(piece, &mut out);
        }
        cleaner.finish(&mut out);
        out
    }

    #[test]
    fn a_split_character_is_one_character() {
        assert_eq!(clean(&[b"x \xE2", b"\x82\xAC y\n"]), "x \u{20ac} y\n");
        assert_eq!(clean(&[b"x \xE2", b"y\n"]), "x \u{FFFD}y\n");
        assert_eq!(clean(&[b"x \xE2\x82"]), "x \u{FFFD}");
    }

    #[test]
    fn a_split_escape_sequence_leaves_nothing_behind() {
        assert_eq!(clean(&[b"\x1b[3", b"1mRED\x1b", b"[0m\n"]), "RED\n");
        assert_eq!(clean(&[b"\x1b]0;ti", b"tle\x1b", b"\\x\n"]), "x\n");
    }

    #[test]
    fn a_line_feed_is_never_lost() {
        assert_eq!(clean(&[b"a\x1b(\nb\x1b\nc\x1b]open\nd\x1b[\n"]), "a\nb\nc\nd\n");
        assert_eq!(clean(&[b"text\r\r\n", b"next\r", b"\n"]), "text\nnext\n");
    }

    #[test]
    fn an_endless_line_is_given_out() {
        let mut cleaner = CommandCleaner::default();
        let mut out = String::new();
        cleaner.push("\u{4F60}".repeat(LINE_HOLD).as_bytes(), &mut out);
        assert!(cleaner.unfinished().len() <= LINE_HOLD);
        assert_eq!(out.len() + cleaner.unfinished().len(), 3 * LINE_HOLD);
    }

    fn printed() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            "[a-c\u{e4}\u{20ac}]{1,5}".prop_map(String::into_bytes),
            prop::sample::select(vec!["\r", "\n", "\r\n", "\x1b", "\x1b[1m", "\x1b]0;", "\x07", "\x1b\\", "\x1b("])
                .prop_map(|text| text.as_bytes().to_vec()),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn where_it_is_split_does_not_matter(bytes in printed(), at in any::<prop::sample::Index>(), then in any::<prop::sample::Index>()) {
            let first = at.index(bytes.len() + 1);
            let second = first + then.index(bytes.len() - first + 1);
            let whole = clean(&[&bytes]);
            prop_assert_eq!(clean(&[&bytes[..first], &bytes[first..second], &bytes[second..]]), whole.clone());
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(clean(&single), whole);
        }

        #[test]
        fn clean_text_is_clean_and_has_as_many_lines(bytes in printed()) {
            let once = clean(&[&bytes]);
            prop_assert!(!once.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert_eq!(once.matches('\n').count() as u64, line_feeds(&bytes));
            prop_assert_eq!(clean(&[once.as_bytes()]), once.clone());
        }
    }
}
