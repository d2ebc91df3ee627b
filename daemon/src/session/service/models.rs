//! What clients may ask about models and about the keys of their providers. No key leaves the daemon.

use super::super::api::{ApiError, ApiErrorKind, Client};
use super::Service;
use super::configuration::refused;
use crate::provider::KeyAt;
use plimsoll_core::id::ProjectKey;
use plimsoll_core::model::catalog::ModelProfile;

/// The models that sessions of a client can use.
#[derive(Debug, Clone, PartialEq)]
pub struct Models {
    /// Each with where the key of its provider is.
    pub models: Vec<(ModelProfile, KeyAt)>,
    /// That of new sessions, `provider/model`, whether it can be used or not.
    pub default: String,
}

impl Service {
    /// The models that sessions of this client can use, with the file of a project.
    pub async fn models(&self, client: &Client, project: Option<&ProjectKey>) -> Result<Models, ApiError> {
        let config = self.config_for(client, project).await?;
        let shared = &self.inner.shared;
        let models = config.models(|host| !matches!(shared.key_at(client, host), KeyAt::Missing(_)));
        let models = models.into_iter().map(|(profile, endpoint)| (profile, shared.key_at(client, &endpoint)));
        Ok(Models { models: models.collect(), default: config.model_id })
    }

    /// Where the key of each provider is, for what this client starts.
    pub async fn keys(&self, client: &Client) -> Result<Vec<(String, KeyAt)>, ApiError> {
        let config = self.config_for(client, None).await?;
        let at = |endpoint| self.inner.shared.key_at(client, &endpoint);
        Ok(config.endpoints().into_iter().map(|endpoint| (endpoint.name.clone(), at(endpoint))).collect())
    }

    /// Where the key of one is. A provider that the configuration does not have is an error, and the built-in model needs
    /// none.
    pub async fn key_of(&self, client: &Client, provider: &str) -> Result<KeyAt, ApiError> {
        let config = self.config_for(client, None).await?;
        if provider == "offline" {
            let message = "`provider`: `offline` is built in and needs no key";
            return Err(ApiError::new(ApiErrorKind::InvalidParams, message));
        }
        let endpoint = config.provider_asked(provider).map_err(|error| refused(&error))?;
        Ok(self.inner.shared.key_at(client, &endpoint))
    }
}
