//! Server-sent events out of a byte stream, as the HTML standard defines them; used by the codecs' decoders.
//!
//! It knows framing only: line ends in all three forms, comments, fields, a leading byte order mark. What an event
//! means, and that a stream has to end in a certain way, is the codec's business. Two departures from the standard, both
//! because model servers need them: an event that the end of the stream cuts off before its blank line is still given,
//! and lengths are bounded.

/// Most bytes that one event may take, its lines together. A tool call that arrives in one piece carries a whole file,
/// and 8 MiB of text is more than any model's window holds.
pub const MAX_EVENT: usize = 8 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field; none when the server sent none.
    pub event: Option<String>,
    /// The `data` lines, joined by a line feed. Bytes that are not UTF-8 are U+FFFD.
    pub data: String,
}

/// A stream that is not usable any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// One event is longer than [`MAX_EVENT`].
    #[error("an event of the stream is longer than {MAX_EVENT} bytes")]
    TooLong,
}

/// An incremental parser. How the stream is cut into pieces makes no difference.
#[derive(Debug, Default)]
pub struct SseParser {
    /// The line that has begun, when it began in an earlier piece.
    line: Vec<u8>,
    event: Option<String>,
    data: Option<String>,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line is behind us, so that no byte order mark can follow.
    begun: bool,
}

impl SseParser {
    /// A parser at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and appends the events that they complete to `out`; those stand also when the result is an
    /// error, after which the stream has no meaning any more.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            let (line, tail) = rest.split_at(end);
            if self.line.is_empty() {
                self.end_line(line, out)?;
            } else {
                self.begin_line(line)?;
                let line = std::mem::take(&mut self.line);
                self.end_line(&line, out)?;
                self.line = line;
                self.line.clear();
            }
            rest = match tail {
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [b'\r', b'\n', after @ ..] | [_, after @ ..] => after,
                [] => &[],
            };
        }
        self.begin_line(rest)
    }

    /// The stream is over: appends the event that it left open, if any. The result says whether the last line had its
    /// end; without one, that line may be only a part.
    pub fn finish(mut self, out: &mut Vec<SseEvent>) -> Result<bool, SseError> {
        let whole = self.line.is_empty();
        let line = std::mem::take(&mut self.line);
        if !whole {
            self.end_line(&line, out)?;
        }
        self.end_line(b"", out)?;
        Ok(whole)
    }

    fn begin_line(&mut self, part: &[u8]) -> Result<(), SseError> {
        self.check(self.line.len() + part.len())?;
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn check(&self, line: usize) -> Result<(), SseError> {
        if line + self.data.as_ref().map_or(0, String::len) > MAX_EVENT { Err(SseError::TooLong) } else { Ok(()) }
    }

    fn end_line(&mut self, line: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        self.check(line.len())?;
        let line = if self.begun { line } else { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) };
        self.begun = true;
        if line.is_empty() {
            let event = self.event.take();
            if let Some(data) = self.data.take() {
                out.push(SseEvent { event, data });
            }
            return Ok(());
        }
        let (name, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => {
                let (name, value) = line.split_at(colon);
                let value = value.strip_prefix(b":").unwrap_or(value);
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => {
                let value = text(value);
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(&value);
                    }
                    None => self.data = Some(value),
                }
            }
            b"event" => self.event = Some(text(value)).filter(|name| !name.is_empty()),
            // Comments have an empty name; `id` and `retry` serve reconnecting, which a model's answer can't.
            _ => {}
        }
        Ok(())
    }
}

/// The fast check first: nearly every value is UTF-8.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut parser = SseParser::new();
        let mut out = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut out).unwrap();
        }
        parser.finish(&mut out).unwrap();
        out
    }

    fn check(stream: &[u8], expected: &[(Option<&str>, &str)]) {
        let expected: Vec<SseEvent> = expected
            .iter()
            .map(|(event, data)| SseEvent { event: event.map(str::to_owned), data: (*data).to_owned() })
            .collect();
        assert_eq!(parse(&[stream]), expected);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(parse(&bytes), expected, "byte by byte");
        for at in 0..=stream.len() {
            assert_eq!(parse(&[&stream[..at], &stream[at..]]), expected, "cut at {at}");
        }
    }

    #[test]
    fn all_three_line_ends_end_lines() {
        let expected: &[(Option<&str>, &str)] = &[(Some("a"), "1"), (None, "2")];
        check(b"event: a\ndata: 1\n\ndata: 2\n\n", expected);
        check(b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", expected);
        check(b"event: a\rdata: 1\r\rdata: 2\r\r", expected);
        check(b"event: a\rdata: 1\n\r\ndata: 2\r\n\r", expected);
    }

    #[test]
    fn comments_unknown_fields_and_events_without_data_are_ignored() {
        check(b": keep-alive\n\nid: 7\nretry: 10\nevent: ping\n\ndata: x\n\n", &[(None, "x")]);
    }

    #[test]
    fn data_lines_are_joined_and_lose_one_blank() {
        check(b"data:  a\ndata:b\ndata\ndata: c\n\n", &[(None, " a\nb\n\nc")]);
    }

    #[test]
    fn an_event_without_its_blank_line_is_given_at_the_end() {
        check(b"data: 1\n\nevent: last\ndata: 2\n", &[(None, "1"), (Some("last"), "2")]);
        check(b"data: 1\n\ndata: 2", &[(None, "1"), (None, "2")]);
    }

    #[test]
    fn the_end_says_whether_the_last_line_was_whole() {
        for (stream, whole) in [("data: 1\n", true), ("data: 1", false), ("", true)] {
            let mut parser = SseParser::new();
            let mut out = Vec::new();
            parser.push(stream.as_bytes(), &mut out).unwrap();
            assert_eq!(parser.finish(&mut out), Ok(whole), "{stream:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_counts_at_the_beginning_only() {
        check(b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\n", &[(None, "1")]);
    }

    #[test]
    fn characters_survive_cuts_and_bad_bytes_are_replaced() {
        check("data: é😀\n\n".as_bytes(), &[(None, "é😀")]);
        check(b"data: a\xffb\n\n", &[(None, "a\u{fffd}b")]);
    }

    #[test]
    fn an_event_longer_than_the_bound_is_an_error_after_the_events_before_it() {
        let mut parser = SseParser::new();
        let mut out = Vec::new();
        let mut stream = b"data: 1\n\ndata: ".to_vec();
        stream.resize(stream.len() + MAX_EVENT, b'x');
        assert_eq!(parser.push(&stream, &mut out), Err(SseError::TooLong));
        assert_eq!(out, [SseEvent { event: None, data: "1".to_owned() }]);

        let mut parser = SseParser::new();
        let line = [&b"data: "[..], &vec![b'x'; MAX_EVENT / 2], b"\n"].concat();
        assert_eq!(parser.push(&line, &mut out), Ok(()));
        assert_eq!(parser.push(&line, &mut out), Err(SseError::TooLong), "many lines count together");
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(
            stream in "(data|event|:| |\r|\n|\r\n|\n\n|x|\u{e9}|\u{feff}){0,40}",
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let stream = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.push(0);
            cuts.push(stream.len());
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse(&pieces), parse(&[stream]));
        }
    }
}
