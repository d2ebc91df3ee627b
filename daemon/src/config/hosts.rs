//! Well-known hosts of models: with one of these names a provider needs no table of its own, and their variables are
//! what a hint speaks of when nothing is configured. Nothing here is used before the configuration names it.

use plimsoll_core::model::request::Api;

/// A host that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// The provider's name.
    pub name: &'static str,
    /// The wire it speaks.
    pub api: Api,
    /// The URL before the API's own path.
    pub base_url: &'static str,
    /// The variable in which its key usually stands.
    pub key_variable: &'static str,
}

const fn chat(name: &'static str, base_url: &'static str, key_variable: &'static str) -> Host {
    Host { name, api: Api::OpenaiChat, base_url, key_variable }
}

/// All of them; the first whose variable is set is the one that a hint names. The URLs are those of the vendors' own
/// documentation of their API.
pub const HOSTS: &[Host] = &[
    Host {
        name: "anthropic",
        api: Api::AnthropicMessages,
        base_url: "https://api.anthropic.com",
        key_variable: "ANTHROPIC_API_KEY",
    },
    chat("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    chat("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    chat("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    chat("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    chat("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    chat("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    chat("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    chat("qwen", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
];

/// The host of this name.
pub fn host(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name)
}
