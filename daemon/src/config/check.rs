//! Everything that is wrong or odd in the configuration at once. Used by `plimsoll config check`.

use super::error::ConfigError;
use super::folders::Folders;
use super::raw::RawConfig;
use super::resolve::{Config, Overrides};
use std::collections::BTreeMap;
use std::path::Path;

/// What a look found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// What keeps sessions from working; of each file the first.
    pub errors: Vec<ConfigError>,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// Looks at all files and at the model that they choose.
pub fn check(folders: &Folders, env: &BTreeMap<String, String>, project_root: Option<&Path>) -> Found {
    let files = [folders.managed.clone(), folders.config_file()];
    let mut found =
        Found { errors: files.iter().filter_map(|file| RawConfig::read(file).err()).collect(), ..Found::default() };
    let error = match Config::load_for(folders, env, project_root, &Overrides::default()) {
        Ok(config) => {
            let chosen = config.model(None).err();
            found.errors.extend(config.summary_model().err());
            found.warnings = config.warnings;
            chosen
        }
        Err(error) => Some(error),
    };
    found.errors.extend(error.filter(|error| !found.errors.contains(error)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn each_files_first_error_is_found_and_the_model_is_looked_for() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let folders = Folders { config: at("c"), data: at("d"), runtime: at("r"), managed: at("managed.toml") };
        fs::create_dir(&folders.config).unwrap();
        let look = |user: &str, managed: &str| {
            fs::write(folders.config_file(), user).unwrap();
            fs::write(&folders.managed, managed).unwrap();
            let found = check(&folders, &BTreeMap::new(), None);
            let tidy = |text: String| text.replace(&root.path().display().to_string(), "");
            let errors: Vec<String> = found.errors.iter().map(|error| tidy(error.to_string())).collect();
            (errors, found.warnings.into_iter().map(tidy).collect::<Vec<_>>())
        };
        let quotes = "Write a text in quotes";
        assert_eq!(
            look("language = 1\n", "\nlanguage = 2\n"),
            (
                vec![
                    format!("/managed.toml:2: `language`: is a whole number. {quotes}"),
                    format!("/c/config.toml:1: `language`: is a whole number. {quotes}"),
                ],
                vec![]
            )
        );
        assert_eq!(
            look("model = \"opnai/x\"\nlangage = \"de\"\n", ""),
            (
                vec![
                    "/c/config.toml:1: `model`: there is no provider `opnai`. Did you mean `openai`?".to_owned()
                ],
                vec![
                    "/c/config.toml:2: `langage`: unknown key, ignored; did you mean `language`?".to_owned(),
                    "the window of `opnai/x` is not known, 32768 tokens are assumed; write context_window and max_output below \
                     [providers.opnai.models.\"x\"] in /c/config.toml"
                        .to_owned(),
                ]
            )
        );
        assert_eq!(look("", ""), (vec![], vec![]));
    }
}
