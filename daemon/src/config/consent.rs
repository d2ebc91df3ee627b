//! Writes down what a person chose when asked about a key or a server that was found: into their own configuration, in
//! which everything else stays as it is, comments and order included. Only `plimsoll ask` on a terminal calls this.

use super::write::{self, WriteError, below, set_first};
use std::path::Path;
use toml_edit::{DocumentMut, Item, value};

/// Smallest and largest window that a configuration takes; another one is not written.
const WINDOWS: std::ops::RangeInclusive<u64> = 1_024..=100_000_000;

/// What to use from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The provider: a known host, or a name for `server`.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// The server, when it is no known host.
    pub server: Option<Server>,
}

/// A server that needs no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its URL, as `base_url` is written.
    pub base_url: String,
    /// The model's window, when known.
    pub context_window: Option<u64>,
}

impl Choice {
    /// The lines that a configuration needs for it.
    pub fn lines(&self) -> String {
        let mut document = DocumentMut::new();
        self.put(&mut document);
        document.to_string()
    }

    /// Writes it into `file`, which is made when it is missing; readable by its owner only afterwards.
    pub fn write(&self, file: &Path) -> Result<(), WriteError> {
        change(file, |document| self.put(document))
    }

    /// A provider that is there already under this name keeps what it has, when it is the same server; another one
    /// leaves the name to it.
    fn put(&self, document: &mut DocumentMut) {
        let Some(server) = &self.server else {
            set_first(document, "model", value(format!("{}/{}", self.provider, self.model)));
            return;
        };
        let written = |name: &str| document.get("providers").and_then(|providers| providers.get(name));
        let same = |name: &str| {
            written(name).is_none_or(|item| item.get("base_url").and_then(Item::as_str) == Some(&server.base_url))
        };
        let numbered = (2_u32..).map(|number| format!("{}-{number}", self.provider));
        let mut names = std::iter::once(self.provider.clone()).chain(numbered);
        let name = names.find(|name| same(name)).unwrap_or_else(|| self.provider.clone());
        set_first(document, "model", value(format!("{name}/{}", self.model)));
        let provider =
            below(document.as_table_mut(), "providers", true).and_then(|providers| below(providers, &name, false));
        let Some(provider) = provider else { return };
        if provider.is_empty() {
            provider.insert("api", value("openai-chat"));
            provider.insert("base_url", value(&server.base_url));
        }
        let window = server.context_window.filter(|window| WINDOWS.contains(window));
        if let Some(window) = window.and_then(|window| i64::try_from(window).ok())
            && let Some(model) = below(provider, "models", true).and_then(|models| below(models, &self.model, false))
            && !model.contains_key("context_window")
        {
            model.insert("context_window", value(window));
        }
    }
}

/// Writes down that nothing that is found is offered any more.
pub fn never_offer(file: &Path) -> Result<(), WriteError> {
    change(file, |document| {
        if let Some(consent) = below(document.as_table_mut(), "consent", false) {
            consent.insert("offer", value(false));
        }
    })
}

fn change(file: &Path, change: impl Fn(&mut DocumentMut)) -> Result<(), WriteError> {
    write::change(file, |text| {
        let mut document = write::document(file, text)?;
        change(&mut document);
        Ok(document.to_string())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn key() -> Choice {
        Choice { provider: "anthropic".to_owned(), model: "a-model".to_owned(), server: None }
    }

    fn server(window: Option<u64>) -> Choice {
        let server = Server { base_url: "http://127.0.0.1:11434/v1".to_owned(), context_window: window };
        Choice { provider: "ollama".to_owned(), model: "qwen3:8b".to_owned(), server: Some(server) }
    }

    fn written(before: Option<&str>, choice: &Choice) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("config.toml");
        if let Some(before) = before {
            std::fs::create_dir(folder.path().join("new")).unwrap();
            std::fs::write(&file, before).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        }
        choice.write(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::read_to_string(file).unwrap()
    }

    #[test]
    fn a_choice_makes_a_file_that_needs_nothing_more() {
        assert_eq!(written(None, &key()), "model = \"anthropic/a-model\"\n");
        let expected = "model = \"ollama/qwen3:8b\"\n\n[providers.ollama]\napi = \"openai-chat\"\n\
            base_url = \"http://127.0.0.1:11434/v1\"\n\n[providers.ollama.models.\"qwen3:8b\"]\ncontext_window = 8192\n";
        assert_eq!(written(None, &server(Some(8_192))), expected);
        assert_eq!(server(Some(8_192)).lines(), expected);
        for unknown in [None, Some(3), Some(u64::MAX)] {
            assert!(written(None, &server(unknown)).ends_with("base_url = \"http://127.0.0.1:11434/v1\"\n"));
        }
    }

    #[test]
    fn what_stands_in_the_file_stays_with_its_comments() {
        let before = "# mine\nlanguage = \"de\" # always\n\n# careful\n[permissions]\nmode = \"ask\"   # not full\n";
        let expected = "# mine\nlanguage = \"de\" # always\nmodel = \"anthropic/a-model\"\n\n# careful\n[permissions]\n\
            mode = \"ask\"   # not full\n";
        assert_eq!(written(Some(before), &key()), expected);
        let comments = "# only\n#   words";
        assert_eq!(written(Some(comments), &key()), "# only\n#   words\nmodel = \"anthropic/a-model\"\n");
    }

    #[test]
    fn a_provider_of_that_name_is_gone_on_with_or_left_alone() {
        let same = "[providers.ollama] # home\nbase_url = \"http://127.0.0.1:11434/v1\"\napi = \"openai-chat\"\n";
        let text = written(Some(same), &server(Some(8_192)));
        assert!(text.contains(same) && text.contains("model = \"ollama/qwen3:8b\""), "{text}");
        assert!(text.ends_with("[providers.ollama.models.\"qwen3:8b\"]\ncontext_window = 8192\n"), "{text}");
        let other = "[providers]\nollama = { api = \"openai-chat\", base_url = \"http://10.0.0.1/v1\" }\n";
        let text = written(Some(other), &server(None));
        assert!(text.contains("ollama = { api = \"openai-chat\", base_url = \"http://10.0.0.1/v1\" }\n"), "{text}");
        assert!(text.contains("[providers.ollama-2]\n") && text.contains("model = \"ollama-2/qwen3:8b\""), "{text}");
    }

    #[test]
    fn a_no_for_ever_is_written_down() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "[consent] # mine\noffer = true\n").unwrap();
        never_offer(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "[consent] # mine\noffer = false\n");
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("config.toml"), folder.path().join("dotfiles.toml"));
        std::fs::write(&target, "language = \"de\"\n").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        key().write(&link).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "language = \"de\"\nmodel = \"anthropic/a-model\"\n");
    }

    #[test]
    fn a_file_that_is_wrong_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        for wrong in ["model = ", "providers = 3\n", "[consent]\noffer = \"no\"\n"] {
            std::fs::write(&file, wrong).unwrap();
            assert!(matches!(server(None).write(&file), Err(WriteError::Config(_))), "{wrong}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), wrong);
        }
    }
}
