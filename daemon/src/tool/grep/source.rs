//! Which version of a file has the lines that a search found: lines that the model was shown may be edited without
//! another look.
//!
//! The file is read once more and compared, so that version and lines are of one moment. Only the first files of a
//! result are: a page shows no more of them, and the cost stays the same however much was searched.

use crate::file_io::{Ask, read_text};
use plimsoll_core::path::escape;
use plimsoll_core::tool::outcome::{FileMatches, MatchLine, MatchSource};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Files of a result that are looked at: about as many as its first page has lines.
const MOST_FILES: usize = 40;

/// Bytes that are read for it in all.
const MOST_BYTES: u64 = 2 * 1024 * 1024;

/// Notes the versions of the first files; `paths` are theirs.
pub(super) fn note(files: &mut [FileMatches], paths: &[PathBuf], stop: &dyn Fn() -> bool) {
    let mut left = MOST_BYTES;
    for (file, path) in files.iter_mut().zip(paths).take(MOST_FILES) {
        let size = std::fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
        if file.lines.is_empty() || size > left {
            continue;
        }
        left -= size;
        file.source = of(path, &file.lines, stop);
    }
}

fn of(path: &Path, lines: &[MatchLine], stop: &dyn Fn() -> bool) -> Option<MatchSource> {
    let text = read_text(path, Ask::Whole, stop).ok()?;
    let at = |line: u64| text.page.lines.get(usize::try_from(line.checked_sub(1)?).ok()?);
    let same = |line: &MatchLine| line.cut.is_some() || at(line.line) == Some(&line.text);
    // The lines of such a file are counted in another way, or are not what its bytes say.
    let plain = !text.lossy && text.eol != "cr" && text.page.tail.is_none();
    (plain && lines.iter().all(same)).then(|| MatchSource {
        path: escape(path.as_os_str().as_bytes()),
        version: text.version.to_string(),
        total_lines: text.total_lines,
    })
}
