//! One project's store: sessions, what was said, sent and done in them. A handle is cheap to clone; the last one that
//! goes ends the threads behind it.

use super::artifact;
use super::database::{self, Health};
use super::encode;
use super::index::{Index, IndexRow};
use super::memories;
use super::mirror::{self, Backlog, MirrorState, Mirrors};
use super::projections::ProjectionStats;
use super::read::{self, Reader};
use super::readers::Readers;
use super::record::{
    Elsewhere, ItemPage, LoadedView, ProjectRecord, RequestBody, RequestEntry, ResolvedEvent, SessionRecord, SessionRow,
};
use super::repair;
use super::schema::PROJECT;
use super::write::{MirrorMark, ProjectWriter, Write, Written};
use super::writer::Writer;
use super::{StoreError, private, shared};
use plimsoll_core::event::Ask;
use plimsoll_core::id::{AskId, CallId, ItemNo, RequestNo, Revision, Seq, SessionId, TurnNo};
use plimsoll_core::ledger::Operation;
use plimsoll_core::prompt::Prompts;
use plimsoll_core::tool::outcome::{Outcome, Todo};
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::workspace::memory::Scope;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// The store of one project. See the module's head.
#[derive(Clone)]
pub struct ProjectStore {
    inner: Arc<Inner>,
}

struct Inner {
    record: RwLock<Arc<ProjectRecord>>,
    folder: PathBuf,
    database: PathBuf,
    health: Health,
    writer: Arc<Writer<ProjectWriter>>,
    readers: Readers,
    /// For what looks through whole transcripts.
    scanner: Readers,
    backlog: Arc<Backlog>,
    mirrors: Mutex<Option<JoinHandle<Vec<MirrorMark>>>>,
    /// Held while a memory is written, until its file is right.
    memory: tokio::sync::Mutex<()>,
}

/// The database of a project below its folder.
pub(super) fn database_path(folder: &Path) -> PathBuf {
    folder.join("plimsoll.db")
}

/// What opening a project's store gave, with its sessions for the index.
pub(super) struct OpenedProject {
    pub(super) store: ProjectStore,
    pub(super) rows: Vec<IndexRow>,
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime does not fit the bound"
)]
impl ProjectStore {
    /// Opens the store of a project. Blocks: called away from the async threads. `known` is what the index has.
    pub(super) fn open(
        folder: PathBuf,
        record: ProjectRecord,
        index: Arc<Index>,
        known: &[IndexRow],
    ) -> Result<OpenedProject, StoreError> {
        private::folder(&folder)?;
        let path = database_path(&folder);
        let opened =
            database::open(&path, &PROJECT, &|connection| repair::repair(connection, &path, &record.key, known))?;
        if opened.fresh && !known.is_empty() {
            tracing::error!(project = %record.key, sessions = known.len(), "the project's database was gone; a new one was made");
        }
        let sessions = read::sessions(&opened.connection, &path)?;
        if opened.health != Health::Good {
            keep_mirrors(&folder, sessions.iter().map(|(_, session)| &session.id))?;
        }
        for id in doomed(&opened.connection, &path)? {
            shared::clear(&opened.connection, &path, &folder.join(id.as_str()), &id)?;
        }
        memories::mirror_opened(&folder, &opened.connection, &path, Scope::Project);
        let backlog = Arc::new(Backlog::default());
        let commands =
            ProjectWriter { path: path.clone(), index, project: record.key.clone(), mirror: Arc::clone(&backlog) };
        let suspect = Arc::new(AtomicBool::new(false));
        let writer = Arc::new(Writer::start(opened.connection, &path, commands, Arc::clone(&suspect))?);
        let marks = Arc::downgrade(&writer);
        let mirrors = Mirrors {
            folder: folder.clone(),
            database: path.clone(),
            backlog: Arc::clone(&backlog),
            mark: Box::new(move |found| {
                if let Some(writer) = marks.upgrade() {
                    writer.offer(Write::Mirrors(found));
                }
            }),
        };
        let thread = std::thread::Builder::new()
            .name("store-mirror".to_owned())
            .spawn(move || mirrors.run())
            .map_err(|source| StoreError::io("cannot start the mirror of", &folder, source))?;
        let rows =
            sessions.into_iter().map(|(sid, session)| IndexRow { project: record.key.clone(), sid, session }).collect();
        let (readers, scanner) = (Readers::new(&path, Arc::clone(&suspect)), Readers::single(&path, suspect));
        let inner = Inner {
            record: RwLock::new(Arc::new(record)),
            folder,
            database: path,
            health: opened.health,
            writer,
            readers,
            scanner,
            backlog,
            mirrors: Mutex::new(Some(thread)),
            memory: tokio::sync::Mutex::default(),
        };
        Ok(OpenedProject { store: Self { inner: Arc::new(inner) }, rows })
    }

    /// Notes in the project's own database whose it is.
    pub(super) async fn describe(&self) -> Result<(), StoreError> {
        self.run(Write::Describe(self.record().as_ref().clone())).await
    }

    /// Whether nobody but the caller has a handle.
    pub(super) fn is_idle(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
    }

    /// The project, as it is now.
    pub fn record(&self) -> Arc<ProjectRecord> {
        Arc::clone(&self.inner.record.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_record(&self, record: ProjectRecord) {
        *self.inner.record.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(record);
    }

    /// What opening the database found.
    pub fn health(&self) -> &Health {
        &self.inner.health
    }

    /// The project's folder below the data folder.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// A session's own folder: `transcript.txt` and `artifacts/`.
    pub fn session_folder(&self, id: &SessionId) -> PathBuf {
        self.inner.folder.join(id.as_str())
    }

    /// Makes a session, or gives the one that was made with the same key.
    pub async fn create_session(&self, session: SessionRecord) -> Result<SessionRow, StoreError> {
        let made = self.write_session(Write::Create(session)).await?;
        let artifacts = self.session_folder(&made.id).join("artifacts");
        self.blocking(move || private::folder(&artifacts)).await?;
        Ok(made)
    }

    /// One session.
    pub async fn session(&self, id: &SessionId) -> Result<SessionRow, StoreError> {
        self.read(id, |reader, sid| read::session(reader.connection, reader.path, sid)).await
    }

    /// The texts that a session was made with: its bundle and its own identity sentence.
    pub async fn made_with(&self, id: &SessionId) -> Result<Prompts, StoreError> {
        self.read(id, |reader, sid| reader.made_with(sid)).await
    }

    /// The texts of a session's present epoch; before its first one, those that it was made with.
    pub async fn texts(&self, id: &SessionId) -> Result<Prompts, StoreError> {
        self.read(id, |reader, sid| reader.texts(sid)).await
    }

    /// The todo list of a session as it was written last.
    pub async fn todos(&self, id: &SessionId) -> Result<Vec<Todo>, StoreError> {
        self.read(id, |reader, sid| reader.todos(sid)).await
    }

    /// Writes a batch in one transaction; it is durable when this returns. Gives the session as it stands then.
    /// A batch that does not go on where the session ends is refused whole.
    pub async fn commit(&self, id: &SessionId, batch: Batch) -> Result<SessionRow, StoreError> {
        let encoded = encode::encode(batch, &self.session_folder(id), &self.inner.database).await?;
        self.write_session(Write::Commit(id.clone(), Box::new(encoded))).await
    }

    /// Everything that a turn needs to go on; also has the session's mirror checked in the background.
    pub async fn load_view(&self, id: &SessionId) -> Result<LoadedView, StoreError> {
        let view = self.read(id, |reader, sid| reader.view(sid)).await?;
        self.inner.backlog.check(id);
        Ok(view)
    }

    /// Up to `limit` items after `after`; fewer where they are long.
    pub async fn items_after(&self, id: &SessionId, after: ItemNo, limit: usize) -> Result<ItemPage, StoreError> {
        self.read(id, move |reader, sid| reader.page_after(sid, after, limit)).await
    }

    /// Up to `limit` items before `before`, ascending; without it, the last ones.
    pub async fn items_before(
        &self,
        id: &SessionId,
        before: Option<ItemNo>,
        limit: usize,
    ) -> Result<ItemPage, StoreError> {
        self.read(id, move |reader, sid| reader.page_before(sid, before, limit)).await
    }

    /// One item.
    pub async fn item(
        &self,
        id: &SessionId,
        no: ItemNo,
    ) -> Result<Option<plimsoll_core::transcript::item::Item>, StoreError> {
        self.read(id, move |reader, sid| reader.item(sid, no)).await
    }

    /// Up to `limit` durable events after `after` with what they refer to.
    pub async fn events(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<ResolvedEvent>, StoreError> {
        self.read(id, move |reader, sid| reader.events(sid, after, limit)).await
    }

    /// Saves the text of a result, on disk when this returns, and gives the file's path.
    pub async fn save_text(&self, id: &SessionId, call: CallId, text: String) -> Result<PathBuf, StoreError> {
        let folder = self.session_folder(id);
        let path = artifact::path(&folder, call);
        self.blocking(move || artifact::save(&folder, call, &text, true)).await?;
        Ok(path)
    }

    /// The complete outcome of a call.
    pub async fn outcome(&self, id: &SessionId, call: CallId) -> Result<Option<Outcome>, StoreError> {
        self.read(id, move |reader, sid| reader.outcome(sid, call)).await
    }

    /// A session's operations by call: all, or those that are not settled.
    pub async fn operations(&self, id: &SessionId, open_only: bool) -> Result<Vec<Operation>, StoreError> {
        self.read(id, move |reader, sid| reader.operations(sid, open_only)).await
    }

    /// Operations of the project's other sessions whose record names this text, such as a version. Looks through all of
    /// them: meant for what happens rarely.
    pub async fn operations_elsewhere(&self, id: &SessionId, text: &str) -> Result<Vec<Elsewhere>, StoreError> {
        let text = text.to_owned();
        self.read(id, move |reader, sid| reader.elsewhere(sid, &text)).await
    }

    /// The first line of each turn's prompt.
    pub async fn prompts(&self, id: &SessionId) -> Result<BTreeMap<TurnNo, String>, StoreError> {
        self.read(id, |reader, sid| reader.prompts(sid)).await
    }

    /// A session's questions that wait for an answer.
    pub async fn open_asks(&self, id: &SessionId) -> Result<Vec<Ask>, StoreError> {
        self.read(id, |reader, sid| reader.open_asks(sid)).await
    }

    /// One question in its present state.
    pub async fn ask(&self, id: &SessionId, ask: AskId) -> Result<Option<Ask>, StoreError> {
        self.read(id, move |reader, sid| reader.ask(sid, ask)).await
    }

    /// Questions of the session whose answer holds for the rest of it, oldest first.
    pub async fn granted(&self, id: &SessionId) -> Result<Vec<Ask>, StoreError> {
        self.read(id, |reader, sid| reader.granted(sid)).await
    }

    /// The turn that was begun by the prompt with this key.
    pub async fn prompt_turn(&self, id: &SessionId, key: &str) -> Result<Option<TurnNo>, StoreError> {
        let key = key.to_owned();
        self.read(id, move |reader, sid| reader.prompt_turn(sid, &key)).await
    }

    /// Every request of a session, oldest first.
    pub async fn requests(&self, id: &SessionId) -> Result<Vec<RequestEntry>, StoreError> {
        self.read(id, |reader, sid| reader.requests(sid)).await
    }

    /// The exact segments that a request was made of; an error when their hash is not the one it was sent with.
    pub async fn request_body_segments(&self, id: &SessionId, no: RequestNo) -> Result<RequestBody, StoreError> {
        self.read(id, move |reader, sid| reader.request_body(sid, no)).await
    }

    /// What projections saved in a session, or in all of the project, by model and tool. Looks through all of their
    /// calls: meant for reports.
    pub async fn projection_stats(&self, session: Option<&SessionId>) -> Result<Vec<ProjectionStats>, StoreError> {
        if let Some(id) = session {
            return self.read(id, |reader, sid| reader.projection_stats([sid])).await;
        }
        let path = self.inner.database.clone();
        let read = self.inner.readers.read(move |connection| {
            let sids = read::sessions(connection, &path)?.into_iter().map(|(sid, _)| sid);
            Reader { connection, path: &path, folder: Path::new("") }.projection_stats(sids)
        });
        read.await
    }

    /// Sessions whose turn was running or waiting when their last batch was written. At a start these are the turns
    /// that the daemon's death has cut.
    pub async fn running_turns(&self) -> Result<Vec<SessionRow>, StoreError> {
        let path = self.inner.database.clone();
        self.inner
            .readers
            .read(move |connection| {
                let reader = Reader { connection, path: &path, folder: Path::new("") };
                let sids = reader.rows(
                    "SELECT sid FROM session WHERE state IN ('running', 'waiting') ORDER BY sid",
                    [],
                    |row| Ok(Ok(row.get::<_, i64>(0)?)),
                )?;
                sids.into_iter().map(|sid| read::session(connection, &path, sid)).collect()
            })
            .await
    }

    /// The project's revision that was last cited.
    pub async fn revision(&self) -> Result<Revision, StoreError> {
        let path = self.inner.database.clone();
        let read = self
            .inner
            .readers
            .read(move |connection| Reader { connection, path: &path, folder: Path::new("") }.revision());
        read.await
    }

    /// Where a session's mirror is.
    pub fn mirror_path(&self, id: &SessionId) -> PathBuf {
        mirror::transcript(&self.session_folder(id))
    }

    /// Makes a session's mirror anew from the store, and the saved texts of results that are not there; on disk under its name when this returns.
    pub async fn rebuild_mirror(&self, id: &SessionId) -> Result<MirrorState, StoreError> {
        self.settle(id, true).await
    }

    /// Returns when the mirror of a session holds everything that was committed before.
    pub async fn settle_mirror(&self, id: &SessionId) -> Result<(), StoreError> {
        self.settle(id, false).await.map(|_| ())
    }

    /// Ends the store: what waits is written, mirrors are brought up to date, the log is emptied. Calls that come
    /// later fail with [`StoreError::Closed`].
    pub async fn close(&self) {
        let inner = &self.inner;
        inner.backlog.close();
        let thread = inner.mirrors.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let marks = tokio::task::spawn_blocking(move || thread.join().unwrap_or_default()).await;
            let marks = marks.unwrap_or_default();
            if !marks.is_empty()
                && let Err(error) = inner.writer.run(Write::Mirrors(marks)).await
            {
                tracing::warn!(%error, "the mirrors will be checked whole when they are used next");
            }
        }
        inner.readers.close().await;
        inner.scanner.close().await;
        inner.writer.close().await;
    }

    #[cfg(test)]
    pub(crate) async fn limit_pages(&self, pages: u32) {
        self.inner.writer.run(Write::LimitPages(pages)).await.unwrap();
    }

    async fn settle(&self, id: &SessionId, rebuild: bool) -> Result<MirrorState, StoreError> {
        let (answer, done) = oneshot::channel();
        self.inner.backlog.settle(id, rebuild, answer);
        done.await.unwrap_or_else(|_| Err(StoreError::closed(&self.inner.folder)))
    }

    /// Removes folders of sessions that are gone, but for what forks of them need.
    pub(super) async fn clear_folders(&self) -> Result<(), StoreError> {
        let inner = &self.inner;
        for id in self.read_all(doomed).await? {
            let (answer, done) = oneshot::channel();
            inner.backlog.remove(&id, answer);
            done.await.unwrap_or_else(|_| Err(StoreError::closed(&inner.folder)))?;
            inner.writer.run(Write::FolderGone(id)).await?;
        }
        inner.writer.checkpoint().await;
        Ok(())
    }

    pub(super) async fn write_session(&self, command: Write) -> Result<SessionRow, StoreError> {
        match self.inner.writer.run(command).await? {
            Written::Session(session) => Ok(session.1),
            // No command that names a session gives anything else.
            Written::Done => Err(StoreError::closed(&self.inner.database)),
        }
    }

    pub(super) fn memory_lock(&self) -> &tokio::sync::Mutex<()> {
        &self.inner.memory
    }

    /// Performs a command that gives nothing.
    pub(super) async fn run(&self, command: Write) -> Result<(), StoreError> {
        self.inner.writer.run(command).await.map(|_| ())
    }

    /// Reads what belongs to no session.
    pub(super) async fn read_all<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Path) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = self.inner.database.clone();
        self.inner.readers.read(move |connection| work(connection, &path)).await
    }

    /// Reads what takes long, beside all other reads.
    pub(super) async fn scan<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Path) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = self.inner.database.clone();
        self.inner.scanner.read(move |connection| work(connection, &path)).await
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        id: &SessionId,
        work: impl FnOnce(&Reader<'_>, i64) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (id, path, folder) = (id.clone(), self.inner.database.clone(), self.session_folder(id));
        let work = move |connection: &Connection| {
            let sid = read::sid(connection, &path, &id)?;
            work(&Reader { connection, path: &path, folder: &folder }, sid)
        };
        self.inner.readers.read(work).await
    }

    pub(super) async fn blocking(
        &self,
        work: impl FnOnce() -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(StoreError::closed(&self.inner.folder)))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.backlog.close();
        let thread = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!(folder = %self.folder.display(), "the mirror thread panicked");
        }
    }
}

/// Sessions that were deleted and whose folders are still there.
fn doomed(connection: &Connection, path: &Path) -> Result<Vec<SessionId>, StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    let mut statement = connection.prepare("SELECT id FROM doomed_folder").map_err(sqlite)?;
    let ids: Vec<String> = statement.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(sqlite)?;
    Ok(ids.into_iter().filter_map(|id| id.parse().ok()).collect())
}

/// After a recovery a mirror may know more than the database: it is kept under another name before it is made anew.
fn keep_mirrors<'a>(folder: &Path, sessions: impl Iterator<Item = &'a SessionId>) -> Result<(), StoreError> {
    for id in sessions {
        let path = mirror::transcript(&folder.join(id.as_str()));
        let kept = (1..u32::MAX)
            .map(|no| private::beside(&path, &format!(".before-recovery-{no}")))
            .find(|kept| !kept.exists());
        if let (true, Some(kept)) = (path.exists(), kept) {
            std::fs::rename(&path, kept).map_err(|source| StoreError::io("cannot keep", &path, source))?;
        }
    }
    Ok(())
}
