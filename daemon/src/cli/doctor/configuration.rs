//! Is the configuration valid, does it say what it means to, and are the keys there that it names? No key is shown.

use super::finding::{Finding, Level};
use crate::config::{Config, ConfigError, Folders, OFFLINE_MODEL};
use crate::provider::endpoint::KeySource;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What to do about a warning that does not say it.
const NO_EFFECT: &str = "correct the line, or remove it: it has no effect";

/// The files themselves, with what reading them gave.
pub fn check(folders: &Folders, config: &Result<Config, ConfigError>, env: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (id, file) in [("config.managed", &folders.managed), ("config.file", &folders.config_file())] {
        findings.extend(file_finding(id, file));
    }
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            findings.push(of_error("config.error", error));
            return findings;
        }
    };
    let warnings = config.warnings.iter();
    findings.extend(warnings.map(|text| Finding::of_message("config.warning", Level::Warn, text, NO_EFFECT)));
    findings.push(model(config));
    findings.extend(keys(config, env));
    findings
}

/// A configuration that cannot be used, with its own fix.
pub fn of_error(id: &'static str, error: &ConfigError) -> Finding {
    Finding::error(id, format!("{}: {}", error.place, error.problem), error.fix.clone())
}

fn file_finding(id: &'static str, file: &Path) -> Option<Finding> {
    let shown = file.display();
    let Ok(meta) = std::fs::metadata(file) else {
        let missing = format!("{shown} does not exist; everything is as it comes");
        return (id == "config.file").then(|| Finding::ok(id, missing));
    };
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o022 != 0 {
        let what = format!("others can write {shown} (mode {mode:03o}), and so choose what your agent may do");
        return Some(Finding::warn(id, what, format!("run `chmod {:03o} '{shown}'`", mode & !0o022)));
    }
    Some(Finding::ok(id, shown.to_string()))
}

fn model(config: &Config) -> Finding {
    if config.is_model_unchosen() {
        let what = format!("no model is chosen: the built-in `{OFFLINE_MODEL}` answers, which is no language model");
        let line = format!("write `model = \"<provider>/<model>\"` into {}", config.file().display());
        let fix = match config.hints.first() {
            Some(_) if config.may_offer() => {
                format!("run `plimsoll ask` on a terminal, which offers what is found, or {line}")
            }
            Some(hint) => hint.clone(),
            None => line,
        };
        return Finding::warn("config.model", what, fix);
    }
    match config.model(None) {
        Ok((profile, _)) => {
            let window = format!("{}, window {} tokens", profile.id(), profile.context_window);
            Finding::ok("config.model", format!("model {window}, mode {}", config.permissions.mode))
        }
        Err(error) => of_error("config.model", &error),
    }
}

/// Whether the key of each provider is there, and where it comes from.
fn keys(config: &Config, env: &BTreeMap<String, String>) -> Vec<Finding> {
    let chosen = config.model_id.split('/').next().unwrap_or_default();
    let mut findings = Vec::new();
    for name in config.provider_names() {
        // One that cannot be used is told with the model, or is not used.
        let Ok(endpoint) = config.provider(&name) else { continue };
        let id = "keys.provider";
        findings.push(match endpoint.key {
            KeySource::None => Finding::ok(id, format!("{name}: no key is configured, none is sent")),
            KeySource::Literal(_) => Finding::ok(id, format!("{name}: the key stands in the configuration file")),
            KeySource::Command(command) => {
                let what =
                    format!("{name}: the key comes from the command `{command}`, which is run when it is needed");
                Finding::ok(id, what)
            }
            KeySource::Env(variable) if env.get(&variable).is_some_and(|key| !key.trim().is_empty()) => {
                Finding::ok(id, format!("{name}: the key is in {variable}"))
            }
            KeySource::Env(variable) => {
                let what = format!("{name}: {variable} is not set in this environment");
                let fix = format!("export {variable} where your shell or editor starts, or use api_key_command");
                if name == chosen { Finding::error(id, what, fix) } else { Finding::warn(id, what, fix) }
            }
        });
    }
    if config.is_model_unchosen() {
        let file = config.file().display();
        findings.extend(config.unused_keys(env).into_iter().map(|found| {
            let model = found.model.unwrap_or("<model>");
            let fix = format!("to use it, write `model = \"{}/{model}\"` in {file}", found.provider);
            Finding::ok("keys.unused", format!("{} is set and not used", found.variable)).with_fix(fix)
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::folders;
    use crate::config::Overrides;

    fn found(text: &str, mode: u32, env: &[(&str, &str)]) -> Vec<(&'static str, Level, String, String)> {
        let (_root, folders) = folders();
        std::fs::create_dir(&folders.config).unwrap();
        let file = folders.config_file();
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config = Config::load_for(&folders, &env, None, &Overrides::default());
        let place = file.display().to_string();
        let tidy = |text: &str| text.replace(&place, "FILE");
        let findings = check(&folders, &config, &env).into_iter();
        findings.map(|one| (one.id, one.level, tidy(&one.what), tidy(one.fix.as_deref().unwrap_or_default()))).collect()
    }

    fn parts<'a>(found: &'a [(&'static str, Level, String, String)]) -> Vec<(&'static str, Level, &'a str, &'a str)> {
        found.iter().map(|(id, level, what, fix)| (*id, *level, what.as_str(), fix.as_str())).collect()
    }

    const PROVIDERS: &str = "model = \"a/m\"\n[providers.a]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
        api_key_env = \"A_KEY\"\nhedaers = 1\n[providers.a.models.m]\ncontext_window = 8192\nmax_output = 1024\n\
        [providers.b]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key_env = \"B_KEY\"\n\
        [providers.c]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"hush\"\n";

    #[test]
    fn warnings_keys_and_modes_are_told_with_what_to_do() {
        let found = found(PROVIDERS, 0o664, &[("B_KEY", "hush")]);
        let expected = [
            (
                "config.file",
                Level::Warn,
                "others can write FILE (mode 664), and so choose what your agent may do",
                "run `chmod 644 'FILE'`",
            ),
            (
                "config.warning",
                Level::Warn,
                "FILE:6: `providers.a.hedaers`: unknown key, ignored",
                "did you mean `providers.a.headers`?",
            ),
            (
                "config.warning",
                Level::Warn,
                "FILE: others on this machine can read the key of `c`",
                "run `chmod 600` on the file, or use api_key_env",
            ),
            ("config.model", Level::Ok, "model a/m, window 8192 tokens, mode ask", ""),
            (
                "keys.provider",
                Level::Error,
                "a: A_KEY is not set in this environment",
                "export A_KEY where your shell or editor starts, or use api_key_command",
            ),
            ("keys.provider", Level::Ok, "b: the key is in B_KEY", ""),
            ("keys.provider", Level::Ok, "c: the key stands in the configuration file", ""),
        ];
        assert_eq!(parts(&found), expected);
    }

    #[test]
    fn what_cannot_be_read_is_an_error_with_its_line() {
        let found = found("model = 3\n", 0o600, &[]);
        let expected = [
            ("config.file", Level::Ok, "FILE", ""),
            ("config.error", Level::Error, "FILE:1: `model`: is a whole number", "Write a text in quotes"),
        ];
        assert_eq!(parts(&found), expected);
    }

    #[test]
    fn a_key_that_could_be_used_is_named_with_the_line() {
        let found = found("", 0o600, &[("OPENROUTER_API_KEY", "hush")]);
        let [file, model, key] = found.as_slice() else { panic!("{found:?}") };
        assert!(model.3.starts_with("run `plimsoll ask` on a terminal"), "{model:?}");
        assert_eq!((file.1, model.0, model.1), (Level::Ok, "config.model", Level::Warn));
        let expected = "to use it, write `model = \"openrouter/<model>\"` in FILE";
        assert_eq!((key.2.as_str(), key.3.as_str()), ("OPENROUTER_API_KEY is set and not used", expected));
        assert!(!format!("{found:?}").contains("hush"));
    }
}
