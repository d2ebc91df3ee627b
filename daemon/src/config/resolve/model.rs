//! Finding a model with everything that a request needs: what is written of it, over what the catalogue knows.

use super::super::catalogue;
use super::super::error::{ConfigError, Place};
use super::super::nearest::nearest;
use super::super::raw::{bad_model_id, split_model_id};
use super::{Config, OFFLINE, OFFLINE_MODEL, UNKNOWN_WINDOW, hosts};
use crate::provider::endpoint::{Endpoint, KeySource};
use plimsoll_core::model::catalog::{ModelProfile, ProviderEntry};
use plimsoll_core::model::request::Api;

/// Tokens of an answer assumed for a model of which nothing is known.
const UNKNOWN_OUTPUT: u32 = 4_096;
/// Seconds that a prefix stays cached when nothing is known: the shortest of the vendors' lifetimes.
const DEFAULT_CACHE_LIFETIME_S: u64 = 300;
/// The window of the offline model: it reads what it is given, so only memory bounds it.
const OFFLINE_WINDOW: u64 = 131_072;
const RETRIEVAL: &str = "retrieval";

impl Config {
    pub(super) fn find(&self, id: &str, place: &Place) -> Result<(ModelProfile, Endpoint), ConfigError> {
        let Some((provider, name)) = split_model_id(id) else {
            return Err(bad_model_id(place.clone(), format!("`{id}` is not of the form provider/model")));
        };
        if provider == OFFLINE {
            return if name == RETRIEVAL { Ok(offline()) } else { Err(no_such_offline_model(id, place)) };
        }
        let endpoint = self.endpoint(provider, place)?;
        let written = self.providers.get(provider).and_then(|provider| provider.models.get(name));
        let known = catalogue::facts(provider, name);
        let window = self.written_window(provider, name).unwrap_or(UNKNOWN_WINDOW);
        let max_output = written
            .and_then(|model| model.max_output)
            .or_else(|| known.as_ref().map(|facts| facts.max_output))
            .unwrap_or(UNKNOWN_OUTPUT)
            // A written window below the catalogue's limit of answers must still leave room for a request.
            .min(u32::try_from(window / 2).unwrap_or(u32::MAX).max(1));
        let cache_lifetime_s = written
            .and_then(|model| model.cache_lifetime_s)
            .or_else(|| known.as_ref().map(|facts| facts.cache_lifetime_s))
            .unwrap_or(DEFAULT_CACHE_LIFETIME_S);
        let profile = ModelProfile {
            provider: provider.to_owned(),
            name: name.to_owned(),
            api: endpoint.api,
            context_window: window,
            max_output,
            temperature: written.and_then(|model| model.temperature),
            cache_lifetime_s,
            images: written
                .and_then(|model| model.images)
                .or(known.as_ref().map(|facts| facts.images))
                .unwrap_or_default(),
            price: known.and_then(|facts| facts.price),
        };
        Ok((profile, endpoint))
    }

    pub(super) fn written_window(&self, provider: &str, name: &str) -> Option<u64> {
        let written = self.providers.get(provider).and_then(|provider| provider.models.get(name));
        written
            .and_then(|model| model.context_window)
            .or_else(|| catalogue::facts(provider, name).map(|facts| facts.context_window))
    }

    pub(super) fn endpoint(&self, name: &str, place: &Place) -> Result<Endpoint, ConfigError> {
        let host = hosts().find(|host| host.name == name);
        let Some(written) = self.providers.get(name) else {
            let host = host.ok_or_else(|| self.no_such_provider(name, place))?;
            return Ok(Endpoint {
                name: name.to_owned(),
                api: host.api,
                base_url: host.base_url.clone(),
                key: usual_key(host),
                headers: Vec::new(),
            });
        };
        let missing = |key: &str, fix: &str| ConfigError {
            place: written.place.clone(),
            problem: format!("has no {key}"),
            fix: fix.to_owned(),
        };
        let api = written.api.as_ref().map(|api| api.value).or_else(|| host.map(|host| host.api));
        let api = api.ok_or_else(|| {
            missing("api", "Write `api = \"openai-chat\"` or `api = \"anthropic-messages\"` below it")
        })?;
        let own_url = written.base_url.as_ref().map(|url| url.value.clone());
        // The well-known key goes to the well-known host only: another server at this name is open until told.
        let usual_key = host.filter(|_| own_url.is_none()).map(usual_key);
        let base_url = own_url
            .or_else(|| host.map(|host| host.base_url.clone()))
            .ok_or_else(|| missing("base_url", "Write `base_url = \"http://…/v1\"` below it"))?;
        Ok(Endpoint {
            name: name.to_owned(),
            api,
            base_url,
            key: written.key.clone().or(usual_key).unwrap_or(KeySource::None),
            headers: written.headers.clone(),
        })
    }

    fn no_such_provider(&self, name: &str, place: &Place) -> ConfigError {
        let mut known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
        known.extend(hosts().map(|host| host.name.as_str()));
        known.push(OFFLINE);
        let fix = match nearest(name, &known) {
            Some(meant) => format!("Did you mean `{meant}`?"),
            None => format!(
                "Add [providers.{name}] with api and base_url to {}, or use one of: {}",
                self.file.display(),
                known.join(", ")
            ),
        };
        ConfigError { place: place.clone(), problem: format!("there is no provider `{name}`"), fix }
    }
}

fn no_such_offline_model(id: &str, place: &Place) -> ConfigError {
    ConfigError {
        place: place.clone(),
        problem: format!("there is no model `{id}`"),
        fix: format!("Write \"{OFFLINE_MODEL}\""),
    }
}

fn usual_key(host: &ProviderEntry) -> KeySource {
    host.key_env.clone().map_or(KeySource::None, KeySource::Env)
}

fn offline() -> (ModelProfile, Endpoint) {
    let profile = ModelProfile {
        provider: OFFLINE.to_owned(),
        name: RETRIEVAL.to_owned(),
        api: Api::Offline,
        context_window: OFFLINE_WINDOW,
        max_output: UNKNOWN_OUTPUT,
        temperature: None,
        cache_lifetime_s: DEFAULT_CACHE_LIFETIME_S,
        price: None,
        images: false,
    };
    let endpoint = Endpoint {
        name: OFFLINE.to_owned(),
        api: Api::Offline,
        base_url: String::new(),
        key: KeySource::None,
        headers: Vec::new(),
    };
    (profile, endpoint)
}
