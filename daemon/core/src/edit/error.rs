//! Why a replacement cannot be made, as text for the model: what is wrong, where, and what would be right.

use super::near::Near;
use std::fmt;

/// A replacement that cannot be made. Its text names the replacement; that of its kind alone does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("edits[{index}]: {kind}")]
pub struct EditError {
    /// Which one, from 0.
    pub index: usize,
    /// What is wrong.
    pub kind: EditErrorKind,
}

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditErrorKind {
    /// There is no text to look for.
    Empty,
    /// The replacement would change nothing.
    Same,
    /// The file's encoding does not have this character of the new text.
    NotInEncoding(char),
    /// The text is there more than once.
    NotUnique {
        /// How often, without overlaps; at least 2.
        count: u64,
        /// Lines at which the first of them begin.
        lines: Vec<u64>,
    },
    /// The text is not there.
    NotFound(Near),
    /// So many replacements in so large a file take too long.
    TooMuch {
        /// How many a call may make in it.
        most: usize,
    },
}

impl fmt::Display for EditErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str(
                "old_string is empty. Give the text that is to be replaced; to write a whole file use write.",
            ),
            Self::Same => f.write_str("old_string and new_string are the same: nothing would change."),
            Self::NotInEncoding(c) => write!(
                f,
                "new_string has the character `{c}` (U+{:04X}), which the file's encoding does not have.",
                u32::from(*c)
            ),
            Self::NotUnique { count, lines } => {
                let shown: Vec<String> = lines.iter().map(u64::to_string).collect();
                let more = if *count > lines.len() as u64 { ", …" } else { "" };
                write!(
                    f,
                    "old_string is there {count} times, at lines {}{more}. Give more of the text around the one that is \
                     meant, or set replace_all.",
                    shown.join(", ")
                )
            }
            Self::NotFound(near) => near.fmt(f),
            Self::TooMuch { most } => {
                write!(f, "these are too many edits for a file of this size. Make at most {most} in one call.")
            }
        }
    }
}
