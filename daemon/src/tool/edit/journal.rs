//! What is needed to take back a change of several files, or to finish it, when the daemon dies in the middle.
//!
//! A folder in the session's, for one call: the new contents by their versions, and a sheet that says which folders will be
//! made. The contents before are kept as pre-images; what is to become of which file stands in the operation's record,
//! which is committed before. The sheet comes last and goes first: while it is there, and only then, the change may have
//! begun and not ended. Whoever works on the files holds its lock, so that nobody takes back what is still being written.

use super::FilePlan;
use crate::file_io::pre_image::PreImages;
use plimsoll_core::id::CallId;
use plimsoll_core::path::{escape, unescape};
use plimsoll_core::workspace::FileVersion;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The folder of journals in a session's folder.
const JOURNAL: &str = "journal";

/// The name of the sheet.
const SHEET: &str = "sheet.json";

/// See the module's head.
pub(super) struct Journal {
    folder: PathBuf,
    sheet: Sheet,
    /// Open for its lock.
    _held: File,
}

#[derive(Debug, Serialize, Deserialize)]
struct Sheet {
    /// Folders that the change makes, in text form; one above stands before those in it.
    folders: Vec<String>,
}

fn folder(session_dir: &Path, call: CallId) -> PathBuf {
    session_dir.join(JOURNAL).join(call.to_string())
}

/// Whether a change needs a journal: it can be cut so that a part of it is done.
pub(super) fn needed(files: &[FilePlan]) -> bool {
    let mut changing = files.iter().filter(|file| file.changes());
    let Some(first) = changing.next() else { return false };
    changing.next().is_some() || has_more_names(&first.place.path) || !missing(files).is_empty()
}

/// Whether a file has several names, and is therefore written in place.
pub(super) fn has_more_names(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1)
}

/// Folders that must be made for the files that come to be.
fn missing(files: &[FilePlan]) -> Vec<&Path> {
    let mut folders: Vec<&Path> = Vec::new();
    for file in files.iter().filter(|file| file.before.is_none() && file.changes()) {
        let above = file.place.path.ancestors().skip(1).take_while(|folder| fs::symlink_metadata(folder).is_err());
        let mut above: Vec<&Path> = above.filter(|folder| !folders.contains(folder)).collect();
        above.reverse();
        folders.append(&mut above);
    }
    folders
}

impl Journal {
    /// Makes the journal of a call; when it returns, all of it is on the disk.
    pub(super) fn begin(session_dir: &Path, call: CallId, files: &[FilePlan]) -> io::Result<Self> {
        let folder = folder(session_dir, call);
        Self::make(folder.clone(), files).inspect_err(|_| discard(&folder))
    }

    fn make(folder: PathBuf, files: &[FilePlan]) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let contents = PreImages::new(&folder);
        for file in files.iter().filter(|file| file.changes()) {
            if let (Some(pieces), Some(after)) = (file.pieces(), &file.change.after) {
                contents.keep(after, &pieces.concat())?;
            }
        }
        let text = |path: &&Path| escape(path.as_os_str().as_bytes());
        let sheet = Sheet { folders: missing(files).iter().map(text).collect() };
        let mut held = tempfile::Builder::new().prefix(".new-").tempfile_in(&folder)?;
        held.write_all(&serde_json::to_vec(&sheet)?)?;
        held.as_file().sync_all()?;
        rustix::fs::flock(held.as_file(), FlockOperation::LockExclusive)?;
        let held = held.persist(folder.join(SHEET)).map_err(|error| error.error)?;
        for made in folder.ancestors().take(3) {
            File::open(made)?.sync_all()?;
        }
        Ok(Self { folder, sheet, _held: held })
    }

    /// The journal that a call has left; none when its change had not begun, or has ended. Waits while the change is
    /// still being made.
    pub(super) fn open(session_dir: &Path, call: CallId) -> io::Result<Option<Self>> {
        let folder = folder(session_dir, call);
        let place = folder.join(SHEET);
        let held = match File::open(&place) {
            Ok(held) => held,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Of a change that had not begun, contents may be there.
                discard(&folder);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        rustix::fs::flock(&held, FlockOperation::LockExclusive)?;
        if !place.exists() {
            return Ok(None);
        }
        let sheet = serde_json::from_reader(&held)?;
        Ok(Some(Self { folder, sheet, _held: held }))
    }

    /// The new content with this version.
    pub(super) fn content(&self, version: &str) -> io::Result<Vec<u8>> {
        whole(&PreImages::new(&self.folder), version)
    }

    /// Removes the folders that the change made, as far as nothing is in them.
    pub(super) fn remove_folders(&self) {
        for folder in self.sheet.folders.iter().rev() {
            let folder = PathBuf::from(OsString::from_vec(unescape(folder)));
            if fs::remove_dir(&folder).is_ok()
                && let Some(above) = folder.parent()
            {
                let _ = File::open(above).and_then(|above| above.sync_all());
            }
        }
    }

    /// The change has ended, one way or the other.
    pub(super) fn end(self) {
        let gone = fs::remove_file(self.folder.join(SHEET)).and_then(|()| File::open(&self.folder)?.sync_all());
        if let Err(error) = gone {
            tracing::warn!(%error, folder = %self.folder.display(), "the journal of a change cannot be removed");
        }
        discard(&self.folder);
    }
}

/// Removes a folder without a sheet, and the one above when it was the last.
fn discard(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    if let Some(above) = folder.parent() {
        // Not while other journals are in it.
        let _ = fs::remove_dir(above);
    }
}

/// The content of a version, when it is still what it was.
pub(super) fn whole(images: &PreImages, version: &str) -> io::Result<Vec<u8>> {
    let content = images.read(version)?;
    if FileVersion::of(&content).to_string() == version {
        return Ok(content);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "a content that was kept is damaged"))
}
