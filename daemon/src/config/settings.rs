//! The configuration key by key, as it counts, with who said so: for people and clients that show it.

use super::PermissionMode;
use super::error::{ConfigError, Place};
use super::folders::Folders;
use super::key;
use super::nearest::nearest;
use super::places::list_of;
use super::raw::{Leaf, leaves, read_text};
use super::resolve::Config;
use super::schema;
use plimsoll_core::permission::rule::Verdict;
use plimsoll_core::prompt::Bundle;
use serde_json::Value;
use std::path::Path;

/// What is shown in the place of a key or of a header, which may hold one.
const HIDDEN: &str = "(hidden)";
const PROVIDERS: &str = "providers";

/// A key with what counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Its names, from the top.
    pub path: Vec<String>,
    /// What counts; null: nothing is set and nothing is assumed.
    pub value: Value,
    /// Who said so, for a list one for each entry; empty: what is built in.
    pub from: Vec<Source>,
}

impl Setting {
    /// Its names as one text.
    pub fn key(&self) -> String {
        key::dotted(&self.path)
    }
}

/// Who says something, in rising order; an administrator over all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The user's file.
    User,
    /// A project's file.
    Project,
    /// The environment of the client.
    Environment,
    /// What the client asked for.
    Client,
    /// The managed file.
    Managed,
}

impl Layer {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
            Self::Client => "client",
            Self::Managed => "managed",
        }
    }
}

/// Who says something, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Who.
    pub layer: Layer,
    /// Where.
    pub place: Place,
}

/// The names of a key that the configuration has; the nearest known one is said of another.
pub fn known_key(text: &str) -> Result<Vec<String>, ConfigError> {
    let path = key::names(text)?;
    match schema::kind(&path) {
        Ok(_) => Ok(path),
        Err(unknown) => Err(no_such_key(&unknown)),
    }
}

/// The error for a key that the configuration does not have.
pub(super) fn no_such_key(unknown: &schema::UnknownKey) -> ConfigError {
    let (last, above) = unknown.path.split_last().map_or(("", &[][..]), |(last, above)| (last.as_str(), above));
    let fix = match nearest(last, &unknown.known) {
        Some(meant) => {
            let meant: Vec<&str> = above.iter().map(String::as_str).chain([meant]).collect();
            format!("Did you mean `{}`?", key::dotted(&meant))
        }
        None if unknown.known.is_empty() => format!("`{}` has no keys below it", key::dotted(above)),
        None => format!("Known here: {}", unknown.known.join(", ")),
    };
    ConfigError {
        place: Place::Option("key"),
        problem: format!("there is no key `{}`", key::dotted(&unknown.path)),
        fix,
    }
}

impl Config {
    /// All keys with what counts; of providers what is written. What a provider's file says is read once more. Secrets are
    /// hidden.
    pub fn settings(&self, folders: &Folders) -> Result<Vec<Setting>, ConfigError> {
        let mut settings = Vec::new();
        let mut add = |key: &str, value: Value, from: &[Place]| {
            settings.push(Setting {
                path: key.split('.').map(str::to_owned).collect(),
                value,
                from: from.iter().filter_map(|place| self.source(folders, place)).collect(),
            });
        };
        let places = self.places();
        add("model", Value::from(self.model_id.as_str()), std::slice::from_ref(self.model_place()));
        add("language", Value::from(self.language.as_deref()), places.of("language"));
        let permissions = &self.permissions;
        add("permissions.mode", Value::from(permissions.mode.word()), places.of("permissions.mode"));
        let max = permissions.max_mode();
        // In a user's file it says nothing, and is warned about.
        let from = if max.is_some() { places.of("permissions.max_mode") } else { &[] };
        add("permissions.max_mode", Value::from(max.map(PermissionMode::word)), from);
        for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            let rules = permissions.rules.iter().filter(|rule| rule.verdict == verdict);
            let rules = rules.map(|rule| Value::from(rule.matcher.to_string())).collect();
            add(list_of(verdict), rules, places.of(list_of(verdict)));
        }
        add("permissions.writable", texts(permissions.writable_as_written()), places.of("permissions.writable"));
        let budget = self.budget("");
        for (key, tokens) in [
            ("context.projection_tokens", budget.tokens),
            ("context.asked_tokens", budget.asked_tokens),
            ("context.general_tokens", budget.general_tokens),
        ] {
            add(key, Value::from(tokens), places.of(key));
        }
        for (key, value) in self.compaction_settings() {
            add(key, value, places.of(key));
        }
        let bundle = places.of("prompt.bundle");
        add("prompt.bundle", Value::from(self.prompts.bundle.word()), bundle);
        add("prompt.lean", Value::from(self.prompts.bundle == Bundle::Lean), bundle);
        let base = self.prompts.base.as_ref();
        add("prompt.base_prompt", Value::from(base.map(|base| base.value.as_str())), places.of("prompt.base_prompt"));
        let steps = "limits.max_steps_per_turn";
        add(steps, Value::from(self.max_steps_per_turn), places.of(steps));
        add("limits.session_cost", cost(self.session_cost), places.of("limits.session_cost"));
        let idle = "daemon.idle_stop_minutes";
        add(idle, Value::from(self.idle_stop_minutes), places.of(idle));
        for (key, (list, from)) in ["rules.foreign", "skills.paths"].into_iter().zip(self.sources.written()) {
            add(key, texts(list), from);
        }
        let command = self.tests.command.as_ref().map(|(command, _)| command.as_str());
        add("tests.command", Value::from(command), places.of("tests.command"));
        let minutes = "tests.timeout_minutes";
        add(minutes, Value::from(self.tests.minutes()), places.of(minutes));
        add("tests.writes", texts(&self.tests.writes), self.tests.writes_places());
        add("consent.offer", Value::from(self.offers()), places.of("consent.offer"));
        settings.extend(self.providers_as_written(folders)?);
        Ok(settings)
    }

    fn compaction_settings(&self) -> [(&'static str, Value); 6] {
        let set = self.compaction(false);
        [
            ("context.compaction", Value::from(if set.auto { "auto" } else { "off" })),
            ("context.load_lines", set.lines.iter().map(|line| Value::from(*line)).collect()),
            ("context.tail_guard_turns", Value::from(set.tail_guard_turns)),
            ("context.compact_every_turns", Value::from(set.every_turns.unwrap_or_default())),
            ("context.prepare_summaries", Value::from(self.prepares_summaries())),
            ("context.summary_model", Value::from(self.summary_model_id())),
        ]
    }

    /// The managed file's providers as a whole, then those of the user's that it does not have.
    fn providers_as_written(&self, folders: &Folders) -> Result<Vec<Setting>, ConfigError> {
        let managed = of_providers(&folders.managed)?;
        let is_managed = |leaf: &Leaf| managed.iter().any(|other| other.path.get(1) == leaf.path.get(1));
        let mut all: Vec<Leaf> = of_providers(self.file())?.into_iter().filter(|leaf| !is_managed(leaf)).collect();
        all.extend(managed.iter().cloned());
        all.sort_by(|one, other| one.path.cmp(&other.path));
        let setting = |leaf: Leaf| {
            let secret = matches!(leaf.path.get(2).map(String::as_str), Some("api_key" | "headers"));
            let value = if secret { Value::from(HIDDEN) } else { leaf.value };
            Setting { from: self.source(folders, &leaf.place).into_iter().collect(), path: leaf.path, value }
        };
        Ok(all.into_iter().filter(|leaf| schema::kind(&leaf.path).is_ok()).map(setting).collect())
    }

    /// None for what is built in.
    fn source(&self, folders: &Folders, place: &Place) -> Option<Source> {
        let layer = match place {
            Place::File { file, .. } if *file == folders.managed => Layer::Managed,
            Place::File { file, .. } if file == self.file() => Layer::User,
            Place::File { .. } => Layer::Project,
            Place::Variable(_) => Layer::Environment,
            Place::Option(_) => Layer::Client,
            Place::WholeFile(_) => return None,
        };
        Some(Source { layer, place: place.clone() })
    }
}

fn of_providers(file: &Path) -> Result<Vec<Leaf>, ConfigError> {
    let Some(content) = read_text(file)? else { return Ok(Vec::new()) };
    let mut found = leaves(file, &content.text)?;
    found.retain(|leaf| leaf.path.first().is_some_and(|name| name == PROVIDERS));
    Ok(found)
}

fn texts(list: &[String]) -> Value {
    list.iter().map(|text| Value::from(text.as_str())).collect()
}

/// US dollars; none are 0. As written: the shortest number that means it.
fn cost(cost: Option<f32>) -> Value {
    let written = cost.unwrap_or_default().to_string();
    written.parse::<u64>().map(Value::from).or_else(|_| written.parse::<f64>().map(Value::from)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
