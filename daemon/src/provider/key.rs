//! Finding the key of a provider: in the environment of the client that starts the turn, in the daemon's own, from a
//! command, or in the configuration.

use super::endpoint::{Endpoint, KeySource, Secret};
use plimsoll_core::model::error::{ErrorClass, ModelError};
use std::collections::BTreeMap;

/// The key for `endpoint`; none when the server is open.
///
/// `client_env` is what the client sent in its hello, `daemon_env` looks into the daemon's own environment, and
/// `run_command` runs a command line and gives its standard output, or why that failed. A missing key is an error of class
/// `Auth` that names where it was looked for.
pub async fn resolve_key<F>(
    endpoint: &Endpoint,
    client_env: &BTreeMap<String, String>,
    daemon_env: impl Fn(&str) -> Option<String>,
    run_command: impl FnOnce(String) -> F,
) -> Result<Option<Secret>, ModelError>
where
    F: Future<Output = Result<String, String>>,
{
    match &endpoint.key {
        KeySource::None => Ok(None),
        KeySource::Literal(secret) => Ok(Some(secret.clone())),
        KeySource::Env(name) => client_env
            .get(name)
            .and_then(|value| filled(value))
            .or_else(|| daemon_env(name).and_then(|value| filled(&value)))
            .map(Some)
            .ok_or_else(|| {
                missing(
                    endpoint,
                    &format!(
                        "the variable {name} is set neither in the client's environment nor in the daemon's; \
                         set it and start the client again"
                    ),
                )
            }),
        KeySource::Command(command) => match run_command(command.clone()).await {
            Ok(output) => filled(output.lines().next().unwrap_or_default()).map(Some).ok_or_else(|| {
                missing(endpoint, &format!("the command `{command}` printed nothing on its first line"))
            }),
            Err(reason) => Err(missing(endpoint, &format!("the command `{command}` failed: {reason}"))),
        },
    }
}

/// Where the key of a provider is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyAt {
    /// The server is open.
    NotNeeded,
    /// The client's user gave it to the client; that is not looked for here.
    Given,
    /// In a variable of the client's environment.
    ClientVariable(String),
    /// In a variable of the daemon's own environment.
    DaemonVariable(String),
    /// A command prints it; whether it does is known when it is run.
    Command,
    /// In the configuration file.
    File,
    /// In this variable of neither environment.
    Missing(String),
}

/// Where [`resolve_key`] would find the key. Runs nothing.
pub fn key_at(
    endpoint: &Endpoint,
    client_env: &BTreeMap<String, String>,
    daemon_env: impl Fn(&str) -> Option<String>,
) -> KeyAt {
    match &endpoint.key {
        KeySource::None => KeyAt::NotNeeded,
        KeySource::Literal(_) => KeyAt::File,
        KeySource::Command(_) => KeyAt::Command,
        KeySource::Env(name) if client_env.get(name).is_some_and(|value| filled(value).is_some()) => {
            KeyAt::ClientVariable(name.clone())
        }
        KeySource::Env(name) if daemon_env(name).is_some_and(|value| filled(&value).is_some()) => {
            KeyAt::DaemonVariable(name.clone())
        }
        KeySource::Env(name) => KeyAt::Missing(name.clone()),
    }
}

fn filled(value: &str) -> Option<Secret> {
    let value = value.trim();
    (!value.is_empty()).then(|| Secret::new(value))
}

fn missing(endpoint: &Endpoint, why: &str) -> ModelError {
    ModelError::new(ErrorClass::Auth, format!("provider `{}` has no key: {why}", endpoint.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::model::request::Api;
    use std::future::ready;

    async fn resolve(
        key: KeySource,
        client: &[(&str, &str)],
        daemon: Option<&str>,
        command: Result<&str, &str>,
    ) -> Result<Option<String>, String> {
        let endpoint =
            Endpoint { name: "p".into(), api: Api::OpenaiChat, base_url: String::new(), key, headers: Vec::new() };
        let client = client.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let command = command.map(str::to_owned).map_err(str::to_owned);
        resolve_key(&endpoint, &client, |name| daemon.filter(|_| name == "K").map(str::to_owned), |_| ready(command))
            .await
            .map(|key| key.map(|key| key.reveal().to_owned()))
            .map_err(|error| {
                assert_eq!(error.class, ErrorClass::Auth);
                error.message
            })
    }

    #[tokio::test]
    async fn the_clients_environment_comes_before_the_daemons() {
        let env = || KeySource::Env("K".into());
        assert_eq!(resolve(env(), &[("K", "c\n")], Some("d"), Err("")).await, Ok(Some("c".into())));
        assert_eq!(resolve(env(), &[("K", " ")], Some("d"), Err("")).await, Ok(Some("d".into())));
        let error = resolve(env(), &[("OTHER", "c")], None, Err("")).await.unwrap_err();
        assert!(error.starts_with("provider `p` has no key: the variable K is set neither"), "{error}");
    }

    #[test]
    fn where_a_key_is_is_known_without_running_anything() {
        let at = |key: KeySource, client: &[(&str, &str)], daemon: Option<&str>| {
            let endpoint =
                Endpoint { name: "p".into(), api: Api::OpenaiChat, base_url: String::new(), key, headers: Vec::new() };
            let client = client.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            key_at(&endpoint, &client, |_| daemon.map(str::to_owned))
        };
        let env = || KeySource::Env("K".into());
        assert_eq!(at(env(), &[("K", "c")], Some("d")), KeyAt::ClientVariable("K".into()));
        assert_eq!(at(env(), &[("K", " ")], Some("d")), KeyAt::DaemonVariable("K".into()));
        assert_eq!(at(env(), &[], None), KeyAt::Missing("K".into()));
        assert_eq!(at(KeySource::None, &[], None), KeyAt::NotNeeded);
        assert_eq!(at(KeySource::Command("c".into()), &[], None), KeyAt::Command);
        assert_eq!(at(KeySource::Literal(Secret::new("l")), &[], None), KeyAt::File);
    }

    #[tokio::test]
    async fn a_commands_first_line_is_the_key() {
        let command = || KeySource::Command("pass k".into());
        assert_eq!(resolve(command(), &[], None, Ok("one\ntwo")).await, Ok(Some("one".into())));
        assert_eq!(
            resolve(command(), &[], None, Ok("\n")).await.unwrap_err(),
            "provider `p` has no key: the command `pass k` printed nothing on its first line"
        );
        assert_eq!(
            resolve(command(), &[], None, Err("exit code 1")).await.unwrap_err(),
            "provider `p` has no key: the command `pass k` failed: exit code 1"
        );
    }

    #[tokio::test]
    async fn open_servers_and_literal_keys_need_nothing() {
        assert_eq!(resolve(KeySource::None, &[], None, Err("")).await, Ok(None));
        let literal = KeySource::Literal(Secret::new("l"));
        assert_eq!(resolve(literal, &[], None, Err("")).await, Ok(Some("l".into())));
    }
}
