//! What clients may ask about memories: the user stays master of what is remembered.

use super::super::api::{ApiError, ApiErrorKind, MemoryInfo};
use super::super::load::store_error;
use super::Service;
use plimsoll_core::id::ProjectKey;
use plimsoll_core::workspace::memory::MemoryId;

impl Service {
    /// What is remembered for a project, then what is for the user in all of them.
    pub async fn memories(&self, key: &ProjectKey) -> Result<Vec<MemoryInfo>, ApiError> {
        let project = self.project(key).await?;
        let memories = project.memories.list().await.map_err(|error| store_error(&error))?;
        let info = |memory: crate::store::Memory| MemoryInfo { path: project.memories.path(memory.id), memory };
        Ok(memories.into_iter().map(info).collect())
    }

    /// Forgets one. One that is not there is no error: it was forgotten before.
    pub async fn delete_memory(&self, key: &ProjectKey, id: &str) -> Result<(), ApiError> {
        let id: MemoryId = id.parse().map_err(|problem| ApiError::new(ApiErrorKind::InvalidParams, problem))?;
        let project = self.project(key).await?;
        project.memories.delete(id).await.map(|_| ()).map_err(|error| store_error(&error))
    }
}
