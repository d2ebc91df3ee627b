//! What results may cost in a model's view.

use super::{Config, split_model_id};
use plimsoll_core::tool::projection::Budget;

impl Config {
    /// The budget of results for a model, `provider/model`: its own `projection_tokens` before those of `[context]`.
    pub fn budget(&self, model_id: &str) -> Budget {
        let usual = Budget::default();
        let own = split_model_id(model_id)
            .and_then(|(provider, name)| self.providers.get(provider)?.models.get(name)?.projection_tokens);
        let set = |written: &Option<super::Located<u64>>, usual| written.as_ref().map_or(usual, |tokens| tokens.value);
        let context = &self.context;
        Budget {
            tokens: own.unwrap_or_else(|| set(&context.projection_tokens, usual.tokens)),
            asked_tokens: set(&context.asked_tokens, usual.asked_tokens),
            general_tokens: set(&context.general_tokens, usual.general_tokens),
        }
    }
}
