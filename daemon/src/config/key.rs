//! Names of keys as one text, as TOML writes them: `providers.ollama.models."qwen3:8b".context_window`.

use super::error::{ConfigError, Place};

/// The names as one text; one that is more than letters, digits, `_` and `-` stands in quotes.
pub fn dotted<S: AsRef<str>>(path: &[S]) -> String {
    let bare = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let written = |name: &S| {
        let name = name.as_ref();
        if bare(name) { name.to_owned() } else { toml_edit::Key::new(name).display_repr().into_owned() }
    };
    path.iter().map(written).collect::<Vec<_>>().join(".")
}

/// The names of a key.
pub fn names(text: &str) -> Result<Vec<String>, ConfigError> {
    let bad = |_| ConfigError {
        place: Place::Option("key"),
        problem: format!("`{}` is not a key", text.chars().take(80).collect::<String>()),
        fix:
            "Write names with dots between them, in quotes where they hold more than letters, digits, _ and -, such as \
              providers.local.models.\"qwen3:8b\".images"
                .to_owned(),
    };
    let keys = toml_edit::Key::parse(text).map_err(bad)?;
    Ok(keys.iter().map(|key| key.get().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_more_than_letters_are_quoted_and_read_back() {
        let path = ["providers", "a", "models", "qwen3:8b", ""].map(str::to_owned);
        assert_eq!(dotted(&path), "providers.a.models.\"qwen3:8b\".\"\"");
        assert_eq!(names(&dotted(&path)).unwrap(), path);
        assert_eq!(
            names("a..b").unwrap_err().to_string(),
            "option `key`: `a..b` is not a key. Write names with dots between them, in quotes where they hold more than \
             letters, digits, _ and -, such as providers.local.models.\"qwen3:8b\".images"
        );
    }
}
