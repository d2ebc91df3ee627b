//! The configuration as it counts: the files, the client's environment and what the client asked for, put together in
//! rising order, with the managed file over all of them.

mod budget;
mod compaction;
mod found;
mod model;
mod models;
mod project;

pub use found::FoundKey;

use super::PermissionMode;
use super::env;
use super::error::{ConfigError, Place};
use super::folders::Folders;
use super::permissions::Permissions;
use super::places::Places;
use super::prompts::PromptChoice;
use super::raw::{Located, MAX_STEPS_LIMIT, RawConfig, RawContext, RawProvider, bad_model_id, split_model_id};
use super::sources::Sources;
use super::tests_choice::TestsChoice;
use crate::provider::endpoint::{Endpoint, KeySource};
use found::found_keys;
use plimsoll_core::model::catalog::{Catalog, ModelProfile, ProviderEntry};
use plimsoll_core::model::request::Api;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The built-in model that needs no network and no key.
pub const OFFLINE_MODEL: &str = "offline/retrieval";
const OFFLINE: &str = "offline";

/// Steps of one turn when nothing is configured: more than any useful turn takes, few enough to end a loop.
const DEFAULT_MAX_STEPS: u32 = 100;
/// Minutes without client and work after which the daemon ends, when nothing is configured.
const DEFAULT_IDLE_STOP_MINUTES: u32 = 30;
/// Tokens assumed for a model of which nothing is known: what even small local servers offer.
const UNKNOWN_WINDOW: u64 = 32_768;

/// What a client asks for over everything but the managed file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// A model, `provider/model`.
    pub model: Option<String>,
    /// A permission mode.
    pub mode: Option<String>,
    /// A language.
    pub language: Option<String>,
    /// Most steps of one turn.
    pub max_steps: Option<u32>,
}

impl Overrides {
    /// With what was asked for before, where this says nothing.
    #[must_use]
    pub fn over(self, before: &Self) -> Self {
        Self {
            model: self.model.or_else(|| before.model.clone()),
            mode: self.mode.or_else(|| before.mode.clone()),
            language: self.language.or_else(|| before.language.clone()),
            max_steps: self.max_steps.or(before.max_steps),
        }
    }

    /// Whether each has the form that it must have. Whether there is such a model is known when it is used.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(model) = &self.model {
            check_model(model, Place::Option("model"))?;
        }
        if let Some(mode) = &self.mode {
            parse_mode(mode, Place::Option("mode"))?;
        }
        match self.max_steps {
            Some(steps) => checked_steps(&steps.to_string(), Place::Option("maxSteps")).map(|_| ()),
            None => Ok(()),
        }
    }
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
    /// How the project's tests are run.
    pub tests: TestsChoice,
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
    /// Who said what counts, where somebody did.
    places: Places,
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
        let user = RawConfig::read(&folders.config_file())?;
        Self::with_user(folders, user, env, project_root, overrides)
    }

    /// The same with this in the place of what the user's file says.
    pub(super) fn with_user(
        folders: &Folders,
        user: RawConfig,
        env: &BTreeMap<String, String>,
        project_root: Option<&Path>,
        overrides: &Overrides,
    ) -> Result<Self, ConfigError> {
        let managed = RawConfig::read(&folders.managed)?;
        let mut config = Self::of_user(folders.config_file(), user, &managed)?;
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
        let mut providers = user.providers.clone();
        providers.extend(managed.providers.clone());
        if let Some(taken) = providers.get(OFFLINE) {
            return Err(ConfigError {
                place: taken.place.clone(),
                problem: "the provider `offline` is built in".to_owned(),
                fix: "Give yours another name".to_owned(),
            });
        }
        let mut warnings = managed.warnings.clone();
        warnings.extend(user.warnings.iter().cloned());
        let mut places = Places::default();
        places.take(&user);
        let mut sources = Sources::default();
        sources.add(managed.sources.clone());
        sources.add(user.sources);
        let permissions = Permissions::of_user(user.permissions, &mut warnings)?;
        let mut tests = TestsChoice::default();
        tests.add(user.tests);
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
            tests,
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
            places,
        })
    }

    fn add_environment(&mut self, env: &BTreeMap<String, String>) -> Result<(), ConfigError> {
        let set = |name: &'static str| env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        if let Some(model) = set(env::MODEL) {
            self.choose_model(model, Place::Variable(env::MODEL))?;
        }
        if let Some(mode) = set(env::MODE) {
            self.permissions.mode = parse_mode(mode, Place::Variable(env::MODE))?;
            self.places.set("permissions.mode", &Place::Variable(env::MODE));
        }
        if let Some(language) = set(env::LANGUAGE) {
            self.language = Some(language.to_owned());
            self.places.set("language", &Place::Variable(env::LANGUAGE));
        }
        if let Some(steps) = set(env::MAX_STEPS) {
            self.max_steps_per_turn = checked_steps(steps, Place::Variable(env::MAX_STEPS))?;
            self.places.set("limits.max_steps_per_turn", &Place::Variable(env::MAX_STEPS));
        }
        Ok(())
    }

    fn add_overrides(&mut self, overrides: &Overrides) -> Result<(), ConfigError> {
        if let Some(model) = &overrides.model {
            self.choose_model(model, Place::Option("model"))?;
        }
        if let Some(mode) = &overrides.mode {
            self.permissions.mode = parse_mode(mode, Place::Option("mode"))?;
            self.places.set("permissions.mode", &Place::Option("mode"));
        }
        if let Some(language) = &overrides.language {
            self.language = Some(language.clone());
            self.places.set("language", &Place::Option("language"));
        }
        if let Some(steps) = overrides.max_steps {
            self.max_steps_per_turn = checked_steps(&steps.to_string(), Place::Option("maxSteps"))?;
            self.places.set("limits.max_steps_per_turn", &Place::Option("maxSteps"));
        }
        Ok(())
    }

    fn add_managed(&mut self, managed: RawConfig) -> Result<(), ConfigError> {
        self.places.take(&managed);
        if let Some(max) = managed.permissions.max_mode.as_ref().filter(|max| max.value < self.permissions.mode) {
            self.places
                .set("permissions.mode", managed.permissions.mode.as_ref().map_or(&max.place, |mode| &mode.place));
        }
        if let Some(model) = managed.model {
            (self.model_id, self.model_place) = (model.value.clone(), model.place.clone());
            self.managed_model = Some(model);
        }
        self.permissions.add_managed(managed.permissions)?;
        self.prompts.add(managed.prompt);
        self.tests.add(managed.tests);
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
        (self.model_id, self.model_place) = (id.to_owned(), check_model(id, place)?);
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

    /// Variables that hold keys, whether a model uses them or not: no command gets to see them.
    pub fn secret_env(&self) -> Vec<String> {
        let written = self.providers.values().filter_map(|provider| match &provider.key {
            Some(KeySource::Env(name)) => Some(name.clone()),
            _ => None,
        });
        hosts().filter_map(|host| host.key_env.clone()).chain(written).collect()
    }
}

/// Gives the place back when what stands there has the form of a model's id.
fn check_model(id: &str, place: Place) -> Result<Place, ConfigError> {
    match split_model_id(id) {
        Some(_) => Ok(place),
        None => Err(bad_model_id(place, format!("`{id}` is not of the form provider/model"))),
    }
}

/// A number of steps that somebody wrote.
fn checked_steps(text: &str, place: Place) -> Result<u32, ConfigError> {
    let number = text.parse().ok().filter(|steps| (1..=MAX_STEPS_LIMIT).contains(&u64::from(*steps)));
    number.ok_or_else(|| ConfigError {
        place,
        problem: format!("`{}` is not a number of steps", text.chars().take(40).collect::<String>()),
        fix: format!("Write a whole number from 1 to {MAX_STEPS_LIMIT}"),
    })
}

/// A permission mode that somebody wrote at `place`.
pub fn parse_mode(text: &str, place: Place) -> Result<PermissionMode, ConfigError> {
    text.parse::<PermissionMode>().map_err(|error| ConfigError { place, problem: error.problem, fix: error.fix })
}

/// The hosts of the catalogue: with one of these names a provider needs no table of its own, and their variables are what a
/// hint speaks of. None of them is used before the configuration names it.
fn hosts() -> impl Iterator<Item = &'static ProviderEntry> {
    Catalog::builtin().providers.iter().filter(|host| host.api != Api::Offline)
}

/// A limit of cost; 0 stands for none.
fn limit(cost: f32) -> Option<f32> {
    (cost > 0.0).then_some(cost)
}

#[cfg(test)]
mod tests;
