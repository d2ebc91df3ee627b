//! What is done about a damaged database: it is kept as it was found, and every row that can still be read is taken
//! over into a new one.

use super::schema::Series;
use super::{StoreError, database, private};
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, params_from_iter};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Makes the rows that came through fit together again, inside the transaction of the recovery.
pub(super) type Repair<'a> = &'a dyn Fn(&Connection) -> rusqlite::Result<()>;

/// Copies the database and its logs to the first free `….damaged-<N>`; a copy of the same bytes is not made twice.
pub(super) fn keep_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let now = hash(path)?;
    for no in 1..u32::MAX {
        let kept = private::beside(path, &format!(".damaged-{no}"));
        if kept.exists() {
            if hash(&kept)? == now {
                return Ok(kept);
            }
            continue;
        }
        for suffix in ["-wal", "-shm"] {
            let log = private::beside(path, suffix);
            if log.exists() {
                private::copy(&log, &private::beside(&kept, suffix))?;
            }
        }
        private::copy(path, &kept)?;
        private::sync_parent(&kept)?;
        return Ok(kept);
    }
    Ok(path.to_owned())
}

/// Takes every readable row into a new database of this build's version, which replaces the damaged one. Gives what
/// came through, for people.
pub(super) fn recover(path: &Path, series: &Series, repair: Repair<'_>) -> Result<String, StoreError> {
    let fresh = database::start_fresh(path)?;
    let sqlite = |source| StoreError::sqlite(&fresh, source);
    let mut target = Connection::open(&fresh).map_err(sqlite)?;
    series.migrate(&mut target, &fresh)?;
    target.pragma_update(None, "foreign_keys", false).map_err(sqlite)?;
    let mut rows = 0;
    let mut hurt = Vec::new();
    let transaction = target.transaction().map_err(sqlite)?;
    match database::reader(path) {
        Ok(source) => {
            for table in tables(&transaction).map_err(sqlite)? {
                let (taken, whole) = take_over(&source, &transaction, &table).map_err(sqlite)?;
                rows += taken;
                if !whole {
                    hurt.push(table);
                }
            }
        }
        Err(_) => hurt.push("everything".to_owned()),
    }
    repair(&transaction).map_err(sqlite)?;
    transaction.commit().map_err(sqlite)?;
    database::finish_fresh(target, &fresh, path)?;
    let lost = if hurt.is_empty() {
        "no table had unreadable rows".to_owned()
    } else {
        format!("rows may be missing in: {}", hurt.join(", "))
    };
    Ok(format!("{rows} rows were recovered, {lost}"))
}

/// Names the committed transactions that a write-ahead log no longer has. The log's index, written after the log, says
/// how long it was; a log that is shorter was cut from outside.
pub(super) fn lost_frames(path: &Path) -> Option<String> {
    let index = private::beside(path, "-shm");
    let log = private::beside(path, "-wal");
    let before = std::fs::read(&index).ok()?;
    let found = std::fs::metadata(&log).map_or(0, |meta| meta.len());
    // Layout of the index header: https://sqlite.org/walformat.html, "The WAL-Index File Format".
    let initialized = *before.get(12)? != 0;
    let page = u16::from_ne_bytes(*before.get(14..16)?.first_chunk()?);
    let frames = u32::from_ne_bytes(*before.get(16..20)?.first_chunk()?);
    let page = if page == 1 { 65_536 } else { u64::from(page) };
    let expected = if frames == 0 { 0 } else { 32 + u64::from(frames) * (page + 24) };
    let steady = std::fs::read(&index).is_ok_and(|after| after.get(..48) == before.get(..48));
    (initialized && steady && found < expected)
        .then(|| format!("the write-ahead log has {found} of {expected} bytes: the newest changes are lost"))
}

/// The tables of the new database, parents before children as they were made.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'migration' \
         ORDER BY rowid",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<(String, i64)>> {
    let mut statement = connection.prepare("SELECT name, pk FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Copies what can be read of one table: from its beginning, and where that stops, from its end. Gives the number of
/// rows, and whether all were read.
fn take_over(source: &Connection, target: &Connection, table: &str) -> rusqlite::Result<(u64, bool)> {
    let Ok(known) = columns(source, table) else { return Ok((0, false)) };
    if known.is_empty() {
        return Ok((0, false));
    }
    let known: HashSet<String> = known.into_iter().map(|(name, _)| name).collect();
    let all = columns(target, table)?;
    let shared: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).filter(|name| known.contains(*name)).collect();
    let mut keys: Vec<&(String, i64)> = all.iter().filter(|(_, pk)| *pk > 0).collect();
    keys.sort_by_key(|(_, pk)| *pk);
    let order = |direction: &str| {
        let keys: Vec<String> = keys.iter().map(|(name, _)| format!("\"{name}\" {direction}")).collect();
        keys.join(", ")
    };
    let names: Vec<String> = shared.iter().map(|name| format!("\"{name}\"")).collect();
    let names = names.join(", ");
    let marks = vec!["?"; shared.len()].join(", ");
    let mut insert = target.prepare(&format!("INSERT OR IGNORE INTO \"{table}\" ({names}) VALUES ({marks})"))?;
    let mut taken = 0;
    let mut copy = |direction: &str| -> rusqlite::Result<bool> {
        // The table itself is walked, not an index, which may be what is damaged.
        let query = format!("SELECT {names} FROM \"{table}\" NOT INDEXED ORDER BY {}", order(direction));
        let Ok(mut statement) = source.prepare(&query) else { return Ok(false) };
        let Ok(mut rows) = statement.query([]) else { return Ok(false) };
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(true),
                Err(_) => return Ok(false),
            };
            let values: rusqlite::Result<Vec<Value>> = (0..shared.len()).map(|at| row.get(at)).collect();
            let Ok(values) = values else { continue };
            match insert.execute(params_from_iter(values)) {
                Ok(inserted) => taken += inserted as u64,
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => return Err(error),
                // A row whose values cannot be right is one of those that were lost.
                Err(_) => {}
            }
        }
    };
    let whole = copy("ASC")? || {
        copy("DESC")?;
        false
    };
    Ok((taken, whole))
}

fn hash(path: &Path) -> Result<blake3::Hash, StoreError> {
    let io = |source| StoreError::io("cannot read", path, source);
    let mut hasher = blake3::Hasher::new();
    let mut file = std::fs::File::open(path).map_err(io)?;
    std::io::copy(&mut file, &mut hasher).map_err(io)?;
    Ok(hasher.finalize())
}
