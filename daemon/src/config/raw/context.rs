//! `[context]` as written: what results may cost in a model's view, in tokens, and when the history is shortened.

use super::table::Table;
use super::{Located, bad_model_id, split_model_id};
use crate::config::error::{ConfigError, Place};

/// Fewest tokens of a result that can be set: below this little more than header and notices would be left.
pub const RESULT_TOKENS_MIN: u64 = 300;

/// Most tokens of a result that can be set.
pub const RESULT_TOKENS_MAX: u64 = 200_000;

/// Most turns that a setting can speak of: more than any session has.
pub const TURNS_LIMIT: u64 = 10_000;

/// What one file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawContext {
    /// `projection_tokens`: the first look at files, listings, matches, commands.
    pub projection_tokens: Option<Located<u64>>,
    /// `asked_tokens`: a range that was asked for.
    pub asked_tokens: Option<Located<u64>>,
    /// `general_tokens`: other results, and files that instruct.
    pub general_tokens: Option<Located<u64>>,
    /// `compaction`: whether the history is shortened by itself.
    pub compaction: Option<Located<bool>>,
    /// `load_lines`: per cent of load, ascending.
    pub load_lines: Option<Located<[u8; 3]>>,
    /// `tail_guard_turns`.
    pub tail_guard_turns: Option<Located<u64>>,
    /// `compact_every_turns`; 0: never.
    pub compact_every_turns: Option<Located<u64>>,
    /// `prepare_summaries`: whether they are written beside the work.
    pub prepare_summaries: Option<Located<bool>>,
    /// `summary_model`: `provider/model`.
    pub summary_model: Option<Located<String>>,
}

impl RawContext {
    /// Reads the table.
    pub fn parse(mut table: Table<'_, '_>) -> Result<Self, ConfigError> {
        let mut tokens = |key: &str| table.number(key, RESULT_TOKENS_MIN, RESULT_TOKENS_MAX);
        let context = Self {
            projection_tokens: tokens("projection_tokens")?,
            asked_tokens: tokens("asked_tokens")?,
            general_tokens: tokens("general_tokens")?,
            compaction: table.parsed("compaction", automatic)?,
            load_lines: load_lines(&mut table)?,
            tail_guard_turns: table.number("tail_guard_turns", 1, TURNS_LIMIT)?,
            compact_every_turns: table.number("compact_every_turns", 0, TURNS_LIMIT)?,
            prepare_summaries: table.boolean("prepare_summaries")?,
            summary_model: table.string("summary_model")?,
        };
        table.finish();
        if let Some(model) = &context.summary_model
            && split_model_id(&model.value).is_none()
        {
            let problem = format!("`{}` is not of the form provider/model", model.value);
            return Err(bad_model_id(model.place.clone(), problem));
        }
        Ok(context)
    }

    /// With what a file says that counts more.
    pub fn with(self, over: Self) -> Self {
        Self {
            projection_tokens: over.projection_tokens.or(self.projection_tokens),
            asked_tokens: over.asked_tokens.or(self.asked_tokens),
            general_tokens: over.general_tokens.or(self.general_tokens),
            compaction: over.compaction.or(self.compaction),
            load_lines: over.load_lines.or(self.load_lines),
            tail_guard_turns: over.tail_guard_turns.or(self.tail_guard_turns),
            compact_every_turns: over.compact_every_turns.or(self.compact_every_turns),
            prepare_summaries: over.prepare_summaries.or(self.prepare_summaries),
            summary_model: over.summary_model.or(self.summary_model),
        }
    }

    /// The places of what it says of results, and of the rest.
    pub fn written(&self) -> (Vec<&Place>, Vec<&Place>) {
        let results = [&self.projection_tokens, &self.asked_tokens, &self.general_tokens];
        let shortening = [
            self.compaction.as_ref().map(|said| &said.place),
            self.load_lines.as_ref().map(|said| &said.place),
            self.tail_guard_turns.as_ref().map(|said| &said.place),
            self.compact_every_turns.as_ref().map(|said| &said.place),
            self.prepare_summaries.as_ref().map(|said| &said.place),
            self.summary_model.as_ref().map(|said| &said.place),
        ];
        let results = results.into_iter().flatten().map(|said| &said.place);
        (results.collect(), shortening.into_iter().flatten().collect())
    }
}

fn automatic(word: &str) -> Result<bool, (String, String)> {
    match word {
        "auto" => Ok(true),
        "off" => Ok(false),
        other => Err((format!("`{other}` is neither auto nor off"), "Write \"auto\" or \"off\"".to_owned())),
    }
}

fn load_lines(table: &mut Table<'_, '_>) -> Result<Option<Located<[u8; 3]>>, ConfigError> {
    let Some(Located { value, place }) = table.numbers("load_lines", 1, 100)? else { return Ok(None) };
    let lines: Vec<u8> = value.iter().filter_map(|line| u8::try_from(*line).ok()).collect();
    match <[u8; 3]>::try_from(lines) {
        Ok(value) if value.is_sorted_by(|one, next| one < next) => Ok(Some(Located { value, place })),
        Ok(_) | Err(_) => Err(ConfigError {
            place,
            problem: "is not three lines, each higher than the one before".to_owned(),
            fix: "Write three ascending whole numbers from 1 to 100, such as [65, 82, 95]".to_owned(),
        }),
    }
}
