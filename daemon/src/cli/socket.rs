//! The daemon's socket: made private before anybody can see it under its name, and removed at the end only when it is
//! still the same one. Only the holder of the instance lock calls this.

use super::lock::InstanceLock;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// A bound socket.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// The socket cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Something else stands there.
    #[error("{} is in the way: it is no socket; remove it", .0.display())]
    InTheWay(PathBuf),
    /// The system refuses.
    #[error("the socket {} cannot be made: {source}", path.display())]
    System {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Socket {
    /// Binds and listens at this path, in a private folder. A socket that is left there by a daemon that died is
    /// removed: whoever holds the lock knows that it is dead.
    pub fn bind(path: &Path, _held: &InstanceLock) -> Result<(Self, UnixListener), SocketError> {
        let system = |source| SocketError::System { path: path.to_owned(), source };
        // Bound under another name of the same length and renamed when its mode is right: the mode of a new socket
        // follows the umask, which belongs to the whole process and cannot be changed for one call.
        let unnamed = path.with_extension("new");
        for place in [path, &unnamed] {
            match fs::symlink_metadata(place) {
                Ok(found) if found.file_type().is_socket() => fs::remove_file(place).map_err(system)?,
                Ok(_) => return Err(SocketError::InTheWay(place.to_owned())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(system(error)),
            }
        }
        let listener = UnixListener::bind(&unnamed).map_err(system)?;
        fs::set_permissions(&unnamed, Permissions::from_mode(0o600)).map_err(system)?;
        let made = fs::symlink_metadata(&unnamed).map_err(system)?;
        fs::rename(&unnamed, path).map_err(system)?;
        listener.set_nonblocking(true).map_err(system)?;
        Ok((Self { path: path.to_owned(), device: made.dev(), inode: made.ino() }, listener))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, unless another one stands in its place.
    pub fn remove(self) {
        let ours = |found: &Metadata| (found.dev(), found.ino()) == (self.device, self.inode);
        match fs::symlink_metadata(&self.path) {
            Ok(found) if ours(&found) => {
                if let Err(error) = fs::remove_file(&self.path) {
                    tracing::warn!(socket = %self.path.display(), %error, "the socket cannot be removed");
                }
            }
            Ok(_) => {
                tracing::warn!(socket = %self.path.display(), "another socket stands in our place; it is left there");
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::folders;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_socket_is_private_and_takes_the_place_of_a_dead_one() {
        let (_root, folders) = folders();
        let path = folders.ensure_socket_folder().unwrap();
        let lock = InstanceLock::take(&folders).unwrap().unwrap();
        drop(UnixListener::bind(&path).unwrap());
        drop(UnixListener::bind(path.with_extension("new")).unwrap());
        let (socket, _listener) = Socket::bind(&path, &lock).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        UnixStream::connect(&path).unwrap();
        let names = fs::read_dir(&folders.runtime).unwrap().count();
        assert_eq!((names, socket.path()), (1, path.as_path()));
        socket.remove();
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_socket_is_not_removed() {
        let (_root, folders) = folders();
        let path = folders.ensure_socket_folder().unwrap();
        let lock = InstanceLock::take(&folders).unwrap().unwrap();
        fs::write(&path, "precious").unwrap();
        let error = Socket::bind(&path, &lock).unwrap_err();
        assert!(matches!(&error, SocketError::InTheWay(place) if *place == path), "{error:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn a_socket_of_somebody_else_is_left_at_the_end() {
        let (_root, folders) = folders();
        let path = folders.ensure_socket_folder().unwrap();
        let lock = InstanceLock::take(&folders).unwrap().unwrap();
        let (socket, _listener) = Socket::bind(&path, &lock).unwrap();
        fs::remove_file(&path).unwrap();
        let _other = UnixListener::bind(&path).unwrap();
        socket.remove();
        assert!(path.exists());
    }
}
