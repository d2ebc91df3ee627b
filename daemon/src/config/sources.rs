//! Which texts for the model are read beside Plimsoll's own: files of other agents, and folders with skills.

use super::error::Place;
use super::raw::RawSources;
use std::path::{Path, PathBuf};

/// See the module's head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Files and folders of other agents, relative to each root.
    pub foreign: Vec<String>,
    skills: Vec<String>,
    foreign_places: Vec<Place>,
    skills_places: Vec<Place>,
}

impl Sources {
    /// Takes in what the user's or the managed file says.
    pub(super) fn add(&mut self, raw: RawSources) {
        self.add_foreign(&raw);
        for path in raw.skills {
            self.skills.push(path.value);
            self.skills_places.push(path.place);
        }
    }

    /// Takes in what a project's file says: it names texts of its own, and no other places.
    pub(super) fn add_project(&mut self, raw: &RawSources, warnings: &mut Vec<String>) {
        self.add_foreign(raw);
        if let Some(path) = raw.skills.first() {
            let why = "a project's skills lie in its .plimsoll/skills; set it in your own configuration";
            warnings.push(format!("{}: ignored: {why}", path.place));
        }
    }

    fn add_foreign(&mut self, raw: &RawSources) {
        for path in &raw.foreign {
            if !self.foreign.contains(&path.value) {
                self.foreign.push(path.value.clone());
                self.foreign_places.push(path.place.clone());
            }
        }
    }

    /// The foreign files, then the folders with skills, as they are written, each with its place.
    pub(super) fn written(&self) -> [(&[String], &[Place]); 2] {
        [(&self.foreign, &self.foreign_places), (&self.skills, &self.skills_places)]
    }

    /// Folders with further skills; those below `~/` only where the home folder is known.
    pub fn skills(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let absolute = |path: &String| match path.strip_prefix("~/") {
            Some(rest) => home.map(|home| home.join(rest)),
            None => Some(PathBuf::from(path)),
        };
        self.skills.iter().filter_map(absolute).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::raw::RawConfig;
    use super::*;

    fn raw(text: &str) -> Result<RawSources, String> {
        let parsed = RawConfig::parse(Path::new("/c/config.toml"), text);
        parsed.map(|raw| raw.sources).map_err(|error| error.to_string())
    }

    #[test]
    fn a_project_adds_texts_of_its_own_and_no_places() {
        let mut sources = Sources::default();
        let mut warnings = Vec::new();
        sources.add(raw("rules.foreign = [\"CLAUDE.md\"]\nskills.paths = [\"~/skills\", \"/srv/skills\"]").unwrap());
        let project = raw("rules.foreign = [\"CLAUDE.md\", \".cursor/rules\"]\nskills.paths = [\"/etc\"]").unwrap();
        sources.add_project(&project, &mut warnings);
        assert_eq!(sources.foreign, ["CLAUDE.md", ".cursor/rules"]);
        assert_eq!(sources.skills(Some(Path::new("/h"))), [Path::new("/h/skills"), Path::new("/srv/skills")]);
        assert_eq!(sources.skills(None), [Path::new("/srv/skills")]);
        assert!(matches!(warnings.as_slice(), [warning] if warning.contains("skills.paths")), "{warnings:?}");
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for bad in ["/etc/passwd", "../CLAUDE.md", "a/../../b", ".", ""] {
            let error = raw(&format!("rules.foreign = [\"{bad}\"]")).unwrap_err();
            assert!(error.contains("rules.foreign") && error.contains("inside a project"), "{bad}: {error}");
        }
        assert!(raw("skills.paths = [\"skills\"]").unwrap_err().contains("neither absolute"));
    }
}
