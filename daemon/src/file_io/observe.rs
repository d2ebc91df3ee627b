//! What stands at a path now, for whoever compares it with what a call found there or was to make of it. Blocking.

use super::open::{OpenError, open_file};
use super::version::Version;
use plimsoll_core::ledger::{OperationFile, SeenFile};
use plimsoll_core::path::unescape;
use plimsoll_core::workspace::FileVersion;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A regular file with this version and these permission bits. A weak version is never one that the ledger names.
    File(String, u32),
    /// A symbolic link, with the version of the path that it holds.
    Link(String),
    /// Something else, such as a folder; the text says what, as the end of a sentence.
    Special(String),
}

/// The path that a text form stands for.
pub fn native(path: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(path)))
}

/// What stands at a path that was canonical. The error says why that cannot be told, as the end of a sentence.
pub fn look(path: &Path) -> Result<Standing, String> {
    match open_file(path) {
        Ok((file, metadata)) => match Version::of(&file, &metadata) {
            Ok(version) => Ok(Standing::File(version.to_string(), metadata.permissions().mode() & 0o7777)),
            Err(error) => Err(format!("cannot be read: {error}")),
        },
        Err(OpenError::Missing | OpenError::NotDir) => Ok(Standing::Nothing),
        Err(OpenError::Link) => link(path),
        Err(error @ (OpenError::IsDir | OpenError::Special(_))) => Ok(Standing::Special(error.to_string())),
        Err(error) => Err(error.to_string()),
    }
}

/// A link at the path's end is something that stands there; one on the way leads elsewhere.
fn link(path: &Path) -> Result<Standing, String> {
    let real = path.parent().and_then(|parent| parent.canonicalize().ok());
    match std::fs::read_link(path) {
        Ok(target) if real.as_deref() == path.parent() => {
            Ok(Standing::Link(FileVersion::of(target.as_os_str().as_bytes()).to_string()))
        }
        Ok(_) | Err(_) => Err("cannot be reached: a folder on the way to it is a symbolic link now".to_owned()),
    }
}

/// What stands where an operation was to change a file, to be [judged](plimsoll_core::ledger::judge).
///
/// What is of another kind than the operation knew is never taken for what it knew, also where the content is the same: a
/// link in the place of a file, a folder, or a file in the place of a link has a word in its version that no version has.
pub fn observe(file: &OperationFile) -> SeenFile {
    let version = look(&native(&file.path)).map(|standing| match standing {
        Standing::Nothing => None,
        Standing::File(version, _) if file.link => Some(format!("file {version}")),
        Standing::File(version, _) => Some(version),
        Standing::Link(version) if file.link => Some(version),
        Standing::Link(version) => Some(format!("link {version}")),
        Standing::Special(what) => Some(what),
    });
    SeenFile { path: file.path.clone(), version }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::path::escape;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[expect(clippy::unnecessary_wraps, reason = "as the operation has it")]
    fn version(content: &str) -> Option<String> {
        Some(FileVersion::of(content.as_bytes()).to_string())
    }

    #[test]
    fn what_is_of_another_kind_is_never_what_the_operation_knew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a\u{fffd}.txt");
        let text = escape(path.as_os_str().as_bytes());
        let of = |before: &str, after: Option<&str>, link| OperationFile {
            path: text.clone(),
            before: version(before),
            after: after.and_then(version),
            mode: None,
            link,
        };
        let edit = of("old", Some("new"), false);
        let unlink = of("old", None, true);
        let seen = |file: &OperationFile| observe(file).version;
        assert_eq!((seen(&edit), seen(&unlink)), (Ok(None), Ok(None)));
        fs::write(&path, "new").unwrap();
        assert_eq!(seen(&edit), Ok(version("new")));
        assert!(seen(&unlink).unwrap().unwrap().starts_with("file "));
        fs::remove_file(&path).unwrap();
        symlink("new", &path).unwrap();
        assert!(seen(&edit).unwrap().unwrap().starts_with("link "));
        assert_eq!(seen(&unlink), Ok(version("new")));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(
            (seen(&edit), seen(&unlink)),
            (Ok(Some("is a directory".into())), Ok(Some("is a directory".into())))
        );
        let inside = OperationFile { path: format!("{text}/x"), ..edit };
        assert_eq!(seen(&inside), Ok(None));
        fs::remove_dir(&path).unwrap();
        symlink(folder.path(), &path).unwrap();
        assert!(seen(&inside).unwrap_err().contains("symbolic link"));
    }
}
