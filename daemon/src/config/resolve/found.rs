//! What the configuration says about what it does not use: keys that are set, and whether they may be offered; and about
//! its providers one by one, for whoever looks after them.

use super::{Config, OFFLINE, OFFLINE_MODEL, hosts};
use crate::config::error::{ConfigError, Place};
use crate::config::places::Places;
use crate::provider::endpoint::Endpoint;
use std::collections::BTreeMap;
use std::path::Path;

/// The key of a known host that is set in an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundKey {
    /// The host's name as a provider.
    pub provider: &'static str,
    /// The variable.
    pub variable: &'static str,
    /// The host's URL.
    pub base_url: &'static str,
    /// What it is used with when nothing else is said.
    pub model: Option<&'static str>,
}

/// The known hosts whose variable is set, in the catalogue's order.
pub fn found_keys(env: &BTreeMap<String, String>) -> impl Iterator<Item = FoundKey> {
    hosts().filter_map(|host| {
        let variable = host.key_env.as_deref()?;
        env.get(variable).filter(|key| !key.trim().is_empty())?;
        let model = host.default_model.as_deref();
        Some(FoundKey { provider: &host.name, variable, base_url: &host.base_url, model })
    })
}

impl Config {
    /// Whether nobody has chosen a model, so that the built-in one answers.
    pub fn is_model_unchosen(&self) -> bool {
        self.model_id == OFFLINE_MODEL && self.model_place == Place::WholeFile(self.file.clone())
    }

    /// Whether a person may be asked about what is found: nothing is configured, and nobody has said that nothing is to
    /// be offered.
    pub fn may_offer(&self) -> bool {
        self.offer && self.is_model_unchosen() && self.providers.is_empty()
    }

    /// Keys of known hosts that are set and that nothing in the configuration uses.
    pub fn unused_keys(&self, env: &BTreeMap<String, String>) -> Vec<FoundKey> {
        let names = self.provider_names();
        found_keys(env).filter(|found| !names.iter().any(|name| name == found.provider)).collect()
    }

    /// The providers that the configuration names, with that of the chosen model; the built-in one is none.
    pub fn provider_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.providers.keys().cloned().collect();
        if let Some((chosen, _)) = self.model_id.split_once('/')
            && chosen != OFFLINE
            && !self.providers.contains_key(chosen)
        {
            names.push(chosen.to_owned());
        }
        names
    }

    /// A provider by its name.
    pub fn provider(&self, name: &str) -> Result<Endpoint, ConfigError> {
        self.endpoint(name, &self.model_place)
    }

    /// The model with which a provider can be tried: the chosen one, else the first that is written, else the
    /// catalogue's.
    pub fn model_of(&self, provider: &str) -> Option<String> {
        let chosen = self.model_id.split_once('/').filter(|(name, _)| *name == provider);
        let written = || self.providers.get(provider)?.models.keys().next().cloned();
        let known = || hosts().find(|host| host.name == provider)?.default_model.clone();
        chosen.map(|(_, model)| model.to_owned()).or_else(written).or_else(known)
    }

    /// The user's file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Where the model was chosen; the file as a whole when nobody did.
    pub(in crate::config) fn model_place(&self) -> &Place {
        &self.model_place
    }

    /// Who said what counts.
    pub(in crate::config) fn places(&self) -> &Places {
        &self.places
    }

    /// Whether keys and servers that are found may be offered at all.
    pub(in crate::config) fn offers(&self) -> bool {
        self.offer
    }
}

#[cfg(test)]
mod tests {
    use super::super::Overrides;
    use super::*;
    use crate::config::Folders;

    fn config(text: &str, env: &[(&str, &str)]) -> (tempfile::TempDir, Config, BTreeMap<String, String>) {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let folders = Folders { config: at("c"), data: at("d"), runtime: at("r"), managed: at("managed.toml") };
        std::fs::create_dir(&folders.config).unwrap();
        std::fs::write(folders.config_file(), text).unwrap();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config = Config::load_for(&folders, &env, None, &Overrides::default()).unwrap();
        (root, config, env)
    }

    #[test]
    fn only_where_nothing_is_configured_and_nobody_said_never_is_anything_offered() {
        for (text, env, expected) in [
            ("", vec![], true),
            ("language = \"de\"\n[consent]\noffer = true\n", vec![], true),
            ("[consent]\noffer = false\n", vec![], false),
            ("model = \"openai/x\"\n", vec![], false),
            ("model = \"offline/retrieval\"\n", vec![], false),
            ("[providers.a]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n", vec![], false),
            ("", vec![("PLIMSOLL_MODEL", "openai/x")], false),
        ] {
            let (_root, config, _) = config(text, &env);
            assert_eq!(config.may_offer(), expected, "{text} {env:?}");
        }
    }

    #[test]
    fn keys_that_are_set_and_not_used_are_named_with_the_model_to_use() {
        let env = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"), ("MISTRAL_API_KEY", " "), ("OTHER", "k")];
        let (_root, config, env) = config("model = \"openai/x\"\n", &env);
        let found = config.unused_keys(&env);
        let [anthropic] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((anthropic.provider, anthropic.variable), ("anthropic", "ANTHROPIC_API_KEY"));
        assert_eq!(anthropic.base_url, "https://api.anthropic.com");
        assert!(anthropic.model.is_some());
    }

    #[test]
    fn providers_are_known_one_by_one() {
        let text = "model = \"a/one\"\n[providers.b]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
            [providers.b.models.two]\n";
        let (_root, config, _) = config(text, &[]);
        assert_eq!(config.provider_names(), ["b", "a"]);
        assert_eq!(config.provider("b").unwrap().base_url, "http://127.0.0.1:1/v1");
        assert_eq!(config.provider("a").unwrap_err().problem, "there is no provider `a`");
        assert_eq!([config.model_of("a"), config.model_of("b")], [Some("one".to_owned()), Some("two".to_owned())]);
        assert!(config.model_of("openai").is_some());
        assert_eq!(config.model_of("mistral"), None);
    }
}
