//! Opening one database file: made if missing, refused if newer, checked after an unclean end, recovered if damaged.

use super::damage::{self, Repair};
use super::schema::Series;
use super::{StoreError, private, schema};
use rusqlite::{Connection, OpenFlags};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a writer waits for another process that is writing.
const BUSY: Duration = Duration::from_secs(5);

/// Statements kept prepared per connection; the store has about as many.
const STATEMENTS: usize = 96;

/// What an opening found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Everything was as it was left.
    Good,
    /// The file was damaged. What could be read was taken over into a new one.
    Recovered {
        /// The damaged file, as it was found.
        kept: PathBuf,
        /// What was wrong and what came through, for people.
        detail: String,
    },
}

/// A database open for writing, with what opening it found.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) health: Health,
    /// It was made just now.
    pub(super) fresh: bool,
}

/// Opens a database for writing. `repair` makes recovered rows consistent.
pub(super) fn open(path: &Path, series: &Series, repair: Repair<'_>) -> Result<Opened, StoreError> {
    let fresh = !path.exists();
    let mut health = Health::Good;
    if fresh {
        create(path, series)?;
    } else {
        private::tighten(path)?;
        // Before anything opens the database: that would make the index fit the log again.
        let lost = damage::lost_frames(path);
        if let Some(detail) = look(path, series)? {
            let kept = damage::keep_aside(path)?;
            let recovered = damage::recover(path, series, repair)?;
            tracing::error!(database = %path.display(), kept = %kept.display(), detail, "damaged database recovered");
            health = Health::Recovered { kept, detail: format!("{detail}; {recovered}") };
        } else if let Some(detail) = lost {
            let kept = damage::keep_aside(path)?;
            tracing::error!(database = %path.display(), kept = %kept.display(), detail, "write-ahead log was cut");
            health = Health::Recovered { kept, detail };
        }
    }
    private::remove(&clean_path(path))?;
    let mut connection = writer(path)?;
    series.migrate(&mut connection, path)?;
    Ok(Opened { connection, health, fresh })
}

/// Ends the use of a database: statistics, an empty log, and, when it is `sound`, the mark that says all is well.
pub(super) fn close(connection: Connection, path: &Path, sound: bool) {
    let tidied = connection
        .execute_batch("PRAGMA optimize")
        .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)));
    let closed = connection.close();
    match (tidied, closed) {
        (Ok(0), Ok(())) if sound => mark_clean(path),
        // It is to be checked, or another process still uses it and leaves the mark when it ends.
        (Ok(_), Ok(())) => {}
        (Err(error), _) | (_, Err((_, error))) => {
            tracing::warn!(database = %path.display(), %error, "the database could not be closed cleanly");
        }
    }
}

/// A connection for reading beside the writer.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    connection.busy_timeout(BUSY).map_err(sqlite)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection
        .execute_batch(
            "PRAGMA query_only=1; PRAGMA cache_size=-1024; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF",
        )
        .map_err(sqlite)?;
    Ok(connection)
}

fn writer(path: &Path) -> Result<Connection, StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    connection.busy_timeout(BUSY).map_err(sqlite)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // `journal_mode` answers with a row, so each pragma goes through a query.
    let journal: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0)).map_err(sqlite)?;
    if journal != "wal" {
        tracing::warn!(database = %path.display(), journal, "the database does not use a write-ahead log");
    }
    connection
        .execute_batch(
            "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA secure_delete=ON; \
             PRAGMA journal_size_limit=67108864; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF",
        )
        .map_err(sqlite)?;
    Ok(connection)
}

/// Makes an empty database under another name and renames it when it is complete, so that a file under its own name
/// always has a schema.
fn create(path: &Path, series: &Series) -> Result<(), StoreError> {
    let fresh = start_fresh(path)?;
    let mut connection = Connection::open(&fresh).map_err(|source| StoreError::sqlite(&fresh, source))?;
    series.migrate(&mut connection, &fresh)?;
    finish_fresh(connection, &fresh, path)
}

/// An empty private file beside `path`, for a database that will take its name.
pub(super) fn start_fresh(path: &Path) -> Result<PathBuf, StoreError> {
    let fresh = private::beside(path, ".new");
    private::remove(&private::beside(&fresh, "-journal"))?;
    drop(private::create(&fresh)?);
    Ok(fresh)
}

/// Closes the database that began with [`start_fresh`] and gives it its name; logs of an earlier one go.
pub(super) fn finish_fresh(connection: Connection, fresh: &Path, path: &Path) -> Result<(), StoreError> {
    connection.close().map_err(|(_, source)| StoreError::sqlite(fresh, source))?;
    for suffix in ["-wal", "-shm"] {
        private::remove(&private::beside(path, suffix))?;
    }
    std::fs::rename(fresh, path).map_err(|source| StoreError::io("cannot name the new database", path, source))?;
    private::sync_parent(path)
}

/// Looks at an existing database without changing it. Gives what is wrong with its content, if anything is.
fn look(path: &Path, series: &Series) -> Result<Option<String>, StoreError> {
    let size = std::fs::metadata(path).map_err(|source| StoreError::io("cannot read", path, source))?.len();
    if size == 0 {
        return Ok(Some("the file is empty".to_owned()));
    }
    let seen = reader(path).and_then(|connection| {
        let sqlite = |source| StoreError::sqlite(path, source);
        let application: i32 =
            connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(sqlite)?;
        let version = schema::version(&connection).map_err(sqlite)?;
        Ok((connection, application, version))
    });
    let (connection, application, version) = match seen {
        Ok(seen) => seen,
        Err(StoreError::Damaged { detail, .. }) => return Ok(Some(detail)),
        Err(other) => return Err(other),
    };
    if application != series.application_id {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    if version > series.version() {
        return Err(StoreError::Newer { path: path.to_owned(), found: version, known: series.version() });
    }
    if is_clean(path) {
        return Ok(None);
    }
    let checked = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match checked {
        Ok(answer) if answer == "ok" => Ok(None),
        Ok(answer) => Ok(Some(answer.lines().last().unwrap_or_default().to_owned())),
        Err(error) => match StoreError::sqlite(path, error) {
            StoreError::Damaged { detail, .. } => Ok(Some(detail)),
            other => Err(other),
        },
    }
}

/// The file that exists while a database is closed and was closed well; it holds the database's size and time of
/// change, so that a file that was changed since is checked as after an unclean end.
fn clean_path(path: &Path) -> PathBuf {
    private::beside(path, ".clean")
}

/// Whether the database was left in use, or changed since it was closed.
pub(super) fn is_clean(path: &Path) -> bool {
    match (fingerprint(path), std::fs::read_to_string(clean_path(path))) {
        (Some(now), Ok(then)) => now == then,
        (None, _) | (_, Err(_)) => false,
    }
}

fn mark_clean(path: &Path) {
    let Some(now) = fingerprint(path) else { return };
    if let Err(error) = private::replace(&clean_path(path), now.as_bytes(), true) {
        tracing::warn!(database = %path.display(), %error, "the next start will check the database");
    }
}

fn fingerprint(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    Some(format!("{} {}.{:09}\n", meta.len(), meta.mtime(), meta.mtime_nsec()))
}
