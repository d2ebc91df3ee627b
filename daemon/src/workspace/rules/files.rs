//! Small text files that are looked at every turn: read once, then only when their place, size or time says that they are
//! others.

use plimsoll_core::ingest::{Source, text};
use plimsoll_core::path::escape;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Bytes read of one file: several times what any budget shows.
const FILE_MAX: u64 = 256 * 1024;

/// Files that are kept in memory; when there are more, all are forgotten and read anew.
const KEPT: usize = 1_000;

/// Entries of a folder that are looked at.
const ENTRIES: usize = 500;

/// A file that changed so short a time ago may change again without its times telling.
const SETTLED: Duration = Duration::from_secs(2);

/// See the module's head. What it does blocks.
#[derive(Debug, Default)]
pub struct Files {
    known: HashMap<PathBuf, (Stamp, Found)>,
}

/// A file that is there.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its canonical path.
    pub real: PathBuf,
    /// Its text, without a byte order mark.
    pub text: Arc<str>,
    /// Whether it was read just now, and not known before.
    pub fresh: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            place: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn is_settled(&self) -> bool {
        let seconds = u64::try_from(self.changed.0).unwrap_or_default();
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        SystemTime::now().duration_since(changed).is_ok_and(|age| age > SETTLED)
    }
}

impl Files {
    /// The regular file at `path`; a link is followed, and where `inside` is given only as long as it stays in that folder.
    /// `inside` is canonical.
    pub fn read(&mut self, path: &Path, inside: Option<&Path>) -> Option<Found> {
        let metadata = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let stamp = Stamp::of(&metadata);
        if let Some((known, found)) = self.known.get(path)
            && *known == stamp
            && inside.is_none_or(|folder| found.real.starts_with(folder))
        {
            return Some(found.clone());
        }
        let real = path.canonicalize().ok()?;
        if inside.is_some_and(|folder| !real.starts_with(folder)) {
            tracing::debug!("a file with instructions that lies outside its root is not read");
            return None;
        }
        let text = content(&real)?;
        let found = Found { real, text: text.into(), fresh: false };
        if self.known.len() >= KEPT {
            self.known.clear();
        }
        if stamp.is_settled() {
            self.known.insert(path.to_owned(), (stamp, found.clone()));
        } else {
            self.known.remove(path);
        }
        Some(Found { fresh: true, ..found })
    }
}

fn content(real: &Path) -> Option<String> {
    // Not waiting for a pipe's writer; what was a file a moment ago may be one no more.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(i32::try_from(flags.bits()).ok()?).open(real).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > FILE_MAX {
        // Whole lines only.
        let end = bytes.iter().take(FILE_MAX as usize).rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(end);
        let name = real.file_name().map(|name| escape(name.as_bytes())).unwrap_or_default();
        let notice = format!("[the file is longer; what follows is not shown: read_file {name}]\n");
        bytes.extend_from_slice(notice.as_bytes());
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    Some(text(Source::File, bytes))
}

/// Names of a folder's entries, sorted; none when there is no such folder.
pub fn names(folder: &Path) -> Vec<OsString> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<OsString> = entries.flatten().take(ENTRIES).map(|entry| entry.file_name()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aged(path: &Path, content: &str, seconds: u64) {
        std::fs::write(path, content).unwrap();
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn a_file_that_changed_is_read_again_also_when_its_size_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("a.md");
        let mut files = Files::default();
        for content in ["one", "two", "six"] {
            aged(&path, content, 60);
            assert_eq!(&*files.read(&path, None).unwrap().text, content);
        }
        std::fs::remove_file(&path).unwrap();
        assert!(files.read(&path, None).is_none());
    }

    #[test]
    fn what_is_known_is_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("a.md");
        std::fs::write(&path, "one").unwrap();
        let mut files = Files::default();
        let found = files.read(&path, None).unwrap();
        assert!(found.fresh);
        // As if it had been there for long.
        let stamp = Stamp::of(&std::fs::metadata(&path).unwrap());
        files.known.insert(path.clone(), (stamp, Found { text: "kept".into(), fresh: false, ..found }));
        let again = files.read(&path, None).unwrap();
        assert_eq!((&*again.text, again.fresh), ("kept", false));
        assert!(files.read(&path, Some(Path::new("/elsewhere"))).is_none());
    }
}
