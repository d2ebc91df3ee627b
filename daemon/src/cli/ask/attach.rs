//! `--attach path[:a-b]`: a file, with a range of its lines.

use super::super::connect::CommandError;
use plimsoll_protocol::editor::LineRange;
use plimsoll_protocol::turn::Attachment;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The attachments that the arguments mean. Each file must be there: a slip is said before anything is asked.
pub fn attachments(given: &[OsString]) -> Result<Vec<Attachment>, CommandError> {
    given.iter().map(|given| attachment(given)).collect()
}

/// A name that exists as it stands is a path, whatever it ends in.
fn attachment(given: &OsStr) -> Result<Attachment, CommandError> {
    if let Some(path) = file(Path::new(given)) {
        return Ok(Attachment::File { path, lines: None });
    }
    let split = given.as_bytes().iter().rposition(|byte| *byte == b':').and_then(|at| {
        let (path, range) = given.as_bytes().split_at(at);
        Some((PathBuf::from(OsStr::from_bytes(path)), range_of(std::str::from_utf8(range.get(1..)?).ok()?)?))
    });
    if let Some((path, lines)) = split
        && let Some(path) = file(&path)
    {
        return Ok(Attachment::File { path, lines: Some(lines) });
    }
    Err(CommandError::Argument {
        message: format!("there is no file {} to attach", Path::new(given).display()),
        hint: "write a path, or a path with lines such as src/main.rs:10-20".to_owned(),
    })
}

/// The absolute path of a file that is there, in text form.
fn file(path: &Path) -> Option<String> {
    let absolute = std::path::absolute(path).ok()?;
    absolute.is_file().then(|| crate::rpc::path_to_wire(&absolute))
}

/// `a-b`, or `a` alone.
fn range_of(text: &str) -> Option<LineRange> {
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    let (start, end) = (start.parse().ok()?, end.parse().ok()?);
    (start > 0 && start <= end).then_some(LineRange { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_have_lines_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("a.rs");
        let odd = folder.path().join("b:1-2");
        std::fs::write(&plain, "x").unwrap();
        std::fs::write(&odd, "x").unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let check = |given: String, path: &Path, lines: Option<(u64, u64)>| {
            let lines = lines.map(|(start, end)| LineRange { start, end });
            let found = attachments(&[given.into()]).unwrap();
            assert_eq!(found, [Attachment::File { path: text(path), lines }]);
        };
        check(text(&plain), &plain, None);
        check(text(&plain) + ":3-7", &plain, Some((3, 7)));
        check(text(&plain) + ":3", &plain, Some((3, 3)));
        check(text(&odd), &odd, None);
        for wrong in ["", ":7-3", ":0-1", ":x", "x"] {
            let given = if wrong.is_empty() { "no/such/file".to_owned() } else { text(&plain) + wrong };
            assert!(attachments(&[given.into()]).is_err(), "{wrong}");
        }
    }
}
