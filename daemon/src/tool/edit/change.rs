//! One file's change, and the way back: what [`perform`](super::perform) and [`recover`](super::recover) both do.

use crate::file_io::put::temp_name;
use crate::file_io::{PutError, put_by, put_link, remove_by};
use plimsoll_core::id::CallId;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Names of the temporary files of a call's writes, known again after a crash.
pub(super) struct Scratch(String);

impl Scratch {
    /// Of a call of the session with this folder.
    pub(super) fn new(session_dir: &Path, call: CallId) -> Self {
        let session = session_dir.file_name().unwrap_or_default();
        Self(format!("{}/{call}", plimsoll_core::path::escape(session.as_bytes())))
    }

    /// For the change of the file at this path.
    pub(super) fn forth(&self, path: &Path) -> OsString {
        self.name("forth", path)
    }

    /// For taking it back.
    pub(super) fn back(&self, path: &Path) -> OsString {
        self.name("back", path)
    }

    fn name(&self, way: &str, path: &Path) -> OsString {
        temp_name(&format!("{}/{way}/{}", self.0, plimsoll_core::path::escape(path.as_os_str().as_bytes())))
    }
}

/// What is there, and what is to be: versions, none for nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    /// Where, canonical.
    pub(super) path: &'a Path,
    /// What must be there.
    pub(super) from: Option<&'a str>,
    /// What will be.
    pub(super) to: Option<&'a str>,
    /// Permission bits of a file that comes to be; none: those that the process gives.
    pub(super) mode: Option<u32>,
    /// What comes to be is a symbolic link.
    pub(super) link: bool,
}

impl Step<'_> {
    /// Does it; `content` is what `to` names. Blocking.
    pub(super) fn take(self, content: &[&[u8]], temp: &OsStr) -> Result<(), PutError> {
        let Self { path, from, to, mode, link } = self;
        if from == to {
            return Ok(());
        }
        match (from, to) {
            (Some(from), None) => remove_by(path, from, Some(temp)),
            (None, Some(_)) if link => put_link(path, &content.concat()),
            (from, Some(_) | None) => put_by(path, from, content, mode, Some(temp)),
        }
    }
}
