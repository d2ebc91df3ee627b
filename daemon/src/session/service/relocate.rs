//! Projects that have moved, and derived files that are made anew.

use super::super::api::{ApiError, ApiErrorKind, Damage, ProjectInfo, Rebuilt};
use super::super::given::existing_folder;
use super::super::load::store_error;
use super::Service;
use crate::store::Health;
use plimsoll_core::id::{ProjectKey, SessionId};
use std::path::PathBuf;
use std::sync::PoisonError;

impl Service {
    /// Gives a project other roots, the first of which names it. Its sessions, grants, trust and memories stay. Roots are
    /// absolute.
    pub async fn relocate_project(&self, key: &ProjectKey, roots: Vec<PathBuf>) -> Result<ProjectInfo, ApiError> {
        self.check_open()?;
        if roots.is_empty() {
            return Err(ApiError::new(ApiErrorKind::InvalidParams, "a project has at least one root"));
        }
        let mut folders = Vec::new();
        for root in roots {
            folders.push(existing_folder(root).await?);
        }
        let stores = &self.inner.stores;
        stores.project(key).await.map_err(|error| store_error(&error))?;
        for id in self.inner.sessions.busy() {
            let of = stores.session_project(&id).await.map_err(|error| store_error(&error))?;
            if of.as_ref() == Some(key) {
                let message = format!("a turn of session {id} runs in this project");
                return Err(ApiError::new(ApiErrorKind::Busy, message).hint("wait for its end, or cancel it"));
            }
        }
        let record = stores.relocate(key, &folders).await.map_err(|error| store_error(&error))?;
        self.forget_unknown().await?;
        let project = self.project(key).await?;
        project.stand_on(&record.roots).await.map_err(|error| store_error(&error))?;
        Ok(project.info(record))
    }

    /// Lets go of projects that are there no more.
    async fn forget_unknown(&self) -> Result<(), ApiError> {
        let known = self.inner.stores.projects().await.map_err(|error| store_error(&error))?;
        let mut projects = self.inner.projects.lock().unwrap_or_else(PoisonError::into_inner);
        projects.retain(|key, _| known.iter().any(|record| record.key == *key));
        Ok(())
    }

    /// Databases that were damaged when this daemon opened them.
    pub fn damages(&self) -> Vec<Damage> {
        let damage = |health| match health {
            Health::Good => None,
            Health::Recovered { kept, detail } => Some(Damage { kept, detail }),
        };
        self.inner.stores.damages().into_iter().filter_map(damage).collect()
    }

    /// Makes a session's transcript file anew, and the saved texts of results that are not there.
    pub async fn rebuild(&self, id: &SessionId) -> Result<Rebuilt, ApiError> {
        let (_, store) = self.store_of(id).await?;
        // Its own error before the mirror's, which has nothing to do for a session that is not there.
        store.session(id).await.map_err(|error| store_error(&error))?;
        let state = store.rebuild_mirror(id).await.map_err(|error| store_error(&error))?;
        Ok(Rebuilt { path: store.mirror_path(id), state })
    }
}
