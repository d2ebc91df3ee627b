//! The configuration, models and where keys are, as the wire has them.

use crate::config::{Place, Setting, Source};
use crate::session::api::KeyAt;
use plimsoll_core::model::catalog::ModelProfile;
use plimsoll_protocol::{auth, config, model};
use std::collections::BTreeMap;

/// What counts, with who said so.
pub fn configuration(settings: Vec<Setting>, warnings: Vec<String>) -> config::GetResult {
    let mut result = config::GetResult { values: BTreeMap::new(), sources: BTreeMap::new(), warnings };
    for setting in settings {
        let key = setting.key();
        if !setting.from.is_empty() {
            result.sources.insert(key.clone(), setting.from.iter().map(source).collect());
        }
        result.values.insert(key, setting.value);
    }
    result
}

/// Who said something, and where.
pub fn source(source: &Source) -> config::Source {
    let layer = source.layer.word().to_owned();
    match &source.place {
        Place::File { file, line, .. } => {
            config::Source { layer, file: Some(super::path(file)), line: u64::try_from(*line).ok(), name: None }
        }
        Place::WholeFile(file) => config::Source { layer, file: Some(super::path(file)), line: None, name: None },
        Place::Variable(name) | Place::Option(name) => {
            config::Source { layer, file: None, line: None, name: Some((*name).to_owned()) }
        }
    }
}

/// A model with the state of its key.
pub fn model(profile: &ModelProfile, key: &KeyAt) -> model::Model {
    model::Model {
        id: profile.id(),
        context_window: profile.context_window,
        max_output: profile.max_output,
        images: profile.images,
        key_state: state(key).to_owned(),
    }
}

/// Where the key of a provider is.
pub fn provider_key(provider: &str, key: &KeyAt) -> auth::ProviderKey {
    let (source, variable) = match key {
        KeyAt::NotNeeded => (None, None),
        KeyAt::Given => (Some("client"), None),
        KeyAt::ClientVariable(name) => (Some("clientEnvironment"), Some(name)),
        KeyAt::DaemonVariable(name) => (Some("daemonEnvironment"), Some(name)),
        KeyAt::Command => (Some("command"), None),
        KeyAt::File => (Some("file"), None),
        KeyAt::Missing(name) => (None, Some(name)),
    };
    auth::ProviderKey {
        provider: provider.to_owned(),
        state: state(key).to_owned(),
        source: source.map(str::to_owned),
        variable: variable.cloned(),
    }
}

fn state(key: &KeyAt) -> &'static str {
    match key {
        KeyAt::NotNeeded => "notNeeded",
        KeyAt::Missing(_) => "missing",
        KeyAt::Given | KeyAt::ClientVariable(_) | KeyAt::DaemonVariable(_) | KeyAt::Command | KeyAt::File => "set",
    }
}
