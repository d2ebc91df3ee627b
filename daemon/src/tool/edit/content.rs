//! What is in a file that is to be edited, and how to read it.

use super::Before;
use crate::file_io::encoding::Decoder;
use crate::file_io::version::{HASH_LIMIT, Version};
use crate::file_io::{OpenError, open_file};
use crate::tool::scope::Resolved;
use plimsoll_core::workspace::FileVersion;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

/// The content of a file, whole.
pub(crate) struct Content {
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// Their version.
    pub(crate) version: FileVersion,
    /// Permission bits.
    pub(crate) mode: u32,
    /// How they are to be read, as read_file reads them; none when they are no text.
    pub(crate) decoder: Option<Decoder>,
}

impl Content {
    /// How to read it, or that it is no text.
    pub(crate) fn text(&self, shown: &str) -> Result<Decoder, String> {
        self.decoder.ok_or_else(|| {
            format!(
                "`{shown}` is a binary file of {} bytes; only text can be edited. Nothing was written.",
                self.bytes.len()
            )
        })
    }
}

impl From<Content> for Before {
    fn from(content: Content) -> Self {
        Self { bytes: content.bytes, version: content.version.to_string(), mode: Some(content.mode) }
    }
}

/// Reads the file that a path stands for.
pub(crate) fn read(place: &Resolved) -> Result<Content, String> {
    let shown = &place.shown;
    let (file, metadata) = open_file(&place.path).map_err(|error| {
        let advice = if matches!(error, OpenError::IsDir) { " This tool changes files only." } else { "" };
        format!("`{shown}` {error}.{advice}")
    })?;
    // The size that the system tells is not trusted; one byte over the limit tells that there are too many.
    let mut bytes = Vec::with_capacity(metadata.len().min(HASH_LIMIT) as usize + 1);
    file.take(HASH_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| format!("`{shown}` cannot be read: {error}."))?;
    if bytes.len() as u64 > HASH_LIMIT {
        return Err(format!(
            "`{shown}` is larger than {} MB; so large a file has no exact version and is not edited or deleted by this \
             tool. Use a program with run_terminal_cmd.",
            HASH_LIMIT >> 20
        ));
    }
    Ok(Content {
        version: FileVersion::of(&bytes),
        mode: metadata.permissions().mode() & 0o7777,
        decoder: Decoder::of(&bytes),
        bytes,
    })
}

/// The version that a call expects must be the one that is there.
pub(crate) fn check_version(shown: &str, now: FileVersion, expected: Option<&str>) -> Result<(), String> {
    match expected {
        Some(expected) if !Version::Strong(now).is_named(expected) => Err(format!(
            "`{shown}` has version {now}, not the expected {expected}: it has changed since. Nothing was written. Read it \
             again."
        )),
        _ => Ok(()),
    }
}
