//! `user.db`: the projects, and the index of all sessions. The index is derived: project stores put a session's new row
//! into memory after each commit, and the rows are written together a little later, or at once when somebody lists.

use super::grants::GrantWrite;
use super::memories::{self, MemoryWrite};
use super::read::{number, origin, state_word, word_state};
use super::record::{Counters, ProjectRecord, SessionRow};
use super::relocate::Relocation;
use super::writer::Commands;
use super::{StoreError, database};
use plimsoll_core::event::Ask;
use plimsoll_core::id::{ItemNo, ProjectKey, Seq, SessionId};
use plimsoll_core::model::calibration::Calibration;
use plimsoll_core::path;
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::codec::{self, RECORD_VERSION};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long a changed row may wait: long enough that a running turn's commits share a write, short beside a restart.
const LINGER: Duration = Duration::from_millis(300);

/// A session's row in the index.
#[derive(Debug, Clone)]
pub(super) struct IndexRow {
    pub(super) project: ProjectKey,
    /// The session's number in the project's database, by which a damaged one can name its rows again.
    pub(super) sid: i64,
    pub(super) session: SessionRow,
}

/// A change that was not written yet.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Put(Box<IndexRow>),
    Remove,
}

/// Rows that changed and are not written yet.
#[derive(Default)]
pub(super) struct Index {
    pending: Mutex<Pending>,
    wake: OnceLock<Box<dyn Fn(Duration) + Send + Sync>>,
}

#[derive(Default)]
struct Pending {
    changes: HashMap<SessionId, (u64, Change)>,
    count: u64,
}

impl Index {
    /// Sets how the writer is woken; once, at the start.
    pub(super) fn on_change(&self, wake: impl Fn(Duration) + Send + Sync + 'static) {
        // A second call would be a second writer of the same file, which there is not.
        let _ = self.wake.set(Box::new(wake));
    }

    /// Takes a session's new row.
    pub(super) fn put(&self, row: IndexRow) {
        self.note(row.session.id.clone(), Change::Put(Box::new(row)));
    }

    /// Takes a session out.
    pub(super) fn remove(&self, id: SessionId) {
        self.note(id, Change::Remove);
    }

    fn note(&self, id: SessionId, change: Change) {
        let mut pending = self.lock();
        pending.count += 1;
        let count = pending.count;
        pending.changes.insert(id, (count, change));
        drop(pending);
        if let Some(wake) = self.wake.get() {
            wake(LINGER);
        }
    }

    /// The changes so far, in the order in which they came.
    pub(super) fn drain(&self) -> Vec<(SessionId, Change)> {
        let mut changes: Vec<_> = self.lock().changes.drain().collect();
        changes.sort_by_key(|(_, (count, _))| *count);
        changes.into_iter().map(|(id, (_, change))| (id, change)).collect()
    }

    /// The changes that are not written yet, in the order in which they came.
    pub(super) fn pending(&self) -> Vec<(SessionId, Change)> {
        let mut changes: Vec<_> = self.lock().changes.iter().map(|(id, change)| (id.clone(), change.clone())).collect();
        changes.sort_by_key(|(_, (count, _))| *count);
        changes.into_iter().map(|(id, (_, change))| (id, change)).collect()
    }

    /// Takes changes back that could not be written, unless newer ones have come.
    pub(super) fn put_back(&self, changes: Vec<(SessionId, Change)>) {
        let mut pending = self.lock();
        for (id, change) in changes {
            pending.changes.entry(id).or_insert((0, change));
        }
    }

    /// The project of a session whose row is not written yet.
    pub(super) fn pending_project(&self, id: &SessionId) -> Option<ProjectKey> {
        match self.lock().changes.get(id) {
            Some((_, Change::Put(row))) => Some(row.project.clone()),
            Some((_, Change::Remove)) | None => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the writer of `user.db` does.
pub(super) enum UserWrite {
    /// Makes a project, or gives the one with this first root and notes its other roots.
    Project(ProjectRecord),
    /// Gives a project other roots.
    Relocate(Relocation),
    /// Writes changed rows.
    Changes(Vec<(SessionId, Change)>),
    /// Makes a project's part of the index equal to what its own database says.
    Repair(ProjectKey, Vec<IndexRow>),
    /// What a user decided for a project.
    Grant(GrantWrite),
    /// What is remembered for the user.
    Memory(MemoryWrite),
    /// What was learned about a model.
    Calibration(String, Calibration),
}

/// See [`UserWrite`].
pub(super) struct UserWriter {
    pub(super) path: PathBuf,
    pub(super) index: Arc<Index>,
}

impl Commands for UserWriter {
    type Command = UserWrite;
    type Done = Option<ProjectRecord>;

    fn perform(&self, connection: &Connection, command: &UserWrite) -> Result<Self::Done, StoreError> {
        let sql = UserSql { connection, path: &self.path };
        match command {
            UserWrite::Project(project) => sql.open_with(project).map(Some),
            UserWrite::Relocate(relocation) => sql.relocate(relocation).map(Some),
            UserWrite::Changes(changes) => {
                for (id, change) in changes {
                    match change {
                        Change::Put(row) => sql.put(row)?,
                        Change::Remove => sql.remove(id)?,
                    }
                }
                Ok(None)
            }
            UserWrite::Repair(project, rows) => sql.repair(project, rows).map(|()| None),
            UserWrite::Grant(write) => sql.grant_write(write).map(|()| None),
            UserWrite::Memory(write) => memories::write(connection, &self.path, write).map(|()| None),
            UserWrite::Calibration(model, known) => sql.calibration_write(model, *known).map(|()| None),
        }
    }

    fn committed(&self, _command: &UserWrite, _done: &Self::Done) {}

    fn due(&self) -> Option<UserWrite> {
        let changes = self.index.drain();
        (!changes.is_empty()).then_some(UserWrite::Changes(changes))
    }

    fn put_back(&self, command: UserWrite, error: &StoreError) {
        tracing::warn!(%error, "the session index could not be written; it will be with the next change");
        if let UserWrite::Changes(changes) = command {
            self.index.put_back(changes);
        }
    }
}

/// `user.db` as SQL.
pub(super) struct UserSql<'a> {
    pub(super) connection: &'a Connection,
    pub(super) path: &'a Path,
}

impl UserSql<'_> {
    pub(super) fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::sqlite(self.path, source)
    }

    pub(super) fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|source| self.error(source))?;
        statement.execute(params).map(|_| ()).map_err(|source| self.error(source))
    }

    /// The stored form of a project's first root, and of all of them.
    pub(super) fn stored_roots(&self, roots: &[PathBuf]) -> Result<(String, String), StoreError> {
        let texts: Vec<String> = roots.iter().map(|root| root_text(root)).collect();
        let all = codec::encode_record("roots", &texts)
            .map_err(|source| StoreError::Codec { path: self.path.to_owned(), source })?;
        Ok((texts.into_iter().next().unwrap_or_default(), all))
    }

    /// A project by one column, whose name is this module's own.
    pub(super) fn project_by(&self, column: &'static str, value: &str) -> Result<Option<ProjectRecord>, StoreError> {
        let sql = format!("SELECT key, roots, created_at FROM project WHERE {column} = ?1");
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([value], project_row).optional())
            .map_err(|source| self.error(source))?;
        Ok(found.flatten())
    }

    /// All projects.
    pub(super) fn projects(&self) -> Result<Vec<ProjectRecord>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT key, roots, created_at FROM project ORDER BY created_at, key")
            .map_err(|source| self.error(source))?;
        let rows = statement.query_map([], project_row).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        Ok(rows.map_err(|source| self.error(source))?.into_iter().flatten().collect())
    }

    pub(super) fn put(&self, row: &IndexRow) -> Result<(), StoreError> {
        let codec = |source| StoreError::Codec { path: self.path.to_owned(), source };
        let session = &row.session;
        let asks = codec::encode_record("asks", &session.open_asks).map_err(codec)?;
        self.execute(
            "INSERT INTO session_index (id, project, sid, rank, title, mode, model, created_at, updated_at, state, \
             items, last_seq, bytes, asks, archived, forked_from) \
             VALUES (?1, ?2, ?3, (SELECT coalesce(max(rank), 0) + 1 FROM session_index), ?4, ?5, ?6, ?7, ?8, ?9, \
             ?10, ?11, ?12, ?13, ?14, ?15) \
             ON CONFLICT (id) DO UPDATE SET project = excluded.project, sid = excluded.sid, rank = excluded.rank, \
             title = excluded.title, mode = excluded.mode, model = excluded.model, created_at = excluded.created_at, \
             updated_at = excluded.updated_at, state = excluded.state, items = excluded.items, \
             last_seq = excluded.last_seq, bytes = excluded.bytes, asks = excluded.asks, \
             archived = excluded.archived, forked_from = excluded.forked_from",
            params![
                session.id.as_str(),
                row.project.as_str(),
                row.sid,
                session.title,
                session.mode,
                session.model,
                session.created_at.0,
                session.updated_at.0,
                state_word(session.state),
                session.counters.item.0 as i64,
                session.counters.seq.0 as i64,
                session.bytes as i64,
                asks,
                session.archived,
                session.origin.as_ref().and_then(|origin| serde_json::to_string(origin).ok())
            ],
        )
    }

    fn remove(&self, id: &SessionId) -> Result<(), StoreError> {
        self.execute("DELETE FROM session_index WHERE id = ?1", [id.as_str()])
    }

    fn repair(&self, project: &ProjectKey, rows: &[IndexRow]) -> Result<(), StoreError> {
        let known: BTreeMap<SessionId, IndexRow> =
            self.index_rows(project)?.into_iter().map(|row| (row.session.id.clone(), row)).collect();
        let mut gone: HashSet<&SessionId> = known.keys().collect();
        for row in rows {
            gone.remove(&row.session.id);
            let same = known
                .get(&row.session.id)
                .is_some_and(|known| known.sid == row.sid && known.session == IndexRow::shown(row.session.clone()));
            if !same {
                self.put(row)?;
            }
        }
        for id in gone {
            self.remove(id)?;
        }
        Ok(())
    }

    /// A project's rows as they are in the index.
    pub(super) fn index_rows(&self, project: &ProjectKey) -> Result<Vec<IndexRow>, StoreError> {
        let sql = format!("SELECT {INDEX} FROM session_index WHERE project = ?1 ORDER BY rank");
        let mut statement = self.connection.prepare_cached(&sql).map_err(|source| self.error(source))?;
        let rows = statement.query_map([project.as_str()], |row| Ok(index_row(row)?.map(|(_, row)| row)));
        let rows: Result<Vec<Option<IndexRow>>, _> = rows.and_then(Iterator::collect);
        Ok(rows.map_err(|source| self.error(source))?.into_iter().flatten().collect())
    }

    /// The project of a session.
    pub(super) fn session_project(&self, id: &SessionId) -> Result<Option<ProjectKey>, StoreError> {
        let found: Option<String> = self
            .connection
            .prepare_cached("SELECT project FROM session_index WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([id.as_str()], |row| row.get(0)).optional())
            .map_err(|source| self.error(source))?;
        Ok(found.and_then(|key| key.parse().ok()))
    }

    /// Projects with sessions whose turn was running when the index was last written.
    pub(super) fn busy_projects(&self) -> Result<Vec<ProjectKey>, StoreError> {
        let sql = "SELECT DISTINCT project FROM session_index WHERE state IN ('running', 'waiting')";
        let mut statement = self.connection.prepare_cached(sql).map_err(|source| self.error(source))?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0));
        let keys: Vec<String> = rows.and_then(Iterator::collect).map_err(|source| self.error(source))?;
        Ok(keys.into_iter().filter_map(|key| key.parse().ok()).collect())
    }
}

impl IndexRow {
    /// What of a session the index keeps: of the counters, items and events only.
    pub(super) fn shown(mut session: SessionRow) -> SessionRow {
        let Counters { item, seq, .. } = session.counters;
        session.counters = Counters { item, seq, ..Counters::default() };
        session
    }
}

pub(super) const INDEX: &str = "id, project, sid, rank, title, mode, model, created_at, updated_at, state, items, \
                                 last_seq, bytes, asks, archived, forked_from";

/// A row with its rank; none when its ids are no ids, which only damage can do.
pub(super) fn index_row(row: &Row<'_>) -> rusqlite::Result<Option<(i64, IndexRow)>> {
    let (id, project): (String, String) = (row.get(0)?, row.get(1)?);
    let (Ok(id), Ok(project)) = (id.parse(), project.parse()) else { return Ok(None) };
    let state: String = row.get(9)?;
    let asks = codec::decode_record::<Vec<Ask>>("asks", RECORD_VERSION, row.get_ref(13)?.as_str()?);
    let session = SessionRow {
        id,
        title: row.get(4)?,
        mode: row.get(5)?,
        model: row.get(6)?,
        created_at: Timestamp(row.get(7)?),
        updated_at: Timestamp(row.get(8)?),
        state: word_state(&state),
        counters: Counters { item: ItemNo(number(row, 10)?), seq: Seq(number(row, 11)?), ..Counters::default() },
        bytes: number(row, 12)?,
        open_asks: asks.unwrap_or_default(),
        archived: row.get(14)?,
        origin: origin(row.get(15)?),
    };
    Ok(Some((row.get(3)?, IndexRow { project, sid: row.get(2)?, session })))
}

fn project_row(row: &Row<'_>) -> rusqlite::Result<Option<ProjectRecord>> {
    let key: String = row.get(0)?;
    Ok(project_record(&key, row.get_ref(1)?.as_str()?, row.get(2)?))
}

/// A project from its stored fields.
pub(super) fn project_record(key: &str, roots: &str, created_at: i64) -> Option<ProjectRecord> {
    let roots: Vec<String> = codec::decode_record("roots", RECORD_VERSION, roots).ok()?;
    let roots = roots.iter().map(|root| PathBuf::from(std::ffi::OsString::from_vec(path::unescape(root)))).collect();
    Some(ProjectRecord { key: key.parse().ok()?, roots, created_at: Timestamp(created_at) })
}

/// The stored form of a root.
pub(super) fn root_text(root: &Path) -> String {
    path::escape(root.as_os_str().as_bytes())
}

/// Reads what a project's own database says about itself and its sessions, for an index that lost it.
pub(super) fn from_project(path: &Path) -> Result<Option<(ProjectRecord, Vec<IndexRow>)>, StoreError> {
    let connection = database::reader(path)?;
    let found = connection
        .query_row("SELECT key, roots, created_at FROM project", [], project_row)
        .optional()
        .map_err(|source| StoreError::sqlite(path, source))?;
    let Some(project) = found.flatten() else { return Ok(None) };
    let rows = super::read::sessions(&connection, path)?
        .into_iter()
        .map(|(sid, session)| IndexRow { project: project.key.clone(), sid, session })
        .collect();
    Ok(Some((project, rows)))
}
