//! What is remembered over sessions: the index that turns begin with, and changes by the model and by clients.

use super::driver::now;
use crate::store::{MEMORIES, Memory, MemoryWrite, MemoryWritten, Origin, StoreError, Stores};
use plimsoll_core::id::{CallId, ItemNo, ProjectKey, SessionId};
use plimsoll_core::path::escape;
use plimsoll_core::workspace::MemoryEntry;
use plimsoll_core::workspace::memory::{Change, MOST, MemoryId, Scope};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// See the module's head. One per project.
pub(super) struct Memories {
    project: ProjectKey,
    stores: Stores,
    /// Canonical folders of the files, the project's and the user's.
    folders: (PathBuf, PathBuf),
    /// The index as it was read last.
    last: Mutex<Vec<MemoryEntry>>,
}

impl Memories {
    /// `project_folder` and `data` are canonical.
    pub(super) fn new(project: ProjectKey, stores: Stores, project_folder: &Path, data: &Path) -> Self {
        let folders = (project_folder.join(MEMORIES), data.join(MEMORIES));
        Self { project, stores, folders, last: Mutex::default() }
    }

    /// The project's, then the user's.
    pub(super) async fn list(&self) -> Result<Vec<Memory>, StoreError> {
        let mut memories = self.stores.open_project(&self.project).await?.memories().await?;
        memories.extend(self.stores.user_memories().await?);
        Ok(memories)
    }

    /// The index for a turn; the last known one when the store cannot be read.
    pub(super) async fn entries(&self) -> Vec<MemoryEntry> {
        let entry = |memory: Memory| MemoryEntry {
            id: memory.id.to_string(),
            title: memory.title,
            path: self.shown_path(memory.id),
        };
        let listed = self.list().await;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match listed {
            Ok(memories) => *last = memories.into_iter().map(entry).collect(),
            Err(error) => tracing::warn!(%error, "the memories could not be read; the last known ones are used"),
        }
        last.clone()
    }

    /// Where a memory's file lies.
    pub(super) fn path(&self, id: MemoryId) -> PathBuf {
        let folder = match id.scope {
            Scope::Project => &self.folders.0,
            Scope::User => &self.folders.1,
        };
        folder.join(format!("{id}.md"))
    }

    fn shown_path(&self, id: MemoryId) -> String {
        escape(self.path(id).as_os_str().as_bytes())
    }

    /// Does what a call asks for; committed when this returns. Both ways it is told to the model.
    pub(super) async fn change(&self, change: Change, session: &SessionId, call: CallId) -> Result<String, String> {
        let (scope, write, verb) = match self.write_of(change, session, call).await {
            Ok(write) => write,
            Err(error) => return Err(format!("Nothing was changed: {error}")),
        };
        match self.write(scope, write).await {
            Ok(MemoryWritten::Now(memory)) => {
                let path = self.shown_path(memory.id);
                Ok(format!("{verb} {}: {} ({path}).", memory.id, memory.title))
            }
            Ok(MemoryWritten::Gone) => Ok(format!("{verb}.")),
            Ok(MemoryWritten::Unknown) => {
                Err("There is no such memory. The index of memories names those that there are.".to_owned())
            }
            Ok(MemoryWritten::Full) => {
                Err(format!("{MOST} memories are kept already. Delete what no longer holds, or join some into one."))
            }
            Err(error) => Err(format!("It could not be written: {error}")),
        }
    }

    async fn write_of(
        &self,
        change: Change,
        session: &SessionId,
        call: CallId,
    ) -> Result<(Scope, MemoryWrite, String), StoreError> {
        let store = self.stores.open_project(&self.project).await?;
        let item = store.call_item(session, call).await?.unwrap_or(ItemNo(0));
        let (origin, at) = (Origin { session: session.clone(), call, item }, now());
        Ok(match change {
            Change::Create { scope, title, content } => {
                (scope, MemoryWrite::Create { title, content, origin, at }, "Kept as".to_owned())
            }
            Change::Update { id, title, content } => {
                (id.scope, MemoryWrite::Update { no: id.no, title, content, origin, at }, "Changed".to_owned())
            }
            Change::Delete { id } => (id.scope, MemoryWrite::Delete { no: id.no }, format!("{id} is forgotten")),
        })
    }

    /// Does what a client asks for in the user's name; committed when this returns.
    pub(super) async fn put(&self, change: Change) -> Result<MemoryWritten, StoreError> {
        let Some(origin) = Origin::user() else { return Ok(MemoryWritten::Unknown) };
        let at = now();
        let (scope, write) = match change {
            Change::Create { scope, title, content } => (scope, MemoryWrite::Create { title, content, origin, at }),
            Change::Update { id, title, content } => {
                (id.scope, MemoryWrite::Update { no: id.no, title, content, origin, at })
            }
            Change::Delete { id } => (id.scope, MemoryWrite::Delete { no: id.no }),
        };
        self.write(scope, write).await
    }

    /// Forgets one for a client; whether there was one.
    pub(super) async fn delete(&self, id: MemoryId) -> Result<bool, StoreError> {
        let written = self.write(id.scope, MemoryWrite::Delete { no: id.no }).await?;
        Ok(written == MemoryWritten::Gone)
    }

    async fn write(&self, scope: Scope, write: MemoryWrite) -> Result<MemoryWritten, StoreError> {
        match scope {
            Scope::Project => self.stores.open_project(&self.project).await?.write_memory(write).await,
            Scope::User => self.stores.write_user_memory(write).await,
        }
    }
}
