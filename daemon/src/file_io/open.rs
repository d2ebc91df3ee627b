//! Opening what a canonical path names, and nothing else: no symbolic link on the way, no pipe that blocks.

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, FileType, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path};

/// Why a path could not be opened. The texts are for the model and name no path: the caller does.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is there.
    #[error("does not exist")]
    Missing,
    /// The system refuses.
    #[error("permission denied")]
    Denied,
    /// A folder where a file was wanted.
    #[error("is a directory")]
    IsDir,
    /// A file where a folder was wanted.
    #[error("is not a directory")]
    NotDir,
    /// Neither file nor folder; the text says what.
    #[error("is a {0}, not a regular file")]
    Special(&'static str),
    /// A part of the path became a symbolic link since the path was made canonical.
    #[error("changed into a symbolic link while it was looked at; call again")]
    Link,
    /// Anything else.
    #[error("cannot be opened: {0}")]
    Io(#[source] std::io::Error),
}

impl From<Errno> for OpenError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Missing,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::LOOP => Self::Link,
            Errno::NOTDIR => Self::NotDir,
            Errno::ISDIR => Self::IsDir,
            // What opening a socket, or a device without a driver, gives.
            Errno::NXIO | Errno::NODEV => Self::Special("socket or device"),
            other => Self::Io(other.into()),
        }
    }
}

impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(code) => Errno::from_raw_os_error(code).into(),
            None => Self::Io(error),
        }
    }
}

/// Opens the regular file at a canonical path for reading. Never blocks on a pipe, and follows no link.
pub fn open_file(canonical: &Path) -> Result<(File, Metadata), OpenError> {
    let file = File::from(open(canonical, OFlags::RDONLY | OFlags::NONBLOCK)?);
    let metadata = file.metadata()?;
    match special(metadata.file_type()) {
        None => Ok((file, metadata)),
        Some("directory") => Err(OpenError::IsDir),
        Some(kind) => Err(OpenError::Special(kind)),
    }
}

/// Opens the folder at a canonical path for listing. Follows no link.
pub fn open_dir(canonical: &Path) -> Result<OwnedFd, OpenError> {
    match open(canonical, OFlags::RDONLY | OFlags::DIRECTORY) {
        // A link that is to be opened as a folder without being followed is no folder.
        Err(OpenError::NotDir) if canonical.is_symlink() => Err(OpenError::Link),
        opened => opened,
    }
}

/// What something is when it is no regular file.
pub fn special(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("directory")
    } else if kind.is_fifo() {
        Some("named pipe (FIFO)")
    } else if kind.is_socket() {
        Some("socket")
    } else if kind.is_symlink() {
        Some("symbolic link")
    } else {
        Some("device")
    }
}

/// No part of the path may be a link; where the kernel cannot see to that, the path is walked part by part.
fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, OpenError> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
    #[cfg(target_os = "linux")]
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), rustix::fs::ResolveFlags::NO_SYMLINKS) {
        // An older kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        Err(errno) => return Err(errno.into()),
        Ok(fd) => return Ok(fd),
    }
    walk(path, flags)
}

fn walk(path: &Path, flags: OFlags) -> Result<OwnedFd, OpenError> {
    #[cfg(target_os = "linux")]
    const STEP: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const STEP: OFlags = OFlags::RDONLY;
    let step = STEP | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    };
    let mut at = rustix::fs::openat(CWD, Path::new("/"), step, Mode::empty())?;
    for part in above.components() {
        let Component::Normal(part) = part else { continue };
        at = match rustix::fs::openat(&at, part, step, Mode::empty()) {
            Ok(next) => next,
            // A link that is to be opened as a folder without being followed is no folder.
            Err(Errno::NOTDIR) => {
                let stat = rustix::fs::statat(&at, part, AtFlags::SYMLINK_NOFOLLOW)?;
                let link = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink();
                return Err(if link { OpenError::Link } else { OpenError::NotDir });
            }
            Err(errno) => return Err(errno.into()),
        };
    }
    Ok(rustix::fs::openat(&at, name, flags, Mode::empty())?)
}
