//! What is wrong with a configuration: where, what, and how to mend it.

use std::fmt;
use std::path::PathBuf;

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}. {fix}")]
pub struct ConfigError {
    /// Where it stands.
    pub place: Place,
    /// What is wrong, with the value. No full stop at its end.
    pub problem: String,
    /// What to write instead: one sentence.
    pub fix: String,
}

/// Where a value of the configuration comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A place in a file.
    File {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key with its tables, dotted; empty when the text itself is not TOML.
        key: String,
    },
    /// A file as a whole.
    WholeFile(PathBuf),
    /// An environment variable.
    Variable(&'static str),
    /// What a client asked for.
    Option(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, key } if key.is_empty() => write!(f, "{}:{line}", file.display()),
            Self::File { file, line, key } => write!(f, "{}:{line}: `{key}`", file.display()),
            Self::WholeFile(file) => write!(f, "{}", file.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Option(name) => write!(f, "option `{name}`"),
        }
    }
}
