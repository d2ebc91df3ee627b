//! A session's plan file: where it is, and what it says. The model writes it with the tools that change files, in plan
//! mode only; here it is read, to be shown to the user.

use plimsoll_core::ingest::{Source, text};
use plimsoll_core::path::escape;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Longest plan that is handed in, in bytes: more than anybody reads before they answer.
const LONGEST: u64 = 256 * 1024;

/// Whether there is a plan.
pub(super) fn exists(file: &Path) -> bool {
    std::fs::symlink_metadata(file).is_ok_and(|found| found.is_file())
}

/// The plan, none where there is no file. The error is for the model. Blocking.
pub(super) fn read(file: &Path) -> Result<Option<String>, String> {
    let shown = || escape(file.as_os_str().as_bytes());
    let problem = |error: &std::io::Error| format!("The plan file {} could not be read: {error}.", shown());
    match std::fs::symlink_metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(problem(&error)),
        Ok(found) if !found.is_file() => return Err(format!("{} is no file.", shown())),
        Ok(found) if found.len() > LONGEST => {
            return Err(format!(
                "The plan in {} has {} bytes; at most {LONGEST} are handed in. Make it shorter.",
                shown(),
                found.len()
            ));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(|error| problem(&error))?;
    opened.take(LONGEST).read_to_end(&mut bytes).map_err(|error| problem(&error))?;
    Ok(Some(text(Source::File, &bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plan.md");
        assert_eq!((exists(&file), read(&file)), (false, Ok(None)));
        std::fs::write(&file, "1. Look\0\n").unwrap();
        assert_eq!((exists(&file), read(&file)), (true, Ok(Some("1. Look\n".to_owned()))));
        std::fs::write(&file, vec![b'x'; 256 * 1024 + 1]).unwrap();
        assert!(read(&file).unwrap_err().contains("Make it shorter"));
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(folder.path(), &file).unwrap();
        assert!(!exists(&file) && read(&file).unwrap_err().contains("is no file"));
    }
}
