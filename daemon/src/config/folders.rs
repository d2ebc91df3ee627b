//! Where configuration, data and the socket live, and that nobody else can look into them. The only place that asks
//! `directories`. Used by every process of Plimsoll before anything else; it starts nothing and needs no runtime.

use super::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The managed configuration; nothing overrides it.
const MANAGED_FILE: &str = "/etc/plimsoll/config.toml";

/// Longest path of a socket that every supported system can bind: 104 bytes with the closing zero on macOS, 108 on
/// Linux, and some room.
const SOCKET_PATH_MAX: usize = 100;

/// The folders of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Holds `config.toml`.
    pub config: PathBuf,
    /// Holds databases, logs and the lock.
    pub data: PathBuf,
    /// Holds the socket.
    pub runtime: PathBuf,
    /// The configuration that cannot be overridden.
    pub managed: PathBuf,
}

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system does not say where the user's home is.
    #[error("the user's home folder is not known; set HOME, or {} and {}", env::CONFIG_DIR, env::DATA_DIR)]
    NoHome,
    /// A variable holds a path that cannot be made absolute.
    #[error("{variable}: `{}` is not a usable path; give an absolute one", path.display())]
    BadPath {
        /// The variable.
        variable: &'static str,
        /// Its value.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be made or opened.
    #[error("the folder {} cannot be used: {source}; make it writable, or choose another with {variable}", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The variable that moves it.
        variable: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Another user owns it.
    #[error("the folder {} belongs to user {owner}, not to you; remove it, or choose another with {variable}", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// The variable that moves it.
        variable: &'static str,
        /// The owner's number.
        owner: u32,
    },
}

impl Folders {
    /// The folders of this process: the platform's, replaced by `PLIMSOLL_*_DIR`. Makes nothing. A relative
    /// replacement is taken from the current folder, so only a process that a user started may call this.
    pub fn of_process() -> Result<Self, FolderError> {
        Self::resolve(|name| std::env::var_os(name))
    }

    fn resolve(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, FolderError> {
        let replaced = |name: &'static str| -> Result<Option<PathBuf>, FolderError> {
            let Some(value) = variable(name).filter(|value| !value.is_empty()) else { return Ok(None) };
            let path = PathBuf::from(value);
            match std::path::absolute(&path) {
                Ok(absolute) => Ok(Some(absolute)),
                Err(source) => Err(FolderError::BadPath { variable: name, path, source }),
            }
        };
        let platform = directories::ProjectDirs::from("", "", "plimsoll");
        let of_platform = |path: fn(&directories::ProjectDirs) -> PathBuf| platform.as_ref().map(path);
        let config = replaced(env::CONFIG_DIR)?.or_else(|| of_platform(|dirs| dirs.config_dir().to_owned()));
        let data = replaced(env::DATA_DIR)?.or_else(|| of_platform(|dirs| dirs.data_local_dir().to_owned()));
        let runtime = replaced(env::RUNTIME_DIR)?.or_else(|| {
            of_platform(|dirs| match (dirs.runtime_dir(), dirs.state_dir()) {
                (Some(runtime), _) => runtime.to_owned(),
                (None, Some(state)) => state.join("run"),
                (None, None) => dirs.cache_dir().join("run"),
            })
        });
        let data = data.ok_or(FolderError::NoHome)?;
        Ok(Self {
            config: config.ok_or(FolderError::NoHome)?,
            runtime: runtime.unwrap_or_else(|| data.join("run")),
            data,
            managed: PathBuf::from(MANAGED_FILE),
        })
    }

    /// The user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The folder of the log files.
    pub fn logs(&self) -> PathBuf {
        self.data.join("logs")
    }

    /// The file whose lock makes a daemon the only one. Never removed.
    pub fn lock_file(&self) -> PathBuf {
        self.data.join("daemon.lock")
    }

    /// The file whose lock is held while a client starts a daemon. Never removed.
    pub fn start_lock_file(&self) -> PathBuf {
        self.data.join("start.lock")
    }

    /// The socket's path. Its name tells the data folder, so that daemons of several data folders can share a runtime
    /// folder; a path too long to bind moves to a short folder of this user.
    pub fn socket(&self) -> PathBuf {
        let data = fs::canonicalize(&self.data).unwrap_or_else(|_| self.data.clone());
        let path = self.runtime.join(format!("{}.sock", short_hash(&[data.as_os_str().as_bytes()])));
        if path.as_os_str().len() <= SOCKET_PATH_MAX {
            return path;
        }
        let user = rustix::process::getuid().as_raw();
        let name = short_hash(&[self.runtime.as_os_str().as_bytes(), data.as_os_str().as_bytes()]);
        PathBuf::from(format!("/tmp/plimsoll-{user}/{name}.sock"))
    }

    /// Makes the data folder, or checks and tightens it. A symbolic link to a folder of the user's is followed: people
    /// move their data to other disks.
    pub fn ensure_data(&self) -> Result<(), FolderError> {
        private_folder(&self.data, Links::Followed, env::DATA_DIR)
    }

    /// Makes the folder of the log files, or checks and tightens it.
    pub fn ensure_logs(&self) -> Result<(), FolderError> {
        private_folder(&self.logs(), Links::Followed, env::DATA_DIR)
    }

    /// Makes the folder of the socket, or checks and tightens it; returns the socket's path.
    pub fn ensure_socket_folder(&self) -> Result<PathBuf, FolderError> {
        let socket = self.socket();
        if let Some(folder) = socket.parent() {
            private_folder(folder, Links::Refused, env::RUNTIME_DIR)?;
        }
        Ok(socket)
    }
}

/// The user's home folder, and the folder of configurations of all programs.
pub fn user_folders() -> Result<(PathBuf, PathBuf), FolderError> {
    let folders = directories::BaseDirs::new().ok_or(FolderError::NoHome)?;
    Ok((folders.home_dir().to_owned(), folders.config_dir().to_owned()))
}

/// Opens a file of ours for reading and writing, made with mode 0600 whatever the umask, tightened when it was wider.
pub fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    tighten(&file, 0o600)?;
    Ok(file)
}

/// Opens a file of ours for appending, with the same care.
pub fn private_append(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    tighten(&file, 0o600)?;
    Ok(file)
}

/// Whether a folder may be reached through a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Followed,
    Refused,
}

/// A folder with mode 0700 that belongs to this user. Everything is checked on the open folder, so nobody can exchange
/// it between the check and the change.
fn private_folder(path: &Path, links: Links, variable: &'static str) -> Result<(), FolderError> {
    let unusable = |source| FolderError::Unusable { path: path.to_owned(), variable, source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
    let mut flags = rustix::fs::OFlags::DIRECTORY;
    if links == Links::Refused {
        flags |= rustix::fs::OFlags::NOFOLLOW;
    }
    let folder = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).map_err(unusable)?;
    let owner = folder.metadata().map_err(unusable)?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return Err(FolderError::NotOurs { path: path.to_owned(), variable, owner });
    }
    tighten(&folder, 0o700).map_err(unusable)
}

/// Gives an open file or folder exactly this mode when others could reach it or we could not.
fn tighten(file: &File, mode: u32) -> io::Result<()> {
    if file.metadata()?.permissions().mode() & 0o777 != mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Twelve hexadecimal digits over the parts; parts cannot run into each other.
fn short_hash(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex().chars().take(12).collect()
}

#[cfg(test)]
mod tests;
