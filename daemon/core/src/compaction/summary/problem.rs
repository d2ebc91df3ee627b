//! Why an answer cannot be used, each as a sentence for the model that wrote it.

use super::Section;
use crate::id::CallId;
use std::fmt;

/// See the module's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Nothing was written.
    Empty,
    /// There is no section: a refusal, a call, or something else.
    NoSections,
    /// Sections are not there, or empty.
    Missing(Vec<Section>),
    /// A section stands again, or behind one that it should stand before.
    Order(Section),
    /// It is larger than it may be, in tokens.
    TooLarge {
        /// It.
        tokens: u64,
        /// What is allowed.
        limit: u64,
    },
    /// The summary would not be smaller than what it stands for, in tokens.
    NotSmaller {
        /// The whole summary.
        tokens: u64,
        /// What it would stand for.
        replaces: u64,
    },
    /// Evidence is cited that there is not.
    Evidence(Vec<String>),
    /// An operation is called done whose end was not seen.
    CalledDone(CallId),
    /// It repeats texts that it was given as instructions; how that part begins.
    Repeats(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("It is empty."),
            Self::NoSections => f.write_str("It has none of the sections: write text under the eight headings."),
            Self::Missing(sections) => {
                let named: Vec<String> = sections.iter().map(|section| format!("`{}`", section.heading())).collect();
                write!(f, "These sections are not there or say nothing, not even `None.`: {}.", named.join(", "))
            }
            Self::Order(section) => {
                write!(f, "`{}` stands in the wrong place, or twice: each once, in order.", section.heading())
            }
            Self::TooLarge { tokens, limit } => {
                write!(f, "It has about {tokens} tokens, and {limit} are allowed: keep what is needed to go on.")
            }
            Self::NotSmaller { tokens, replaces } => write!(
                f,
                "With what the host adds it has about {tokens} tokens, and what it stands for only {replaces}: shorten it."
            ),
            Self::Evidence(cited) => {
                write!(
                    f,
                    "There is no such evidence: {}. Cite what stands in the conversation, or nothing.",
                    cited.join(", ")
                )
            }
            Self::CalledDone(call) => {
                write!(
                    f,
                    "It calls {call} done. Its end was not seen: say that it is not known whether it took effect."
                )
            }
            Self::Repeats(start) => {
                write!(f, "It repeats instructions word for word, from {start:?} on: leave them out.")
            }
        }
    }
}
