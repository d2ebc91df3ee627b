//! The temporary file that becomes a new content.

use super::PutError;
use super::place::{Place, There};
use plimsoll_core::workspace::FileVersion;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, UNIX_EPOCH};

/// How old a temporary file must be to count as left by a crash: no write takes that long.
pub(super) const STALE: Duration = Duration::from_secs(600);

/// How the names of temporary files begin.
pub(super) const PREFIX: &str = ".plimsoll-";

/// A name that no other file has.
pub(super) fn unused_name() -> OsString {
    format!("{PREFIX}{}", uuid::Uuid::now_v7().simple()).into()
}

/// See the module's head. Removed with it, as long as it has its name.
pub(super) struct Temp<'a> {
    pub(super) file: File,
    place: &'a Place,
    name: OsString,
    named: bool,
}

impl<'a> Temp<'a> {
    /// An empty one in the folder of `place`, with at most these permission bits. It has the same name at each write of
    /// the same file, so that what a crash left is found; another name when that one is taken.
    pub(super) fn new(place: &'a Place, mode: Mode) -> Result<Self, Errno> {
        let usual: OsString = format!("{PREFIX}{}", FileVersion::of(place.name.as_bytes())).into();
        clear(place, &usual);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (name, file) = match rustix::fs::openat(&place.dir, &usual, flags, mode) {
            Err(Errno::EXIST) => {
                let other = unused_name();
                let file = rustix::fs::openat(&place.dir, &other, flags, mode)?;
                (other, file)
            }
            made => (usual, made?),
        };
        Ok(Self { file: file.into(), place, name, named: true })
    }

    pub(super) fn write(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        let mut writer = io::BufWriter::new(&self.file);
        for piece in pieces {
            writer.write_all(piece)?;
        }
        writer.flush()
    }

    /// Gives it the place's name, which nothing may have.
    pub(super) fn name_new(&mut self) -> Result<(), PutError> {
        let (dir, name) = (&self.place.dir, &self.place.name);
        match rustix::fs::renameat_with(dir, &self.name, dir, name, RenameFlags::NOREPLACE) {
            Ok(()) => self.named = false,
            Err(Errno::EXIST) => return Err(PutError::Changed { now: self.place.version_now() }),
            // A link takes no name that is taken; the temporary name goes with `self`.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(dir, &self.name, dir, name, AtFlags::empty()).map_err(|errno| match errno {
                    Errno::EXIST => PutError::Changed { now: self.place.version_now() },
                    other => other.into(),
                })?;
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Gives it the name of the file that is there, when that has the version `expected`.
    pub(super) fn take_over(&mut self, expected: &str) -> Result<(), PutError> {
        let (dir, name) = (&self.place.dir, &self.place.name);
        match self.exchange() {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(PutError::Changed { now: None }),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::renameat(dir, &self.name, dir, name)?;
                self.named = false;
                return Ok(());
            }
            Err(errno) => return Err(errno.into()),
        }
        // The temporary name now stands for what had the file's name before.
        let before = self.place.look_at(&self.name);
        if matches!(&before, Ok(Some(There::File { version, .. })) if version == expected) {
            return Ok(());
        }
        self.exchange()?;
        let now = self.place.look_at(&self.name);
        let own = match &now {
            Ok(Some(There::File { file, .. })) => same(file, &self.file)?,
            _ => false,
        };
        if !own {
            // Somebody replaced the new content within that moment: theirs is the newest, and stays.
            self.exchange()?;
        }
        Err(PutError::Changed { now: self.place.version_now() })
    }

    fn exchange(&self) -> Result<(), Errno> {
        let dir = &self.place.dir;
        rustix::fs::renameat_with(dir, &self.name, dir, &self.place.name, RenameFlags::EXCHANGE)
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if self.named
            && let Err(error) = rustix::fs::unlinkat(&self.place.dir, &self.name, AtFlags::empty())
        {
            tracing::warn!(%error, "a temporary file could not be removed");
        }
    }
}

/// Removes what a crash left under this name.
fn clear(place: &Place, name: &OsStr) {
    let Ok(stat) = rustix::fs::statat(&place.dir, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
    let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_ctime).unwrap_or_default());
    let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    // A clock that was set back makes it young, which only keeps it.
    if regular && changed.elapsed().is_ok_and(|age| age > STALE) {
        let _ = rustix::fs::unlinkat(&place.dir, name, AtFlags::empty());
    }
}

fn same(one: &File, other: &File) -> io::Result<bool> {
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}
