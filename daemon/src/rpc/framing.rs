//! How messages are cut out of a stream of bytes: `Content-Length` headers or one JSON value per line. Which of the
//! two is seen from the first byte that is not blank, and then fixed. No JSON is looked at here. Called by
//! [`conn`](super::conn), [`client`](super::client) and the ACP facade.

use bytes::{Buf, Bytes, BytesMut};

/// The longest message, either way. A prompt with pasted files fits many times; a peer that sends without end does not
/// use up the memory.
pub const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// The longest header block. Real ones have two short lines.
const HEADER_LIMIT: usize = 16 * 1024;

/// How much is read at a time.
pub const READ_SIZE: usize = 64 * 1024;

/// A message longer than this leaves no buffer of its size behind.
const KEEP_CAPACITY: usize = 1024 * 1024;

/// How messages are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length: N`, an empty line, N bytes.
    Headers,
    /// One JSON value per line.
    Lines,
}

/// Something that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A whole message, whatever its bytes are.
    Message(Bytes),
    /// A message announced this many bytes, more than [`MESSAGE_LIMIT`]. Its bytes are skipped.
    TooLarge(u64),
}

/// What cannot be survived: where the next message begins is not known any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// A line went on past the limit.
    #[error("a line is longer than {0} bytes")]
    EndlessLine(usize),
    /// A header block went on past the limit.
    #[error("a header block is longer than {HEADER_LIMIT} bytes")]
    EndlessHeaders,
    /// A header block is not one.
    #[error("`{0}` is neither a header (`Name: value`) nor the beginning of a JSON message")]
    NotAHeader(String),
    /// A header block has no usable length.
    #[error("a header block needs one Content-Length of 1 or more, and has {0}")]
    Length(String),
}

impl FramingError {
    /// Whether the peer sent too much, rather than something wrong.
    pub fn is_size(&self) -> bool {
        matches!(self, Self::EndlessLine(_) | Self::EndlessHeaders)
    }
}

/// Cuts messages out of what is put into its buffer. Memory: at most the limit plus one read.
#[derive(Debug)]
pub struct Decoder {
    framing: Option<Framing>,
    buffer: BytesMut,
    limit: usize,
    /// Bytes of the buffer that hold no line end.
    searched: usize,
    /// Length of the body that comes next, after its headers were read.
    body: Option<usize>,
    /// Bytes of a body that is too large, still to be skipped.
    skip: u64,
}

impl Decoder {
    /// A decoder for a peer whose framing is not known yet (`None`), or is.
    pub fn new(framing: Option<Framing>) -> Self {
        Self::with_limit(framing, MESSAGE_LIMIT)
    }

    fn with_limit(framing: Option<Framing>, limit: usize) -> Self {
        Self { framing, buffer: BytesMut::new(), limit, searched: 0, body: None, skip: 0 }
    }

    /// The framing, once it is known.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// The buffer to read into, with room for a read.
    pub fn buffer(&mut self) -> &mut BytesMut {
        self.buffer.reserve(READ_SIZE);
        &mut self.buffer
    }

    /// The next frame that is complete; `None`: more bytes are needed. After an error the stream is of no use.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FramingError> {
        if self.skip > 0 {
            let here = usize::try_from(self.skip).unwrap_or(usize::MAX).min(self.buffer.len());
            self.buffer.advance(here);
            self.skip -= here as u64;
            if self.skip > 0 {
                return Ok(None);
            }
        }
        match self.detect() {
            None => Ok(None),
            Some(Framing::Lines) => self.next_line(),
            Some(Framing::Headers) => self.next_body(),
        }
    }

    fn detect(&mut self) -> Option<Framing> {
        if self.framing.is_none() {
            let blank = self.buffer.iter().take_while(|byte| is_blank(**byte)).count();
            self.buffer.advance(blank);
            self.framing = match self.buffer.first()? {
                b'{' | b'[' => Some(Framing::Lines),
                _ => Some(Framing::Headers),
            };
        }
        self.framing
    }

    fn next_line(&mut self) -> Result<Option<Frame>, FramingError> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(found) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                return if self.searched > self.limit { Err(FramingError::EndlessLine(self.limit)) } else { Ok(None) };
            };
            let end = self.searched + found;
            self.searched = 0;
            if end > self.limit {
                return Err(FramingError::EndlessLine(self.limit));
            }
            let mut line = self.take(end + 1);
            line.truncate(end);
            if !line.iter().all(|byte| is_blank(*byte)) {
                return Ok(Some(Frame::Message(line)));
            }
        }
    }

    fn next_body(&mut self) -> Result<Option<Frame>, FramingError> {
        if self.body.is_none() {
            let Some(length) = self.next_headers()? else { return Ok(None) };
            match usize::try_from(length) {
                Ok(length) if length <= self.limit => self.body = Some(length),
                _ => {
                    self.skip = length;
                    return Ok(Some(Frame::TooLarge(length)));
                }
            }
        }
        match self.body {
            Some(length) if self.buffer.len() >= length => {
                self.body = None;
                Ok(Some(Frame::Message(self.take(length))))
            }
            _ => Ok(None),
        }
    }

    /// Reads a header block; gives its length.
    fn next_headers(&mut self) -> Result<Option<u64>, FramingError> {
        // Some peers send an empty line after a body.
        let blank = self.buffer.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.buffer.advance(blank);
        self.searched = self.searched.saturating_sub(blank);
        let Some(end) = self.headers_end() else {
            return if self.buffer.len() > HEADER_LIMIT { Err(FramingError::EndlessHeaders) } else { Ok(None) };
        };
        self.searched = 0;
        if end > HEADER_LIMIT {
            return Err(FramingError::EndlessHeaders);
        }
        let block = self.take(end);
        length_of(&block).map(Some)
    }

    /// Where the first empty line ends.
    fn headers_end(&mut self) -> Option<usize> {
        // The line end before the empty line may already have been searched.
        let mut at = self.searched.saturating_sub(2);
        loop {
            let rest = self.buffer.get(at..).unwrap_or_default();
            let Some(found) = rest.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                return None;
            };
            at += found + 1;
            match self.buffer.get(at..).unwrap_or_default() {
                [b'\n', ..] => return Some(at + 1),
                [b'\r', b'\n', ..] => return Some(at + 2),
                _ => {}
            }
        }
    }

    fn take(&mut self, length: usize) -> Bytes {
        let taken = self.buffer.split_to(length).freeze();
        if length > KEEP_CAPACITY {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        taken
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn length_of(block: &[u8]) -> Result<u64, FramingError> {
    let mut found: Option<u64> = None;
    for line in block.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
        let shown = || String::from_utf8_lossy(line).chars().take(80).collect::<String>();
        let colon = line.iter().position(|byte| *byte == b':');
        let Some((name, value)) = colon.and_then(|at| line.split_at_checked(at)) else {
            return Err(FramingError::NotAHeader(shown()));
        };
        if !name.trim_ascii().eq_ignore_ascii_case(b"content-length") {
            continue;
        }
        let digits = value.strip_prefix(b":").unwrap_or(value).trim_ascii();
        let length = std::str::from_utf8(digits)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse().ok())
            .filter(|length| *length > 0)
            .ok_or_else(|| FramingError::Length(format!("`{}`", shown())))?;
        if found.is_some_and(|before| before != length) {
            return Err(FramingError::Length("two different ones".to_owned()));
        }
        found = Some(length);
    }
    found.ok_or_else(|| FramingError::Length("none".to_owned()))
}

/// Appends one message to `out`.
pub fn encode(framing: Framing, json: &str, out: &mut Vec<u8>) {
    match framing {
        Framing::Headers => {
            out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", json.len()).as_bytes());
            out.extend_from_slice(json.as_bytes());
        }
        Framing::Lines => {
            // A line end in JSON is blank space between tokens, so that a blank says the same.
            out.extend(json.bytes().map(|byte| if byte == b'\n' || byte == b'\r' { b' ' } else { byte }));
            out.push(b'\n');
        }
    }
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
