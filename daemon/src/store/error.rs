//! What can go wrong in the store. Each error names the place, and where there is one, the fix.

use plimsoll_core::transcript::codec::CodecError;
use std::path::{Path, PathBuf};

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No room for what should be written; nothing of it was kept, reading goes on.
    #[error("no space is left to write {}; free some and try again", path.display())]
    Full {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// A newer build wrote the database; it was left untouched.
    #[error(
        "{} has schema version {found}, this build of Plimsoll knows versions up to {known}; install the newer build \
         again, or move the file away",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this build knows.
        known: u32,
    },
    /// What is stored cannot be read.
    #[error("{} is damaged: {detail}; restart the daemon to have it checked and recovered", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// The data folder is on a file system that does not keep SQLite's promises.
    #[error(
        "the data folder {} is on a network or user-space file system ({kind}), where databases get damaged; set \
         PLIMSOLL_DATA_DIR to a folder on a local disk",
        path.display()
    )]
    NetworkFs {
        /// The folder.
        path: PathBuf,
        /// The file system's name.
        kind: &'static str,
    },
    /// A file that is no database of Plimsoll's stands in its place.
    #[error("{} is a database of another program; move it away", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A migration that was applied is not the one that this build has.
    #[error(
        "{} was made with another text of migration {migration}; use the build that made it, or restore a backup",
        path.display()
    )]
    History {
        /// The database.
        path: PathBuf,
        /// The migration's name.
        migration: String,
    },
    /// A project's folder cannot be found.
    #[error("workspace missing: {}: {source}", path.display())]
    RootMissing {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder names another project.
    #[error("the folder {} is that of another project, {project}, which has sessions, grants or memories", path.display())]
    RootTaken {
        /// The folder.
        path: PathBuf,
        /// Key of that project.
        project: String,
    },
    /// The operating system refused something.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// SQLite refused something.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A stored form could not be read or made.
    #[error("{}: {source}", path.display())]
    Codec {
        /// The database.
        path: PathBuf,
        /// What is wrong.
        source: CodecError,
    },
    /// A batch does not go on where the session ends; nothing of it was written.
    #[error("{what} {found} of session {session} does not follow the last stored one; {expected} would")]
    Gap {
        /// The session.
        session: String,
        /// What is counted.
        what: &'static str,
        /// The number that would have been right.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// What was asked for does not exist.
    #[error("no {what} `{id}`")]
    NotFound {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        id: String,
    },
    /// The store, or this project's part of it, was closed.
    #[error("the store of {} is closed", path.display())]
    Closed {
        /// The database or folder.
        path: PathBuf,
    },
}

impl StoreError {
    /// Maps what SQLite says to the kinds that callers branch on.
    pub(super) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, detail: source.to_string() }
            }
            _ => Self::Sqlite { path, source },
        }
    }

    /// A refusal of the operating system; a full disk is its own kind.
    pub(super) fn io(doing: &'static str, path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Io { doing, path, source },
        }
    }

    /// A thread that should serve the store is gone.
    pub(super) fn closed(path: &Path) -> Self {
        Self::Closed { path: path.to_owned() }
    }
}
