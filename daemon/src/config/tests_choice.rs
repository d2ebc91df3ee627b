//! How the project's tests are run, as far as the configuration says it.

use super::error::Place;
use super::raw::RawTests;
use std::time::Duration;

/// Minutes that a run may take where nothing is configured.
const DEFAULT_MINUTES: u64 = 10;

/// See the module's head. The command is the project's own affair: what its file says counts over the user's, and is decided
/// about like any command that a project brings along. Only an administrator's is over both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestsChoice {
    /// The command line, with the place that names it.
    pub command: Option<(String, Place)>,
    minutes: Option<u64>,
    /// Patterns, from a root, of files that a run changes itself.
    pub writes: Vec<String>,
    writes_places: Vec<Place>,
}

impl TestsChoice {
    /// Takes in what a file says, over what was said before.
    pub(super) fn add(&mut self, raw: RawTests) {
        if let Some(command) = raw.command {
            self.command = Some((command.value, command.place));
        }
        self.minutes = raw.timeout_minutes.map(|minutes| minutes.value).or(self.minutes);
        for pattern in
            raw.writes.into_iter().filter(|pattern| !self.writes.contains(&pattern.value)).collect::<Vec<_>>()
        {
            self.writes.push(pattern.value);
            self.writes_places.push(pattern.place);
        }
    }

    /// How long a run may take, in minutes.
    pub(super) fn minutes(&self) -> u64 {
        self.minutes.unwrap_or(DEFAULT_MINUTES)
    }

    /// How long a run may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.minutes() * 60)
    }

    /// The places of the patterns.
    pub(super) fn writes_places(&self) -> &[Place] {
        &self.writes_places
    }
}

#[cfg(test)]
mod tests {
    use super::super::raw::RawConfig;
    use super::*;
    use std::path::Path;

    fn raw(text: &str) -> Result<RawTests, String> {
        let parsed = RawConfig::parse(Path::new("/c/config.toml"), text);
        parsed.map(|raw| raw.tests).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_nearer_to_the_project_counts_and_patterns_add_up() {
        let mut choice = TestsChoice::default();
        assert_eq!((choice.command.clone(), choice.timeout()), (None, Duration::from_mins(10)));
        choice.add(raw("[tests]\ncommand = \"make check\"\nwrites = [\"a.xml\"]").unwrap());
        choice
            .add(raw("[tests]\ncommand = \"just test\"\ntimeout_minutes = 3\nwrites = [\"a.xml\", \"b/**\"]").unwrap());
        choice.add(raw("[tests]\ntimeout_minutes = 5").unwrap());
        assert_eq!(choice.command.as_ref().map(|(command, _)| command.as_str()), Some("just test"));
        assert_eq!(
            (choice.timeout(), choice.writes.as_slice()),
            (Duration::from_mins(5), &["a.xml".into(), "b/**".into()][..])
        );
    }

    #[test]
    fn wrong_values_say_what_would_be_right() {
        for (text, part) in [
            ("[tests]\nwrites = [\"a[\"]", "tests.writes"),
            ("[tests]\ntimeout_minutes = 0", "tests.timeout_minutes"),
            ("[tests]\ncommand = 3", "tests.command"),
        ] {
            let error = raw(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
