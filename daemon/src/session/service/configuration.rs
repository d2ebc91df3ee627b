//! What clients may ask about the configuration: what counts for them, and one key of the user's file changed.

use super::super::api::{ApiError, ApiErrorKind, Client};
use super::super::setup::config_error;
use super::Service;
use crate::config::{Change, Config, ConfigError, Overrides, Place, Setting, WriteError, known_key};
use plimsoll_core::id::ProjectKey;
use serde_json::Value;

/// What counts for a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// The keys that were asked for.
    pub settings: Vec<Setting>,
    /// What is odd in the files.
    pub warnings: Vec<String>,
}

impl Service {
    /// What counts for this client, with the file of a project; of one key, or of what stands below it, when one is named.
    pub async fn configuration(
        &self,
        client: &Client,
        project: Option<&ProjectKey>,
        key: Option<&str>,
    ) -> Result<Configuration, ApiError> {
        let path = key.map(known_key).transpose().map_err(|error| refused(&error))?.unwrap_or_default();
        let config = self.config_for(client, project).await?;
        let mut settings = config.settings(&self.inner.shared.folders).map_err(|error| config_error(&error))?;
        settings.retain(|setting| setting.path.starts_with(&path));
        Ok(Configuration { settings, warnings: config.warnings })
    }

    /// Sets a key of the user's file; null takes it out.
    pub async fn change_configuration(&self, key: String, value: Value) -> Result<Change, ApiError> {
        let folders = self.inner.shared.folders.clone();
        // Another writer, and the disk, are waited for.
        let made = tokio::task::spawn_blocking(move || Change::make(&folders, &key, &value)).await;
        match made {
            Ok(Ok(change)) => Ok(change),
            Ok(Err(WriteError::Config(error))) => Err(refused(&error)),
            Ok(Err(error @ WriteError::Changed(_))) => Err(ApiError::new(ApiErrorKind::Conflict, error.to_string())),
            Ok(Err(error @ (WriteError::ReadOnly(_) | WriteError::Write { .. }))) => {
                Err(ApiError::new(ApiErrorKind::Config, error.to_string()))
            }
            Err(error) => {
                tracing::error!(%error, "changing the configuration broke down");
                Err(ApiError::new(ApiErrorKind::Internal, "the configuration could not be changed"))
            }
        }
    }

    /// The configuration of this client, in a project or in none.
    pub(super) async fn config_for(&self, client: &Client, project: Option<&ProjectKey>) -> Result<Config, ApiError> {
        match project {
            Some(key) => self.project(key).await?.config(client, &Overrides::default()),
            None => self.inner.shared.config(client, None, &Overrides::default()),
        }
    }
}

/// A parameter that is wrong, or else a configuration that is.
pub(super) fn refused(error: &ConfigError) -> ApiError {
    match &error.place {
        Place::Option(name) => {
            ApiError::new(ApiErrorKind::InvalidParams, format!("`{name}`: {}", error.problem)).hint(error.fix.clone())
        }
        Place::File { .. } | Place::WholeFile(_) | Place::Variable(_) => config_error(error),
    }
}
