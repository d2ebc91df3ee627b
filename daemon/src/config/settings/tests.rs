use super::super::Overrides;
use super::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;

const USER: &str = "model = \"a/one\"\nlanguage = \"de\"\n[permissions]\nmode = \"auto\"\nallow = [\n  \"grep\",\n  \"list_dir\",\n]\n\
    deny = [\"read_file(*.pem)\"]\nwritable = [\"/srv/x\"]\n[limits]\nsession_cost = 0.1\n[rules]\nforeign = [\"CLAUDE.md\"]\n\
    [providers.a]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"hush\"\nmodle = 1\n\
    headers = { X-Team = \"hush\" }\n[providers.a.models.\"o:n\"]\ncontext_window = 8192\n[providers.b]\napi_key_env = \"B\"\n";
const PROJECT: &str = "[permissions]\nmode = \"ask\"\nallow = [\"grep\"]\ndeny = [\"list_dir\"]\n[limits]\nmax_steps_per_turn = 7\n\
    [rules]\nforeign = [\"CLAUDE.md\", \".cursor/rules\"]\n";
const MANAGED: &str = "[permissions]\nmax_mode = \"plan\"\ndeny = [\"grep(/etc/**)\"]\n[daemon]\nidle_stop_minutes = 5\n\
    [providers.b]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:2/v1\"\n";

/// Key, value and who said so of everything that is not built in.
fn said(
    user: &str,
    project: &str,
    managed: &str,
    env: &[(&str, &str)],
    asked: Overrides,
) -> Vec<(String, Value, String)> {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let folders = Folders { config: at("c"), data: at("d"), runtime: at("r"), managed: at("managed.toml") };
    for folder in ["c", "p/.plimsoll"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(folders.config_file(), user).unwrap();
    fs::write(at("p/.plimsoll/config.toml"), project).unwrap();
    fs::write(&folders.managed, managed).unwrap();
    let env: BTreeMap<String, String> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let config = Config::load_for(&folders, &env, Some(&at("p")), &asked).unwrap();
    let settings = config.settings(&folders).unwrap();
    let source = |source: &Source| match &source.place {
        Place::File { line, .. } => format!("{}:{line}", source.layer.word()),
        place => format!("{} {place}", source.layer.word()),
    };
    let settings = settings.into_iter().filter(|setting| !setting.from.is_empty());
    settings
        .map(|setting| (setting.key(), setting.value, setting.from.iter().map(source).collect::<Vec<_>>().join(" ")))
        .collect()
}

fn rows(expected: &[(&str, Value, &str)]) -> Vec<(String, Value, String)> {
    expected.iter().map(|(key, value, from)| ((*key).to_owned(), value.clone(), (*from).to_owned())).collect()
}

#[test]
fn every_value_has_who_said_it_and_secrets_are_hidden() {
    let found = said(USER, PROJECT, MANAGED, &[], Overrides::default());
    let expected = [
        ("model", json!("a/one"), "user:1"),
        ("language", json!("de"), "user:2"),
        ("permissions.mode", json!("plan"), "managed:2"),
        ("permissions.max_mode", json!("plan"), "managed:2"),
        ("permissions.allow", json!(["grep", "list_dir"]), "user:6 user:7"),
        ("permissions.deny", json!(["read_file(*.pem)", "list_dir", "grep(/etc/**)"]), "user:9 project:4 managed:3"),
        ("permissions.writable", json!(["/srv/x"]), "user:10"),
        ("limits.max_steps_per_turn", json!(7), "project:6"),
        ("limits.session_cost", json!(0.1), "user:12"),
        ("daemon.idle_stop_minutes", json!(5), "managed:5"),
        ("rules.foreign", json!(["CLAUDE.md", ".cursor/rules"]), "user:14 project:8"),
        ("providers.a.api", json!("openai-chat"), "user:16"),
        ("providers.a.api_key", json!("(hidden)"), "user:18"),
        ("providers.a.base_url", json!("http://127.0.0.1:1/v1"), "user:17"),
        ("providers.a.headers.X-Team", json!("(hidden)"), "user:20"),
        ("providers.a.models.\"o:n\".context_window", json!(8192), "user:22"),
        ("providers.b.api", json!("openai-chat"), "managed:7"),
        ("providers.b.base_url", json!("http://127.0.0.1:2/v1"), "managed:8"),
    ];
    assert_eq!(found, rows(&expected));
}

#[test]
fn the_environment_and_the_client_count_over_the_files() {
    let env = [
        ("PLIMSOLL_MODE", "full"),
        ("PLIMSOLL_MAX_STEPS", "9"),
        ("PLIMSOLL_LANGUAGE", "fr"),
        ("PLIMSOLL_MODEL", "a/env"),
    ];
    let user = "model = \"a/one\"\nlanguage = \"de\"\n";
    let found = said(user, PROJECT, "", &env, Overrides::default());
    let of_env = [
        ("model", json!("a/env"), "environment environment variable PLIMSOLL_MODEL"),
        ("language", json!("fr"), "environment environment variable PLIMSOLL_LANGUAGE"),
        ("permissions.mode", json!("full"), "environment environment variable PLIMSOLL_MODE"),
        ("permissions.deny", json!(["list_dir"]), "project:4"),
        ("limits.max_steps_per_turn", json!(9), "environment environment variable PLIMSOLL_MAX_STEPS"),
        ("rules.foreign", json!(["CLAUDE.md", ".cursor/rules"]), "project:8 project:8"),
    ];
    assert_eq!(found, rows(&of_env));
    let asked = Overrides {
        model: Some("a/asked".to_owned()),
        mode: Some("plan".to_owned()),
        language: Some("it".to_owned()),
        max_steps: Some(11),
    };
    let found = said(user, "", "", &env, asked.clone());
    let of_client = [
        ("model", json!("a/asked"), "client option `model`"),
        ("language", json!("it"), "client option `language`"),
        ("permissions.mode", json!("plan"), "client option `mode`"),
        ("limits.max_steps_per_turn", json!(11), "client option `maxSteps`"),
    ];
    assert_eq!(found, rows(&of_client));
    let managed = "model = \"a/m\"\nlanguage = \"en\"\npermissions.mode = \"ask\"\nlimits.max_steps_per_turn = 3\n";
    let of_managed = [
        ("model", json!("a/m"), "managed:1"),
        ("language", json!("en"), "managed:2"),
        ("permissions.mode", json!("ask"), "managed:3"),
        ("limits.max_steps_per_turn", json!(3), "managed:4"),
    ];
    assert_eq!(said(user, "", managed, &env, asked), rows(&of_managed));
}

#[test]
fn nothing_configured_is_all_built_in_and_every_key_of_the_schema_is_there() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let folders = Folders { config: at("c"), data: at("d"), runtime: at("r"), managed: at("managed.toml") };
    let config = Config::load_for(&folders, &BTreeMap::new(), None, &Overrides::default()).unwrap();
    let settings = config.settings(&folders).unwrap();
    assert!(settings.iter().all(|setting| setting.from.is_empty()));
    let value = |key: &str| settings.iter().find(|setting| setting.key() == key).map(|setting| setting.value.clone());
    for (key, expected) in [
        ("model", json!("offline/retrieval")),
        ("language", Value::Null),
        ("permissions.mode", json!("ask")),
        ("prompt.lean", json!(true)),
        ("limits.session_cost", json!(0)),
        ("context.projection_tokens", json!(2000)),
        ("consent.offer", json!(true)),
    ] {
        assert_eq!(value(key), Some(expected), "{key}");
    }
    let tables = schema::of_file()["properties"].as_object().unwrap();
    for (name, table) in tables.iter().filter(|(name, _)| *name != PROVIDERS) {
        let Some(keys) = table["properties"].as_object() else {
            assert!(value(name).is_some(), "{name}");
            continue;
        };
        assert!(keys.keys().all(|key| value(&format!("{name}.{key}")).is_some()), "{name}: {keys:?}");
    }
}

#[test]
fn a_key_that_is_not_there_is_told_with_the_nearest() {
    let check = |key: &str, expected: &str| assert_eq!(known_key(key).unwrap_err().to_string(), expected);
    check("modle", "option `key`: there is no key `modle`. Did you mean `model`?");
    check(
        "providers.a.base_ulr",
        "option `key`: there is no key `providers.a.base_ulr`. Did you mean `providers.a.base_url`?",
    );
    check(
        "limits.colour",
        "option `key`: there is no key `limits.colour`. Known here: max_steps_per_turn, session_cost",
    );
    check("model.x", "option `key`: there is no key `model.x`. `model` has no keys below it");
    assert_eq!(known_key("providers.a").unwrap(), ["providers", "a"]);
}
