//! The line that a person edits: with history, with what is pasted whole, over several lines where one ends with a
//! backslash.

use super::command;
use rustyline::completion::Completer;
use rustyline::config::{BellStyle, Config};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Behavior, Context, Editor, Helper};
use std::io;
use std::path::PathBuf;

/// Lines that are remembered.
const REMEMBERED: usize = 1_000;

/// What a person did.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line, or several.
    Text(String),
    /// Ctrl-C: nothing was meant.
    Interrupted,
    /// Ctrl-D, or the terminal has ended.
    End,
}

/// The terminal's line.
pub struct Line {
    editor: Editor<Commands, FileHistory>,
    history: PathBuf,
}

impl Line {
    /// A line with the history of this file, which need not exist.
    pub fn new(history: PathBuf) -> io::Result<Self> {
        let config = Config::builder()
            .behavior(Behavior::PreferTerm)
            .bell_style(BellStyle::None)
            .history_ignore_space(true)
            .max_history_size(REMEMBERED)
            .map_err(wrong)?
            .build();
        let mut editor = Editor::with_config(config).map_err(wrong)?;
        editor.set_helper(Some(Commands));
        // Without a history there is none to go back to.
        if let Err(error) = editor.load_history(&history) {
            tracing::debug!(%error, "the history of chats is not there");
        }
        Ok(Self { editor, history })
    }

    /// Lets the person write.
    pub fn read(&mut self, prompt: &str) -> io::Result<Typed> {
        let typed = match self.editor.readline(prompt) {
            Ok(text) => text,
            Err(ReadlineError::Interrupted) => return Ok(Typed::Interrupted),
            Err(ReadlineError::Eof) => return Ok(Typed::End),
            Err(error) => return Err(wrong(error)),
        };
        // What cannot be kept is still said.
        let kept = self.editor.add_history_entry(&typed).and_then(|_| self.editor.append_history(&self.history));
        if let Err(error) = kept {
            tracing::debug!(%error, "a line could not be kept");
        }
        Ok(Typed::Text(unfolded(&typed)))
    }
}

fn wrong(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// The text without the backslashes that carried it over line ends.
fn unfolded(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// Completes commands, and waits for the rest of a line that ends with a backslash.
struct Commands;

impl Completer for Commands {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let start = line.get(..at).unwrap_or_default();
        Ok((0, if start.starts_with('/') { command::completed(start) } else { Vec::new() }))
    }
}

impl Validator for Commands {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with('\\');
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for Commands {
    type Hint = String;
}

impl Highlighter for Commands {}

impl Helper for Commands {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_at_a_lines_end_is_no_part_of_the_text() {
        assert_eq!(unfolded("one\\\ntwo \\n three\\\n"), "one\ntwo \\n three\n");
    }
}
