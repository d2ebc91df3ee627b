//! What clients may ask about memories: the user stays master of what is remembered.

use super::super::api::{ApiError, ApiErrorKind, MemoryInfo};
use super::super::load::store_error;
use super::Service;
use crate::store::MemoryWritten;
use plimsoll_core::id::ProjectKey;
use plimsoll_core::workspace::memory::{Asked, MOST, MemoryId};

impl Service {
    /// What is remembered for a project, then what is for the user in all of them.
    pub async fn memories(&self, key: &ProjectKey) -> Result<Vec<MemoryInfo>, ApiError> {
        let project = self.project(key).await?;
        let memories = project.memories.list().await.map_err(|error| store_error(&error))?;
        let info = |memory: crate::store::Memory| MemoryInfo { path: project.memories.path(memory.id), memory };
        Ok(memories.into_iter().map(info).collect())
    }

    /// One of them.
    pub async fn memory(&self, key: &ProjectKey, id: &str) -> Result<MemoryInfo, ApiError> {
        let id: MemoryId = id.parse().map_err(|problem| ApiError::new(ApiErrorKind::InvalidParams, problem))?;
        let found = self.memories(key).await?.into_iter().find(|info| info.memory.id == id);
        found.ok_or_else(|| unknown(&id.to_string()))
    }

    /// Keeps what the user says, or changes what is kept.
    pub async fn put_memory(&self, key: &ProjectKey, asked: Asked) -> Result<MemoryInfo, ApiError> {
        let id = asked.id.clone().unwrap_or_default();
        let change = asked.check().map_err(|problem| ApiError::new(ApiErrorKind::InvalidParams, problem))?;
        let project = self.project(key).await?;
        match project.memories.put(change).await.map_err(|error| store_error(&error))? {
            MemoryWritten::Now(memory) => Ok(MemoryInfo { path: project.memories.path(memory.id), memory }),
            MemoryWritten::Gone | MemoryWritten::Unknown => Err(unknown(&id)),
            MemoryWritten::Full => {
                Err(ApiError::new(ApiErrorKind::Conflict, format!("{MOST} memories are kept already"))
                    .hint("delete what no longer holds, or join some into one"))
            }
        }
    }

    /// Forgets one. One that is not there is no error: it was forgotten before.
    pub async fn delete_memory(&self, key: &ProjectKey, id: &str) -> Result<(), ApiError> {
        let id: MemoryId = id.parse().map_err(|problem| ApiError::new(ApiErrorKind::InvalidParams, problem))?;
        let project = self.project(key).await?;
        project.memories.delete(id).await.map(|_| ()).map_err(|error| store_error(&error))
    }
}

fn unknown(id: &str) -> ApiError {
    ApiError::new(ApiErrorKind::NotFound, format!("there is no memory {id}")).hint("memory/list shows the memories")
}
