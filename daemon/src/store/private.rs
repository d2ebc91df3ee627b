//! Files and folders that only their owner may read: folders 0700, files 0600, whatever the umask, at no moment wider.
//! Also tells local file systems from those on which a database is not safe.

use super::StoreError;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;

/// Makes the folder with its parents; one that exists is tightened.
pub(super) fn folder(path: &Path) -> Result<(), StoreError> {
    let made = DirBuilder::new().recursive(true).mode(FOLDER).create(path);
    made.map_err(|source| StoreError::io("cannot make the folder", path, source))?;
    set_mode(path, FOLDER)
}

/// Creates the file, or empties it. One that exists is tightened before anything is written.
pub(super) fn create(path: &Path) -> Result<File, StoreError> {
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE).open(path);
    let file = opened.map_err(|source| StoreError::io("cannot create", path, source))?;
    set_mode(path, FILE)?;
    Ok(file)
}

/// Tightens a file that exists.
pub(super) fn tighten(path: &Path) -> Result<(), StoreError> {
    set_mode(path, FILE)
}

/// Writes a file as a whole: under another name first, renamed when complete. With `sync`, on disk when this returns.
pub(super) fn replace(path: &Path, bytes: &[u8], sync: bool) -> Result<(), StoreError> {
    let fresh = beside(path, ".new");
    let io = |source| StoreError::io("cannot write", path, source);
    let mut file = create(&fresh)?;
    file.write_all(bytes).map_err(io)?;
    if sync {
        file.sync_all().map_err(io)?;
    }
    drop(file);
    std::fs::rename(&fresh, path).map_err(io)?;
    if sync { sync_parent(path) } else { Ok(()) }
}

/// Copies a file byte for byte to a private one, on disk when this returns.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let io = |source| StoreError::io("cannot copy", from, source);
    let mut source = File::open(from).map_err(io)?;
    let mut target = create(to)?;
    std::io::copy(&mut source, &mut target).map_err(io)?;
    target.sync_all().map_err(io)
}

/// Makes a rename or a new name in the file's folder last.
pub(super) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|source| StoreError::io("cannot sync", folder, source))
}

/// Removes a file or a whole folder; one that is not there is no error.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::io("cannot remove", path, source))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// `path` with `suffix` at the end of its name.
pub(super) fn beside(path: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Refuses a folder on a file system where SQLite's locks or syncs cannot be trusted.
pub(super) fn refuse_network(path: &Path) -> Result<(), StoreError> {
    #[cfg(target_os = "linux")]
    {
        let stat = rustix::fs::statfs(path)
            .map_err(|source| StoreError::io("cannot find the file system of", path, source.into()))?;
        if let Some(kind) = network_kind(stat.f_type as u64) {
            return Err(StoreError::NetworkFs { path: path.to_owned(), kind });
        }
    }
    Ok(())
}

/// The name of a network or user-space file system by its magic number, as in Linux's `statfs(2)`.
#[cfg(target_os = "linux")]
fn network_kind(magic: u64) -> Option<&'static str> {
    match magic & 0xFFFF_FFFF {
        0x6969 => Some("NFS"),
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => Some("SMB/CIFS"),
        0x0102_1997 => Some("9P"),
        0x6573_5546 => Some("FUSE"),
        0x00C3_6400 => Some("Ceph"),
        0x5346_414F | 0x6B41_4653 => Some("AFS"),
        0x7375_7245 => Some("Coda"),
        0x0BD0_0BD0 => Some("Lustre"),
        0x0116_1970 => Some("GFS2"),
        0x564C => Some("NCP"),
        _ => None,
    }
}

fn set_mode(path: &Path, mode: u32) -> Result<(), StoreError> {
    let io = |source| StoreError::io("cannot set the permissions of", path, source);
    let now = std::fs::metadata(path).map_err(io)?.permissions().mode() & 0o7777;
    if now == mode {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode)).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_files_and_folders_are_tightened() {
        let temp = tempfile::tempdir().unwrap();
        let folder_path = temp.path().join("a/b");
        std::fs::create_dir_all(&folder_path).unwrap();
        std::fs::set_permissions(&folder_path, Permissions::from_mode(0o755)).unwrap();
        folder(&folder_path).unwrap();
        let file_path = folder_path.join("f");
        std::fs::write(&file_path, "old").unwrap();
        std::fs::set_permissions(&file_path, Permissions::from_mode(0o644)).unwrap();
        replace(&file_path, b"new", true).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&folder_path), mode(&file_path)), (0o700, 0o600));
        assert_eq!(std::fs::read(&file_path).unwrap(), b"new");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn network_file_systems_are_known_by_their_magic() {
        assert_eq!(network_kind(0x6969), Some("NFS"));
        assert_eq!(network_kind(0xFFFF_FFFF_FF53_4D42), Some("SMB/CIFS"));
        assert_eq!(network_kind(0x6573_5546), Some("FUSE"));
        assert_eq!(network_kind(0xEF53), None);
        let temp = tempfile::tempdir().unwrap();
        assert!(refuse_network(temp.path()).is_ok());
    }
}
