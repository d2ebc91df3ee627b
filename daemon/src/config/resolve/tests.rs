use super::*;
use std::fs;

struct Machine {
    root: tempfile::TempDir,
    folders: Folders,
}

/// A machine with these files; an empty text means no file.
fn machine(user: &str, project: &str, managed: &str) -> Machine {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let folders = Folders { config: at("config"), data: at("data"), runtime: at("run"), managed: at("managed.toml") };
    for (file, text) in [
        (folders.config_file(), user),
        (at("project/.plimsoll/config.toml"), project),
        (folders.managed.clone(), managed),
    ] {
        if !text.is_empty() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }
    Machine { root, folders }
}

impl Machine {
    fn load(&self, env: &[(&str, &str)], overrides: Overrides) -> Result<Config, ConfigError> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::load_for(&self.folders, &env, Some(&self.root.path().join("project")), &overrides)
    }
}

const TWO: &str = "model = \"a/one\"\n\
    [providers.a]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
    [providers.a.models.one]\ncontext_window = 8192\nmax_output = 1024\n\
    [providers.a.models.two]\ncontext_window = 4096\n";

fn asked(model: Option<&str>, mode: Option<&str>) -> Overrides {
    Overrides { model: model.map(str::to_owned), mode: mode.map(str::to_owned), ..Overrides::default() }
}

#[test]
fn layers_count_in_rising_order_and_the_managed_file_over_all() {
    let model = |project: &str, env: &[(&str, &str)], option: Option<&str>, managed: &str| {
        machine(TWO, project, managed).load(env, asked(option, None)).unwrap().model_id
    };
    let project = "model = \"a/two\"";
    let env = [("PLIMSOLL_MODEL", "a/three")];
    let managed = "model = \"a/five\"";
    assert_eq!(model("", &[], None, ""), "a/one");
    assert_eq!(model(project, &[], None, ""), "a/two");
    assert_eq!(model(project, &env, None, ""), "a/three");
    assert_eq!(model(project, &env, Some("a/four"), ""), "a/four");
    assert_eq!(model(project, &env, Some("a/four"), managed), "a/five");
}

#[test]
fn a_configured_model_gives_profile_and_endpoint() {
    let config = machine(TWO, "", "").load(&[], Overrides::default()).unwrap();
    let (profile, endpoint) = config.model(None).unwrap();
    let expected = ModelProfile {
        provider: "a".to_owned(),
        name: "one".to_owned(),
        api: Api::OpenaiChat,
        context_window: 8_192,
        max_output: 1_024,
        temperature: None,
        cache_lifetime_s: 300,
        price: None,
        images: false,
    };
    assert_eq!(profile, expected);
    let expected = Endpoint {
        name: "a".to_owned(),
        api: Api::OpenaiChat,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        key: KeySource::None,
        headers: Vec::new(),
    };
    assert_eq!(endpoint, expected);
    let (two, _) = config.model(Some("a/two")).unwrap();
    assert_eq!((two.context_window, two.max_output), (4_096, 2_048));
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!(config.hints, Vec::<String>::new());
}

#[test]
fn with_nothing_configured_the_offline_model_answers_and_a_hint_names_the_line() {
    let config = machine("", "", "").load(&[], Overrides::default()).unwrap();
    let (profile, endpoint) = config.model(None).unwrap();
    assert_eq!((profile.id(), endpoint.api), (OFFLINE_MODEL.to_owned(), Api::Offline));
    assert_eq!(
        (config.permissions.mode, config.max_steps_per_turn, config.idle_stop_minutes),
        (PermissionMode::Ask, 100, 30)
    );
    assert!(matches!(config.hints.as_slice(), [hint] if hint.contains("no model is configured")), "{:?}", config.hints);
}

#[test]
fn a_key_in_the_environment_is_named_and_not_used() {
    let config = machine("", "", "").load(&[("OPENAI_API_KEY", "hush")], Overrides::default()).unwrap();
    assert_eq!(config.model_id, OFFLINE_MODEL);
    let [hint] = config.hints.as_slice() else { panic!("{:?}", config.hints) };
    assert!(hint.starts_with("OPENAI_API_KEY is set but is not used without your consent"), "{hint}");
    assert!(hint.contains("model = \"openai/<model>\"") && !hint.contains("hush"), "{hint}");
}

#[test]
fn a_well_known_host_needs_its_name_only_and_its_key_goes_nowhere_else() {
    let keys = |user: &str| {
        let (_, endpoint) = machine(user, "", "").load(&[], Overrides::default()).unwrap().model(None).unwrap();
        (endpoint.base_url, endpoint.key)
    };
    let anthropic = ("https://api.anthropic.com".to_owned(), KeySource::Env("ANTHROPIC_API_KEY".to_owned()));
    assert_eq!(keys("model = \"anthropic/x\""), anthropic);
    assert_eq!(
        keys("model = \"anthropic/x\"\n[providers.anthropic]\nbase_url = \"http://127.0.0.1:9\""),
        ("http://127.0.0.1:9".to_owned(), KeySource::None)
    );
}

#[test]
fn a_project_can_be_stricter_but_grants_nothing_and_names_no_host() {
    let project = "language = \"de\"\n[permissions]\nmode = \"full\"\n[limits]\nmax_steps_per_turn = 500\n\
        [daemon]\nidle_stop_minutes = 0\n\
        [providers.a]\napi = \"openai-chat\"\nbase_url = \"http://evil/v1\"\napi_key_command = \"touch /tmp/x\"\n";
    let config = machine(TWO, project, "").load(&[], Overrides::default()).unwrap();
    let (_, endpoint) = config.model(None).unwrap();
    assert_eq!((endpoint.base_url.as_str(), endpoint.key), ("http://127.0.0.1:1/v1", KeySource::None));
    assert_eq!(
        (config.permissions.mode, config.max_steps_per_turn, config.idle_stop_minutes),
        (PermissionMode::Ask, 100, 30)
    );
    assert_eq!(config.language.as_deref(), Some("de"));
    assert_eq!(config.warnings.len(), 4, "{:?}", config.warnings);

    let user = format!("{TWO}[permissions]\nmode = \"full\"\n");
    let stricter = "[permissions]\nmode = \"ask\"\n[limits]\nmax_steps_per_turn = 3\n";
    let config = machine(&user, stricter, "").load(&[], Overrides::default()).unwrap();
    assert_eq!((config.permissions.mode, config.max_steps_per_turn), (PermissionMode::Ask, 3));
}

#[test]
fn a_projects_wrong_file_or_unknown_provider_is_a_warning() {
    for (project, expected) in
        [("model = ", "this project's configuration is ignored"), ("model = \"b/one\"", "there is no provider `b`")]
    {
        let config = machine(TWO, project, "").load(&[], Overrides::default()).unwrap();
        assert_eq!(config.model_id, "a/one");
        assert!(matches!(config.warnings.as_slice(), [one] if one.contains(expected)), "{:?}", config.warnings);
    }
}

#[test]
fn modes_of_the_environment_and_of_the_client_are_checked() {
    let mode = |env: &[(&str, &str)], option: Option<&str>| {
        let config = machine(TWO, "", "").load(env, asked(None, option));
        config.map(|config| config.permissions.mode).map_err(|error| error.to_string())
    };
    assert_eq!(mode(&[("PLIMSOLL_MODE", "full")], None), Ok(PermissionMode::Full));
    assert_eq!(mode(&[("PLIMSOLL_MODE", "full")], Some("ask")), Ok(PermissionMode::Ask));
    assert_eq!(mode(&[("PLIMSOLL_MODE", "plan")], None), Ok(PermissionMode::Plan));
    let words = "Write \"plan\", \"ask\", \"accept_edits\", \"auto\" or \"full\"";
    let expected = format!("environment variable PLIMSOLL_MODE: `loose` is not a permission mode. {words}");
    assert_eq!(mode(&[("PLIMSOLL_MODE", "loose")], None), Err(expected));
    let expected = format!("option `mode`: `yes` is not a permission mode. {words}");
    assert_eq!(mode(&[], Some("yes")), Err(expected));
}

#[test]
fn what_is_managed_is_refused_to_sessions_too() {
    let managed = "model = \"a/one\"\n[permissions]\nmode = \"ask\"\n";
    let config = machine(TWO, "", managed).load(&[("PLIMSOLL_MODE", "full")], asked(None, Some("full"))).unwrap();
    assert_eq!(config.permissions.mode, PermissionMode::Ask);
    assert_eq!(config.mode("ask"), Ok(PermissionMode::Ask));
    assert!(config.mode("full").unwrap_err().problem.contains("your administrator"));
    assert!(config.model(Some("a/two")).unwrap_err().problem.contains("your administrator"));
    assert!(config.model(Some("a/one")).is_ok());
}

#[test]
fn models_that_cannot_be_found_say_what_would_be() {
    let config = machine(TWO, "", "").load(&[], Overrides::default()).unwrap();
    let error = |id: &str| config.model(Some(id)).unwrap_err().to_string();
    assert_eq!(error("opnai/x"), "option `model`: there is no provider `opnai`. Did you mean `openai`?");
    assert!(error("elsewhere/x").contains("Add [providers.elsewhere] with api and base_url to"));
    assert!(error("x").contains("`x` is not of the form provider/model"));
    assert_eq!(
        error("offline/other"),
        "option `model`: there is no model `offline/other`. Write \"offline/retrieval\""
    );
}

#[test]
fn a_provider_without_api_or_url_is_named_with_its_line() {
    let user = "model = \"x/y\"\n\n[providers.x]\nbase_url = \"http://127.0.0.1:1\"\n";
    let error = machine(user, "", "").load(&[], Overrides::default()).unwrap().model(None).unwrap_err();
    assert!(error.to_string().contains("config.toml:4: `providers.x`: has no api."), "{error}");
}

#[test]
fn an_unknown_window_and_a_key_over_plain_http_are_warnings() {
    let user = "model = \"x/y\"\n[providers.x]\napi = \"openai-chat\"\nbase_url = \"http://example.org/v1\"\napi_key_env = \"K\"\n";
    let config = machine(user, "", "").load(&[], Overrides::default()).unwrap();
    let [clear, window] = config.warnings.as_slice() else { panic!("{:?}", config.warnings) };
    assert!(clear.contains("sent over plain HTTP"), "{clear}");
    assert!(window.contains("the window of `x/y` is not known, 32768 tokens are assumed"), "{window}");
    let (profile, _) = config.model(None).unwrap();
    assert_eq!((profile.context_window, profile.max_output), (32_768, 4_096));
}

#[test]
fn what_results_may_cost_is_the_users_and_each_models() {
    let budget = |user: &str, project: &str, managed: &str| {
        let config = machine(&format!("{TWO}projection_tokens = 900\n{user}"), project, managed);
        let config = config.load(&[], Overrides::default()).unwrap();
        let tokens = |model: &str| {
            let budget = config.budget(model);
            (budget.tokens, budget.asked_tokens, budget.general_tokens)
        };
        (tokens("a/one"), tokens("a/two"), config.warnings.len())
    };
    assert_eq!(budget("", "", ""), ((2_000, 8_000, 8_000), (900, 8_000, 8_000), 0));
    let user = "[context]\nprojection_tokens = 3000\nasked_tokens = 5000\n";
    assert_eq!(budget(user, "", ""), ((3_000, 5_000, 8_000), (900, 5_000, 8_000), 0));
    let (project, managed) = ("[context]\nasked_tokens = 100000\n", "[context]\ngeneral_tokens = 4000\n");
    assert_eq!(budget(user, project, managed), ((3_000, 5_000, 4_000), (900, 5_000, 4_000), 1));
}
