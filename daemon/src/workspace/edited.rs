//! Which of the files that the model knows were changed since by somebody else.
//!
//! A look costs one `stat` per file. Only what does not look as it did the last time is read, in bounded time. The
//! contents of small files are kept, so that a later change can be shown as a difference.

use plimsoll_core::edit::{Utf8, diff};
use plimsoll_core::path;
use plimsoll_core::workspace::{FileVersion, UserEdit};
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Larger files are not read: that they changed is seen by the next tool that opens them.
const READ_LIMIT: u64 = 16 * 1024 * 1024;

/// Larger contents are not kept for a difference.
const KEPT_LIMIT: usize = 32 * 1024;

/// A longer difference is left out: the file is named, and can be read.
const DIFF_LINES: usize = 40;

/// Files of which a look is remembered; beyond, what is not asked about is forgotten.
const REMEMBERED: usize = 1_000;

/// What is remembered of looks.
#[derive(Debug, Default)]
pub struct Looks {
    files: HashMap<PathBuf, Look>,
}

#[derive(Debug, Clone)]
struct Look {
    mark: Mark,
    version: FileVersion,
    /// The last content that the model knew.
    known: Option<(FileVersion, Arc<[u8]>)>,
}

/// What a file looks like from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    size: u64,
    inode: u64,
    changed: (i64, i64),
    modified: (i64, i64),
}

impl Looks {
    /// The files, given by canonical path in text form with the version that the model knows, that have another version
    /// now or are gone, in that order. Until `deadline`: what is not looked at by then is looked at the next time.
    /// `kept` gives the content of a version where it is kept otherwise.
    pub fn edited(
        &mut self,
        known: &[(String, FileVersion)],
        deadline: Instant,
        kept: impl Fn(FileVersion) -> Option<Vec<u8>>,
    ) -> Vec<UserEdit> {
        let mut edits = Vec::new();
        let mut asked = Vec::with_capacity(known.len());
        for (text, version) in known {
            let file = PathBuf::from(OsString::from_vec(path::unescape(text)));
            let before = self.files.remove(&file);
            let (edit, look) = look(text, &file, *version, before, deadline, &kept);
            edits.extend(edit);
            asked.extend(look.map(|look| (file, look)));
        }
        if self.files.len() + asked.len() > REMEMBERED {
            self.files.clear();
        }
        self.files.extend(asked);
        edits
    }
}

fn look(
    text: &str,
    file: &Path,
    known: FileVersion,
    before: Option<Look>,
    deadline: Instant,
    kept: &impl Fn(FileVersion) -> Option<Vec<u8>>,
) -> (Option<UserEdit>, Option<Look>) {
    let mark = match std::fs::symlink_metadata(file) {
        Ok(metadata) if metadata.is_file() => Mark::of(&metadata),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let gone = UserEdit { path: text.to_owned(), version: None, diff: None };
            return (Some(gone), before);
        }
        // What cannot be looked at, or is no file, is not known to have changed.
        Ok(_) | Err(_) => return (None, before),
    };
    let kept_before = before.as_ref().and_then(|look| look.known.clone());
    let mut content = None;
    let version = match &before {
        Some(look) if look.mark == mark => look.version,
        _ if mark.size > READ_LIMIT || Instant::now() >= deadline => return (None, before),
        _ => match std::fs::read(file) {
            Ok(bytes) => {
                let version = FileVersion::of(&bytes);
                content = Some(bytes);
                version
            }
            Err(_) => return (None, before),
        },
    };
    if version == known {
        let fresh = content.filter(|bytes| bytes.len() <= KEPT_LIMIT).map(|bytes| (version, Arc::from(bytes)));
        let known = fresh.or(kept_before.filter(|(of, _)| *of == version));
        return (None, Some(Look { mark, version, known }));
    }
    let old =
        kept_before.as_ref().filter(|(of, _)| *of == known).map(|(_, bytes)| bytes.to_vec()).or_else(|| kept(known));
    let diff = old.and_then(|old| {
        let new = content.or_else(|| std::fs::read(file).ok())?;
        short_diff(&old, &new)
    });
    let edit = UserEdit { path: text.to_owned(), version: Some(version), diff };
    (Some(edit), Some(Look { mark, version, known: kept_before }))
}

/// The difference of two texts, where it is short.
fn short_diff(old: &[u8], new: &[u8]) -> Option<String> {
    if old.len().max(new.len()) > KEPT_LIMIT || [old, new].iter().any(|bytes| std::str::from_utf8(bytes).is_err()) {
        return None;
    }
    let diff = diff::whole(Some(old), new, &Utf8).diff;
    (diff.cut == 0 && diff.text.lines().count() <= DIFF_LINES).then_some(diff.text)
}

impl Mark {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            size: metadata.len(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Files {
        _dir: tempfile::TempDir,
        path: PathBuf,
        looks: Looks,
    }

    impl Files {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            Self { path: dir.path().canonicalize().unwrap(), _dir: dir, looks: Looks::default() }
        }

        fn write(&self, name: &str, text: &str) -> (String, FileVersion) {
            let file = self.path.join(name);
            std::fs::write(&file, text).unwrap();
            (file.to_str().unwrap().to_owned(), FileVersion::of(text.as_bytes()))
        }

        fn edited(&mut self, known: &[(String, FileVersion)]) -> Vec<UserEdit> {
            self.looks.edited(known, Instant::now() + Duration::from_mins(1), |_| None)
        }
    }

    #[test]
    fn a_file_that_is_as_it_is_known_is_no_news_and_another_version_is() {
        let mut files = Files::new();
        let known = [files.write("a", "one\n"), files.write("b", "same\n")];
        assert_eq!(files.edited(&known), []);
        let (path, version) = files.write("a", "two\n");
        let edit = UserEdit { path, version: Some(version), diff: Some("@@ -1,1 +1,1 @@\n-one\n+two\n".into()) };
        assert_eq!(files.edited(&known), std::slice::from_ref(&edit));
        assert_eq!(files.edited(&known), [edit], "whoever tells it remembers that it was told");
        files.write("a", "one\n");
        assert_eq!(files.edited(&known), []);
        std::fs::remove_file(files.path.join("b")).unwrap();
        assert_eq!(files.edited(&known), [UserEdit { path: known[1].0.clone(), version: None, diff: None }]);
    }

    #[test]
    fn without_the_old_content_or_with_a_long_difference_the_path_stands_alone() {
        let mut files = Files::new();
        let old = FileVersion::of(b"old\n");
        let (path, version) = files.write("a", "new\n");
        let alone = UserEdit { path: path.clone(), version: Some(version), diff: None };
        assert_eq!(files.edited(&[(path.clone(), old)]), [alone]);
        let later = Instant::now() + Duration::from_mins(1);
        let told = Looks::default().edited(&[(path.clone(), old)], later, |of| (of == old).then(|| b"old\n".to_vec()));
        assert_eq!(told[0].diff.as_deref(), Some("@@ -1,1 +1,1 @@\n-old\n+new\n"));
        let long: String = (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let told = Looks::default().edited(&[(path, old)], later, |_| Some(long.clone().into_bytes()));
        assert_eq!(told[0].diff, None);
    }

    #[test]
    fn what_the_time_does_not_suffice_for_waits() {
        let mut files = Files::new();
        let (path, _) = files.write("a", "new\n");
        let known = [(path, FileVersion::of(b"old\n"))];
        assert_eq!(files.looks.edited(&known, Instant::now(), |_| None), []);
        assert_eq!(files.edited(&known).len(), 1);
    }
}
