//! The commands of a project's writer, as SQL.

use super::encode::{Encoded, EpochRows, RequestRows, StateRow, Text};
use super::fork::ForkWrite;
use super::index::{Index, IndexRow};
use super::memories::{self, MemoryWrite};
use super::pack::pack;
use super::record::{ProjectRecord, SessionOrigin, SessionRecord, SessionRow};
use super::writer::Commands;
use super::{StoreError, read};
use plimsoll_core::id::{ItemNo, SessionId};
use plimsoll_core::path;
use plimsoll_core::permission::mode::Mode;
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::codec::{self, CodecError, RECORD_VERSION};
use plimsoll_core::transcript::epoch::Hash;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::path::PathBuf;
use std::sync::Arc;

/// What a project's writer does.
pub(super) enum Write {
    /// Notes whose database this is.
    Describe(ProjectRecord),
    /// Makes a session, or gives the one that has its key.
    Create(SessionRecord),
    /// Gives a session another title.
    Rename(SessionId, String, Timestamp),
    /// Sets its permission mode.
    SetMode(SessionId, String, Timestamp),
    /// Sets its model.
    SetModel(SessionId, String, Timestamp),
    /// Takes it out of lists, or puts it back.
    Archive(SessionId, bool, Timestamp),
    /// Writes a batch.
    Commit(SessionId, Box<Encoded>),
    /// Makes a session that begins with what another one has said.
    Fork(Box<ForkWrite>),
    /// Makes a session with everything in it.
    Import(Box<(SessionRecord, SessionOrigin, Encoded)>),
    /// The folder of a session that is about to be made is to be removed, unless it is made.
    FolderDoomed(SessionId),
    /// Takes everything of a session out.
    Delete(SessionId),
    /// A deleted session's folder is gone too.
    FolderGone(SessionId),
    /// How far mirrors are known to be right.
    Mirrors(Vec<MirrorMark>),
    /// What is remembered for the project.
    Memory(MemoryWrite),
    #[cfg(test)]
    LimitPages(u32),
}

/// How far a mirror is known to be right.
#[derive(Debug, Clone)]
pub(super) struct MirrorMark {
    pub(super) session: SessionId,
    pub(super) version: u32,
    pub(super) item: ItemNo,
    pub(super) len: u64,
    pub(super) hash: Hash,
}

/// What a command gave.
pub(super) enum Written {
    /// The session as it is now, with its number in this database.
    Session(Box<(i64, SessionRow)>),
    /// Nothing to tell.
    Done,
}

/// See the module's head.
pub(super) struct ProjectWriter {
    pub(super) path: PathBuf,
    pub(super) index: Arc<Index>,
    pub(super) project: plimsoll_core::id::ProjectKey,
    /// Told of every session with new items.
    pub(super) mirror: Arc<super::mirror::Backlog>,
}

impl Commands for ProjectWriter {
    type Command = Write;
    type Done = Written;

    fn perform(&self, connection: &Connection, command: &Write) -> Result<Written, StoreError> {
        let sql = Sql { connection, path: &self.path };
        match command {
            Write::Describe(project) => sql.describe(project),
            Write::Create(session) => sql.create(session),
            Write::Rename(id, title, at) => sql.set(id, "title", title, *at),
            Write::SetMode(id, mode, at) => {
                sql.before_plan(sql.sid(id)?, mode)?;
                sql.set(id, "mode", mode, *at)
            }
            Write::SetModel(id, model, at) => sql.set(id, "model", model, *at),
            Write::Archive(id, archived, at) => sql.set(id, "archived", *archived, *at),
            Write::Commit(id, batch) => sql.commit(id, batch),
            Write::Fork(fork) => sql.fork(fork),
            Write::Import(import) => sql.import(import),
            Write::FolderDoomed(id) => sql.doom(id),
            Write::Delete(id) => sql.delete(id),
            Write::FolderGone(id) => {
                sql.execute("DELETE FROM doomed_folder WHERE id = ?1", [id.as_str()])?;
                Ok(Written::Done)
            }
            Write::Mirrors(marks) => sql.mirrors(marks),
            Write::Memory(write) => memories::write(connection, &self.path, write).map(|()| Written::Done),
            #[cfg(test)]
            Write::LimitPages(pages) => {
                let limit = connection.query_row(&format!("PRAGMA max_page_count={pages}"), [], |_| Ok(()));
                limit.map_err(|source| sql.error(source)).map(|()| Written::Done)
            }
        }
    }

    fn committed(&self, command: &Write, done: &Written) {
        match (command, done) {
            (Write::Commit(id, batch), _) if !batch.items.is_empty() => self.mirror.dirty(id),
            (Write::Fork(_) | Write::Import(_), Written::Session(made)) => self.mirror.dirty(&made.1.id),
            (Write::Delete(id), _) => self.index.remove(id.clone()),
            _ => {}
        }
        if let Written::Session(session) = done {
            let (sid, session) = session.as_ref();
            self.index.put(IndexRow { project: self.project.clone(), sid: *sid, session: session.clone() });
        }
    }

    fn due(&self) -> Option<Write> {
        None
    }

    fn put_back(&self, _command: Write, _error: &StoreError) {}
}

/// One command's view of the transaction.
pub(super) struct Sql<'a> {
    pub(super) connection: &'a Connection,
    pub(super) path: &'a std::path::Path,
}

impl Sql<'_> {
    pub(super) fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::sqlite(self.path, source)
    }

    pub(super) fn codec(&self, source: CodecError) -> StoreError {
        StoreError::Codec { path: self.path.to_owned(), source }
    }

    pub(super) fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|source| self.error(source))?;
        statement.execute(params).map_err(|source| self.error(source))
    }

    pub(super) fn sid(&self, id: &SessionId) -> Result<i64, StoreError> {
        read::sid(self.connection, self.path, id)
    }

    pub(super) fn session(&self, id: &SessionId) -> Result<Written, StoreError> {
        let sid = self.sid(id)?;
        let session = read::session(self.connection, self.path, sid)?;
        Ok(Written::Session(Box::new((sid, session))))
    }

    fn describe(&self, project: &ProjectRecord) -> Result<Written, StoreError> {
        use std::os::unix::ffi::OsStrExt as _;
        let roots: Vec<String> = project.roots.iter().map(|root| path::escape(root.as_os_str().as_bytes())).collect();
        let roots = codec::encode_record("roots", &roots).map_err(|source| self.codec(source))?;
        self.execute(
            "INSERT INTO project (one, key, roots, created_at) VALUES (1, ?1, ?2, ?3) \
             ON CONFLICT (one) DO UPDATE SET key = ?1, roots = ?2",
            params![project.key.as_str(), roots, project.created_at.0],
        )?;
        Ok(Written::Done)
    }

    /// The session that was made with this key.
    pub(super) fn of_key(&self, key: Option<&str>) -> Result<Option<Written>, StoreError> {
        let Some(key) = key else { return Ok(None) };
        let found = self.connection.query_row("SELECT id FROM session WHERE key = ?1", [key], |row| row.get(0));
        let id: Option<String> = found.optional().map_err(|source| self.error(source))?;
        id.and_then(|id| id.parse().ok()).map(|id| self.session(&id)).transpose()
    }

    pub(super) fn create(&self, session: &SessionRecord) -> Result<Written, StoreError> {
        if let Some(made) = self.of_key(session.key.as_deref())? {
            return Ok(made);
        }
        self.execute(
            "INSERT INTO session (id, key, title, mode, model, created_at, updated_at, state, bundle, base_prompt) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 'idle', ?7, ?8)",
            params![
                session.id.as_str(),
                session.key,
                session.title,
                session.mode,
                session.model,
                session.created_at.0,
                session.bundle.word(),
                session.base_prompt,
            ],
        )?;
        self.session(&session.id)
    }

    /// Sets one column, whose name is this module's own.
    fn set(
        &self,
        id: &SessionId,
        column: &'static str,
        value: impl rusqlite::ToSql,
        at: Timestamp,
    ) -> Result<Written, StoreError> {
        let sid = self.sid(id)?;
        self.execute(
            &format!("UPDATE session SET {column} = ?2, updated_at = max(updated_at, ?3) WHERE sid = ?1"),
            params![sid, value, at.0],
        )?;
        self.session(id)
    }

    /// Notes the mode that a session leaves for plan mode, before it does.
    fn before_plan(&self, sid: i64, next: &str) -> Result<(), StoreError> {
        let plan = Mode::Plan.word();
        if next == plan {
            self.execute("UPDATE session SET before_plan = mode WHERE sid = ?1 AND mode <> ?2", params![sid, plan])?;
        }
        Ok(())
    }

    pub(super) fn commit(&self, id: &SessionId, batch: &Encoded) -> Result<Written, StoreError> {
        let sid = self.sid(id)?;
        let mut now = read::session(self.connection, self.path, sid)?.counters;
        let gap = |what, expected, found| StoreError::Gap { session: id.to_string(), what, expected, found };
        let mut bytes = 0;
        for item in &batch.items {
            if item.no != now.item.next().0 {
                return Err(gap("item", now.item.next().0, item.no));
            }
            now.item = now.item.next();
            bytes += item.body.body.len() as u64 + item.file_size;
            self.execute(
                "INSERT INTO item (sid, no, turn, step, at, kind, version, call, codec, len, body, file) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                params![
                    sid,
                    item.no as i64,
                    item.turn as i64,
                    item.step as i64,
                    item.at,
                    item.kind,
                    item.version,
                    item.call.map(|call| call as i64),
                    item.body.codec,
                    item.body.len as i64,
                    item.body.body,
                    item.file
                ],
            )?;
            if let Some(shown) = &item.shown {
                self.execute(read::ATTACH, params![sid, item.no as i64, shown])?;
            }
        }
        for projection in &batch.projections {
            bytes += (projection.body.body.len() + projection.shown.len()) as u64;
            self.execute(
                "INSERT INTO projection (sid, call, is_error, tokens, partial, codec, len, body, shown, whole, saved) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    sid,
                    projection.call as i64,
                    projection.is_error,
                    projection.tokens as i64,
                    projection.partial,
                    projection.body.codec,
                    projection.body.len as i64,
                    projection.body.body,
                    projection.shown,
                    projection.whole as i64,
                    projection.saved as i64
                ],
            )?;
        }
        for operation in &batch.operations {
            self.state_row(
                "INSERT INTO operation (sid, call, settled, version, body) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (sid, call) DO UPDATE SET settled = ?3, version = ?4, body = ?5",
                sid,
                operation,
                operation.over,
            )?;
        }
        for ask in &batch.asks {
            self.state_row(
                "INSERT INTO ask (sid, no, open, version, body) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (sid, no) DO UPDATE SET open = ?3, version = ?4, body = ?5",
                sid,
                ask,
                !ask.over,
            )?;
        }
        if let Some(epoch) = &batch.epoch {
            if epoch.no <= now.epoch.0 {
                return Err(gap("epoch", now.epoch.next().0, epoch.no));
            }
            bytes += self.epoch(sid, epoch, now.request.0)?;
            now.epoch.0 = epoch.no;
        }
        if let Some(request) = &batch.request {
            if request.no <= now.request.0 {
                return Err(gap("request", now.request.next().0, request.no));
            }
            bytes += self.request(sid, request)?;
            now.request.0 = request.no;
        }
        if let Some((no, body)) = &batch.request_end {
            self.execute(
                "INSERT INTO request_end (sid, no, version, body) VALUES (?1, ?2, ?3, ?4)",
                params![sid, *no as i64, RECORD_VERSION, body],
            )?;
        }
        if let Some(side) = &batch.side {
            bytes += self.side(sid, side)?;
        }
        if let Some((no, body)) = &batch.side_end {
            bytes += self.side_end(sid, *no, body)?;
        }
        for (seq, at, body) in &batch.events {
            if *seq != now.seq.next().0 {
                return Err(gap("event", now.seq.next().0, *seq));
            }
            now.seq = now.seq.next();
            self.execute(
                "INSERT INTO event (sid, seq, at, version, body) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![sid, *seq as i64, at, RECORD_VERSION, body],
            )?;
        }
        if let Some((key, turn)) = &batch.prompt_key {
            self.execute(
                "INSERT INTO prompt_key (sid, key, turn) VALUES (?1, ?2, ?3)",
                params![sid, key, *turn as i64],
            )?;
        }
        if let Some(task) = &batch.task {
            self.put_task(sid, task)?;
        }
        if let Some(revision) = batch.revision {
            self.execute("UPDATE project SET revision = max(revision, ?1)", [revision as i64])?;
        }
        if let Some(mode) = batch.mode {
            self.before_plan(sid, mode.word())?;
        }
        self.execute(
            "UPDATE session SET last_item = ?2, last_seq = ?3, last_request = ?4, last_epoch = ?5, \
             last_turn = max(last_turn, ?6), last_call = max(last_call, ?7), last_ask = max(last_ask, ?8), \
             todos_item = max(todos_item, ?9), updated_at = max(updated_at, ?10), bytes = bytes + ?11, \
             state = coalesce(?12, state), title = coalesce(?13, title), mode = coalesce(?14, mode), \
             archived = iif(?6 > last_turn, 0, archived) WHERE sid = ?1",
            params![
                sid,
                now.item.0 as i64,
                now.seq.0 as i64,
                now.request.0 as i64,
                now.epoch.0 as i64,
                batch.turn as i64,
                batch.call as i64,
                batch.ask as i64,
                batch.todos_item as i64,
                batch.at,
                bytes as i64,
                batch.state.map(read::state_word),
                batch.title,
                batch.mode.map(Mode::word)
            ],
        )?;
        let session = read::session(self.connection, self.path, sid)?;
        Ok(Written::Session(Box::new((sid, session))))
    }

    fn state_row(&self, sql: &str, sid: i64, row: &StateRow, flag: bool) -> Result<(), StoreError> {
        self.execute(sql, params![sid, row.no as i64, flag, RECORD_VERSION, row.body])?;
        Ok(())
    }

    fn epoch(&self, sid: i64, epoch: &EpochRows, after_request: u64) -> Result<u64, StoreError> {
        let (stated, mut bytes) = self.stated(&epoch.stated)?;
        let body = super::encode::EpochBody { stated, ..epoch.body.clone() };
        let body = codec::encode_record("epoch", &body).map_err(|source| self.codec(source))?;
        self.execute(
            "INSERT INTO epoch (sid, no, at, first_item, after_request, version, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                sid,
                epoch.no as i64,
                epoch.at,
                epoch.first_item as i64,
                after_request as i64,
                RECORD_VERSION,
                body
            ],
        )?;
        for (layer, texts) in (1_i64..).zip(&epoch.layers) {
            for (pos, text) in (0_i64..).zip(texts) {
                let (bid, added) = self.blob(text)?;
                bytes += added;
                self.execute(
                    "INSERT INTO epoch_blob (sid, epoch, layer, pos, bid, tokens, images) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![sid, epoch.no as i64, layer, pos, bid, text.tokens as i64, text.images],
                )?;
            }
        }
        Ok(bytes)
    }

    fn request(&self, sid: i64, request: &RequestRows) -> Result<u64, StoreError> {
        let (stated, mut bytes) = self.stated(&request.stated)?;
        let body = super::encode::RequestBody { stated, ..request.body.clone() };
        let body = codec::encode_record("request", &body).map_err(|source| self.codec(source))?;
        self.execute(
            "INSERT INTO request (sid, no, epoch, turn, step, at, last_item, hash, bytes, version, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                sid,
                request.no as i64,
                request.epoch as i64,
                request.turn as i64,
                request.step as i64,
                request.at,
                request.last_item as i64,
                request.hash,
                request.bytes as i64,
                RECORD_VERSION,
                body
            ],
        )?;
        for (pos, text) in (0_i64..).zip(&request.tail) {
            let (bid, added) = self.blob(text)?;
            bytes += added;
            self.execute(
                "INSERT INTO request_blob (sid, request, pos, bid, tokens, images) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![sid, request.no as i64, pos, bid, text.tokens as i64, text.images],
            )?;
        }
        Ok(bytes)
    }

    fn stated(&self, blocks: &[(String, Text)]) -> Result<(std::collections::BTreeMap<String, i64>, u64), StoreError> {
        let mut bytes = 0;
        let mut stated = std::collections::BTreeMap::new();
        for (name, text) in blocks {
            let (bid, added) = self.blob(text)?;
            bytes += added;
            stated.insert(name.clone(), bid);
        }
        Ok((stated, bytes))
    }

    /// The number of a text, which is stored when it was not yet; and how many bytes that took.
    pub(super) fn blob(&self, text: &Text) -> Result<(i64, u64), StoreError> {
        let known = self
            .connection
            .prepare_cached("SELECT bid FROM blob WHERE hash = ?1")
            .and_then(|mut statement| statement.query_row([&text.hash], |row| row.get(0)).optional())
            .map_err(|source| self.error(source))?;
        if let Some(bid) = known {
            return Ok((bid, 0));
        }
        let made;
        let packed = if let Some(packed) = &text.packed {
            packed
        } else {
            made = pack(&text.content);
            &made
        };
        self.execute(
            "INSERT INTO blob (hash, codec, len, body) VALUES (?1, ?2, ?3, ?4)",
            params![text.hash, packed.codec, packed.len as i64, packed.body],
        )?;
        Ok((self.connection.last_insert_rowid(), packed.body.len() as u64))
    }

    fn mirrors(&self, marks: &[MirrorMark]) -> Result<Written, StoreError> {
        for mark in marks {
            self.execute(
                "INSERT INTO mirror (sid, version, item, len, hash) \
                 SELECT sid, ?2, ?3, ?4, ?5 FROM session WHERE id = ?1 \
                 ON CONFLICT (sid) DO UPDATE SET version = ?2, item = ?3, len = ?4, hash = ?5",
                params![mark.session.as_str(), mark.version, mark.item.0 as i64, mark.len as i64, mark.hash],
            )?;
        }
        Ok(Written::Done)
    }
}
