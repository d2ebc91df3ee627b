//! Every model that can be used: what is written, and what the catalogue has of hosts that are configured or whose key is
//! there.

use super::super::catalogue;
use super::{Config, OFFLINE_MODEL, hosts};
use crate::config::error::ConfigError;
use crate::provider::endpoint::Endpoint;
use plimsoll_core::model::catalog::ModelProfile;

impl Config {
    /// The models, the chosen one first, the built-in one last. `has_key` says of a host that nothing is configured of
    /// whether its key is there. Where the administrator has set the model it is the only one.
    pub fn models(&self, has_key: impl Fn(&Endpoint) -> bool) -> Vec<(ModelProfile, Endpoint)> {
        let mut ids = vec![self.model_id.clone()];
        for (name, provider) in &self.providers {
            ids.extend(provider.models.keys().map(|model| format!("{name}/{model}")));
        }
        let named = self.provider_names();
        for host in hosts() {
            // Another server at a well-known name has models of its own.
            let elsewhere = self.providers.get(&host.name).is_some_and(|written| written.base_url.is_some());
            let Ok(endpoint) = self.provider(&host.name) else { continue };
            if !elsewhere && (named.contains(&host.name) || has_key(&endpoint)) {
                ids.extend(catalogue::names(&host.name).map(|model| format!("{}/{model}", host.name)));
            }
        }
        ids.push(OFFLINE_MODEL.to_owned());
        let mut models: Vec<(ModelProfile, Endpoint)> = Vec::new();
        for id in ids {
            if let Ok((profile, endpoint)) = self.model(Some(&id))
                && !models.iter().any(|(known, _)| known.id() == id)
            {
                models.push((profile, endpoint));
            }
        }
        models
    }

    /// The providers that can be spoken to: those that are configured, and the well-known hosts.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        let mut names = self.provider_names();
        names.extend(hosts().map(|host| host.name.clone()));
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names.iter().filter_map(|name| self.provider(name).ok()).collect()
    }

    /// A provider that somebody names; an error says which one was probably meant.
    pub fn provider_asked(&self, name: &str) -> Result<Endpoint, ConfigError> {
        self.endpoint(name, &super::Place::Option("provider"))
    }
}
