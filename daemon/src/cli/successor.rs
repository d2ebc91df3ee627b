//! Which build comes after the one that runs. A daemon that makes room for a newer build writes down where that is; whoever
//! then starts a daemon, of whatever build, starts that one while it is there. So builds that are used side by side hand
//! over once, and upwards.

use super::build::{self, Executable};
use crate::config::Folders;
use plimsoll_protocol::hello::Binary;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Longest record; what is longer is not one of ours.
const RECORD_MAX: u64 = 64 * 1024;

fn record_file(folders: &Folders) -> PathBuf {
    folders.data.join("successor.json")
}

/// Writes down a build that this one makes room for, unless a newer one stands there. The file is never half written.
pub fn record(folders: &Folders, binary: &Binary) -> io::Result<()> {
    if recorded(folders).is_some_and(|known| known.is_newer_than(binary) && usable(&known).is_some()) {
        return Ok(());
    }
    let mut file = tempfile::NamedTempFile::new_in(&folders.data)?;
    file.write_all(&serde_json::to_vec(binary).map_err(io::Error::other)?)?;
    file.as_file().sync_all()?;
    file.persist(record_file(folders)).map_err(|error| error.error)?;
    Ok(())
}

/// The path of the build that is to be started in the place of this one; none where this one is.
pub fn chosen(folders: &Folders) -> Option<PathBuf> {
    chosen_over(folders, &build::binary()?)
}

fn chosen_over(folders: &Folders, own: &Binary) -> Option<PathBuf> {
    let recorded = recorded(folders)?;
    if !recorded.is_newer_than(own) || recorded.path == own.path {
        return None;
    }
    usable(&recorded)
}

fn recorded(folders: &Folders) -> Option<Binary> {
    let mut text = String::new();
    File::open(record_file(folders)).ok()?.take(RECORD_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The file of a recorded build, if it is still there: a program, which nobody but this user and the system's can have
/// written, and none that is older than what was recorded.
fn usable(binary: &Binary) -> Option<PathBuf> {
    let path = Path::new(binary.path.as_deref()?);
    let metadata = fs::metadata(path).ok()?;
    let owned = metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw();
    let program = metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
    let now = Executable::at(path)?.modified();
    (path.is_absolute() && owned && program && now >= binary.modified).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::folders;

    /// An executable of this age, in milliseconds.
    fn program(folder: &Path, name: &str, modified: u64) -> Binary {
        let path = folder.join(name);
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(modified);
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        Binary {
            version: "1.0.0".into(),
            modified: modified.cast_signed(),
            path: Some(path.to_str().unwrap().to_owned()),
        }
    }

    #[test]
    fn the_newest_recorded_build_is_started_while_it_is_there() {
        let (root, folders) = folders();
        let [old, new, newest] = [1_000, 2_000, 3_000].map(|at| program(root.path(), &format!("p{at}"), at));
        assert_eq!(chosen_over(&folders, &old), None);
        record(&folders, &newest).unwrap();
        record(&folders, &new).unwrap();
        let path = |binary: &Binary| binary.path.clone().map(PathBuf::from);
        assert_eq!(chosen_over(&folders, &old), path(&newest));
        assert_eq!(chosen_over(&folders, &newest), None);
        fs::remove_file(path(&newest).unwrap()).unwrap();
        assert_eq!(chosen_over(&folders, &old), None);
        record(&folders, &new).unwrap();
        assert_eq!(chosen_over(&folders, &old), path(&new));
    }

    #[test]
    fn what_is_no_program_any_more_or_an_older_one_is_not_started() {
        let (root, folders) = folders();
        let old = program(root.path(), "old", 1_000);
        let new = program(root.path(), "new", 2_000);
        record(&folders, &new).unwrap();
        assert!(chosen_over(&folders, &old).is_some());
        program(root.path(), "new", 1_500);
        assert_eq!(chosen_over(&folders, &old), None);
        program(root.path(), "new", 2_500);
        assert!(chosen_over(&folders, &old).is_some());
        fs::set_permissions(root.path().join("new"), fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(chosen_over(&folders, &old), None);
        fs::write(record_file(&folders), "{\"version\":").unwrap();
        assert_eq!(chosen_over(&folders, &old), None);
    }
}
