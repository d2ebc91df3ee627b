//! How the bytes of an answer are spoiled on their way: cut, split, with other line ends, with comments between.

use bytes::Bytes;

/// Where a stream ends before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// After this many bytes of the body.
    Bytes(usize),
    /// After the first occurrence of this text in the body.
    Text(String),
}

/// Where a stream tells its usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UsagePlace {
    /// Where the vendor documents it: a last chunk without choices; `message_start` and `message_delta`.
    #[default]
    Standard,
    /// All of it with the finish reason, nothing before.
    WithFinish,
    /// As `Standard`, with `"usage": null` in every chunk before (Chat Completions only).
    NullBefore,
    /// Never.
    Absent,
}

/// What a step does to its own bytes.
#[derive(Debug, Clone, Default)]
pub struct Misbehave {
    /// Ends the stream early; `true` beside it: by an orderly end of the body instead of a broken connection.
    pub cut: Option<(Cut, bool)>,
    /// Each write is broken after these offsets.
    pub split_at: Vec<usize>,
    /// Each write is broken into pieces of this size.
    pub split_every: Option<usize>,
    /// Lines end with CRLF.
    pub crlf: bool,
    /// A comment line before each event.
    pub keep_alive: bool,
    /// No `[DONE]` or `message_stop`.
    pub no_end_mark: bool,
    /// Where usage is told.
    pub usage: UsagePlace,
    /// Every call has index 0 (Chat Completions only).
    pub same_index: bool,
}

impl Misbehave {
    /// One event's bytes as they are written: one or more pieces.
    pub(super) fn shape(&self, event: &str) -> Vec<Bytes> {
        let mut text = String::new();
        if self.keep_alive {
            text.push_str(": keep-alive\n\n");
        }
        text.push_str(event);
        if self.crlf {
            text = text.replace('\n', "\r\n");
        }
        self.split(text.as_bytes())
    }

    fn split(&self, mut bytes: &[u8]) -> Vec<Bytes> {
        let mut pieces = Vec::new();
        let mut done = 0;
        for at in &self.split_at {
            if let Some((piece, rest)) = at.checked_sub(done).and_then(|len| bytes.split_at_checked(len))
                && !piece.is_empty()
            {
                pieces.push(piece);
                bytes = rest;
                done = *at;
            }
        }
        pieces.push(bytes);
        let size = self.split_every.unwrap_or(usize::MAX).max(1);
        pieces.into_iter().flat_map(|piece| piece.chunks(size)).map(Bytes::copy_from_slice).collect()
    }

    /// How many of `pieces`' bytes are written; `None`: all.
    pub(super) fn limit<'a>(&self, pieces: impl Iterator<Item = &'a Bytes>) -> Option<usize> {
        match &self.cut.as_ref()?.0 {
            Cut::Bytes(count) => Some(*count),
            Cut::Text(text) => {
                let whole: Vec<u8> = pieces.flat_map(|piece| piece.iter().copied()).collect();
                let at = whole.windows(text.len().max(1)).position(|window| window == text.as_bytes());
                Some(at.unwrap_or_else(|| panic!("the stream has no {text:?} to be cut after")) + text.len())
            }
        }
    }
}
