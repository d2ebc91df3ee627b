//! A text file of another program: looked at, shown with its difference, replaced as a whole or not at all.

use super::super::connect::CommandError;
use super::super::out::{self, Style};
use plimsoll_core::edit::{Utf8, whole};
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Longest file that is looked at; what is longer is none that a person or a program of this kind wrote.
const FILE_MAX: u64 = 1024 * 1024;
/// The mode of a new file.
const MODE: u32 = 0o644;

/// What stands in a file; none where it is not.
pub fn read(path: &Path) -> Result<Option<String>, CommandError> {
    let unusable = |message: String, hint: &str| CommandError::Argument { message, hint: hint.to_owned() };
    let shown = path.display();
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(unusable(format!("{shown} cannot be looked at: {error}"), "see that its folders can be read"));
        }
        Ok(metadata) if !metadata.is_file() => {
            return Err(unusable(format!("{shown} is not a file"), "move it away, then try again"));
        }
        Ok(metadata) if metadata.len() > FILE_MAX => {
            return Err(unusable(format!("{shown} is longer than {FILE_MAX} bytes"), "move it away, then try again"));
        }
        Ok(_) => {}
    }
    let bytes = fs::read(path)
        .map_err(|error| unusable(format!("{shown} cannot be read: {error}"), "see that you may read it"))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(unusable(format!("{shown} is not text"), "move it away, then try again")),
    }
}

/// The difference for people; the whole text where nothing was.
pub fn difference(before: Option<&str>, after: &str, style: Style) -> String {
    let diff = whole(before.map(str::as_bytes), after.as_bytes(), &Utf8).diff;
    let mut shown = String::new();
    for line in diff.text.lines() {
        let line = out::harmless(line, true);
        let painted = match line.as_bytes().first() {
            Some(b'+') => style.added(&line),
            Some(b'-') => style.removed(&line),
            Some(b'@') => style.dim(&line),
            _ => line,
        };
        let _ = writeln!(shown, "  {painted}");
    }
    shown
}

/// Puts a text in the place of what stands in a file, with its folders. What was there is kept beside it; its path is given.
pub fn replace(path: &Path, before: Option<&str>, after: &str) -> Result<Option<PathBuf>, CommandError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let failed = |error: io::Error| CommandError::Argument {
        message: format!("{} cannot be written: {error}", path.display()),
        hint: format!("make {} writable, or write it yourself with what --print prints", folder.display()),
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let kept = match before {
        Some(before) if !before.is_empty() && before != after => {
            let kept = beside(path);
            put(&kept, before).map_err(failed)?;
            Some(kept)
        }
        Some(_) | None => None,
    };
    put(path, after).map_err(failed)?;
    Ok(kept)
}

/// Takes a file away; one that is gone is.
pub fn remove(path: &Path) -> Result<(), CommandError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CommandError::Argument {
            message: format!("{} cannot be removed: {error}", path.display()),
            hint: "see that its folder is writable".to_owned(),
        }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Where what was there is kept: a name that nothing has.
fn beside(path: &Path) -> PathBuf {
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { ".before".to_owned() } else { format!(".before-{number}") });
        PathBuf::from(name)
    };
    (0..u32::MAX).map(named).find(|kept| fs::symlink_metadata(kept).is_err()).unwrap_or_else(|| named(0))
}

/// Writes a file as a whole: whoever reads it sees the old or the new one. A link leads to the file that is replaced.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mode = fs::metadata(&path).map_or(MODE, |metadata| metadata.permissions().mode() & 0o777);
    // A file that its owner closed to writing was meant to stay as it is.
    if mode & 0o200 == 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_what_was_there_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/unit");
        assert_eq!(read(&path).unwrap(), None);
        assert_eq!(replace(&path, None, "one\n").unwrap(), None);
        assert_eq!(read(&path).unwrap().as_deref(), Some("one\n"));
        let kept = replace(&path, Some("one\n"), "two\n").unwrap().unwrap();
        assert_eq!(fs::read_to_string(&kept).unwrap(), "one\n");
        let other = replace(&path, Some("two\n"), "three\n").unwrap().unwrap();
        assert_ne!(other, kept);
        assert_eq!(replace(&path, Some("three\n"), "three\n").unwrap(), None);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(read(&path).unwrap(), None);
    }

    #[test]
    fn a_link_stays_one_and_its_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "one\n").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, Some("one\n"), "two\n").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
    }

    #[test]
    fn what_is_no_text_file_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("unit");
        fs::write(&path, b"\xff\xfe").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("is not text"));
        assert!(read(folder.path()).unwrap_err().to_string().contains("is not a file"));
        fs::write(&path, "one\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        let error = replace(&path, None, "two\n").unwrap_err();
        assert!(error.to_string().contains("cannot be written"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    }

    #[test]
    fn the_difference_shows_what_goes_and_what_comes() {
        let shown = difference(Some("a\nb\n"), "a\nc\n", Style::PLAIN);
        assert!(shown.contains("  -b\n  +c\n"), "{shown}");
        assert!(difference(None, "a\n", Style::PLAIN).contains("  +a\n"));
    }
}
