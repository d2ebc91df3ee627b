//! What daemon and helper say to each other over the one socket between them.
//!
//! The helper sends frames: a tag, the length of the rest as four bytes, lowest first, the rest. The daemon sends single
//! bytes; that its end of the socket is closed says that it is gone. Both ends are always of the same build, so there is
//! no version in it.

use serde::{Deserialize, Serialize};

/// The daemon says: end the command and everything it started.
pub const STOP: u8 = b's';

/// No frame is longer than this: the largest is a kept half of the output.
pub const MAX_FRAME: usize = 1024 * 1024;

/// Bytes of tag and length.
const HEADER: usize = 5;

/// One of a command's two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// From the helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The command runs.
    Started(Started),
    /// It printed something, for the eyes of those who watch. May be left out; [`Frame::Skipped`] then says so.
    Live(Vec<u8>),
    /// So many bytes of output were not sent as [`Frame::Live`].
    Skipped(u64),
    /// The beginning of what it printed on both outputs, as it came.
    OutputHead(Vec<u8>),
    /// The end of it, directly after the beginning or after what was left out.
    OutputTail(Vec<u8>),
    /// The beginning of what it printed on standard error.
    StderrHead(Vec<u8>),
    /// The end of it.
    StderrTail(Vec<u8>),
    /// It ended. Comes once, after everything above.
    Ended(Box<Ended>),
}

/// The command's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its id, which is also its group.
    pub pid: u32,
    /// Its start in clock ticks since boot; 0 where the system does not tell.
    pub start_ticks: u64,
}

/// How the command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The command's own end.
    pub end: End,
    /// Whether it was ended because the daemon said so.
    pub stopped: bool,
    /// Milliseconds from its start to its end.
    pub duration_ms: u64,
    /// Processes that it started and that still run.
    pub left_running: Vec<u32>,
    /// Whether the helper stays, because something still runs or holds the output.
    pub stays: bool,
    /// What it printed on both outputs.
    pub output: Totals,
    /// What it printed on standard error.
    pub stderr: Totals,
    /// Why the log lacks something; none when it is complete, or was never needed.
    pub log_error: Option<String>,
}

/// The end of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// It ended itself with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It could not be started; the text says why.
    NotStarted(String),
    /// It was told to end and did not, not even when killed.
    Unkillable,
}

/// Sizes of an output of which a middle part may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Bytes printed in all.
    pub bytes: u64,
    /// Bytes between what was kept of beginning and end.
    pub omitted: u64,
    /// Line feeds among them.
    pub omitted_lines: u64,
}

/// Bytes that are not a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A tag that no frame has.
    #[error("unknown frame `{0}` from the helper")]
    UnknownTag(u8),
    /// Longer than any frame.
    #[error("frame of {0} bytes from the helper is too long")]
    TooLong(usize),
    /// The content does not fit the tag.
    #[error("frame from the helper cannot be read: {0}")]
    Content(#[from] serde_json::Error),
    /// A number is not eight bytes.
    #[error("frame from the helper has a number of {0} bytes")]
    Number(usize),
}

impl Frame {
    /// Appends the frame to what is to be sent.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Started(started) => encode_json(b'S', started, out),
            Self::Live(bytes) => encode(b'L', bytes, out),
            Self::Skipped(count) => encode(b'K', &count.to_le_bytes(), out),
            Self::OutputHead(bytes) => encode(b'h', bytes, out),
            Self::OutputTail(bytes) => encode(b't', bytes, out),
            Self::StderrHead(bytes) => encode(b'H', bytes, out),
            Self::StderrTail(bytes) => encode(b'T', bytes, out),
            Self::Ended(ended) => encode_json(b'E', ended, out),
        }
    }

    /// The frame at the beginning of `bytes` and its length; none while it is not complete.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, FrameError> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [tag, a, b, c, d] = *header;
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        if len > MAX_FRAME {
            return Err(FrameError::TooLong(len));
        }
        let Some(content) = rest.get(..len) else { return Ok(None) };
        let frame = match tag {
            b'S' => Self::Started(serde_json::from_slice(content)?),
            b'L' => Self::Live(content.to_vec()),
            b'K' => Self::Skipped(u64::from_le_bytes(content.try_into().map_err(|_| FrameError::Number(len))?)),
            b'h' => Self::OutputHead(content.to_vec()),
            b't' => Self::OutputTail(content.to_vec()),
            b'H' => Self::StderrHead(content.to_vec()),
            b'T' => Self::StderrTail(content.to_vec()),
            b'E' => Self::Ended(serde_json::from_slice(content)?),
            other => return Err(FrameError::UnknownTag(other)),
        };
        Ok(Some((frame, HEADER + len)))
    }
}

fn encode(tag: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(content);
}

fn encode_json(tag: u8, content: &impl Serialize, out: &mut Vec<u8>) {
    // These types are structs of numbers, texts and lists: writing them to memory does not fail.
    encode(tag, &serde_json::to_vec(content).unwrap_or_default(), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_were_sent_once_complete() {
        let ended = Ended {
            end: End::Signal(9),
            stopped: true,
            duration_ms: 5,
            left_running: vec![7],
            stays: true,
            output: Totals { bytes: 1, omitted: 2, omitted_lines: 3 },
            stderr: Totals::default(),
            log_error: Some("disk full".into()),
        };
        let frames = [
            Frame::Started(Started { pid: 3, start_ticks: 9 }),
            Frame::Live(b"x".to_vec()),
            Frame::Skipped(77),
            Frame::OutputHead(vec![0; 70_000]),
            Frame::OutputTail(vec![]),
            Frame::StderrHead(b"e".to_vec()),
            Frame::StderrTail(b"t".to_vec()),
            Frame::Ended(Box::new(ended)),
        ];
        for frame in frames {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            assert!(matches!(Frame::decode(&bytes[..bytes.len() - 1]), Ok(None)));
            let len = bytes.len();
            bytes.extend_from_slice(b"next");
            assert_eq!(Frame::decode(&bytes).unwrap(), Some((frame, len)));
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert!(matches!(Frame::decode(b"?\0\0\0\0"), Err(FrameError::UnknownTag(b'?'))));
        assert!(matches!(Frame::decode(b"L\xFF\xFF\xFF\xFF"), Err(FrameError::TooLong(_))));
        assert!(matches!(Frame::decode(b"K\x01\0\0\0x"), Err(FrameError::Number(1))));
        assert!(matches!(Frame::decode(b"E\x01\0\0\0x"), Err(FrameError::Content(_))));
    }
}
