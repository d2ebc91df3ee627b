//! Changing files: a content is replaced as a whole, a file or link is removed, and nothing in between is ever seen.
//!
//! A new content goes to a temporary file in the same folder, is brought to the disk, and takes the old one's name. All
//! of it happens relative to the folder's descriptor, and no part of the path may be a symbolic link when that is
//! opened, so that a folder that is swapped for a link leads nowhere. What the caller expects to be there is checked
//! before anything is written and once more at the exchange of the names: where the system can exchange two names, what
//! was there is looked at after it lost its name, and gets it back when it is something else. What remains: somebody who
//! holds the old file open and writes into it after that look writes into a file without a name. Where names cannot be
//! exchanged, the time between the last look and the rename remains too.
//!
//! Written in place, and so not in one moment, are files with several names (hard links), files that are mount points,
//! and files in a folder in which no other may be made. A caller keeps the content before (see
//! [`pre_image`](super::pre_image)).
//!
//! Temporary files are called `.plimsoll-…`. They are removed on every way out. One that a crash left is [settled](settle)
//! by whoever gave it its name; else it is removed by the next write of the same file after [`STALE`](temp::STALE), and
//! never in anybody's way before.
//!
//! It knows nothing of tools, encodings or permission to edit. Called by the tools that edit, by their recovery, and by
//! undo.

mod attributes;
mod left;
mod place;
mod temp;
#[cfg(test)]
mod tests;

use super::open::OpenError;
pub use left::settle;
use place::{Place, There};
use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use temp::Temp;

/// Permission bits of a new file before the process's mask takes from them.
const NEW_FILE: u32 = 0o666;

/// Why nothing was changed ([`PutError::Partial`] and [`PutError::Aside`] excepted). The texts are for the model and
/// name no path: the caller does.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// Something else is there than was expected: the version of that, none when nothing is.
    #[error("has changed meanwhile")]
    Changed {
        /// Its version.
        now: Option<String>,
    },
    /// The file or its folder cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its permission bits allow nobody to write, or not this user.
    #[error("is read-only (mode {0:04o})")]
    ReadOnly(u32),
    /// The file system, or a flag of the file or its folder, forbids the change whatever the permission bits say.
    #[error("cannot be changed: {0} (a read-only file system, or the file or its folder is marked immutable)")]
    Immutable(#[source] io::Error),
    /// The disk is full, or a limit of the user's is reached.
    #[error("cannot be written: {0}; nothing was changed")]
    NoSpace(#[source] io::Error),
    /// Writing in place broke off: the file holds a part of the new content.
    #[error("was written only in part: {0}")]
    Partial(#[source] io::Error),
    /// It changed at the very moment, and its name was taken by yet another file: the former is kept under this name in
    /// the same folder.
    #[error("changed meanwhile more than once; what was there in between is now called `{0}`")]
    Aside(String),
    /// Anything else.
    #[error("cannot be written: {0}")]
    Io(#[source] io::Error),
}

impl From<Errno> for PutError {
    fn from(errno: Errno) -> Self {
        io::Error::from(errno).into()
    }
}

impl From<io::Error> for PutError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::ROFS | Errno::PERM) => Self::Immutable(error),
            Some(Errno::NOSPC | Errno::DQUOT) => Self::NoSpace(error),
            Some(Errno::ACCESS) => Self::Open(OpenError::Denied),
            Some(Errno::LOOP) => Self::Open(OpenError::Link),
            _ => Self::Io(error),
        }
    }
}

/// Makes `pieces`, one after the other, the content of the file at a canonical path.
///
/// `expected` is the version that must be there; with `None` nothing may be there, and the folders above are made.
/// A file that is there keeps its permission bits, its owner where possible, and its extended attributes. A new one
/// gets exactly the bits of `mode`, without it those that the process gives its files. Blocking.
pub fn put(path: &Path, expected: Option<&str>, pieces: &[&[u8]], mode: Option<u32>) -> Result<(), PutError> {
    put_by(path, expected, pieces, mode, None)
}

/// The name of a temporary file that whoever gives it knows again after a crash. `of` says for what write it is, and is
/// given for no other one.
pub fn temp_name(of: &str) -> OsString {
    format!("{}{}", temp::PREFIX, plimsoll_core::workspace::FileVersion::of(of.as_bytes())).into()
}

/// [`put`] by way of a temporary file of this name, where one is needed and no other has the name.
pub fn put_by(
    path: &Path,
    expected: Option<&str>,
    pieces: &[&[u8]],
    mode: Option<u32>,
    temp: Option<&OsStr>,
) -> Result<(), PutError> {
    let place = if let Some(expected) = expected {
        let place = Place::open(path)?;
        let there = place.expect(expected)?;
        replace(&place, &there, expected, pieces, temp)?;
        place
    } else {
        let mut place = Place::make(path)?;
        create(&place, pieces, mode, temp)?;
        place.keep();
        place
    };
    place.sync();
    Ok(())
}

/// Removes the file or symbolic link at a canonical path, when `expected` is its version (a link's is that of the path
/// that it holds). Blocking.
pub fn remove(path: &Path, expected: &str) -> Result<(), PutError> {
    remove_by(path, expected, None)
}

/// [`remove`] by way of this name in the same folder, when no file has it.
pub fn remove_by(path: &Path, expected: &str, aside: Option<&OsStr>) -> Result<(), PutError> {
    let place = Place::open(path)?;
    let there = place.look()?.ok_or(PutError::Changed { now: None })?;
    if there.version() != expected {
        return Err(PutError::Changed { now: Some(there.version()) });
    }
    if let There::File { file, .. } = &there {
        writable(&place, file)?;
    }
    let taken = |name: &&OsStr| rustix::fs::statat(&place.dir, *name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let aside = aside.filter(|name| !taken(name)).map_or_else(temp::unused_name, OsStr::to_owned);
    match rustix::fs::renameat_with(&place.dir, &place.name, &place.dir, &aside, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            rustix::fs::unlinkat(&place.dir, &place.name, AtFlags::empty())?;
            place.sync();
            return Ok(());
        }
        Err(Errno::NOENT) => return Err(PutError::Changed { now: None }),
        Err(errno) => return Err(errno.into()),
    }
    let moved = place.look_at(&aside);
    if moved.as_ref().is_ok_and(|moved| moved.as_ref().is_some_and(|moved| moved.version() == expected)) {
        rustix::fs::unlinkat(&place.dir, &aside, AtFlags::empty())?;
        place.sync();
        return Ok(());
    }
    if rustix::fs::renameat_with(&place.dir, &aside, &place.dir, &place.name, RenameFlags::NOREPLACE).is_err() {
        return Err(PutError::Aside(aside.to_string_lossy().into_owned()));
    }
    Err(PutError::Changed { now: moved?.map(|moved| moved.version()) })
}

/// Makes a symbolic link that holds `target` at a canonical path, where nothing may be; the folders above are made.
/// Blocking.
pub fn put_link(path: &Path, target: &[u8]) -> Result<(), PutError> {
    let mut place = Place::make(path)?;
    match rustix::fs::symlinkat(target, &place.dir, &place.name) {
        Ok(()) => {
            place.keep();
            place.sync();
            Ok(())
        }
        Err(Errno::EXIST) => Err(PutError::Changed { now: place.version_now() }),
        Err(errno) => Err(errno.into()),
    }
}

fn create(place: &Place, pieces: &[&[u8]], mode: Option<u32>, temp: Option<&OsStr>) -> Result<(), PutError> {
    if let Some(there) = place.look()? {
        return Err(PutError::Changed { now: Some(there.version()) });
    }
    // Until it has all its bytes, nobody but the owner may look into a file that is to be tighter than usual.
    let first = mode.map_or(NEW_FILE, |mode| mode & 0o600);
    let mut temp = Temp::new(place, temp, Mode::from_raw_mode(first as _))?;
    temp.write(pieces)?;
    if let Some(mode) = mode {
        temp.file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
    }
    temp.file.sync_all()?;
    temp.name_new()
}

fn replace(
    place: &Place,
    there: &File,
    expected: &str,
    pieces: &[&[u8]],
    temp: Option<&OsStr>,
) -> Result<(), PutError> {
    writable(place, there)?;
    let metadata = there.metadata()?;
    if metadata.nlink() > 1 {
        return in_place(place, there, expected, pieces);
    }
    let mut temp = match Temp::new(place, temp, Mode::from_raw_mode((metadata.mode() & 0o600) as _)) {
        Ok(temp) => temp,
        Err(Errno::ACCESS | Errno::PERM) => return in_place(place, there, expected, pieces),
        Err(errno) => return Err(errno.into()),
    };
    temp.write(pieces)?;
    attributes::copy(there, &metadata, &temp.file)?;
    temp.file.sync_all()?;
    place.expect(expected)?;
    match temp.take_over(expected) {
        // A mount point keeps its file.
        Err(PutError::Io(error)) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
            drop(temp);
            in_place(place, there, expected, pieces)
        }
        done => done,
    }
}

/// Whether the file may be written at all; replacing it by its folder's leave alone would get around that.
fn writable(place: &Place, there: &File) -> Result<(), PutError> {
    let mode = there.metadata()?.mode() & 0o7777;
    // Asked of the bits too, since they do not bind the superuser.
    if mode & 0o222 == 0 {
        return Err(PutError::ReadOnly(mode));
    }
    match place.open_to_write() {
        // A program that runs cannot be written into, but replaced.
        Ok(_) | Err(Errno::TXTBSY) => Ok(()),
        Err(Errno::ACCESS) => Err(PutError::ReadOnly(mode)),
        Err(errno) => Err(errno.into()),
    }
}

fn in_place(place: &Place, there: &File, expected: &str, pieces: &[&[u8]]) -> Result<(), PutError> {
    let file = File::from(place.open_to_write()?);
    let (before, opened) = (there.metadata()?, file.metadata()?);
    let same = (before.dev(), before.ino()) == (opened.dev(), opened.ino());
    let now = place.expect(expected)?.metadata()?;
    if !same || (now.dev(), now.ino()) != (opened.dev(), opened.ino()) {
        return Err(PutError::Changed { now: place.version_now() });
    }
    let length: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    reserve(&file, length)?;
    let write = || -> io::Result<()> {
        let mut at = 0;
        for piece in pieces {
            file.write_all_at(piece, at)?;
            at += piece.len() as u64;
        }
        file.set_len(length)?;
        // Writing takes some bits away, such as set-user-id.
        if file.metadata()?.mode() != before.mode() {
            file.set_permissions(before.permissions())?;
        }
        file.sync_all()
    };
    write().map_err(PutError::Partial)
}

/// Makes sure that there is room before the first byte is overwritten, where the file system can tell.
fn reserve(file: &File, length: u64) -> Result<(), PutError> {
    #[cfg(target_os = "linux")]
    if length > file.metadata()?.len() {
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, length) {
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, length);
    Ok(())
}
