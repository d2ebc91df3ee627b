//! What a shell command consists of, as a value: every simple command in it, wherever it hides.
//!
//! Two readers must agree before anything is believed. The grammar of tree-sitter gives the structure ([`tree`]); the text of
//! each word is read again by bash's own rules of quoting ([`word`]), and every byte between the parts is accounted for.
//! Where they differ, where something is not understood, or where a reader of the text could be deceived, the command is
//! [`Unparsed`], which no rule covers but one for exactly its text. Nothing here decides; [`coverage`](super::coverage) does.

pub(super) mod changer;
pub(super) mod danger;
pub(super) mod heredoc;
pub mod named;
pub(super) mod odd;
pub(super) mod program;
pub(super) mod readonly;
pub(super) mod redirect;
pub(super) mod tree;
pub(super) mod word;
pub(super) mod wrapper;

use std::fmt;

pub use tree::parse;
pub use word::{Value, Word, quote};

/// Longest command that is looked into, in bytes. Nobody reads more in a question either.
pub const MAX_TEXT: usize = 16 * 1024;

/// How deeply constructs may be nested.
pub(super) const MAX_DEPTH: usize = 100;

/// How many simple commands one text may hold.
pub(super) const MAX_COMMANDS: usize = 500;

/// A command, understood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed {
    /// Every simple command, also those inside substitutions, functions and branches that may not run.
    pub commands: Vec<Simple>,
    /// Names that the command gives another meaning to, as functions or aliases.
    pub redefined: Vec<String>,
}

/// One simple command. Without words it is a bare assignment or the redirections of a compound command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Assignments before the words.
    pub assignments: Vec<Assignment>,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
    /// Whether its standard input comes from a pipe, a file or a text of the command.
    pub fed: bool,
}

/// `NAME=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// What it becomes.
    pub value: Word,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// What it does.
    pub kind: RedirectionKind,
    /// The file, the descriptor or the text.
    pub target: Word,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectionKind {
    /// Reads a file.
    Read,
    /// Creates or changes a file.
    Write,
    /// Copies or closes a descriptor.
    Descriptor,
    /// Feeds a text.
    Text,
}

/// Why a text was not understood; a clause for people, such as `it holds an invisible character (U+200B)`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unparsed(pub String);

impl Simple {
    /// The program's name, when it is known.
    pub fn name(&self) -> Option<&str> {
        self.words.first().and_then(Word::literal)
    }
}

impl fmt::Display for Simple {
    /// As it was written, parts joined by one space.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.assignments.iter().map(|set| format!("{}={}", set.name, set.value)).collect();
        parts.extend(self.words.iter().map(ToString::to_string));
        parts.extend(self.redirections.iter().map(|redirection| {
            let sign = match redirection.kind {
                RedirectionKind::Read => "<",
                RedirectionKind::Write => ">",
                RedirectionKind::Descriptor => ">&",
                RedirectionKind::Text => "<<<",
            };
            format!("{sign} {}", redirection.target)
        }));
        f.write_str(&parts.join(" "))
    }
}
