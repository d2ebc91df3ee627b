//! One configuration file as it is written: its values with their places, checked one by one but not against each
//! other. Unknown keys are warnings, wrong values are errors that name file, line, key and what to write. `resolve` puts
//! the files together.

mod context;
mod leaves;
mod permissions;
mod prompt;
mod provider;
mod sources;
mod table;
mod tests_table;

pub use context::{RESULT_TOKENS_MAX, RESULT_TOKENS_MIN, RawContext, TURNS_LIMIT};
pub use leaves::{Leaf, leaves, without_line};
pub use permissions::{RawPermissions, rule};
pub use prompt::RawPrompt;
pub use provider::{CACHE_LIFETIME_LIMIT, OUTPUT_LIMIT, RawProvider, TEMPERATURE_MAX, TOKENS_LIMIT, WINDOW_MIN};
pub use sources::RawSources;
pub use tests_table::{RawTests, TESTS_MINUTES_LIMIT};

use super::error::{ConfigError, Place};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use table::Table;

/// Longest configuration file that is read: a thousand providers fit; what is longer is no configuration.
const FILE_MAX: u64 = 1024 * 1024;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub place: Place,
}

/// What one file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawConfig {
    /// `model`: `provider/model`.
    pub model: Option<Located<String>>,
    /// `language`.
    pub language: Option<Located<String>>,
    /// `[permissions]`.
    pub permissions: RawPermissions,
    /// `[context]`.
    pub context: RawContext,
    /// `[prompt]`.
    pub prompt: RawPrompt,
    /// `limits.max_steps_per_turn`.
    pub max_steps_per_turn: Option<Located<u32>>,
    /// `limits.session_cost`, in US dollars.
    pub session_cost: Option<Located<f32>>,
    /// `daemon.idle_stop_minutes`; 0: never.
    pub idle_stop_minutes: Option<Located<u32>>,
    /// `[rules]` and `[skills]`.
    pub sources: RawSources,
    /// `[tests]`.
    pub tests: RawTests,
    /// `consent.offer`: whether `plimsoll ask` offers keys and servers that it finds.
    pub offer: Option<Located<bool>>,
    /// `[providers.X]`.
    pub providers: BTreeMap<String, RawProvider>,
    /// What is odd but not wrong, for people.
    pub warnings: Vec<String>,
}

/// The most that `limits.session_cost` may be, in US dollars: more is a slip of the finger.
pub const SESSION_COST_LIMIT: f32 = 1_000_000.0;
/// Most steps of a turn that a file may ask for; more than this is a loop that nobody watches.
pub const MAX_STEPS_LIMIT: u64 = 10_000;
/// A year: longer is the same as never, which is written 0.
pub const IDLE_MINUTES_LIMIT: u64 = 525_600;

impl RawConfig {
    /// Reads a file; one that does not exist says nothing.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let Some(content) = read_text(file)? else { return Ok(Self::default()) };
        let mut raw = Self::parse(file, &content.text)?;
        let literal_key = raw.providers.iter().find(|(_, provider)| provider.has_literal_key());
        if let Some((name, _)) = literal_key.filter(|_| content.readable_by_others) {
            let warning = format!(
                "{}: others on this machine can read the key of `{name}`; run `chmod 600` on the file, or use api_key_env",
                file.display()
            );
            raw.warnings.push(warning);
        }
        Ok(raw)
    }

    /// Reads the text of a file; `file` is only named.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let document = toml::de::DeTable::parse(text).map_err(|error| table::syntax_error(file, text, &error))?;
        let mut raw = Self::default();
        let mut top = Table::top(file, text, document.get_ref(), &mut raw.warnings);
        raw.model = top.string("model")?;
        if let Some(model) = &raw.model {
            check_model_id(&model.value).map_err(|problem| bad_model_id(model.place.clone(), problem))?;
        }
        raw.language = top.string("language")?;
        if let Some(permissions) = top.table("permissions")? {
            raw.permissions = RawPermissions::parse(permissions)?;
        }
        if let Some(context) = top.table("context")? {
            raw.context = RawContext::parse(context)?;
        }
        if let Some(prompt) = top.table("prompt")? {
            raw.prompt = RawPrompt::parse(prompt)?;
        }
        if let Some(mut limits) = top.table("limits")? {
            raw.max_steps_per_turn = limits.number("max_steps_per_turn", 1, MAX_STEPS_LIMIT)?.map(narrow);
            raw.session_cost = limits.fraction("session_cost", SESSION_COST_LIMIT)?;
            limits.finish();
        }
        if let Some(mut daemon) = top.table("daemon")? {
            raw.idle_stop_minutes = daemon.number("idle_stop_minutes", 0, IDLE_MINUTES_LIMIT)?.map(narrow);
            daemon.finish();
        }
        raw.sources = RawSources::parse(&mut top)?;
        if let Some(tests) = top.table("tests")? {
            raw.tests = RawTests::parse(tests)?;
        }
        if let Some(mut consent) = top.table("consent")? {
            raw.offer = consent.boolean("offer")?;
            consent.finish();
        }
        if let Some(mut providers) = top.table("providers")? {
            for name in providers.names() {
                if let Some(table) = providers.table(&name)? {
                    raw.providers.insert(name, RawProvider::parse(table)?);
                }
            }
            providers.finish();
        }
        top.finish();
        Ok(raw)
    }
}

/// A number whose range was checked against a limit below 2^32.
fn narrow(number: Located<u64>) -> Located<u32> {
    Located { value: u32::try_from(number.value).unwrap_or(u32::MAX), place: number.place }
}

/// Splits `provider/model`; the model's name may hold further slashes.
pub fn split_model_id(id: &str) -> Option<(&str, &str)> {
    id.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
}

fn check_model_id(id: &str) -> Result<(), String> {
    split_model_id(id).map(|_| ()).ok_or_else(|| format!("`{id}` is not of the form provider/model"))
}

/// The error for a model id that does not have the form of one.
pub fn bad_model_id(place: Place, problem: String) -> ConfigError {
    let fix = "Write the name of a provider, a slash and the provider's name of the model, such as \"local/small\"";
    ConfigError { place, problem, fix: fix.to_owned() }
}

/// What a file holds.
pub struct Content {
    /// Its text.
    pub text: String,
    readable_by_others: bool,
}

/// The text of a regular file; a pipe or device in its place is refused instead of waited for.
pub fn read_text(file: &Path) -> Result<Option<Content>, ConfigError> {
    let whole = |problem: String, fix: &str| ConfigError {
        place: Place::WholeFile(file.to_owned()),
        problem,
        fix: fix.to_owned(),
    };
    let readable = "Make it a readable text file, or remove it";
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut opened = match OpenOptions::new().read(true).custom_flags(flags).open(file) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(whole(format!("cannot be opened: {error}"), readable)),
    };
    let metadata = opened.metadata().map_err(|error| whole(format!("cannot be read: {error}"), readable))?;
    if !metadata.is_file() {
        return Err(whole("is not a file".to_owned(), readable));
    }
    let mut bytes = Vec::new();
    let read = opened.by_ref().take(FILE_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| whole(format!("cannot be read: {error}"), readable))?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(whole(format!("is longer than {FILE_MAX} bytes"), "Shorten it"));
    }
    let text = String::from_utf8(bytes).map_err(|_| whole("is not UTF-8".to_owned(), "Save it as UTF-8"))?;
    Ok(Some(Content { text, readable_by_others: metadata.permissions().mode() & 0o044 != 0 }))
}

#[cfg(test)]
mod tests;
