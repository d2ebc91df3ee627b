use super::super::PermissionMode;
use super::provider::RawModel;
use super::*;
use crate::provider::endpoint::{KeySource, Secret};
use plimsoll_core::model::request::Api;
use plimsoll_core::permission::rule::Verdict;
use std::fs::{self, Permissions};

const FILE: &str = "/c/config.toml";

fn parse(text: &str) -> RawConfig {
    RawConfig::parse(Path::new(FILE), text).unwrap()
}

fn error(text: &str) -> String {
    RawConfig::parse(Path::new(FILE), text).unwrap_err().to_string()
}

fn place(line: usize, key: &str) -> Place {
    Place::File { file: FILE.into(), line, key: key.to_owned() }
}

#[test]
fn the_pinned_shape_is_read() {
    let raw = parse(
        r#"model = "local/small"
[providers.local]
api = "openai-chat"
base_url = "http://127.0.0.1:8080/v1/"
api_key_env = "LOCAL_API_KEY"
headers = { X-Team = "blue" }
[providers.local.models.small]
context_window = 32768
max_output = 4_096
temperature = 1
[permissions]
mode = "full"
[limits]
max_steps_per_turn = 7
[daemon]
idle_stop_minutes = 0
"#,
    );
    let model = RawModel {
        images: None,
        context_window: Some(32_768),
        max_output: Some(4_096),
        temperature: Some(1.0),
        cache_lifetime_s: None,
        projection_tokens: None,
    };
    let provider = RawProvider {
        place: place(3, "providers.local"),
        api: Some(Located { value: Api::OpenaiChat, place: place(3, "providers.local.api") }),
        base_url: Some(Located {
            value: "http://127.0.0.1:8080/v1".to_owned(),
            place: place(4, "providers.local.base_url"),
        }),
        key: Some(KeySource::Env("LOCAL_API_KEY".to_owned())),
        headers: vec![("X-Team".to_owned(), "blue".to_owned())],
        models: BTreeMap::from([("small".to_owned(), model)]),
    };
    let expected = RawConfig {
        model: Some(Located { value: "local/small".to_owned(), place: place(1, "model") }),
        language: None,
        permissions: RawPermissions {
            mode: Some(Located { value: PermissionMode::Full, place: place(12, "permissions.mode") }),
            ..RawPermissions::default()
        },
        context: RawContext::default(),
        prompt: RawPrompt::default(),
        sources: RawSources::default(),
        tests: RawTests::default(),
        offer: None,
        max_steps_per_turn: Some(Located { value: 7, place: place(14, "limits.max_steps_per_turn") }),
        session_cost: None,
        idle_stop_minutes: Some(Located { value: 0, place: place(16, "daemon.idle_stop_minutes") }),
        providers: BTreeMap::from([("local".to_owned(), provider)]),
        warnings: Vec::new(),
    };
    assert_eq!(raw, expected);
}

#[test]
fn errors_name_file_line_key_and_fix() {
    let cases = [
        ("model = \"small\"", "/c/config.toml:1: `model`: `small` is not of the form provider/model. Write"),
        ("\n\nmodel = 3", "/c/config.toml:3: `model`: is a whole number. Write a text in quotes"),
        ("model = \"\"", "/c/config.toml:1: `model`: is empty. Give it a value, or remove the line"),
        ("model = local/x", "/c/config.toml:1: not valid TOML: "),
        (
            "[permissions]\nmode = \"yolo\"",
            "`permissions.mode`: `yolo` is not a permission mode. Write \"plan\", \"ask\", \"accept_edits\", \"auto\" or",
        ),
        ("[permissions]\nallow = \"x\"", "/c/config.toml:2: `permissions.allow`: is a text. Write a list of texts"),
        (
            "[permissions]\nallow = [\n\"grep\",\n7]",
            "/c/config.toml:4: `permissions.allow`: is a whole number. Write a text in quotes",
        ),
        (
            "[permissions]\nwritable = [\"cache\"]",
            "`permissions.writable`: `cache` is neither absolute nor a folder below ~/. Write a folder such as",
        ),
        ("[permissions]\nwritable = [\"~/\"]", "`~/` is neither absolute nor a folder below ~/"),
        ("permissions = \"full\"", "`permissions`: is a text. Write a table; begin it with [permissions]"),
        (
            "[limits]\nmax_steps_per_turn = 0",
            "/c/config.toml:2: `limits.max_steps_per_turn`: 0 is out of range. Write a whole number from 1 to 10000",
        ),
        (
            "[providers.x]\napi = \"openai\"",
            "`providers.x.api`: `openai` is not an API. Write \"openai-chat\" or \"anthropic-messages\"",
        ),
        ("[providers.x]\napi = \"openai-responses\"", "this build does not have the API `openai-responses`"),
        ("[providers.x]\nbase_url = \"localhost:80\"", "`providers.x.base_url`: `localhost:80` is not a usable URL"),
        ("[providers.x]\nbase_url = \"https://me:secret@host/v1\"", "the URL holds a user or a password. Take"),
        ("[providers.x]\napi = \"openai-chat\"\nbase_url = \"http://h/v1/chat/completions\"", "Write \"http://h/v1\""),
        ("[providers.x]\napi = \"anthropic-messages\"\nbase_url = \"https://h/v1\"", "Write \"https://h\""),
        ("[providers.x]\napi_key = \"a\"\napi_key_env = \"B\"", "a second way to give the key. Keep one of"),
        ("[providers.x]\napi_key_env = \"sk-abc\"", "is not the name of an environment variable"),
        ("[providers.x.headers]\n\"a b\" = \"c\"", "`providers.x.headers.a b`: is not the name of a header"),
        ("[providers.x.headers]\na = \"b\\nc\"", "the value cannot stand in a header"),
        (
            "[providers.x.models.y]\ncontext_window = 2048\nmax_output = 2048",
            "/c/config.toml:3: `providers.x.models.y.max_output`: 2048 leaves no room",
        ),
        ("[context]\nprojection_tokens = 10", "/c/config.toml:2: `context.projection_tokens`: 10 is out of range"),
        ("[context]\nasked_tokens = \"many\"", "Write a whole number from 300 to 200000"),
        ("[providers.x.models.y]\nprojection_tokens = 0", "Write a whole number from 300 to 200000"),
        ("[providers.x.models.y]\ntemperature = 9.5", "Write a number from 0 to 2"),
        ("[providers.x.models.y]\ntemperature = nan", "Write a number from 0 to 2"),
        ("[providers]\nx = true", "`providers.x`: is true or false. Write a table"),
    ];
    for (text, expected) in cases {
        let found = error(text);
        assert!(found.contains(expected), "{text:?}\n  gives {found}\n  not {expected}");
    }
}

#[test]
fn messages_never_show_a_key() {
    for text in [
        "[providers.x]\napi_key = \"hush\"\napi_key_command = \"c\"",
        "[providers.x]\napi_key_env = \"hush-hush\"",
        "[providers.x]\napi_key = hush",
        "[providers.x]\nbase_url = \"https://u:hush@h\"",
    ] {
        assert!(!error(text).contains("hush"), "{}", error(text));
    }
    let raw = parse("[providers.x]\napi_key = \"hush\"");
    assert!(!format!("{raw:?}").contains("hush"));
    assert_eq!(raw.providers["x"].key, Some(KeySource::Literal(Secret::new("hush"))));
}

#[test]
fn unknown_keys_warn_with_the_nearest_known_one() {
    let raw = parse("modle = \"a/b\"\n[providers.x]\nbase_ulr = \"\"\n[permissions]\ncolour = 1\n");
    let expected = [
        "/c/config.toml:3: `providers.x.base_ulr`: unknown key, ignored; did you mean `providers.x.base_url`?",
        "/c/config.toml:1: `modle`: unknown key, ignored; did you mean `model`?",
        "/c/config.toml:5: `permissions.colour`: unknown key, ignored; known here: mode, max_mode, allow, ask, deny, writable",
    ];
    let mut warnings = raw.warnings;
    warnings.sort();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(warnings, expected);
}

#[test]
fn a_key_in_a_file_that_others_can_read_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    fs::write(&file, "[providers.x]\napi_key = \"hush\"\n").unwrap();
    let warnings = |mode| {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        RawConfig::read(&file).unwrap().warnings
    };
    assert_eq!(warnings(0o600), Vec::<String>::new());
    let wide = warnings(0o644);
    assert!(
        matches!(wide.as_slice(), [one] if one.contains("others on this machine can read the key of `x`")),
        "{wide:?}"
    );
}

#[test]
fn a_missing_file_says_nothing_and_one_that_is_no_text_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none.toml");
    assert_eq!(RawConfig::read(&missing).unwrap(), RawConfig::default());
    assert!(RawConfig::read(folder.path()).unwrap_err().problem.contains("not a file"));
    let binary = folder.path().join("binary.toml");
    fs::write(&binary, [0xff, 0xfe]).unwrap();
    assert_eq!(RawConfig::read(&binary).unwrap_err().problem, "is not UTF-8");
    let pipe = folder.path().join("pipe.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    assert_eq!(RawConfig::read(&pipe).unwrap_err().problem, "is not a file");
}

#[test]
fn rules_keep_their_order_and_lines_and_wrong_ones_are_set_apart() {
    let text = "[permissions]\nallow = [\"run_terminal_cmd(make *)\",\n  \"rm\"]\nask = [\"grep\"]\ndeny = [\"read_file(*.pem\"]\n\
        writable = [\"~/.cache/x\", \"/srv/out\"]\n";
    let permissions = parse(text).permissions;
    let rules: Vec<_> =
        permissions.rules.iter().map(|rule| (rule.value.0, rule.value.1.to_string(), rule.place.clone())).collect();
    let expected = [
        (Verdict::Allow, "run_terminal_cmd(make *)".to_owned(), place(2, "permissions.allow")),
        (Verdict::Ask, "grep".to_owned(), place(4, "permissions.ask")),
    ];
    assert_eq!(rules, expected);
    let bad: Vec<_> = permissions
        .bad_rules
        .iter()
        .map(|error| (error.place.clone(), error.problem.split("; there are").next().unwrap().to_owned()))
        .collect();
    let expected = [
        (place(3, "permissions.allow"), "`rm` is not a rule: there is no tool `rm`".to_owned()),
        (place(5, "permissions.deny"), "`read_file(*.pem` is not a rule: its last character must be `)`".to_owned()),
    ];
    assert_eq!(bad, expected);
    let writable: Vec<_> = permissions.writable.iter().map(|folder| folder.value.as_str()).collect();
    assert_eq!(writable, ["~/.cache/x", "/srv/out"]);
}
