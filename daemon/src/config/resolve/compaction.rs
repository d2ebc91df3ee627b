//! When and how far the history is shortened.

use super::{Config, ConfigError};
use crate::provider::endpoint::Endpoint;
use plimsoll_core::compaction::Settings;
use plimsoll_core::model::catalog::ModelProfile;

impl Config {
    /// The settings of `[context]` for it, without the model that writes summaries; `local`: whether the one that does is
    /// on this machine.
    pub fn compaction(&self, local: bool) -> Settings {
        let (usual, context) = (Settings::default(), &self.context);
        Settings {
            auto: context.compaction.as_ref().map_or(usual.auto, |auto| auto.value),
            lines: context.load_lines.as_ref().map_or(usual.lines, |lines| lines.value),
            tail_guard_turns: context.tail_guard_turns.as_ref().map_or(usual.tail_guard_turns, |turns| turns.value),
            every_turns: match &context.compact_every_turns {
                Some(turns) => (turns.value > 0).then_some(turns.value),
                None => usual.every_turns,
            },
            prepare: self.prepares_summaries().unwrap_or(!local),
            summary_model: None,
        }
    }

    /// Whether summaries are written beside the work, where that was said.
    pub fn prepares_summaries(&self) -> Option<bool> {
        self.context.prepare_summaries.as_ref().map(|prepare| prepare.value)
    }

    /// The model that writes summaries, `provider/model`; none: the session's own.
    pub fn summary_model_id(&self) -> Option<&str> {
        self.context.summary_model.as_ref().map(|model| model.value.as_str())
    }

    /// That model with everything that a request needs. Says nothing of whether the key is there.
    pub fn summary_model(&self) -> Result<Option<(ModelProfile, Endpoint)>, ConfigError> {
        let Some(model) = &self.context.summary_model else { return Ok(None) };
        self.find(&model.value, &model.place).map(Some)
    }
}
