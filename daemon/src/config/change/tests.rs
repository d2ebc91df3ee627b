use super::*;
use serde_json::json;
use std::fs;

/// A machine of its own; an empty text means no file.
fn machine(user: &str, managed: &str) -> (tempfile::TempDir, Folders) {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let folders = Folders { config: at("c"), data: at("d"), runtime: at("r"), managed: at("managed.toml") };
    fs::create_dir(&folders.config).unwrap();
    for (file, text) in [(folders.config_file(), user), (folders.managed.clone(), managed)] {
        if !text.is_empty() {
            fs::write(file, text).unwrap();
        }
    }
    (root, folders)
}

#[track_caller]
fn check(before: &str, key: &str, value: Value, after: &str) {
    let (_root, folders) = machine(before, "");
    let change = Change::make(&folders, key, &value).unwrap_or_else(|error| panic!("{key}: {error}"));
    let text = fs::read_to_string(folders.config_file()).unwrap_or_default();
    assert_eq!((text.as_str(), change.changed), (after, before != after), "{key} = {value}");
}

#[track_caller]
fn refused(user: &str, managed: &str, key: &str, value: Value, expected: &str) {
    let (root, folders) = machine(user, managed);
    let error = Change::make(&folders, key, &value).unwrap_err().to_string();
    assert_eq!(error.replace(&root.path().display().to_string(), ""), expected, "{key} = {value}");
    assert_eq!(fs::read_to_string(folders.config_file()).unwrap_or_default(), user, "nothing is written");
}

const USER: &str = "# mine\nlanguage = \"de\" # always\n\n# careful\n[permissions]\nmode = \"ask\"   # not full\n\n[providers.local]\n\
    api = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";

#[test]
fn a_value_is_written_and_everything_around_it_stays() {
    check("", "language", json!("fr"), "language = \"fr\"\n");
    check("# only words\n", "model", json!("offline/retrieval"), "# only words\nmodel = \"offline/retrieval\"\n");
    check(USER, "language", json!("fr"), &USER.replace("\"de\"", "\"fr\""));
    check(USER, "permissions.mode", json!("full"), &USER.replace("\"ask\"", "\"full\""));
    check(USER, "language", json!("de"), USER);
    check(USER, "limits.max_steps_per_turn", json!(7), &format!("{USER}\n[limits]\nmax_steps_per_turn = 7\n"));
    check(
        USER,
        "permissions.deny",
        json!(["grep", "list_dir"]),
        &USER.replace("# not full\n", "# not full\ndeny = [\"grep\", \"list_dir\"]\n"),
    );
    check(
        USER,
        "providers.local.models.\"qwen3:8b\".context_window",
        json!(8192),
        &format!("{USER}\n[providers.local.models.\"qwen3:8b\"]\ncontext_window = 8192\n"),
    );
    check(
        "limits.max_steps_per_turn = 3\n",
        "limits.session_cost",
        json!(0.5),
        "limits.max_steps_per_turn = 3\nlimits.session_cost = 0.5\n",
    );
    check(
        "limits = { max_steps_per_turn = 3 } # few\n",
        "limits.max_steps_per_turn",
        json!(4),
        "limits = { max_steps_per_turn = 4 } # few\n",
    );
}

#[test]
fn a_table_is_set_as_a_whole_and_what_is_the_same_stays() {
    let value = json!({"api": "openai-chat", "base_url": "http://127.0.0.1:2/v1", "models": {"m": {"images": true}}});
    let before = "[providers.x] # home\napi = \"openai-chat\" # chat\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key_env = \"K\"\n";
    let after = "[providers.x] # home\napi = \"openai-chat\" # chat\nbase_url = \"http://127.0.0.1:2/v1\"\n\n\
        [providers.x.models.m]\nimages = true\n";
    check(before, "providers.x", value, after);
}

#[test]
fn a_key_is_taken_out_with_its_line_and_no_other() {
    check(
        USER,
        "language",
        Value::Null,
        "# mine\n\n# careful\n[permissions]\nmode = \"ask\"   # not full\n\n[providers.local]\n\
        api = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    check(USER, "model", Value::Null, USER);
    check("limits = { max_steps_per_turn = 3 }\n", "limits.max_steps_per_turn", Value::Null, "limits = {}\n");
    check("modle = 1\nlanguage = \"de\"\n", "modle", Value::Null, "language = \"de\"\n");
    check("[providers.x]\napi = \"openai-chat\"\n[limits]\n", "providers.x", Value::Null, "[limits]\n");
}

#[test]
fn what_is_not_known_or_not_valid_is_refused_and_nothing_written() {
    refused(USER, "", "modle", json!("a/b"), "option `key`: there is no key `modle`. Did you mean `model`?");
    refused(USER, "", "modle", Value::Null, "option `key`: there is no key `modle`. Did you mean `model`?");
    refused(
        "",
        "",
        "providers.x",
        json!({"base_ulr": "http://h"}),
        "option `key`: there is no key `providers.x.base_ulr`. Did you mean `providers.x.base_url`?",
    );
    refused(
        "",
        "",
        "limits.max_steps_per_turn",
        json!(0),
        "/c/config.toml:2: `limits.max_steps_per_turn`: 0 is out of range. Write a whole number from 1 to 10000",
    );
    refused(
        "",
        "",
        "limits.max_steps_per_turn",
        json!("7"),
        "/c/config.toml:2: `limits.max_steps_per_turn`: is a text. Write a whole number from 1 to 10000",
    );
    refused(
        "",
        "",
        "language",
        json!({"a": 1}),
        "option `key`: there is no key `language.a`. `language` has no keys below it",
    );
    refused(
        "",
        "",
        "permissions.mode",
        json!("loose"),
        "/c/config.toml:2: `permissions.mode`: `loose` is not a permission mode. Write \"plan\", \"ask\", \"accept_edits\", \"auto\" or \"full\"",
    );
    refused("", "", "permissions.allow", json!(["rm"]), &{
        let (root, folders) = machine("[permissions]\nallow = [\"rm\"]\n", "");
        let error = Config::load(&folders, &BTreeMap::new()).unwrap_err().to_string();
        error.replace(&root.path().display().to_string(), "")
    });
    refused(
        "",
        "",
        "providers.x.api_key_env",
        json!("sk-hush"),
        "/c/config.toml:2: `providers.x.api_key_env`: is not the name of an environment variable. Write the variable's name, such as \
         \"LOCAL_API_KEY\", not the key itself",
    );
    refused(
        "language = \n",
        "",
        "language",
        json!("de"),
        "/c/config.toml:1: not valid TOML: string values must be quoted, expected literal string. Correct this line",
    );
}

#[test]
fn the_chosen_model_can_be_found_afterwards() {
    refused(
        "",
        "",
        "model",
        json!("opnai/x"),
        "/c/config.toml:1: `model`: there is no provider `opnai`. Did you mean `openai`?",
    );
    let user = "model = \"x/y\"\n[providers.x]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    refused(
        user,
        "",
        "providers.x",
        Value::Null,
        "/c/config.toml:1: `model`: there is no provider `x`. Add [providers.x] with api and base_url to /c/config.toml, or use one of: \
         anthropic, openai, deepseek, openrouter, mistral, groq, xai, gemini, qwen, offline",
    );
    // What did not work before may be mended step by step.
    check(
        "model = \"x/y\"\n",
        "providers.x.api",
        json!("openai-chat"),
        "model = \"x/y\"\n\n[providers.x]\napi = \"openai-chat\"\n",
    );
}

#[test]
fn what_the_administrator_has_set_is_not_the_users() {
    let managed = "language = \"en\"\n[permissions]\nmax_mode = \"ask\"\ndeny = [\"list_dir\"]\n[prompt]\nbundle = \"full\"\n[providers.x]\n\
        api = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    let fixed = |line: u32, key: &str| {
        format!("/managed.toml:{line}: `{key}`: your administrator has set it. It cannot be changed here")
    };
    refused("", managed, "language", json!("de"), &fixed(1, "language"));
    refused("", managed, "prompt.lean", json!(true), &fixed(6, "prompt.bundle"));
    refused("", managed, "providers.x.models.m.images", json!(true), &fixed(8, "providers.x.api"));
    refused(
        "",
        managed,
        "permissions.mode",
        json!("full"),
        "/managed.toml:3: `permissions.max_mode`: your administrator allows no mode freer than \"ask\". Choose \"ask\" or a stricter one",
    );
    refused(
        "",
        managed,
        "permissions.max_mode",
        json!("full"),
        "option `key`: only an administrator bounds the mode. It cannot be changed here",
    );
    let (_root, folders) = machine("", managed);
    for (key, value) in [
        ("permissions.mode", json!("plan")),
        ("permissions.deny", json!(["grep"])),
        ("providers.y.api", json!("openai-chat")),
    ] {
        assert!(Change::make(&folders, key, &value).unwrap().changed, "{key}");
    }
}

#[test]
fn warnings_say_what_is_odd_afterwards() {
    let (_root, folders) = machine("langage = \"de\"\n", "");
    let change = Change::make(&folders, "language", &json!("fr")).unwrap();
    let [warning] = change.warnings.as_slice() else { panic!("{:?}", change.warnings) };
    assert!(warning.ends_with(": `langage`: unknown key, ignored; did you mean `language`?"), "{warning}");
    assert_eq!(change.file, folders.config_file());
}

#[test]
fn a_typed_text_is_what_its_key_takes() {
    let check = |key: &str, text: &str, expected: Value| {
        assert_eq!(typed(&key::names(key).unwrap(), text), expected, "{key} {text}");
    };
    check("model", "a/b", json!("a/b"));
    check("model", "\"a/b\"", json!("a/b"));
    check("language", "7", json!("7"));
    check("limits.max_steps_per_turn", "7", json!(7));
    check("limits.max_steps_per_turn", "many", json!("many"));
    check("limits.session_cost", "0.5", json!(0.5));
    check("consent.offer", "false", json!(false));
    check("permissions.allow", "grep", json!(["grep"]));
    check("permissions.allow", "[\"grep\", 'glob']", json!(["grep", "glob"]));
    check("providers.x", "{ api = \"openai-chat\" }", json!({"api": "openai-chat"}));
    check("limits.max_steps_per_turn", "7\nother = 8", json!("7\nother = 8"));
}
