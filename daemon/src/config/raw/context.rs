//! `[context]` as written: what results may cost in a model's view, in tokens.

use super::Located;
use super::table::Table;
use crate::config::error::ConfigError;

/// Fewest tokens of a result that can be set: below this little more than header and notices would be left.
pub const RESULT_TOKENS_MIN: u64 = 300;

/// Most tokens of a result that can be set.
pub const RESULT_TOKENS_MAX: u64 = 200_000;

/// What one file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "they are the keys as the file has them")]
pub struct RawContext {
    /// `projection_tokens`: the first look at files, listings, matches, commands.
    pub projection_tokens: Option<Located<u64>>,
    /// `asked_tokens`: a range that was asked for.
    pub asked_tokens: Option<Located<u64>>,
    /// `general_tokens`: other results, and files that instruct.
    pub general_tokens: Option<Located<u64>>,
}

impl RawContext {
    /// Reads the table.
    pub fn parse(mut table: Table<'_, '_>) -> Result<Self, ConfigError> {
        let mut tokens = |key: &str| table.number(key, RESULT_TOKENS_MIN, RESULT_TOKENS_MAX);
        let context = Self {
            projection_tokens: tokens("projection_tokens")?,
            asked_tokens: tokens("asked_tokens")?,
            general_tokens: tokens("general_tokens")?,
        };
        table.finish();
        Ok(context)
    }

    /// With what a file says that counts more.
    pub fn with(self, over: Self) -> Self {
        Self {
            projection_tokens: over.projection_tokens.or(self.projection_tokens),
            asked_tokens: over.asked_tokens.or(self.asked_tokens),
            general_tokens: over.general_tokens.or(self.general_tokens),
        }
    }

    /// Everything that it says.
    pub fn written(&self) -> impl Iterator<Item = &Located<u64>> {
        [&self.projection_tokens, &self.asked_tokens, &self.general_tokens].into_iter().flatten()
    }
}
