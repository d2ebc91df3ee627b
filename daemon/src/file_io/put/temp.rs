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
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How old a temporary file must be to count as left by a crash: no write takes that long.
pub(super) const STALE: Duration = Duration::from_mins(10);

/// How the names of temporary files begin.
pub(super) const PREFIX: &str = ".plimsoll-";

/// How often names are exchanged back while others replace the file at the same moment.
const MOST_TURNS: usize = 64;

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
    /// An empty one in the folder of `place`, with at most these permission bits. Where it is not `named`, it has the same
    /// name at each write of the same file, so that what a crash left is found; another name when that one is taken.
    pub(super) fn new(place: &'a Place, named: Option<&OsStr>, mode: Mode) -> Result<Self, Errno> {
        let usual = named.map_or_else(|| usual_name(place), OsStr::to_owned);
        if named.is_none() {
            clear(place, &usual, SystemTime::now());
        }
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
        let mut aside = self.place.look_at(&self.name);
        if matches!(&aside, Ok(Some(There::File { version, .. })) if version == expected) {
            return Ok(());
        }
        // It gets its name back. When somebody has meanwhile replaced what was put there, theirs is the newest, and the
        // next to get it. Files are held open, so that their numbers stay theirs.
        let own = self.file.metadata()?;
        let mut put = Some((own.dev(), own.ino()));
        let mut held = Vec::new();
        for _ in 0..MOST_TURNS {
            let back = self.number(&self.name);
            self.exchange()?;
            let came = self.number(&self.name);
            if came.is_none() || came == put {
                return Err(PutError::Changed { now: self.place.version_now() });
            }
            held.push(std::mem::replace(&mut aside, self.place.look_at(&self.name)));
            put = back;
        }
        self.named = false;
        Err(PutError::Aside(self.name.to_string_lossy().into_owned()))
    }

    /// By what a name's file is known, whatever it is.
    fn number(&self, name: &OsStr) -> Option<(u64, u64)> {
        let stat = rustix::fs::statat(&self.place.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some((stat.st_dev as _, stat.st_ino as _))
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
pub(super) fn clear(place: &Place, name: &OsStr, now: SystemTime) {
    let Ok(stat) = rustix::fs::statat(&place.dir, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
    let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_ctime).unwrap_or_default());
    let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    // A clock that was set back makes it young, which only keeps it.
    if regular && now.duration_since(changed).is_ok_and(|age| age > STALE) {
        let _ = rustix::fs::unlinkat(&place.dir, name, AtFlags::empty());
    }
}

/// The name that the temporary file of a place usually has.
pub(super) fn usual_name(place: &Place) -> OsString {
    format!("{PREFIX}{}", FileVersion::of(place.name.as_bytes())).into()
}
