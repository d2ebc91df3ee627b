//! A name in an open folder: where a file is looked at, made and removed without its path being walked again.

use super::PutError;
use crate::file_io::open::{OpenError, open_dir, special};
use crate::file_io::version::Version;
use plimsoll_core::workspace::FileVersion;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// What a name stands for.
pub(super) enum There {
    /// A regular file, open for reading.
    File { file: File, version: String },
    /// A symbolic link, with the version of the path that it holds.
    Link { version: String },
}

impl There {
    pub(super) fn version(&self) -> String {
        match self {
            Self::File { version, .. } | Self::Link { version } => version.clone(),
        }
    }
}

/// See the module's head. Folders that were made on the way are removed with it, unless they are [kept](Self::keep).
pub(super) struct Place {
    pub(super) dir: OwnedFd,
    pub(super) name: OsString,
    made: Vec<(OwnedFd, OsString)>,
    kept: bool,
}

impl Place {
    /// The place that a canonical path names, in a folder that exists.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let (parent, name) = split(path)?;
        Ok(Self { dir: open_dir(parent)?, name: name.to_owned(), made: Vec::new(), kept: true })
    }

    /// [`open`](Self::open), with the folders that are missing made.
    pub(super) fn make(path: &Path) -> Result<Self, PutError> {
        let (parent, name) = split(path)?;
        let mut above = parent;
        let mut missing = Vec::new();
        let dir = loop {
            match open_dir(above) {
                Ok(dir) => break dir,
                Err(OpenError::Missing) => {
                    let (next, name) = split(above)?;
                    missing.push(name.to_owned());
                    above = next;
                }
                Err(error) => return Err(error.into()),
            }
        };
        let mut place = Self { dir, name: name.to_owned(), made: Vec::new(), kept: false };
        for name in missing.into_iter().rev() {
            let made = match rustix::fs::mkdirat(&place.dir, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(errno) => return Err(errno.into()),
            };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let inner = rustix::fs::openat(&place.dir, &name, flags, Mode::empty());
            let inner = inner.map_err(|errno| match errno {
                // Opening a link as a folder without following it says so.
                Errno::NOTDIR => OpenError::Link,
                other => other.into(),
            })?;
            let outer = std::mem::replace(&mut place.dir, inner);
            if made {
                place.made.push((outer, name));
            }
        }
        Ok(place)
    }

    /// The folders that were made stay.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }

    /// What is there now.
    pub(super) fn look(&self) -> Result<Option<There>, PutError> {
        self.look_at(&self.name)
    }

    /// What is there under another name in the same folder.
    pub(super) fn look_at(&self, name: &OsStr) -> Result<Option<There>, PutError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.dir, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                let target = rustix::fs::readlinkat(&self.dir, name, Vec::new())?;
                return Ok(Some(There::Link { version: FileVersion::of(target.to_bytes()).to_string() }));
            }
            Err(errno) => return Err(OpenError::from(errno).into()),
        };
        let metadata = file.metadata()?;
        match special(metadata.file_type()) {
            None => {}
            Some("directory") => return Err(OpenError::IsDir.into()),
            Some(kind) => return Err(OpenError::Special(kind).into()),
        }
        let version = Version::of(&file, &metadata)?.to_string();
        Ok(Some(There::File { file, version }))
    }

    /// The regular file that is there, when it has this version.
    pub(super) fn expect(&self, version: &str) -> Result<File, PutError> {
        match self.look()? {
            Some(There::File { file, version: now }) if now == version => Ok(file),
            Some(There::File { version: now, .. }) => Err(PutError::Changed { now: Some(now) }),
            Some(There::Link { .. }) => Err(OpenError::Link.into()),
            None => Err(PutError::Changed { now: None }),
        }
    }

    /// The version of what is there, as far as it can be told.
    pub(super) fn version_now(&self) -> Option<String> {
        self.look().ok().flatten().map(|there| there.version())
    }

    /// The file that is there, open for writing.
    pub(super) fn open_to_write(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty())
    }

    /// Brings the folder's new names to the disk. What was done is done: a file system that cannot is not an error.
    pub(super) fn sync(&self) {
        for folder in std::iter::once(&self.dir).chain(self.made.iter().map(|(outer, _)| outer)) {
            match rustix::fs::fsync(folder) {
                Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::ROFS) => {}
                Err(error) => tracing::warn!(%error, "a folder could not be brought to the disk"),
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for (outer, name) in self.made.iter().rev() {
            // Only empty ones go.
            if rustix::fs::unlinkat(outer, name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }
}

fn split(path: &Path) -> Result<(&Path, &OsStr), OpenError> {
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) if path.is_absolute() => Ok((parent, name)),
        _ => Err(OpenError::IsDir),
    }
}
