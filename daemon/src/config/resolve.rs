//! The configuration as it counts: the files, the client's environment and what the client asked for, put together in
//! rising order, with the managed file over all of them.

mod budget;
mod found;

pub use found::FoundKey;

use super::PermissionMode;
use super::catalogue;
use super::env;
use super::error::{ConfigError, Place};
use super::folders::Folders;
use super::nearest::nearest;
use super::permissions::Permissions;
use super::prompts::PromptChoice;
use super::raw::{Located, MAX_STEPS_LIMIT, RawConfig, RawContext, RawProvider, bad_model_id, split_model_id};
use super::sources::Sources;
use crate::provider::endpoint::{Endpoint, KeySource};
use found::found_keys;
use plimsoll_core::model::catalog::{Catalog, ModelProfile, ProviderEntry};
use plimsoll_core::model::request::Api;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The built-in model that needs no network and no key.
pub const OFFLINE_MODEL: &str = "offline/retrieval";
const OFFLINE: &str = "offline";
const RETRIEVAL: &str = "retrieval";

/// Steps of one turn when nothing is configured: more than any useful turn takes, few enough to end a loop.
const DEFAULT_MAX_STEPS: u32 = 100;
/// Minutes without client and work after which the daemon ends, when nothing is configured.
const DEFAULT_IDLE_STOP_MINUTES: u32 = 30;
/// Tokens assumed for a model of which nothing is known: what even small local servers offer.
const UNKNOWN_WINDOW: u64 = 32_768;
/// Tokens of an answer assumed for a model of which nothing is known.
const UNKNOWN_OUTPUT: u32 = 4_096;
/// Seconds that a prefix stays cached when nothing is known: the shortest of the vendors' lifetimes.
const DEFAULT_CACHE_LIFETIME_S: u64 = 300;
/// The window of the offline model: it reads what it is given, so only memory bounds it.
const OFFLINE_WINDOW: u64 = 131_072;

/// What a client asks for over everything but the managed file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// A model, `provider/model`.
    pub model: Option<String>,
    /// A permission mode.
    pub mode: Option<String>,
    /// A language.
    pub language: Option<String>,
}

/// The configuration of one client in one project.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The model of new sessions, `provider/model`.
    pub model_id: String,
    /// Mode, rules and declared folders.
    pub permissions: Permissions,
    /// Which texts for the model are read beside Plimsoll's own.
    pub sources: Sources,
    /// The texts of new sessions.
    pub prompts: PromptChoice,
    /// The language of answers; none: that of the prompt.
    pub language: Option<String>,
    /// Most steps of one turn.
    pub max_steps_per_turn: u32,
    /// US dollars that a session may cost before the user is asked; none: no limit.
    pub session_cost: Option<f32>,
    /// Minutes without client and work after which the daemon ends; 0: never.
    pub idle_stop_minutes: u32,
    /// What the user may want to do, each with the line to write.
    pub hints: Vec<String>,
    /// What is odd but not wrong; what to do about it follows the first semicolon.
    pub warnings: Vec<String>,
    context: RawContext,
    providers: BTreeMap<String, RawProvider>,
    model_place: Place,
    managed_model: Option<Located<String>>,
    file: PathBuf,
    offer: bool,
}

impl Config {
    /// The user's and the managed configuration under a client's environment. Reads two small files.
    pub fn load(folders: &Folders, env: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        Self::load_for(folders, env, None, &Overrides::default())
    }

    /// The same with the file of a project, which can choose a configured model, a language, and be stricter than the
    /// user, but never grant, and with what a client asks for. A project's file that is wrong is a warning.
    pub fn load_for(
        folders: &Folders,
        env: &BTreeMap<String, String>,
        project_root: Option<&Path>,
        overrides: &Overrides,
    ) -> Result<Self, ConfigError> {
        let managed = RawConfig::read(&folders.managed)?;
        let file = folders.config_file();
        let user = RawConfig::read(&file)?;
        let mut config = Self::of_user(file, user, &managed)?;
        if let Some(root) = project_root {
            config.add_project(&root.join(".plimsoll").join("config.toml"));
        }
        config.add_environment(env)?;
        config.add_overrides(overrides)?;
        config.add_managed(managed)?;
        config.finish(env);
        Ok(config)
    }

    fn of_user(file: PathBuf, user: RawConfig, managed: &RawConfig) -> Result<Self, ConfigError> {
        let mut providers = user.providers;
        providers.extend(managed.providers.clone());
        if let Some(taken) = providers.get(OFFLINE) {
            return Err(ConfigError {
                place: taken.place.clone(),
                problem: "the provider `offline` is built in".to_owned(),
                fix: "Give yours another name".to_owned(),
            });
        }
        let mut warnings = managed.warnings.clone();
        warnings.extend(user.warnings);
        let mut sources = Sources::default();
        sources.add(managed.sources.clone());
        sources.add(user.sources);
        let permissions = Permissions::of_user(user.permissions, &mut warnings)?;
        let mut prompts = PromptChoice::default();
        prompts.add(user.prompt);
        let (model_id, model_place) = match user.model {
            Some(model) => (model.value, model.place),
            None => (OFFLINE_MODEL.to_owned(), Place::WholeFile(file.clone())),
        };
        Ok(Self {
            model_id,
            model_place,
            permissions,
            sources,
            prompts,
            language: user.language.map(|language| language.value),
            max_steps_per_turn: user.max_steps_per_turn.map_or(DEFAULT_MAX_STEPS, |steps| steps.value),
            session_cost: user.session_cost.and_then(|cost| limit(cost.value)),
            idle_stop_minutes: user.idle_stop_minutes.map_or(DEFAULT_IDLE_STOP_MINUTES, |minutes| minutes.value),
            hints: Vec::new(),
            warnings,
            context: user.context,
            providers,
            managed_model: None,
            file,
            offer: managed.offer.as_ref().or(user.offer.as_ref()).is_none_or(|offer| offer.value),
        })
    }

    fn add_project(&mut self, file: &Path) {
        let project = match RawConfig::read(file) {
            Ok(project) => project,
            Err(error) => {
                self.warnings.push(format!("this project's configuration is ignored: {error}"));
                return;
            }
        };
        self.warnings.extend(project.warnings);
        let mut ignored = |place: &Place, why: &str| self.warnings.push(format!("{place}: ignored: {why}"));
        for provider in project.providers.values() {
            ignored(
                &provider.place,
                "a project cannot name hosts, keys or programs; move it to your own configuration",
            );
        }
        if let Some(offer) = &project.offer {
            ignored(&offer.place, "a project does not speak for you; set it in your own configuration");
        }
        if let Some(minutes) = &project.idle_stop_minutes {
            ignored(&minutes.place, "the daemon serves all projects; set it in your own configuration");
        }
        for tokens in project.context.written() {
            ignored(&tokens.place, "what results cost is yours to say; set it in your own configuration");
        }
        if let Some(steps) = &project.max_steps_per_turn {
            if steps.value <= self.max_steps_per_turn {
                self.max_steps_per_turn = steps.value;
            } else {
                ignored(&steps.place, "a project cannot raise the limit");
            }
        }
        if let Some(cost) = &project.session_cost {
            match (limit(cost.value), self.session_cost) {
                (Some(cost), known) if known.is_none_or(|known| cost <= known) => self.session_cost = Some(cost),
                (None, None) => {}
                _ => ignored(&cost.place, "a project cannot raise the limit"),
            }
        }
        self.sources.add_project(&project.sources, &mut self.warnings);
        self.permissions.add_project(project.permissions, &mut self.warnings);
        PromptChoice::ignore(&project.prompt, &mut self.warnings);
        if let Some(language) = project.language {
            self.language = Some(language.value);
        }
        if let Some(model) = project.model {
            match self.find(&model.value, &model.place) {
                Ok(_) => (self.model_id, self.model_place) = (model.value, model.place),
                Err(error) => self.warnings.push(format!("{error} (this project's choice of model is ignored)")),
            }
        }
    }

    fn add_environment(&mut self, env: &BTreeMap<String, String>) -> Result<(), ConfigError> {
        let set = |name: &'static str| env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        if let Some(model) = set(env::MODEL) {
            self.choose_model(model, Place::Variable(env::MODEL))?;
        }
        if let Some(mode) = set(env::MODE) {
            self.permissions.mode = parse_mode(mode, Place::Variable(env::MODE))?;
        }
        if let Some(language) = set(env::LANGUAGE) {
            self.language = Some(language.to_owned());
        }
        if let Some(steps) = set(env::MAX_STEPS) {
            let number = steps.parse().ok().filter(|steps| (1..=MAX_STEPS_LIMIT).contains(&u64::from(*steps)));
            self.max_steps_per_turn = number.ok_or_else(|| ConfigError {
                place: Place::Variable(env::MAX_STEPS),
                problem: format!("`{}` is not a number of steps", steps.chars().take(40).collect::<String>()),
                fix: format!("Write a whole number from 1 to {MAX_STEPS_LIMIT}"),
            })?;
        }
        Ok(())
    }

    fn add_overrides(&mut self, overrides: &Overrides) -> Result<(), ConfigError> {
        if let Some(model) = &overrides.model {
            self.choose_model(model, Place::Option("model"))?;
        }
        if let Some(mode) = &overrides.mode {
            self.permissions.mode = parse_mode(mode, Place::Option("mode"))?;
        }
        if let Some(language) = &overrides.language {
            self.language = Some(language.clone());
        }
        Ok(())
    }

    fn add_managed(&mut self, managed: RawConfig) -> Result<(), ConfigError> {
        if let Some(model) = managed.model {
            (self.model_id, self.model_place) = (model.value.clone(), model.place.clone());
            self.managed_model = Some(model);
        }
        self.permissions.add_managed(managed.permissions)?;
        self.prompts.add(managed.prompt);
        if let Some(language) = managed.language {
            self.language = Some(language.value);
        }
        if let Some(steps) = managed.max_steps_per_turn {
            self.max_steps_per_turn = steps.value;
        }
        if let Some(cost) = managed.session_cost {
            self.session_cost = limit(cost.value);
        }
        self.context = std::mem::take(&mut self.context).with(managed.context);
        if let Some(minutes) = managed.idle_stop_minutes {
            self.idle_stop_minutes = minutes.value;
        }
        Ok(())
    }

    /// Warnings and hints that need the whole.
    fn finish(&mut self, env: &BTreeMap<String, String>) {
        for (name, provider) in &self.providers {
            if provider.sends_key_in_clear() {
                self.warnings
                    .push(format!("{}: the key of `{name}` is sent over plain HTTP; use https://", provider.place));
            }
        }
        if let Some((provider, name)) = split_model_id(&self.model_id)
            && provider != OFFLINE
            && self.written_window(provider, name).is_none()
        {
            self.warnings.push(format!(
                "the window of `{}` is not known, {UNKNOWN_WINDOW} tokens are assumed; write context_window and \
                 max_output below [providers.{provider}.models.\"{name}\"] in {}",
                self.model_id,
                self.file.display()
            ));
        }
        if self.is_model_unchosen() {
            self.hints.push(self.hint_for_no_model(env));
        }
    }

    fn hint_for_no_model(&self, env: &BTreeMap<String, String>) -> String {
        let file = self.file.display();
        if let Some(name) = self.providers.keys().next() {
            return format!("no model is chosen; write `model = \"{name}/<model>\"` at the top of {file}");
        }
        match found_keys(env).next() {
            Some(found) => format!(
                "{} is set but is not used without your consent; to use it, write `model = \"{}/<model>\"` in {file}",
                found.variable, found.provider
            ),
            None => format!(
                "no model is configured; `plimsoll doctor` says what is found on this machine; or write in {file}: `model = \"anthropic/<model>\"` and set ANTHROPIC_API_KEY, or \
                 `model = \"local/<model>\"` with `[providers.local]`, `api = \"openai-chat\"` and `base_url = \
                 \"http://127.0.0.1:8080/v1\"`"
            ),
        }
    }

    fn choose_model(&mut self, id: &str, place: Place) -> Result<(), ConfigError> {
        if split_model_id(id).is_none() {
            return Err(bad_model_id(place, format!("`{id}` is not of the form provider/model")));
        }
        (self.model_id, self.model_place) = (id.to_owned(), place);
        Ok(())
    }

    /// A permission mode that a client asks for, when the managed configuration leaves the choice.
    pub fn mode(&self, asked: &str) -> Result<PermissionMode, ConfigError> {
        self.permissions.check(parse_mode(asked, Place::Option("mode"))?)
    }

    /// A model with everything that a request needs. `None`: the configured one. Says nothing of whether the key is
    /// there: that is known when it is asked for.
    pub fn model(&self, id: Option<&str>) -> Result<(ModelProfile, Endpoint), ConfigError> {
        match (id, &self.managed_model) {
            (Some(id), Some(managed)) if id != managed.value => Err(ConfigError {
                place: managed.place.clone(),
                problem: format!("your administrator has set the model to `{}`, not `{id}`", managed.value),
                fix: "It cannot be changed here".to_owned(),
            }),
            (Some(id), _) => self.find(id, &Place::Option("model")),
            (None, _) => self.find(&self.model_id, &self.model_place),
        }
    }

    fn find(&self, id: &str, place: &Place) -> Result<(ModelProfile, Endpoint), ConfigError> {
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

    fn written_window(&self, provider: &str, name: &str) -> Option<u64> {
        let written = self.providers.get(provider).and_then(|provider| provider.models.get(name));
        written
            .and_then(|model| model.context_window)
            .or_else(|| catalogue::facts(provider, name).map(|facts| facts.context_window))
    }

    fn endpoint(&self, name: &str, place: &Place) -> Result<Endpoint, ConfigError> {
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

    /// Variables that hold keys, whether a model uses them or not: no command gets to see them.
    pub fn secret_env(&self) -> Vec<String> {
        let written = self.providers.values().filter_map(|provider| match &provider.key {
            Some(KeySource::Env(name)) => Some(name.clone()),
            _ => None,
        });
        hosts().filter_map(|host| host.key_env.clone()).chain(written).collect()
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

fn parse_mode(text: &str, place: Place) -> Result<PermissionMode, ConfigError> {
    text.parse::<PermissionMode>().map_err(|error| ConfigError { place, problem: error.problem, fix: error.fix })
}

fn no_such_offline_model(id: &str, place: &Place) -> ConfigError {
    ConfigError {
        place: place.clone(),
        problem: format!("there is no model `{id}`"),
        fix: format!("Write \"{OFFLINE_MODEL}\""),
    }
}

/// The hosts of the catalogue: with one of these names a provider needs no table of its own, and their variables are what a
/// hint speaks of. None of them is used before the configuration names it.
fn hosts() -> impl Iterator<Item = &'static ProviderEntry> {
    Catalog::builtin().providers.iter().filter(|host| host.api != Api::Offline)
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

/// A limit of cost; 0 stands for none.
fn limit(cost: f32) -> Option<f32> {
    (cost > 0.0).then_some(cost)
}

#[cfg(test)]
mod tests;
