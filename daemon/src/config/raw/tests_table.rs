//! `[tests]` as written: how the project's tests are run.

use super::Located;
use super::table::Table;
use crate::config::error::ConfigError;

/// Longest time that a run may be given, in minutes.
pub const TESTS_MINUTES_LIMIT: u64 = 240;

/// What one file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawTests {
    /// `command`: the command line.
    pub command: Option<Located<String>>,
    /// `timeout_minutes`.
    pub timeout_minutes: Option<Located<u64>>,
    /// `writes`: patterns of files that a run changes itself.
    pub writes: Vec<Located<String>>,
}

impl RawTests {
    /// Reads the table.
    pub fn parse(mut table: Table<'_, '_>) -> Result<Self, ConfigError> {
        let tests = Self {
            command: table.string("command")?,
            timeout_minutes: table.number("timeout_minutes", 1, TESTS_MINUTES_LIMIT)?,
            writes: table.texts("writes")?,
        };
        table.finish();
        for pattern in &tests.writes {
            if let Some(problem) = plimsoll_core::permission::glob::problem(&pattern.value) {
                return Err(ConfigError {
                    place: pattern.place.clone(),
                    problem,
                    fix: "Write a pattern from the project's root, such as \"snapshots/**\" or \"coverage.xml\""
                        .to_owned(),
                });
            }
        }
        Ok(tests)
    }
}
