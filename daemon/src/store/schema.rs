//! The schemas of the two databases: numbered SQL files, embedded, each applied once with its checksum.
//!
//! A file under `migrations/` never changes once it was released; a change is a new file and a new row here.

use super::{StoreError, private};
use rusqlite::{Connection, TransactionBehavior, params};
use std::path::{Path, PathBuf};

/// One step of a schema.
pub(super) struct Migration {
    name: &'static str,
    sql: &'static str,
}

/// A database's kind: how it is recognised, and its steps. The version of a database is the number of its steps.
pub(super) struct Series {
    /// SQLite's `application_id`.
    pub(super) application_id: i32,
    migrations: &'static [Migration],
}

macro_rules! migration {
    ($name:literal) => {
        Migration { name: $name, sql: include_str!(concat!("../../../migrations/", $name, ".sql")) }
    };
}

/// A project's `plimsoll.db`. The id is `PLMP` in ASCII.
pub(super) static PROJECT: Series = Series {
    application_id: 0x504C_4D50,
    migrations: &[
        migration!("project/0001_sessions"),
        migration!("project/0002_shown"),
        migration!("project/0003_session_prompts"),
        migration!("project/0004_segment_tokens"),
        migration!("project/0005_memories"),
        migration!("project/0006_projection_stats"),
        migration!("project/0007_before_plan"),
        migration!("project/0008_archived_and_forked"),
        migration!("project/0009_forks_and_rewinds"),
        migration!("project/0010_task"),
        migration!("project/0011_compaction"),
    ],
};

/// `user.db`. The id is `PLMU` in ASCII.
pub(super) static USER: Series = Series {
    application_id: 0x504C_4D55,
    migrations: &[
        migration!("user/0001_projects"),
        migration!("user/0002_grants"),
        migration!("user/0003_memories"),
        migration!("user/0004_calibration"),
        migration!("user/0005_archived_and_forked"),
    ],
};

/// Tables of a project's database whose rows belong to one session, those that refer to others first.
pub(super) const OF_SESSION: &[&str] = &[
    "item",
    "projection",
    "attached",
    "shared_folder",
    "event",
    "operation",
    "ask",
    "prompt_key",
    "task",
    "side_blob",
    "side_end",
    "side_request",
    "epoch_blob",
    "request_blob",
    "request_end",
    "request",
    "epoch",
    "mirror",
    "session",
];

impl Series {
    /// The newest version that this build knows.
    pub(super) fn version(&self) -> u32 {
        self.migrations.len() as u32
    }

    /// Brings an open database to this build's version; one that has content is backed up first. Two processes may do
    /// this at once: the version is read again inside each transaction.
    pub(super) fn migrate(&self, connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
        let sqlite = |source| StoreError::sqlite(path, source);
        let before = version(connection).map_err(sqlite)?;
        if before > 0 {
            self.check_history(connection, path, before)?;
            if before < self.version() {
                back_up(connection, path, before)?;
            }
        }
        for (at, migration) in (1_u32..).zip(self.migrations) {
            if at <= before {
                continue;
            }
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
            let now = version(&transaction).map_err(sqlite)?;
            if now >= at {
                continue;
            }
            transaction.execute_batch(migration.sql).map_err(sqlite)?;
            transaction
                .execute_batch(
                    "CREATE TABLE IF NOT EXISTS migration (no INTEGER PRIMARY KEY, name TEXT NOT NULL, \
                     checksum BLOB NOT NULL) STRICT",
                )
                .map_err(sqlite)?;
            transaction
                .execute(
                    "INSERT INTO migration (no, name, checksum) VALUES (?1, ?2, ?3)",
                    params![at, migration.name, checksum(migration)],
                )
                .map_err(sqlite)?;
            transaction.pragma_update(None, "user_version", at).map_err(sqlite)?;
            transaction.pragma_update(None, "application_id", self.application_id).map_err(sqlite)?;
            transaction.commit().map_err(sqlite)?;
        }
        Ok(())
    }

    /// Refuses a database whose applied steps are not the ones of this build.
    fn check_history(&self, connection: &Connection, path: &Path, upto: u32) -> Result<(), StoreError> {
        let sqlite = |source| StoreError::sqlite(path, source);
        let mut statement = connection.prepare("SELECT no, checksum FROM migration ORDER BY no").map_err(sqlite)?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, Vec<u8>>(1)?)));
        let applied: Vec<(u32, Vec<u8>)> = rows.and_then(Iterator::collect).map_err(sqlite)?;
        for (at, migration) in (1..=upto).zip(self.migrations) {
            let same = applied.iter().any(|(no, sum)| *no == at && *sum == checksum(migration));
            if !same {
                return Err(StoreError::History { path: path.to_owned(), migration: migration.name.to_owned() });
            }
        }
        Ok(())
    }
}

/// The schema version that a database says it has.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn checksum(migration: &Migration) -> Vec<u8> {
    blake3::hash(migration.sql.as_bytes()).as_bytes().to_vec()
}

/// Where the copy of a database lies that was made before it left `version`.
fn backup_path(path: &Path, version: u32) -> PathBuf {
    private::beside(path, &format!(".before-{}", version + 1))
}

fn back_up(connection: &Connection, path: &Path, version: u32) -> Result<(), StoreError> {
    let target = backup_path(path, version);
    // `VACUUM INTO` accepts an empty file and would make a new one with the umask's permissions.
    drop(private::create(&target)?);
    connection
        .execute("VACUUM INTO ?1", params![target.to_string_lossy()])
        .map_err(|source| StoreError::sqlite(&target, source))?;
    tracing::info!(from = version, "database backed up before its migration");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    static ONE: Series =
        Series { application_id: 7, migrations: &[Migration { name: "t/0001_a", sql: "CREATE TABLE a (x INTEGER);" }] };
    static TWO: Series = Series {
        application_id: 7,
        migrations: &[
            Migration { name: "t/0001_a", sql: "CREATE TABLE a (x INTEGER);" },
            Migration { name: "t/0002_b", sql: "ALTER TABLE a ADD COLUMN y INTEGER;" },
        ],
    };
    static EDITED: Series = Series {
        application_id: 7,
        migrations: &[Migration { name: "t/0001_a", sql: "CREATE TABLE a (x INTEGER, y INTEGER);" }],
    };
    static BROKEN: Series = Series {
        application_id: 7,
        migrations: &[
            Migration { name: "t/0001_a", sql: "CREATE TABLE a (x INTEGER);" },
            Migration { name: "t/0002_b", sql: "CREATE TABLE c (x INTEGER); CREATE TABLE a (x INTEGER);" },
        ],
    };

    fn database(series: &Series) -> (tempfile::TempDir, PathBuf, Connection) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("t.db");
        let mut connection = Connection::open(&path).unwrap();
        series.migrate(&mut connection, &path).unwrap();
        (temp, path, connection)
    }

    #[test]
    fn an_old_database_is_backed_up_and_brought_forward() {
        let (_temp, path, mut connection) = database(&ONE);
        connection.execute("INSERT INTO a VALUES (1)", []).unwrap();
        TWO.migrate(&mut connection, &path).unwrap();
        TWO.migrate(&mut connection, &path).unwrap();
        assert_eq!(version(&connection).unwrap(), 2);
        connection.execute("INSERT INTO a VALUES (2, 3)", []).unwrap();
        let backup = Connection::open(backup_path(&path, 1)).unwrap();
        assert_eq!(version(&backup).unwrap(), 1);
        let rows: i64 = backup.query_row("SELECT count(*) FROM a", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);
    }

    #[test]
    fn a_failing_step_leaves_the_version_before_it() {
        let (_temp, path, mut connection) = database(&ONE);
        assert!(BROKEN.migrate(&mut connection, &path).is_err());
        assert_eq!(version(&connection).unwrap(), 1);
        assert!(connection.prepare("SELECT * FROM c").is_err());
    }

    #[test]
    fn an_edited_migration_is_refused() {
        let (_temp, path, mut connection) = database(&ONE);
        let error = EDITED.migrate(&mut connection, &path).unwrap_err();
        assert!(matches!(&error, StoreError::History { migration, .. } if migration == "t/0001_a"), "{error}");
    }

    #[test]
    fn every_migration_file_is_a_row_of_its_series_in_order() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations");
        for (folder, series) in [("project", &PROJECT), ("user", &USER)] {
            let mut files: Vec<String> = std::fs::read_dir(root.join(folder))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            files.sort();
            let rows: Vec<String> = series
                .migrations
                .iter()
                .map(|migration| format!("{}.sql", migration.name.strip_prefix(&format!("{folder}/")).unwrap()))
                .collect();
            assert_eq!(rows, files);
            for (at, name) in (1..).zip(&rows) {
                assert!(name.starts_with(&format!("{at:04}_")), "{name}");
            }
        }
    }
}
