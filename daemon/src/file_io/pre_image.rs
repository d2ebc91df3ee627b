//! Contents of files as they were before an edit, by their version, so that the edit can be undone.
//!
//! One folder per project, private. A pre-image is on the disk before the edit's effect begins.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// See the module's head.
#[derive(Debug, Clone)]
pub struct PreImages {
    folder: PathBuf,
}

impl PreImages {
    /// Those in this folder, which is made when the first is kept.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Keeps this content; returns when it is on the disk. `version` is its strong version as it is printed.
    pub fn keep(&self, version: &str, content: &[u8]) -> io::Result<()> {
        let place = self.place(version)?;
        if place.exists() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        // Another call may keep the same content at the same time: each writes its own file, and the last name counts.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.folder)?;
        file.write_all(content)?;
        file.as_file().sync_data()?;
        file.persist(&place).map_err(|error| error.error)?;
        File::open(&self.folder)?.sync_all()
    }

    /// The content with this version; an error of the kind `NotFound` when it was never kept, or no longer is.
    pub fn read(&self, version: &str) -> io::Result<Vec<u8>> {
        fs::read(self.place(version)?)
    }

    /// Whether the content with this version is kept.
    pub fn has(&self, version: &str) -> bool {
        self.place(version).is_ok_and(|place| place.is_file())
    }

    fn place(&self, version: &str) -> io::Result<PathBuf> {
        if version.len() >= 16 && version.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(self.folder.join(version));
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{version}` is not the version of a whole content")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn a_content_is_kept_once_and_privately() {
        let root = tempfile::tempdir().unwrap();
        let images = PreImages::new(root.path().join("pre-images"));
        let version = "0123456789abcdef0123456789abcdef";
        assert_eq!(images.read(version).unwrap_err().kind(), io::ErrorKind::NotFound);
        images.keep(version, b"a\0b").unwrap();
        images.keep(version, b"a\0b").unwrap();
        assert_eq!(images.read(version).unwrap(), b"a\0b");
        assert_eq!(
            (images.has(version), images.has("ffffffffffffffffffffffffffffffff"), images.has("..")),
            (true, false, false)
        );
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&images.folder), mode(&images.folder.join(version))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&images.folder).unwrap().count(), 1);
        assert!(images.keep("../escape", b"").is_err());
        assert!(images.read("w0123456789abcdef0123456789abcdef").is_err());
    }
}
