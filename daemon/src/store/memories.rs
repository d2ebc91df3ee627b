//! Memories: rows of the project's database and of `user.db`, and a file for each beside it, which is derived: written after
//! the commit, made anew when the store is opened and it is missing, torn, or of nothing that is remembered.

use super::index::UserWrite;
use super::read::number;
use super::write::Write;
use super::{ProjectStore, StoreError, Stores, private};
use plimsoll_core::id::{CallId, ItemNo, SessionId};
use plimsoll_core::time::Timestamp;
use plimsoll_core::workspace::memory::{MOST, MemoryId, Scope, file};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folder of the files, in a project's folder and in the data folder.
pub const MEMORIES: &str = "memories";

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Its name.
    pub id: MemoryId,
    /// What it says, in one line.
    pub title: String,
    /// Its text.
    pub content: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Which call wrote what it says now.
    pub origin: Origin,
}

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The session.
    pub session: SessionId,
    /// The call.
    pub call: CallId,
    /// The item of the call.
    pub item: ItemNo,
}

/// Stands for the session of what the user wrote; no session has this id.
const USER: &str = "user";

impl Origin {
    /// The user, by a client.
    pub fn user() -> Option<Self> {
        Some(Self { session: USER.parse().ok()?, call: CallId(0), item: ItemNo(0) })
    }

    /// The session whose call it was; none when the user wrote it.
    pub fn session(&self) -> Option<&SessionId> {
        (self.session.as_str() != USER).then_some(&self.session)
    }
}

/// What is written.
#[derive(Debug, Clone)]
pub enum MemoryWrite {
    /// A new one; the one that says exactly the same stays instead.
    Create { title: String, content: String, origin: Origin, at: Timestamp },
    /// What is not given stays. An unknown number is no error.
    Update { no: u64, title: Option<String>, content: Option<String>, origin: Origin, at: Timestamp },
    /// An unknown number is no error.
    Delete { no: u64 },
}

/// What writing gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryWritten {
    /// It stands like this now.
    Now(Memory),
    /// It is gone.
    Gone,
    /// There is none with this number, or there was none.
    Unknown,
    /// There are too many to keep another one.
    Full,
}

/// Performs a write in the connection's transaction.
pub(super) fn write(connection: &Connection, path: &Path, write: &MemoryWrite) -> Result<(), StoreError> {
    let execute = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
        let done = connection.prepare_cached(sql).and_then(|mut statement| statement.execute(params));
        done.map(|_| ()).map_err(|source| StoreError::sqlite(path, source))
    };
    match write {
        MemoryWrite::Create { title, content, origin, at } => execute(
            "INSERT INTO memory (title, content, created_at, updated_at, session, call, item) \
             SELECT ?1, ?2, ?3, ?3, ?4, ?5, ?6 WHERE (SELECT count(*) FROM memory) < ?7 \
             AND NOT EXISTS (SELECT 1 FROM memory WHERE title = ?1 AND content = ?2)",
            params![
                title,
                content,
                at.0,
                origin.session.as_str(),
                signed(origin.call.0),
                signed(origin.item.0),
                signed(MOST as u64)
            ],
        ),
        MemoryWrite::Update { no, title, content, origin, at } => execute(
            "UPDATE memory SET title = coalesce(?2, title), content = coalesce(?3, content), \
             updated_at = ?4, session = ?5, call = ?6, item = ?7 WHERE no = ?1",
            params![
                signed(*no),
                title,
                content,
                at.0,
                origin.session.as_str(),
                signed(origin.call.0),
                signed(origin.item.0)
            ],
        ),
        MemoryWrite::Delete { no } => execute("DELETE FROM memory WHERE no = ?1", params![signed(*no)]),
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// All memories of a database, by number.
pub(super) fn all(connection: &Connection, path: &Path, scope: Scope) -> Result<Vec<Memory>, StoreError> {
    let sql = "SELECT no, title, content, created_at, updated_at, session, call, item FROM memory ORDER BY no";
    let found = connection.prepare_cached(sql).and_then(|mut statement| {
        statement.query_map([], |row| memory(row, scope)).and_then(Iterator::collect::<Result<Vec<_>, _>>)
    });
    Ok(found.map_err(|source| StoreError::sqlite(path, source))?.into_iter().flatten().collect())
}

/// A memory; none when its session is no id, which only damage can do.
fn memory(row: &Row<'_>, scope: Scope) -> rusqlite::Result<Option<Memory>> {
    let session: String = row.get(5)?;
    let Ok(session) = session.parse() else { return Ok(None) };
    Ok(Some(Memory {
        id: MemoryId { scope, no: number(row, 0)? },
        title: row.get(1)?,
        content: row.get(2)?,
        created_at: Timestamp(row.get(3)?),
        updated_at: Timestamp(row.get(4)?),
        origin: Origin { session, call: CallId(number(row, 6)?), item: ItemNo(number(row, 7)?) },
    }))
}

/// What a write has led to, from what was there before and what is there now.
fn written(write: &MemoryWrite, before: &[Memory], now: Vec<Memory>) -> MemoryWritten {
    let known = |no: u64| move |memory: &Memory| memory.id.no == no;
    let found = match write {
        MemoryWrite::Create { title, content, .. } => {
            let same = |memory: &Memory| memory.title == *title && memory.content == *content;
            return now.into_iter().find(same).map_or(MemoryWritten::Full, MemoryWritten::Now);
        }
        MemoryWrite::Update { no, .. } => now.into_iter().find(known(*no)).map(MemoryWritten::Now),
        MemoryWrite::Delete { no } => before.iter().any(known(*no)).then_some(MemoryWritten::Gone),
    };
    found.unwrap_or(MemoryWritten::Unknown)
}

/// The path of a memory's file in the folder of its scope.
fn path_in(folder: &Path, id: MemoryId) -> PathBuf {
    folder.join(format!("{id}.md"))
}

/// Makes the folder's files those of these memories. Blocks.
pub(super) fn mirror(folder: &Path, memories: &[Memory]) -> Result<(), StoreError> {
    if memories.is_empty() && !folder.exists() {
        return Ok(());
    }
    private::folder(folder)?;
    let mut right = BTreeSet::new();
    for memory in memories {
        let path = path_in(folder, memory.id);
        let text = file(&memory.title, &memory.content);
        if std::fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
            private::remove(&path)?;
            private::replace(&path, text.as_bytes(), true)?;
        }
        right.insert(path);
    }
    let entries = std::fs::read_dir(folder).map_err(|source| StoreError::io("cannot list", folder, source))?;
    for extra in entries.flatten().map(|entry| entry.path()).filter(|path| !right.contains(path)) {
        private::remove(&extra)?;
    }
    Ok(())
}

/// Makes the files right when a store is opened. They are derived: what cannot be written must not keep it closed.
pub(super) fn mirror_opened(folder: &Path, connection: &Connection, path: &Path, scope: Scope) {
    let done = all(connection, path, scope).and_then(|memories| mirror(&folder.join(MEMORIES), &memories));
    if let Err(error) = done {
        tracing::warn!(%error, "the files of what is remembered could not be made");
    }
}

impl ProjectStore {
    /// What is remembered for the project, by number.
    pub async fn memories(&self) -> Result<Vec<Memory>, StoreError> {
        self.read_all(|connection, path| all(connection, path, Scope::Project)).await
    }

    /// Writes, and makes the files right; committed when this returns.
    pub async fn write_memory(&self, write: MemoryWrite) -> Result<MemoryWritten, StoreError> {
        let _one = self.memory_lock().lock().await;
        let before = self.memories().await?;
        self.run(Write::Memory(write.clone())).await?;
        let now = self.memories().await?;
        mirror_written(self.folder().join(MEMORIES), now.clone()).await;
        Ok(written(&write, &before, now))
    }

    /// The item of a call that a session made; none when there is none.
    pub async fn call_item(&self, id: &SessionId, call: CallId) -> Result<Option<ItemNo>, StoreError> {
        let id = id.clone();
        let find = move |connection: &Connection, path: &Path| {
            let sql = "SELECT min(item.no) FROM item JOIN session USING (sid) WHERE session.id = ?1 AND item.call = ?2";
            let found: rusqlite::Result<Option<Option<i64>>> = connection.prepare_cached(sql).and_then(|mut query| {
                query.query_row(params![id.as_str(), signed(call.0)], |row| row.get(0)).optional()
            });
            let found = found.map_err(|source| StoreError::sqlite(path, source))?.flatten();
            Ok(found.and_then(|no| u64::try_from(no).ok()).map(ItemNo))
        };
        self.read_all(find).await
    }
}

impl Stores {
    /// What is remembered for the user, by number.
    pub async fn user_memories(&self) -> Result<Vec<Memory>, StoreError> {
        self.read(|sql| all(sql.connection, sql.path, Scope::User)).await
    }

    /// Writes, and makes the files right; committed when this returns.
    pub async fn write_user_memory(&self, write: MemoryWrite) -> Result<MemoryWritten, StoreError> {
        let _one = self.memory_lock().lock().await;
        let before = self.user_memories().await?;
        self.write(UserWrite::Memory(write.clone())).await?;
        let now = self.user_memories().await?;
        mirror_written(self.data().join(MEMORIES), now.clone()).await;
        Ok(written(&write, &before, now))
    }
}

/// A file that could not be written is written when the store is next opened, or with the next change.
async fn mirror_written(folder: PathBuf, memories: Vec<Memory>) {
    let done = tokio::task::spawn_blocking(move || mirror(&folder, &memories)).await;
    if let Ok(Err(error)) = done {
        tracing::warn!(%error, "the file of a memory could not be written");
    }
}
