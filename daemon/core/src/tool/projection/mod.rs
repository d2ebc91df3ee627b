//! Projection: the text of a tool's result that enters the view. A small first look, the exact way to more.
//!
//! Pure; computed once when the result is committed, then stored. It never decides what is saved. Called by the turn
//! machine for every result, and for a page that a cursor asks for (then no tool runs).
//!
//! Every projection begins with one line of the same form, the parts separated by ` · `:
//!
//! ```text
//! [<tool> <status> · <what> · <facts> · partial · e/c7@r42]
//! ```
//!
//! `partial` stands there when anything is left out; then the text has one line per omission, in brackets, that says
//! what is missing and ends in the exact call that shows it: `<tool> <arguments as JSON>`. Data from outside cannot
//! open one of Plimsoll's tags: the whole text passes [`crate::escape::data`].

pub(crate) mod call;
pub mod command;
pub mod cursor;
mod edit;
mod entries;
mod file;
mod image;
mod lines;
mod matches;
mod outline;
mod shown;
mod task;
mod test_run;
mod text;
mod whole;

#[cfg(test)]
mod notices;
#[cfg(test)]
mod tests;

pub use shown::Shown;
pub use text::exceeds_general;

use super::outcome::{Body, Outcome};
use crate::id::{CallId, EvidenceId};
use crate::tokens::tokens;
use cursor::Cursor;

/// Longer lines are shown cut, in characters.
pub const LINE_CHARS: usize = 2_000;

/// Most lines of a result under the general limit.
pub const GENERAL_LINES: usize = 2_000;

/// How much a projection may cost, in estimated tokens. A projection always shows at least one line or entry and the
/// way to the rest, also when that costs more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// For structured results.
    pub tokens: u64,
    /// For a range of a file that was asked for explicitly.
    pub asked_tokens: u64,
    /// For everything else.
    pub general_tokens: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { tokens: 2_000, asked_tokens: 8_000, general_tokens: 8_000 }
    }
}

/// All that a projection is a function of.
#[derive(Debug, Clone, Copy)]
pub struct ProjectionInput<'a> {
    /// The call that is answered.
    pub call: CallId,
    /// The tool's name.
    pub tool: &'a str,
    /// What is shown; for a page by cursor: the saved outcome of the call that the cursor names.
    pub outcome: &'a Outcome,
    /// The evidence id of this result.
    pub evidence: EvidenceId,
    /// Whether the revision in `evidence` is approximate.
    pub approximate: bool,
    /// What it may cost.
    pub budget: Budget,
    /// When a cursor asks for a page: the call whose outcome it is, and the first entry to show. It fits the outcome, as
    /// [`cursor::check`] says.
    pub cursor: Option<Cursor>,
    /// Whether the complete text is saved as a file; else nothing of a text is left out.
    pub saved: Saved<'a>,
}

impl ProjectionInput<'_> {
    /// The call whose outcome this is; further cursors name it.
    fn first_call(&self) -> CallId {
        self.cursor.map_or(self.call, |at| at.call)
    }
}

/// Whether the complete text of a result is saved as a file beside the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved<'a> {
    /// It is not, and need not be.
    No,
    /// Under this absolute path in text form.
    At(&'a str),
    /// It should be and could not, and why.
    Failed(&'a str),
}

/// What the view shows of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    /// The text.
    pub text: String,
    /// Whether the result is marked as an error.
    pub is_error: bool,
    /// Whether anything was left out.
    pub partial: bool,
    /// Bytes of the saved file that `text` names; 0 when it names none.
    pub saved: u64,
    /// Estimated tokens of `text`.
    pub tokens: u64,
    /// Estimated tokens that the whole result would cost; `tokens` when nothing is left out.
    pub whole: u64,
    /// What it shows of files.
    pub shown: Vec<Shown>,
}

/// A result's facts and body, before its header is made.
#[derive(Debug, Default)]
struct Parts {
    /// What stands between the status and the evidence id.
    facts: Vec<String>,
    /// Lines below the header, without a newline at the end.
    body: String,
    /// Whether anything was left out.
    partial: bool,
}

/// The projection of a result.
pub fn project(input: &ProjectionInput<'_>) -> Projection {
    let mut seen = Vec::new();
    let parts = match &input.outcome.body {
        Body::Text(text) => text::text(input, text),
        Body::File(file) => file::file(input, file, &mut seen),
        Body::Image(image) => image::image(image),
        Body::Entries(list) => entries::entries(input, list),
        Body::Matches(found) => matches::matches(input, found, &mut seen),
        Body::Command(run) => {
            let shown = command::project_command(run, input.call, input.budget.tokens, tokens);
            Parts { facts: shown.facts, body: shown.body, partial: shown.partial }
        }
        Body::Todos(todos) => text::todos(todos),
        Body::Edit(edited) => edit::edit(input, edited),
        Body::Task(task) => task::task(input, task),
        Body::Tests(run) => test_run::test_run(input, run),
    };
    Projection { shown: seen, ..finish(input, parts) }
}

fn finish(input: &ProjectionInput<'_>, parts: Parts) -> Projection {
    let status = input.outcome.status;
    let mut text = format!("[{} {}", name(input.tool), status.word());
    let approximate = if input.approximate { " approx." } else { "" };
    let partial = parts.partial.then(|| "partial".to_owned());
    let evidence = format!("{}{approximate}", input.evidence);
    for fact in parts.facts.into_iter().chain(partial).chain([evidence]) {
        text.push_str(" · ");
        text.push_str(&fact);
    }
    text.push(']');
    if !parts.body.is_empty() {
        text.push('\n');
        text.push_str(&parts.body);
    }
    let text = crate::escape::data(&text).into_owned();
    let tokens = tokens(&text);
    // A page by cursor leaves nothing out that the first one has not left out already.
    let counted = parts.partial && input.cursor.is_none();
    let whole = if counted { whole::whole(&input.outcome.body).max(tokens) } else { tokens };
    let saved = match (&input.outcome.body, input.saved) {
        (Body::Text(text), Saved::At(_)) if parts.partial => text.len() as u64,
        _ => 0,
    };
    Projection { tokens, whole, saved, is_error: status.is_error(), partial: parts.partial, shown: Vec::new(), text }
}

/// A tool's name as the header shows it: of a name that the model made up, one line of bounded length.
fn name(tool: &str) -> String {
    let shown: String = tool.trim().chars().filter(|c| !c.is_control()).take(64).collect();
    if shown.is_empty() { "call".to_owned() } else { shown }
}

/// Tokens left for lines or entries when header, path and one notice have their share.
fn room(limit: u64, path: &str) -> u64 {
    /// Header and one notice without the paths in them, rounded up.
    const FRAME: u64 = 120;
    limit.saturating_sub(FRAME + 2 * tokens(path))
}
