//! Looking things up for clients that know folders and sessions, and not the keys of projects.

use super::super::api::{ApiError, Client};
use super::super::given::existing_folder;
use super::super::load::store_error;
use super::Service;
use crate::config::Overrides;
use plimsoll_core::id::{ProjectKey, SessionId};
use plimsoll_core::model::catalog::ModelProfile;
use std::path::PathBuf;

impl Service {
    /// These folders as a project has its roots: canonical, a folder inside a work tree as that work tree, each once. One
    /// that is not there stays as it was given.
    pub async fn as_roots(&self, folders: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut roots = Vec::with_capacity(folders.len());
        for folder in folders {
            let root = existing_folder(folder.clone()).await.unwrap_or(folder);
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }

    /// The project that this folder belongs to; none when it was never opened.
    pub async fn project_at(&self, folder: PathBuf) -> Result<Option<ProjectKey>, ApiError> {
        let root = self.as_roots(vec![folder]).await.into_iter().next();
        let projects = self.inner.stores.projects().await.map_err(|error| store_error(&error))?;
        Ok(projects.into_iter().find(|project| project.roots.first() == root.as_ref()).map(|project| project.key))
    }

    /// What is known of a session's model under this client's environment; none when the configuration has it no longer.
    pub async fn model_of(&self, client: &Client, id: &SessionId) -> Result<Option<ModelProfile>, ApiError> {
        let info = self.get_session(id).await?;
        let project = self.project(&info.project).await?;
        let config = project.config(client, &Overrides::default())?;
        Ok(config.model(Some(&info.model)).ok().map(|(profile, _)| profile))
    }
}
