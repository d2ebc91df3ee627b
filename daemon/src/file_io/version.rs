//! Versions of files: the hash of the content, or, for very large files, a weak stand-in.

use plimsoll_core::workspace::FileVersion;
use std::fmt;
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};

/// Files up to this size, in bytes, are hashed whole: about 60 ms at the border.
pub const HASH_LIMIT: u64 = 64 * 1024 * 1024;

/// Bytes at either end of a larger file that go into its weak version.
const EDGE: usize = 64 * 1024;

/// Bytes that are hashed at once.
const PIECE: usize = 256 * 1024;

/// Fewest digits by which a call may name a version.
const SHORTEST: usize = 8;

/// The version of a file's content. Prints as 32 hexadecimal digits, a weak one with a `w` before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The hash of all bytes.
    Strong(FileVersion),
    /// Size, times, inode and both edges: a change in the middle within the same clock tick is not seen.
    Weak(FileVersion),
}

impl Version {
    /// The version of an open file, whatever its size.
    pub fn of(file: &File, metadata: &Metadata) -> std::io::Result<Self> {
        if metadata.len() > HASH_LIMIT {
            return Self::weak(file, metadata);
        }
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; PIECE.min(metadata.len() as usize + 1)];
        let mut at = 0;
        loop {
            match file.read_at(&mut piece, at) {
                Ok(0) => return Ok(Self::Strong(FileVersion::from_hash(hasher.finalize()))),
                Ok(count) => {
                    hasher.update(piece.get(..count).unwrap_or_default());
                    at += count as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The weak version of an open file.
    pub fn weak(file: &File, metadata: &Metadata) -> std::io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        for number in
            [metadata.len(), metadata.ino(), metadata.mtime().cast_unsigned(), metadata.mtime_nsec().cast_unsigned()]
        {
            hasher.update(&number.to_le_bytes());
        }
        let mut edge = vec![0; EDGE];
        for at in [0, metadata.len().saturating_sub(EDGE as u64)] {
            let count = file.read_at(&mut edge, at)?;
            hasher.update(edge.get(..count).unwrap_or_default());
        }
        Ok(Self::Weak(FileVersion::from_hash(hasher.finalize())))
    }

    /// Whether `text`, as a header or a call gives it, names this version: the whole of it or a start of at least
    /// eight digits.
    pub fn is_named(&self, text: &str) -> bool {
        let text = text.trim().trim_end_matches('…');
        text.trim_start_matches('w').len() >= SHORTEST && self.to_string().starts_with(&text.to_ascii_lowercase())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strong(version) => write!(f, "{version}"),
            Self::Weak(version) => write!(f, "w{version}"),
        }
    }
}
