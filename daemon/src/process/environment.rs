//! The environment that a command gets: the client's, without what would change the meaning of a command or tell it a
//! secret. Nothing of the daemon's own environment is in it.

use std::collections::BTreeMap;

/// Variables that make bash or sh run or mean something else than the text of the command.
const SHELL_CONTROL: &[&str] = &["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_XTRACEFD"];

/// Prefix of exported shell functions.
const EXPORTED_FUNCTION: &str = "BASH_FUNC_";

/// Prefix of Plimsoll's own variables.
const OWN: &str = "PLIMSOLL_";

/// What is set so that a command does not wait for somebody who is not there: git asks no questions on a terminal and
/// opens no editor. Everything else is as the client has it.
const UNATTENDED: &[(&str, &str)] = &[("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")];

/// The environment of a command of the client with `client_env`. `secret_env` names variables that hold keys.
pub fn command_env(client_env: &BTreeMap<String, String>, secret_env: &[String]) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = client_env
        .iter()
        .filter(|(name, value)| {
            !name.is_empty()
                && !name.contains(['=', '\0'])
                && !value.contains('\0')
                && !SHELL_CONTROL.contains(&name.as_str())
                && !name.starts_with(EXPORTED_FUNCTION)
                && !name.starts_with(OWN)
                && !secret_env.contains(name)
        })
        .map(|(name, value)| (name.clone(), without_password(name, value)))
        .collect();
    env.extend(UNATTENDED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    env
}

/// The address of a proxy without user and password; any other value as it is.
fn without_password(name: &str, value: &str) -> String {
    let lower = name.to_ascii_lowercase();
    if !lower.ends_with("_proxy") || lower == "no_proxy" {
        return value.to_owned();
    }
    let (scheme, rest) = value.split_once("://").map_or(("", value), |(scheme, rest)| (scheme, rest));
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_end);
    match authority.rsplit_once('@') {
        Some((_, host)) if scheme.is_empty() => format!("{host}{path}"),
        Some((_, host)) => format!("{scheme}://{host}{path}"),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_environment_without_shell_control_and_secrets() {
        let client = [
            ("PATH", "/bin"),
            ("HOME", "/home/u"),
            ("LANG", "de_DE.UTF-8"),
            ("BASH_ENV", "/tmp/evil"),
            ("ENV", "/tmp/evil"),
            ("SHELLOPTS", "noexec"),
            ("BASH_FUNC_ls%%", "() { evil; }"),
            ("PLIMSOLL_CONFIG_DIR", "/x"),
            ("OPENAI_API_KEY", "CANARY"),
            ("https_proxy", "http://me:CANARY@proxy:3128/"),
            ("ALL_PROXY", "socks5://proxy:1080"),
            ("NO_PROXY", "me@example.org,localhost"),
            ("bad=name", "x"),
            ("GIT_EDITOR", "code --wait"),
        ];
        let client = client.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let expected = [
            ("PATH", "/bin"),
            ("HOME", "/home/u"),
            ("LANG", "de_DE.UTF-8"),
            ("https_proxy", "http://proxy:3128/"),
            ("ALL_PROXY", "socks5://proxy:1080"),
            ("NO_PROXY", "me@example.org,localhost"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_EDITOR", "true"),
        ];
        let expected: BTreeMap<String, String> =
            expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(command_env(&client, &["OPENAI_API_KEY".to_owned()]), expected);
    }
}
