//! `[rules]` and `[skills]`: which texts for the model are read beside Plimsoll's own.

use super::super::error::ConfigError;
use super::Located;
use super::table::Table;

/// What one file says of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawSources {
    /// `rules.foreign`: files and folders of other agents, relative to a root.
    pub foreign: Vec<Located<String>>,
    /// `skills.paths`: folders with further skills, absolute or below `~/`.
    pub skills: Vec<Located<String>>,
}

impl RawSources {
    pub(super) fn parse(top: &mut Table<'_, '_>) -> Result<Self, ConfigError> {
        let mut raw = Self::default();
        if let Some(mut rules) = top.table("rules")? {
            raw.foreign = rules.texts("foreign")?;
            rules.finish();
        }
        if let Some(mut skills) = top.table("skills")? {
            raw.skills = skills.texts("paths")?;
            skills.finish();
        }
        let inside = |path: &str| {
            !path.trim_matches(['/', '.']).is_empty()
                && !path.starts_with('/')
                && !path.split('/').any(|part| part == "..")
        };
        if let Some(Located { value, place }) = raw.foreign.iter().find(|foreign| !inside(&foreign.value)) {
            return Err(ConfigError {
                place: place.clone(),
                problem: format!("`{}` is no path inside a project", value.chars().take(80).collect::<String>()),
                fix: "Write a path from the project's root, such as \"CLAUDE.md\" or \".cursor/rules\"".to_owned(),
            });
        }
        let own = |path: &str| path.starts_with('/') || path.starts_with("~/");
        if let Some(Located { value, place }) = raw.skills.iter().find(|path| !own(&path.value)) {
            return Err(ConfigError {
                place: place.clone(),
                problem: format!(
                    "`{}` is neither absolute nor a folder below ~/",
                    value.chars().take(80).collect::<String>()
                ),
                fix: "Write a folder such as \"~/skills\"".to_owned(),
            });
        }
        Ok(raw)
    }
}
