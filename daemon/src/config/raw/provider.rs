//! `[providers.X]` and `[providers.X.models.Y]` as written.

use super::super::error::{ConfigError, Place};
use super::Located;
use super::context::{RESULT_TOKENS_MAX, RESULT_TOKENS_MIN};
use super::table::Table;
use crate::provider::address::is_on_this_machine;
use crate::provider::endpoint::{KeySource, Secret};
use plimsoll_core::model::request::Api;
use std::collections::BTreeMap;

/// Fewest tokens of a window: the head of a context alone needs as many.
pub const WINDOW_MIN: u64 = 1_024;
/// Most tokens of a window that a file may claim.
pub const TOKENS_LIMIT: u64 = 100_000_000;
/// Most tokens of an answer that a file may claim.
pub const OUTPUT_LIMIT: u64 = 10_000_000;
/// Longest lifetime of a cached prefix: thirty days, in seconds.
pub const CACHE_LIFETIME_LIMIT: u64 = 30 * 86_400;
/// Hottest temperature that any vendor takes.
pub const TEMPERATURE_MAX: f32 = 2.0;

/// A provider as written.
#[derive(Debug, Clone, PartialEq)]
pub struct RawProvider {
    /// Where its table begins.
    pub place: Place,
    /// `api`.
    pub api: Option<Located<Api>>,
    /// `base_url`, without a slash at its end.
    pub base_url: Option<Located<String>>,
    /// `api_key_env`, `api_key_command` or `api_key`.
    pub key: Option<KeySource>,
    /// `headers`.
    pub headers: Vec<(String, String)>,
    /// `models.Y`.
    pub models: BTreeMap<String, RawModel>,
}

/// A model as written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawModel {
    /// `context_window`, tokens.
    pub context_window: Option<u64>,
    /// `max_output`, tokens.
    pub max_output: Option<u32>,
    /// `temperature`.
    pub temperature: Option<f32>,
    /// `cache_lifetime_s`, seconds.
    pub cache_lifetime_s: Option<u64>,
    /// `projection_tokens`, instead of that of `[context]`.
    pub projection_tokens: Option<u64>,
    /// `images`: whether it takes images.
    pub images: Option<bool>,
}

impl RawProvider {
    /// Reads a provider's table.
    pub fn parse(mut table: Table<'_, '_>) -> Result<Self, ConfigError> {
        let place = table.place();
        let api = table.parsed("api", parse_api)?;
        let base_url = table.parsed("base_url", parse_url)?;
        let key = parse_key(&mut table)?;
        let mut headers = Vec::new();
        if let Some(mut written) = table.table("headers")? {
            for name in written.names() {
                if let Some(Located { value, place }) = written.string(&name)? {
                    check_header(&name, &value).map_err(|problem| ConfigError {
                        place,
                        problem,
                        fix: "Use letters, digits and dashes in names, and printable ASCII in values".to_owned(),
                    })?;
                    headers.push((name, value));
                }
            }
        }
        let mut models = BTreeMap::new();
        if let Some(mut written) = table.table("models")? {
            for name in written.names() {
                if let Some(model) = written.table(&name)? {
                    models.insert(name, RawModel::parse(model)?);
                }
            }
        }
        table.finish();
        let provider = Self { place, api, base_url, key, headers, models };
        provider.check_url_for_api()?;
        Ok(provider)
    }

    /// Whether the file itself holds the key.
    pub fn has_literal_key(&self) -> bool {
        matches!(self.key, Some(KeySource::Literal(_)))
    }

    /// Whether a key is sent over a connection that others can read: plain HTTP to another machine.
    pub fn sends_key_in_clear(&self) -> bool {
        let keyed = self.key.as_ref().is_some_and(|key| *key != KeySource::None);
        keyed
            && self
                .base_url
                .as_ref()
                .is_some_and(|url| url.value.starts_with("http://") && !is_on_this_machine(&url.value))
    }

    /// The commonest slip: the URL of the call instead of the one before it.
    fn check_url_for_api(&self) -> Result<(), ConfigError> {
        let (Some(url), Some(api)) = (&self.base_url, &self.api) else { return Ok(()) };
        let endings: &[&str] = match api.value {
            Api::OpenaiChat => &["/chat/completions"],
            Api::AnthropicMessages => &["/v1/messages", "/messages", "/v1"],
            Api::Offline => &[],
        };
        let Some(short) = endings.iter().find_map(|ending| url.value.strip_suffix(ending)) else { return Ok(()) };
        Err(ConfigError {
            place: url.place.clone(),
            problem: format!("`{}` already holds a part of the path that is added to it", url.value),
            fix: format!("Write \"{short}\""),
        })
    }
}

impl RawModel {
    fn parse(mut table: Table<'_, '_>) -> Result<Self, ConfigError> {
        let window = table.number("context_window", WINDOW_MIN, TOKENS_LIMIT)?;
        let output = table.number("max_output", 1, OUTPUT_LIMIT)?;
        if let (Some(window), Some(output)) = (&window, &output)
            && output.value >= window.value
        {
            return Err(ConfigError {
                place: output.place.clone(),
                problem: format!("{} leaves no room in a window of {}", output.value, window.value),
                fix: "Write less than context_window".to_owned(),
            });
        }
        let temperature = table.fraction("temperature", TEMPERATURE_MAX)?;
        let cache_lifetime = table.number("cache_lifetime_s", 0, CACHE_LIFETIME_LIMIT)?;
        let projection = table.number("projection_tokens", RESULT_TOKENS_MIN, RESULT_TOKENS_MAX)?;
        let images = table.boolean("images")?;
        table.finish();
        Ok(Self {
            images: images.map(|flag| flag.value),
            context_window: window.map(|number| number.value),
            max_output: output.and_then(|number| u32::try_from(number.value).ok()),
            temperature: temperature.map(|number| number.value),
            cache_lifetime_s: cache_lifetime.map(|number| number.value),
            projection_tokens: projection.map(|number| number.value),
        })
    }
}

fn parse_api(text: &str) -> Result<Api, (String, String)> {
    let known = "Write \"openai-chat\" or \"anthropic-messages\"".to_owned();
    match text {
        "openai-chat" => Ok(Api::OpenaiChat),
        "anthropic-messages" => Ok(Api::AnthropicMessages),
        "openai-responses" => Err(("this build does not have the API `openai-responses`".to_owned(), known)),
        _ => Err((format!("`{text}` is not an API"), known)),
    }
}

fn parse_url(text: &str) -> Result<String, (String, String)> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
    // Before anything shows the text: it may hold a password.
    if text.contains('@') {
        let fix = "Take the user and the password out, and use api_key_env or headers";
        return Err(("the URL holds a user or a password".to_owned(), fix.to_owned()));
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
    if !plain || host.is_none_or(str::is_empty) {
        let fix = "Write http:// or https://, the host and the path before the API's own, without ? and #";
        return Err((format!("`{text}` is not a usable URL"), fix.to_owned()));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// At most one of the three ways to give a key.
fn parse_key(table: &mut Table<'_, '_>) -> Result<Option<KeySource>, ConfigError> {
    let variable = table.string("api_key_env")?;
    let command = table.string("api_key_command")?;
    let literal = table.string("api_key")?;
    let given: Vec<_> = [&variable, &command, &literal].into_iter().flatten().collect();
    if let [_, second, ..] = given.as_slice() {
        return Err(ConfigError {
            place: second.place.clone(),
            problem: "a second way to give the key".to_owned(),
            fix: "Keep one of api_key_env, api_key_command and api_key".to_owned(),
        });
    }
    if let Some(name) = &variable
        && !name.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        // A key pasted here would otherwise be shown as a variable's name in messages.
        return Err(ConfigError {
            place: name.place.clone(),
            problem: "is not the name of an environment variable".to_owned(),
            fix: "Write the variable's name, such as \"LOCAL_API_KEY\", not the key itself".to_owned(),
        });
    }
    Ok(variable
        .map(|name| KeySource::Env(name.value))
        .or_else(|| command.map(|command| KeySource::Command(command.value)))
        .or_else(|| literal.map(|key| KeySource::Literal(Secret::new(key.value)))))
}

fn check_header(name: &str, value: &str) -> Result<(), String> {
    let good_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !good_name {
        return Err("is not the name of a header".to_owned());
    }
    if value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        Ok(())
    } else {
        Err("the value cannot stand in a header".to_owned())
    }
}
