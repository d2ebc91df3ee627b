//! What is known about models: window, limits, cache lifetime, prices. The built-in table is `models.toml`; `config` lays
//! the user's own figures over it.

use super::request::Api;
use super::usage::Usage;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Window of a model that nothing is known about, at a host that is not in the table: what servers on one's own machine
/// commonly run with. Too small only compacts early; too large is found out by the server's refusal.
pub const DEFAULT_CONTEXT_WINDOW: u64 = 32_768;

/// Most tokens of an answer of such a model.
pub const DEFAULT_MAX_OUTPUT: u32 = 4_096;

/// Seconds after which an unused prefix counts as no longer cached, where nothing else is known.
pub const DEFAULT_CACHE_LIFETIME_S: u64 = 300;

/// A model as a session uses it: the catalogue's facts under the configuration's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelProfile {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The provider's own name of the model; what the wire says.
    pub name: String,
    /// The wire.
    pub api: Api,
    /// Tokens that a request and its answer may have together.
    pub context_window: u64,
    /// Most tokens of an answer.
    pub max_output: u32,
    /// Sampling temperature, when configured.
    pub temperature: Option<f32>,
    /// Seconds after which an unused prefix is no longer cached.
    pub cache_lifetime_s: u64,
    /// Prices, when known.
    pub price: Option<Price>,
    /// Whether it takes images.
    #[serde(default)]
    pub images: bool,
}

impl ModelProfile {
    /// `provider/model`, as the configuration writes it.
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }

    /// Tokens that a request may have: the window without the room for its answer. Of a model whose answers may fill the
    /// window, half of it.
    pub fn usable_window(&self) -> u64 {
        self.context_window - u64::from(self.max_output).min(self.context_window / 2)
    }
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Input that was not cached.
    pub input: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to the cache.
    pub cache_write: f64,
    /// Output.
    pub output: f64,
    /// The day on which this was read from the vendor's page, `YYYY-MM-DD`.
    pub as_of: String,
}

impl Price {
    /// What a request with this usage costs, in US dollars.
    pub fn cost(&self, usage: Usage) -> f64 {
        let plain = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let parts = [
            (plain, self.input),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
            (usage.output, self.output),
        ];
        parts.iter().map(|&(tokens, price)| tokens as f64 * price / 1e6).sum()
    }
}

/// The table of known hosts and models.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// In the order in which they are offered.
    #[serde(rename = "provider", default)]
    pub providers: Vec<ProviderEntry>,
}

/// A known host.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderEntry {
    /// Its name in the configuration.
    pub name: String,
    /// The wire.
    pub api: Api,
    /// URL up to the API's own path; empty for the built-in model.
    pub base_url: String,
    /// The environment variable with its key; none when it needs no key.
    pub key_env: Option<String>,
    /// What is used when no model is chosen.
    pub default_model: Option<String>,
    /// Window of its models that are not listed.
    pub context_window: u64,
    /// Most tokens of an answer of its models that are not listed.
    pub max_output: u32,
    /// Seconds after which an unused prefix is no longer cached.
    #[serde(default = "default_cache_lifetime")]
    pub cache_lifetime_s: u64,
    /// Whether its models take images, where a model does not say otherwise.
    #[serde(default)]
    pub images: bool,
    /// Its known models.
    #[serde(rename = "model", default)]
    pub models: Vec<ModelEntry>,
}

/// A known model, or a family of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// The provider's name of it, or what the names of its family begin with.
    pub name: String,
    /// Every name that begins with `name` is meant.
    #[serde(default)]
    pub family: bool,
    /// Tokens that a request and its answer may have together.
    pub context_window: u64,
    /// Most tokens of an answer.
    pub max_output: u32,
    /// Seconds after which an unused prefix is no longer cached, when it differs from the provider's.
    pub cache_lifetime_s: Option<u64>,
    /// Whether it takes images, when that differs from its provider's other models.
    pub images: Option<bool>,
    /// Prices, when known.
    pub price: Option<Price>,
}

fn default_cache_lifetime() -> u64 {
    DEFAULT_CACHE_LIFETIME_S
}

static BUILTIN: LazyLock<Catalog> = LazyLock::new(|| {
    // A test reads the table; a build with a broken one would know no model and say so at every lookup.
    toml::from_str(include_str!("models.toml")).unwrap_or_default()
});

impl Catalog {
    /// The table of this build; read at the first use.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// The host with exactly this name.
    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// What is known about a model: the entry with its name, else the longest one that it is a dated form or a member of
    /// the family of.
    pub fn model(&self, provider: &str, name: &str) -> Option<&ModelEntry> {
        let models = &self.provider(provider)?.models;
        models.iter().find(|model| model.name == name).or_else(|| {
            models
                .iter()
                .filter(|model| name.strip_prefix(&model.name).is_some_and(|rest| model.family || is_dating(rest)))
                .max_by_key(|model| model.name.len())
        })
    }

    /// The model of a host that is used when none is chosen.
    pub fn default_model(&self, provider: &str) -> Option<&str> {
        self.provider(provider)?.default_model.as_deref()
    }

    /// Everything that is known about a model under a provider of the configuration, which may be no host of the table:
    /// the model's own figures, else the host's, else [`DEFAULT_CONTEXT_WINDOW`] and the other defaults.
    pub fn profile(&self, provider: &str, api: Api, name: &str) -> ModelProfile {
        let host = self.provider(provider);
        let model = self.model(provider, name);
        let lifetime = model.and_then(|model| model.cache_lifetime_s).or(host.map(|host| host.cache_lifetime_s));
        ModelProfile {
            provider: provider.to_owned(),
            name: name.to_owned(),
            api,
            context_window: model
                .map(|model| model.context_window)
                .or(host.map(|host| host.context_window))
                .unwrap_or(DEFAULT_CONTEXT_WINDOW),
            max_output: model
                .map(|model| model.max_output)
                .or(host.map(|host| host.max_output))
                .unwrap_or(DEFAULT_MAX_OUTPUT),
            temperature: None,
            cache_lifetime_s: lifetime.unwrap_or(DEFAULT_CACHE_LIFETIME_S),
            price: model.and_then(|model| model.price.clone()),
            images: model.and_then(|model| model.images).or(host.map(|host| host.images)).unwrap_or_default(),
        }
    }
}

/// Whether `rest` after a model's name only says which day's form of it is meant: `-20260801`, `-2026-08-01`, `-latest`,
/// `@20260801`. Anything else may be another model with another window and price.
fn is_dating(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(['-', '@']) else { return false };
    rest == "latest" || (rest.len() >= 8 && rest.chars().all(|c| c.is_ascii_digit() || c == '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(provider: &str, name: &str) -> Option<&'static str> {
        Catalog::builtin().model(provider, name).map(|model| model.name.as_str())
    }

    #[test]
    fn the_built_in_table_reads_and_is_consistent() {
        let catalog: Catalog = toml::from_str(include_str!("models.toml")).unwrap();
        assert_eq!(&catalog, Catalog::builtin());
        let names: Vec<&str> = catalog.providers.iter().map(|provider| provider.name.as_str()).collect();
        let expected =
            ["anthropic", "openai", "deepseek", "openrouter", "mistral", "groq", "xai", "gemini", "qwen", "offline"];
        assert_eq!(names, expected);
        for provider in &catalog.providers {
            assert_eq!(provider.key_env.is_none(), provider.api == Api::Offline);
            assert_eq!(provider.base_url.is_empty(), provider.api == Api::Offline);
            assert!(!provider.base_url.ends_with('/'));
            if let Some(model) = &provider.default_model {
                assert_eq!(named(&provider.name, model), Some(model.as_str()), "the default is listed");
            }
            for (at, model) in provider.models.iter().enumerate() {
                assert!(u64::from(model.max_output) < model.context_window, "{}", model.name);
                assert!(provider.models.iter().skip(at + 1).all(|other| other.name != model.name), "{}", model.name);
                if let Some(price) = &model.price {
                    assert!(price.cache_read < price.input && price.input <= price.cache_write, "{}", model.name);
                    assert!(price.as_of.parse::<jiff::civil::Date>().is_ok(), "{}", model.name);
                }
            }
        }
    }

    #[test]
    fn a_model_is_found_by_name_date_or_family() {
        assert_eq!(named("anthropic", "claude-opus-5"), Some("claude-opus-5"));
        assert_eq!(named("anthropic", "claude-opus-5-20260724"), Some("claude-opus-5"));
        assert_eq!(named("anthropic", "claude-opus-5-5-latest"), Some("claude-opus-5-5"));
        assert_eq!(named("openai", "gpt-5.6-terra"), Some("gpt-5.6"));
        assert_eq!(named("openai", "gpt-6-sol-2026-09-01"), Some("gpt-6-sol"));
        for other in ["claude-opus-5-7", "claude-opus-5-mini", "claude-opus", "claude-opus-51"] {
            assert_eq!(named("anthropic", other), None, "{other}");
        }
        assert_eq!(named("local", "claude-opus-5"), None);
    }

    #[test]
    fn an_unknown_model_has_the_hosts_figures_or_the_defaults() {
        let catalog = Catalog::builtin();
        let profile = |provider: &str, name: &str| {
            let profile = catalog.profile(provider, Api::OpenaiChat, name);
            (profile.context_window, profile.max_output, profile.cache_lifetime_s, profile.price.is_some())
        };
        assert_eq!(profile("local", "small"), (32_768, 4_096, 300, false));
        assert_eq!(profile("openrouter", "x/y"), (128_000, 8_192, 300, false));
        assert_eq!(profile("openai", "gpt-6-sol"), (1_050_000, 128_000, 1_800, true));
        assert_eq!(profile("offline", "retrieval"), (32_000, 4_096, 300, false));
        assert_eq!(catalog.default_model("offline"), Some("retrieval"));
        assert_eq!(catalog.default_model("openrouter"), None);
    }

    #[test]
    fn cost_counts_each_token_once() {
        let price = Price { input: 2.0, cache_read: 0.2, cache_write: 2.5, output: 10.0, as_of: "2026-11-29".into() };
        let usage = Usage { input: 1_000_000, cache_read: 600_000, cache_write: 300_000, output: 50_000 };
        // 100,000 plain, 600,000 read, 300,000 written, 50,000 out.
        assert!((price.cost(usage) - (0.2 + 0.12 + 0.75 + 0.5)).abs() < 1e-9);
        let odd = Usage { input: 1, cache_read: 5, cache_write: 5, output: 0 };
        assert!(price.cost(odd) > 0.0);
        assert!(price.cost(Usage::default()).abs() < 1e-12);
    }
}
