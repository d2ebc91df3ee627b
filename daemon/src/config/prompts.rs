//! Which texts models read: what the configuration chooses for new sessions, and the [texts](files) that stand in the
//! place of built-in ones.

mod files;

pub use files::{OwnTexts, TextFiles};

use super::raw::{Located, RawPrompt};
use plimsoll_core::prompt::Bundle;

/// What new sessions work with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptChoice {
    /// The bundle.
    pub bundle: Bundle,
    /// What takes the place of the identity sentence.
    pub base: Option<Located<String>>,
}

impl PromptChoice {
    /// Takes over what is said, by a file that counts more than what was taken before.
    pub(super) fn add(&mut self, raw: RawPrompt) {
        if let Some(bundle) = raw.bundle {
            self.bundle = bundle.value;
        }
        if raw.base.is_some() {
            self.base = raw.base;
        }
    }

    /// A project does not choose: what it says is warned about.
    pub(super) fn ignore(project: &RawPrompt, warnings: &mut Vec<String>) {
        let places =
            [project.bundle.as_ref().map(|bundle| &bundle.place), project.base.as_ref().map(|base| &base.place)];
        for place in places.into_iter().flatten() {
            warnings.push(format!(
                "{place}: ignored: a project does not choose how the agent is instructed; set it in your own configuration"
            ));
        }
    }
}
