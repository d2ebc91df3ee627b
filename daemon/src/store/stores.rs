//! All stores of one data folder: `user.db`, and the project stores that are open.

use super::database::{self, Health};
use super::index::{self, Index, IndexRow, UserSql, UserWrite, UserWriter};
use super::project::{OpenedProject, ProjectStore, database_path};
use super::readers::Readers;
use super::record::{ListFilter, ListPage, ProjectRecord};
use super::schema::USER;
use super::writer::Writer;
use super::{StoreError, memories, private};
use plimsoll_core::id::{ParseIdError, ProjectKey, SessionId};
use plimsoll_core::time::Timestamp;
use plimsoll_core::workspace::memory::Scope;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Project databases that are open at the same time: each costs threads, file descriptors and memory.
const MOST_OPEN: usize = 8;

/// Letters of a project's folder name that go into its key.
const SLUG: usize = 40;

/// See the module's head. Cheap to clone.
#[derive(Clone)]
pub struct Stores {
    inner: Arc<Inner>,
}

struct Inner {
    data: PathBuf,
    path: PathBuf,
    health: Health,
    writer: Writer<UserWriter>,
    readers: Readers,
    index: Arc<Index>,
    open: Mutex<OpenProjects>,
    /// Held by the one caller that opens or closes a project store, so that none is opened twice.
    opening: Semaphore,
    /// Projects that were not closed well when this daemon started.
    unclean: Vec<ProjectKey>,
    /// Held while a memory is written, until its file is right.
    memory: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct OpenProjects {
    stores: HashMap<ProjectKey, (u64, ProjectStore)>,
    uses: u64,
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime does not fit the bound"
)]
impl Stores {
    /// Opens the data folder, which is made when it is missing.
    pub async fn open(data: &Path) -> Result<Self, StoreError> {
        let data = data.to_owned();
        let folder = data.clone();
        let task = tokio::task::spawn_blocking(move || open_user(&data));
        let opened = task.await.unwrap_or_else(|_| Err(StoreError::closed(&folder)))?;
        let stores = Self { inner: Arc::new(opened.inner) };
        for (project, rows) in opened.found {
            let key = project.key.clone();
            stores.inner.writer.run(UserWrite::Project(project)).await?;
            stores.inner.writer.run(UserWrite::Repair(key, rows)).await?;
        }
        Ok(stores)
    }

    /// What opening `user.db` found.
    pub fn health(&self) -> &Health {
        &self.inner.health
    }

    /// What opening found damaged, `user.db` and the open projects.
    pub fn damages(&self) -> Vec<Health> {
        let open = self.lock();
        let projects = open.stores.values().map(|(_, store)| store.health());
        std::iter::once(&self.inner.health).chain(projects).filter(|health| **health != Health::Good).cloned().collect()
    }

    /// The project whose first root is `roots[0]`, made when it is new. Roots that it has and that are not named stay; those that it
    /// does not have are added, and it is trusted no longer where one of them lies outside the others. Paths to the same folder are the same project.
    /// A root that is gone is found by the path that it had.
    pub async fn project_for(&self, roots: &[PathBuf], now: Timestamp) -> Result<ProjectRecord, StoreError> {
        let asked = roots.to_vec();
        let data = self.inner.data.clone();
        let task = tokio::task::spawn_blocking(move || canonical(asked));
        let found = task.await.unwrap_or_else(|_| Err(StoreError::closed(&data)));
        let roots = match found {
            Ok(roots) => roots,
            Err(missing) => {
                let first = roots.first().map(|root| index::root_text(root)).unwrap_or_default();
                return self.read(move |sql| sql.project_by("root", &first)).await?.ok_or(missing);
            }
        };
        let key = new_key(roots.first().map(PathBuf::as_path)).map_err(|_| StoreError::closed(&self.inner.path))?;
        let project = ProjectRecord { key, roots, created_at: now };
        let first = project.roots.first().map(|root| index::root_text(root)).unwrap_or_default();
        let known = self.read(move |sql| sql.project_by("root", &first)).await?;
        if let Some(known) = known
            && known.has(&project.roots)
        {
            return Ok(known);
        }
        let made = self.inner.writer.run(UserWrite::Project(project)).await?;
        let made = made.ok_or_else(|| StoreError::closed(&self.inner.path))?;
        self.note_roots(&made).await;
        Ok(made)
    }

    /// A project by its key.
    pub async fn project(&self, key: &ProjectKey) -> Result<ProjectRecord, StoreError> {
        let wanted = key.clone();
        let found = self.read(move |sql| sql.project_by("key", wanted.as_str())).await?;
        found.ok_or_else(|| StoreError::NotFound { what: "project", id: key.to_string() })
    }

    /// All projects, oldest first.
    pub async fn projects(&self) -> Result<Vec<ProjectRecord>, StoreError> {
        self.read(|sql| sql.projects()).await
    }

    /// The store of a project. At most [`MOST_OPEN`] stay open; the one that was not used for longest is closed when
    /// nobody has a handle to it.
    pub async fn open_project(&self, key: &ProjectKey) -> Result<ProjectStore, StoreError> {
        if let Some(store) = self.already_open(key) {
            return Ok(store);
        }
        let closed = || StoreError::closed(&self.inner.path);
        let _opening = self.inner.opening.acquire().await.map_err(|_| closed())?;
        if let Some(store) = self.already_open(key) {
            return Ok(store);
        }
        for idle in self.take_idle(MOST_OPEN - 1) {
            idle.close().await;
        }
        let record = self.project(key).await?;
        let wanted = key.clone();
        let known = self.read(move |sql| sql.index_rows(&wanted)).await?;
        let folder = project_folder(&self.inner.data, key);
        let index = Arc::clone(&self.inner.index);
        let task = tokio::task::spawn_blocking(move || ProjectStore::open(folder, record, index, &known));
        let OpenedProject { store, rows } = task.await.unwrap_or_else(|_| Err(closed()))?;
        // Neither is needed to go on: both are derived, and a full disk must not keep a project from being read.
        let noted = store.describe().await;
        self.flush().await;
        let repaired = self.inner.writer.run(UserWrite::Repair(key.clone(), rows)).await;
        if let (Err(error), _) | (_, Err(error)) = (noted, repaired) {
            tracing::warn!(project = %key, %error, "the session index could not be repaired");
        }
        let mut open = self.lock();
        open.uses += 1;
        let uses = open.uses;
        open.stores.insert(key.clone(), (uses, store.clone()));
        Ok(store)
    }

    /// The project of a session.
    pub async fn session_project(&self, id: &SessionId) -> Result<Option<ProjectKey>, StoreError> {
        if let Some(project) = self.inner.index.pending_project(id) {
            return Ok(Some(project));
        }
        let wanted = id.clone();
        if let Some(project) = self.read(move |sql| sql.session_project(&wanted)).await? {
            return Ok(Some(project));
        }
        // Its row may be on its way to the file.
        self.flush().await;
        let id = id.clone();
        self.read(move |sql| sql.session_project(&id)).await
    }

    /// Deletes a session of a project with everything that it stored, its place in the index included. An unknown id is
    /// no error.
    pub async fn delete_session(&self, project: &ProjectKey, id: &SessionId) -> Result<(), StoreError> {
        self.open_project(project).await?.delete_session(id).await?;
        self.flush().await;
        // What was overwritten still stands in the write-ahead log.
        self.inner.writer.checkpoint().await;
        Ok(())
    }

    /// Sessions from the index, the one that changed last first.
    pub async fn list_sessions(&self, filter: ListFilter) -> Result<ListPage, StoreError> {
        self.flush().await;
        // What a full disk keeps from being written is there all the same.
        let unwritten = self.inner.index.pending();
        self.read(move |sql| {
            let page = sql.list(&filter)?;
            if unwritten.is_empty() { Ok(page) } else { sql.with_unwritten(page, &filter, unwritten) }
        })
        .await
    }

    /// Projects that may have turns which the last daemon's death has cut: those not closed well, and those that the
    /// index shows as busy. Each is to be opened once at the start and asked for its running turns.
    pub async fn unsettled_projects(&self) -> Result<Vec<ProjectKey>, StoreError> {
        let busy = self.read(|sql| sql.busy_projects()).await?;
        let all: BTreeSet<ProjectKey> = self.inner.unclean.iter().cloned().chain(busy).collect();
        Ok(all.into_iter().collect())
    }

    /// Ends all stores; everything that was accepted is on disk when this returns.
    pub async fn close(&self) {
        let _opening = self.inner.opening.acquire().await;
        let stores: Vec<ProjectStore> = self.lock().stores.drain().map(|(_, (_, store))| store).collect();
        for store in stores {
            store.close().await;
        }
        self.inner.opening.close();
        self.inner.readers.close().await;
        self.inner.writer.close().await;
    }

    /// Sessions by their ids, the ones made last first: those before `before`, with their project and title.
    pub async fn sessions_by_id(
        &self,
        before: Option<SessionId>,
        project: Option<ProjectKey>,
        limit: usize,
    ) -> Result<Vec<(SessionId, ProjectKey, String)>, StoreError> {
        self.flush().await;
        self.read(move |sql| sql.by_id(before.as_ref(), project.as_ref(), limit)).await
    }

    /// Writes the index rows that wait. A failure is not the caller's: lists are then as old as the last write.
    pub(super) async fn flush(&self) {
        let changes = self.inner.index.drain();
        let again = changes.clone();
        if let Err(error) = self.inner.writer.run(UserWrite::Changes(changes)).await {
            tracing::warn!(%error, "the session index could not be written; it will be with the next change");
            self.inner.index.put_back(again);
        }
    }

    pub(super) fn already_open(&self, key: &ProjectKey) -> Option<ProjectStore> {
        let mut open = self.lock();
        open.uses += 1;
        let uses = open.uses;
        let (used, store) = open.stores.get_mut(key)?;
        *used = uses;
        Some(store.clone())
    }

    /// Takes out an open store that nobody else has a handle to.
    pub(super) fn take_out(&self, key: &ProjectKey) -> Option<ProjectStore> {
        let mut open = self.lock();
        if !open.stores.get(key)?.1.is_idle() {
            return None;
        }
        open.stores.remove(key).map(|(_, store)| store)
    }

    /// Takes out idle stores, those first that were not used for longest, until at most `most` stay.
    fn take_idle(&self, most: usize) -> Vec<ProjectStore> {
        let mut open = self.lock();
        let mut idle: Vec<(u64, ProjectKey)> = open
            .stores
            .iter()
            .filter(|(_, (_, store))| store.is_idle())
            .map(|(key, (used, _))| (*used, key.clone()))
            .collect();
        idle.sort();
        let surplus = open.stores.len().saturating_sub(most);
        idle.into_iter().take(surplus).filter_map(|(_, key)| open.stores.remove(&key)).map(|(_, store)| store).collect()
    }

    pub(super) fn data(&self) -> &Path {
        &self.inner.data
    }

    pub(super) fn memory_lock(&self) -> &tokio::sync::Mutex<()> {
        &self.inner.memory
    }

    /// Performs a command that gives nothing.
    pub(super) async fn write(&self, command: UserWrite) -> Result<(), StoreError> {
        self.inner.writer.run(command).await.map(|_| ())
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&UserSql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = self.inner.path.clone();
        self.inner.readers.read(move |connection| work(&UserSql { connection, path: &path })).await
    }

    fn lock(&self) -> MutexGuard<'_, OpenProjects> {
        self.inner.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn project_folder(data: &Path, key: &ProjectKey) -> PathBuf {
    data.join("projects").join(key.as_str())
}

struct OpenedUser {
    inner: Inner,
    /// What the projects' own databases say, when `user.db` had lost it.
    found: Vec<(ProjectRecord, Vec<IndexRow>)>,
}

fn open_user(data: &Path) -> Result<OpenedUser, StoreError> {
    private::folder(data)?;
    private::refuse_network(data)?;
    let projects = data.join("projects");
    private::folder(&projects)?;
    let path = data.join("user.db");
    let opened = database::open(&path, &USER, &|_| Ok(()))?;
    memories::mirror_opened(data, &opened.connection, &path, Scope::User);
    let keys = project_keys(&projects)?;
    let unclean = keys.iter().filter(|key| {
        let database = database_path(&project_folder(data, key));
        database.exists() && !database::is_clean(&database)
    });
    let unclean = unclean.cloned().collect();
    let mut found = Vec::new();
    if opened.fresh || opened.health != Health::Good {
        for key in &keys {
            match index::from_project(&database_path(&project_folder(data, key))) {
                Ok(Some(project)) => found.push(project),
                Ok(None) => {}
                Err(error) => tracing::warn!(project = %key, %error, "a project could not be taken into the index"),
            }
        }
    }
    let index = Arc::new(Index::default());
    let commands = UserWriter { path: path.clone(), index: Arc::clone(&index) };
    let suspect = Arc::new(AtomicBool::new(false));
    let writer = Writer::start(opened.connection, &path, commands, Arc::clone(&suspect))?;
    index.on_change(writer.waker());
    let readers = Readers::new(&path, suspect);
    let inner = Inner {
        data: data.to_owned(),
        path,
        health: opened.health,
        writer,
        readers,
        index,
        open: Mutex::default(),
        opening: Semaphore::new(1),
        unclean,
        memory: tokio::sync::Mutex::default(),
    };
    Ok(OpenedUser { inner, found })
}

/// The projects that have a folder.
pub(super) fn project_keys(projects: &Path) -> Result<Vec<ProjectKey>, StoreError> {
    let entries = std::fs::read_dir(projects).map_err(|source| StoreError::io("cannot list", projects, source))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut keys: Vec<ProjectKey> = names.filter_map(|name| name.parse().ok()).collect();
    keys.sort();
    Ok(keys)
}

/// The canonical paths of roots, each once. The first must exist; another that is gone keeps the path that was asked for.
pub(super) fn canonical(roots: Vec<PathBuf>) -> Result<Vec<PathBuf>, StoreError> {
    let mut out: Vec<PathBuf> = Vec::with_capacity(roots.len());
    for (at, root) in roots.into_iter().enumerate() {
        let root = match std::fs::canonicalize(&root) {
            Ok(root) => root,
            Err(source) if at == 0 => return Err(StoreError::RootMissing { path: root, source }),
            Err(_) => root,
        };
        if !out.contains(&root) {
            out.push(root);
        }
    }
    Ok(out)
}

/// A new key: random hexadecimal digits, then what can be read of the folder's name.
fn new_key(root: Option<&Path>) -> Result<ProjectKey, ParseIdError> {
    let random = uuid::Uuid::now_v7().simple().to_string();
    // The first half of a version 7 UUID is the time; the last digits are random.
    let random = random.get(20..).unwrap_or("0").to_owned();
    let name = root.and_then(Path::file_name).map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let mut slug = String::new();
    for c in name.chars().take(SLUG) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    let text = if slug.is_empty() { random } else { format!("{random}-{slug}") };
    text.parse()
}
