//! The keys of the user's and the managed file. Each description says what the key is, in which unit, what counts without
//! it, and from when on a change counts.

use super::super::raw::{
    CACHE_LIFETIME_LIMIT, IDLE_MINUTES_LIMIT, MAX_STEPS_LIMIT, OUTPUT_LIMIT, RESULT_TOKENS_MAX, RESULT_TOKENS_MIN,
    SESSION_COST_LIMIT, TEMPERATURE_MAX, TESTS_MINUTES_LIMIT, TOKENS_LIMIT, TURNS_LIMIT, WINDOW_MIN,
};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// Configuration of Plimsoll: the user's config.toml, or an administrator's /etc/plimsoll/config.toml.
#[derive(JsonSchema)]
#[schemars(title = "Plimsoll configuration", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
pub struct File {
    /// The model of new sessions, as provider/model. Default: the built-in "offline/retrieval". Counts for new sessions.
    #[schemars(regex(pattern = "^[^/]+/.+$"))]
    model: Option<String>,
    /// The language of answers, such as "de". Default: that of the prompt. Counts for new sessions, and for others when the
    /// head of their context is next written anew.
    #[schemars(length(min = 1))]
    language: Option<String>,
    /// What the agent may do.
    permissions: Option<Permissions>,
    /// What the model sees: what results of tools may cost, and when the history is shortened.
    context: Option<Context>,
    /// Which texts models read.
    prompt: Option<Texts>,
    /// What ends or interrupts a turn.
    limits: Option<Limits>,
    /// The daemon.
    daemon: Option<Daemon>,
    /// Files that instruct.
    rules: Option<Rules>,
    /// Skills.
    skills: Option<Skills>,
    /// How the project's tests are run.
    tests: Option<Tests>,
    /// What is offered.
    consent: Option<Consent>,
    /// Providers of models, by a name of your choice. A well-known host (anthropic, openai, …) needs no table.
    providers: Option<BTreeMap<String, Provider>>,
}

/// What the agent may do.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Permissions {
    /// Permission mode of new sessions. Default: "ask". Counts for new sessions; an administrator's counts for all, from the
    /// next turn on.
    mode: Option<Mode>,
    /// The freest mode that sessions may be in; only in an administrator's file. Default: "full". Counts from the next turn
    /// on.
    max_mode: Option<Mode>,
    /// Rules for what needs no question, such as `run_terminal_cmd(cargo test *)`. Default: none. Counts from the next turn
    /// on.
    #[schemars(length(max = 1000))]
    allow: Option<Vec<String>>,
    /// Rules for what is always asked. Default: none. Counts from the next turn on.
    #[schemars(length(max = 1000))]
    ask: Option<Vec<String>>,
    /// Rules for what is never done. Default: none. Counts from the next turn on.
    #[schemars(length(max = 1000))]
    deny: Option<Vec<String>>,
    /// Folders that commands may write besides the project, absolute or below ~/. Default: none. Counts from the next turn
    /// on.
    writable: Option<Vec<String>>,
}

/// A permission mode, from the strictest to the freest.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema of the type is used")]
pub(super) enum Mode {
    Plan,
    Ask,
    AcceptEdits,
    Auto,
    Full,
}

/// What the model sees: what results of tools may cost, in estimated tokens, and when the history is shortened.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Context {
    /// Tokens of the first look at a file, listing, search or command. Default: 2000. Counts from the next turn on.
    #[schemars(range(min = RESULT_TOKENS_MIN, max = RESULT_TOKENS_MAX))]
    projection_tokens: Option<u64>,
    /// Tokens of a range of a file that the model asked for. Default: 8000. Counts from the next turn on.
    #[schemars(range(min = RESULT_TOKENS_MIN, max = RESULT_TOKENS_MAX))]
    asked_tokens: Option<u64>,
    /// Tokens of everything else, and of files that instruct. Default: 8000. Counts from the next turn on.
    #[schemars(range(min = RESULT_TOKENS_MIN, max = RESULT_TOKENS_MAX))]
    general_tokens: Option<u64>,
    /// Whether the history is shortened by itself when the window gets full; "off": only when you say so, and a request that
    /// does not fit ends its turn. Default: "auto". Counts from the next turn on.
    compaction: Option<Compaction>,
    /// Per cent of load from which on old results are cut, old turns are shown as a line each, and the history is summarised;
    /// ascending. Default: [65, 82, 95]. Counts from the next turn on.
    #[schemars(length(min = 3, max = 3), inner(range(min = 1, max = 100)))]
    load_lines: Option<Vec<u64>>,
    /// The newest turns that are left as they are, the current one counted. Default: 3. Counts from the next turn on.
    #[schemars(range(min = 1, max = TURNS_LIMIT))]
    tail_guard_turns: Option<u64>,
    /// After so many turns the history is shortened whatever the load; 0: never. Default: 0. Counts from the next turn on.
    #[schemars(range(min = 0, max = TURNS_LIMIT))]
    compact_every_turns: Option<u64>,
    /// Whether a summary that will be needed is written while work goes on. Default: not by a model on this machine, where
    /// servers commonly answer one request at a time. Counts from the next turn on.
    prepare_summaries: Option<bool>,
    /// The model that writes summaries, as provider/model; it is sent what it summarises. Default: the session's own, which
    /// reads most of it from its cache. Counts from the next turn on.
    #[schemars(regex(pattern = "^[^/]+/.+$"))]
    summary_model: Option<String>,
}

/// When the history is shortened.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema of the type is used")]
enum Compaction {
    Auto,
    Off,
}

/// Which texts models read.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Texts {
    /// The bundle of built-in texts. Default: "lean". Counts for new sessions.
    bundle: Option<Bundle>,
    /// The same as bundle: true is "lean", false is "full". Default: true. Counts for new sessions.
    lean: Option<bool>,
    /// What takes the place of the sentence that says who the agent is. Default: the built-in one. Counts for new sessions.
    #[schemars(length(min = 1))]
    base_prompt: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema of the type is used")]
enum Bundle {
    Lean,
    Full,
}

/// What ends or interrupts a turn.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Limits {
    /// Model requests in one turn after which you are asked whether to go on. Default: 100. Counts from the next turn on.
    #[schemars(range(min = 1, max = MAX_STEPS_LIMIT))]
    max_steps_per_turn: Option<u64>,
    /// US dollars that a session may cost before you are asked; 0: no limit. Default: 0. Counts from the next turn on.
    #[schemars(range(min = 0, max = SESSION_COST_LIMIT))]
    session_cost: Option<f32>,
}

/// The daemon.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Daemon {
    /// Minutes without client and work after which the daemon ends; 0: never. Default: 30. Counts for the daemon that runs,
    /// within a minute.
    #[schemars(range(min = 0, max = IDLE_MINUTES_LIMIT))]
    idle_stop_minutes: Option<u64>,
}

/// Files that instruct.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Rules {
    /// Files and folders of other agents that are read too, relative to each root, such as "CLAUDE.md". Default: none. Counts
    /// from the next turn on.
    foreign: Option<Vec<String>>,
}

/// Skills.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Skills {
    /// Folders with further skills, absolute or below ~/. Default: none. Counts from the next turn on.
    paths: Option<Vec<String>>,
}

/// How the project's tests are run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
pub(super) struct Tests {
    /// The command of `run_tests`, such as "make check". It runs in the first root; {target} in it stands for what the agent
    /// limits the run to, quoted. A project's own counts over the user's, and asks where the project is not trusted. Default:
    /// what the project's files say (cargo, pytest, npm, go, maven, make). Counts from the next turn on.
    #[schemars(length(min = 1))]
    command: Option<String>,
    /// Minutes that a run may take. Default: 10. Counts from the next turn on.
    #[schemars(range(min = 1, max = TESTS_MINUTES_LIMIT))]
    timeout_minutes: Option<u64>,
    /// Patterns, from a root, of files that a run changes itself, such as "snapshots/**": their changes do not void its result.
    /// Default: none. Counts from the next turn on.
    writes: Option<Vec<String>>,
}

/// What is offered.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Consent {
    /// Whether `plimsoll ask` offers keys and model servers that it finds where no model is configured. Default: true. Counts
    /// at the next `plimsoll ask`.
    offer: Option<bool>,
}

/// A provider of models.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Provider {
    /// The API that it speaks. Default: that of a well-known host of this name. Counts from the next turn on.
    api: Option<Api>,
    /// URL before the API's own path, such as "http://127.0.0.1:8080/v1"; for anthropic-messages before /v1/messages. Default:
    /// that of a well-known host of this name. Counts from the next turn on.
    #[schemars(regex(pattern = "^https?://[^/@?#]+[^@?#]*$"))]
    base_url: Option<String>,
    /// The environment variable that holds the key: of the client that starts the turn, else of the daemon. Default: that of
    /// a well-known host, else no key is sent. Counts from the next turn on.
    #[schemars(regex(pattern = "^[A-Za-z0-9_]+$"))]
    api_key_env: Option<String>,
    /// A command whose first line of output is the key. Default: none. Counts from the next turn on.
    #[schemars(length(min = 1))]
    api_key_command: Option<String>,
    /// The key itself; better kept in a variable or given by a command. Default: none. Counts from the next turn on.
    #[schemars(length(min = 1))]
    api_key: Option<String>,
    /// Further headers of each request, such as an organisation's id. Default: none. Counts from the next turn on.
    headers: Option<BTreeMap<String, String>>,
    /// What is known of its models, by the provider's own name of each.
    models: Option<BTreeMap<String, Model>>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only the schema of the type is used")]
enum Api {
    OpenaiChat,
    AnthropicMessages,
}

/// A model of a provider.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Model {
    /// Tokens that a request and its answer may have together. Default: that of a known model, else 32768. Counts from the
    /// next turn on.
    #[schemars(range(min = WINDOW_MIN, max = TOKENS_LIMIT))]
    context_window: Option<u64>,
    /// Most tokens of an answer, less than `context_window`. Default: that of a known model, else 4096. Counts from the next
    /// turn on.
    #[schemars(range(min = 1, max = OUTPUT_LIMIT))]
    max_output: Option<u64>,
    /// Sampling temperature. Default: the provider's. Counts from the next turn on.
    #[schemars(range(min = 0, max = TEMPERATURE_MAX))]
    temperature: Option<f32>,
    /// Seconds that a prefix stays in the provider's cache. Default: that of a known model, else 300. Counts from the next turn
    /// on.
    #[schemars(range(min = 0, max = CACHE_LIFETIME_LIMIT))]
    cache_lifetime_s: Option<u64>,
    /// Tokens of the first look at a result, instead of `context.projection_tokens`. Default: that one. Counts from the next
    /// turn on.
    #[schemars(range(min = RESULT_TOKENS_MIN, max = RESULT_TOKENS_MAX))]
    projection_tokens: Option<u64>,
    /// Whether it takes images. Default: that of a known model, else false. Counts from the next turn on.
    images: Option<bool>,
}
