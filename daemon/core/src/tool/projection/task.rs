//! Projection of a command in the background: its state and what came out since it was last asked about.

use super::{Parts, ProjectionInput, command};
use crate::tokens::tokens;
use crate::tool::outcome::TaskState;

/// As a command's, with its id.
pub(super) fn task(input: &ProjectionInput<'_>, task: &TaskState) -> Parts {
    let shown = command::project_command(&task.run, input.budget.tokens, tokens);
    let facts = std::iter::once(format!("task {}", task.id)).chain(shown.facts).collect();
    Parts { facts, body: shown.body, partial: shown.partial }
}
