//! The keys that count in a project's `.plimsoll/config.toml`: what chooses among what the user has configured, or is
//! stricter. Everything else there is ignored with a warning.

use super::super::raw::{MAX_STEPS_LIMIT, SESSION_COST_LIMIT};
use super::file::{Mode, Tests};
use schemars::JsonSchema;

/// Configuration that a project brings along: .plimsoll/config.toml below its first root. It chooses among what the user has
/// configured and can be stricter; it never grants, names no hosts, and what it names to be run is asked about.
#[derive(JsonSchema)]
#[schemars(title = "Plimsoll configuration of a project", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
pub struct ProjectFile {
    /// The model of new sessions, as provider/model; one that the user's configuration has. Default: the user's. Counts for
    /// new sessions.
    #[schemars(regex(pattern = "^[^/]+/.+$"))]
    model: Option<String>,
    /// The language of answers, such as "de". Default: the user's. Counts for new sessions, and for others when the head of
    /// their context is next written anew.
    #[schemars(length(min = 1))]
    language: Option<String>,
    /// What the agent may do less.
    permissions: Option<Permissions>,
    /// What ends or interrupts a turn sooner.
    limits: Option<Limits>,
    /// Files that instruct.
    rules: Option<Rules>,
    /// How the project's tests are run.
    tests: Option<Tests>,
}

/// What the agent may do less.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Permissions {
    /// Permission mode of new sessions; not freer than the user's. Default: the user's. Counts for new sessions.
    mode: Option<Mode>,
    /// Rules for what is always asked. Default: none. Counts from the next turn on.
    #[schemars(length(max = 1000))]
    ask: Option<Vec<String>>,
    /// Rules for what is never done. Default: none. Counts from the next turn on.
    #[schemars(length(max = 1000))]
    deny: Option<Vec<String>>,
}

/// What ends or interrupts a turn sooner.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Limits {
    /// Model requests in one turn after which the user is asked; not more than the user's. Default: the user's. Counts from the
    /// next turn on.
    #[schemars(range(min = 1, max = MAX_STEPS_LIMIT))]
    max_steps_per_turn: Option<u64>,
    /// US dollars that a session may cost before the user is asked; not more than the user's. Default: the user's. Counts from
    /// the next turn on.
    #[schemars(range(min = 0, max = SESSION_COST_LIMIT))]
    session_cost: Option<f32>,
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
