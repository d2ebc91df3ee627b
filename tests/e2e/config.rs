//! The configuration over the wire and from the command line: what counts and who said so, changes that keep the file, live
//! reload, models, keys, and what a session can be given.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::told::items;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

fn machine() -> Machine {
    Machine::new(plimsoll_tests::binary!())
}

fn file(machine: &Machine) -> PathBuf {
    machine.config().join("config.toml")
}

/// Two models of one scripted server, named `test/scripted` and `test/other`.
fn two_models(server: &ModelServer, more: &str) -> String {
    format!(
        "model = \"test/scripted\"\n{more}\n[providers.test]\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
         [providers.test.models.scripted]\ncontext_window = 200000\nmax_output = 8192\n\
         [providers.test.models.other]\ncontext_window = 100000\nmax_output = 4096\nimages = true\n",
        server.base_url(Api::OpenaiChat)
    )
}

/// A command's exit code, standard output and standard error.
async fn run(machine: &Machine, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = machine.command(&machine.config(), arguments);
    let output = in_time("the command", command.stdin(Stdio::null()).output()).await.expect("it runs");
    let text =
        |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").replace(&*file(machine).to_string_lossy(), "FILE");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn notices(client: &Client) -> Vec<String> {
    let items = items(&client.events());
    let notices = items.iter().filter(|item| item["kind"] == "notice");
    notices.map(|item| item["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A session's info now.
async fn info(client: &Client, session: &str) -> Value {
    client.ok("session/get", json!({"session": session})).await
}

#[tokio::test]
async fn a_change_counts_at_the_next_turn_without_a_restart() {
    let call = || Step::calls([Call::new("run_terminal_cmd", json!({"command": "touch made"}))]);
    let steps = vec![Step::say("one"), call(), Step::say("two"), Step::say("three")];
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon = machine().model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "hello").await["stopReason"], "endTurn");

    let set = json!({"key": "permissions.deny", "value": ["run_terminal_cmd(touch *)"]});
    let changed = client.ok("config/set", set).await;
    assert_eq!(changed, json!({"file": file(daemon.machine()), "changed": true, "warnings": []}));
    assert_eq!(client.turn(&session, "make it").await["stopReason"], "endTurn");
    assert_eq!(workspace.read("made"), None, "the new rule counts in a session that was there before");

    // A mistake: the turn does not begin, the daemon lives, and the next prompt works once it is mended.
    let path = file(daemon.machine());
    let good = fs::read_to_string(&path).expect("the file");
    fs::write(&path, format!("language = 3\n{good}")).expect("written");
    let refused = client.err("turn/start", json!({"session": session, "text": "and now?"})).await;
    assert_eq!(
        (&refused["data"]["kind"], refused["message"].as_str()),
        (
            &json!("config"),
            Some(&*format!("{}:1: `language`: is a whole number. Write a text in quotes", path.display()))
        )
    );
    let refused = client.err("config/get", json!({})).await;
    assert_eq!(refused["data"], json!({"kind": "config", "hint": "Write a text in quotes"}));
    fs::write(&path, good).expect("written");
    assert_eq!(client.turn(&session, "and now?").await["stopReason"], "endTurn");
    assert_eq!(server.steps_left(), 0);
    server.assert_clean();
}

#[tokio::test]
async fn a_turn_that_runs_goes_on_with_what_it_began_with() {
    let gate = Gate::new();
    let steps = vec![Step::say("slow").stall_before(&gate)];
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon = machine().model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "hello").await;
    fs::write(file(daemon.machine()), "model = \n").expect("written");
    gate.release();
    assert_eq!(client.completed(&session, turn).await["stopReason"], "endTurn");
}

#[tokio::test]
async fn an_unknown_key_is_told_in_the_session_when_it_is_new() {
    let server = ModelServer::start(Script::new([Step::say("1"), Step::say("2"), Step::say("3")])).await;
    let daemon = machine().configure(&two_models(&server, "langage = \"de\"")).daemon().await;
    let path = file(daemon.machine());
    let first = format!("{}:2: `langage`: unknown key, ignored; did you mean `language`?", path.display());
    let second = format!("{}:2: `colour`: unknown key, ignored; known here: ", path.display());
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let session = client.session(&workspace).await;
    client.turn(&session, "one").await;
    assert_eq!(notices(&client), [first]);
    client.turn(&session, "two").await;
    assert_eq!(notices(&client).len(), 1, "it is told once");
    fs::write(&path, two_models(&server, "colour = \"red\"")).expect("written");
    client.turn(&session, "three").await;
    let found = notices(&client);
    assert!(found.len() == 2 && found[1].starts_with(&second), "{found:#?}");
    // The model is told nothing of it.
    let sent = server.requests();
    assert!(sent.iter().all(|request| !String::from_utf8_lossy(&request.body).contains("unknown key")));
    let warnings = client.ok("config/get", json!({"key": "language"})).await;
    assert!(warnings["warnings"][0].as_str().expect("a text").starts_with(&second), "{warnings}");
}

#[tokio::test]
async fn what_counts_is_told_with_who_said_so() {
    let mut daemon = machine()
        .env("PLIMSOLL_MAX_STEPS", "9")
        .configure("language = \"de\"\n[providers.x]\napi = \"openai-chat\"\napi_key = \"hush-1\"\n")
        .daemon()
        .await;
    let workspace = Workspace::new().file(".plimsoll/config.toml", "[permissions]\nmode = \"plan\"\n");
    let client = daemon.client().await;
    let path = file(daemon.machine());
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("a mode");
    let limits = client.ok("config/get", json!({"key": "limits"})).await;
    assert_eq!(
        limits,
        json!({
            "values": {"limits.max_steps_per_turn": 9, "limits.session_cost": 0},
            "sources": {"limits.max_steps_per_turn": [{"layer": "environment", "name": "PLIMSOLL_MAX_STEPS"}]},
            "warnings": [],
        })
    );
    let all = client.ok("config/get", json!({})).await;
    assert_eq!(all["sources"]["language"], json!([{"layer": "user", "file": path, "line": 1}]));
    assert_eq!(all["values"]["providers.x.api_key"], "(hidden)");
    assert!(!all.to_string().contains("hush-1"));
    let project = client.ok("project/open", json!({"roots": [workspace.text()]})).await;
    let mode = client.ok("config/get", json!({"key": "permissions.mode", "project": project["key"]})).await;
    assert_eq!(
        (&mode["values"], &mode["sources"]["permissions.mode"][0]["layer"]),
        (&json!({"permissions.mode": "plan"}), &json!("project"))
    );
    let unknown = client.err("config/get", json!({"key": "limits.max_stps_per_turn"})).await;
    assert_eq!(
        unknown,
        json!({"code": -32602, "message": "`key`: there is no key `limits.max_stps_per_turn`",
            "data": {"kind": "invalidParams", "hint": "Did you mean `limits.max_steps_per_turn`?"}})
    );
    // What the client asks for counts over its environment.
    daemon.unset("PLIMSOLL_MAX_STEPS");
    let other = Client::over(daemon.greeted("native").await, Framing::Lines);
    let asked = json!({"clientInfo": {"name": "t"}, "protocolVersion": "1.0",
        "options": {"mode": "plan", "language": "fr", "maxSteps": 11}});
    other.ok("initialize", asked).await;
    let language = other.ok("config/get", json!({"key": "language"})).await;
    assert_eq!(language["values"], json!({"language": "fr"}));
    assert_eq!(language["sources"]["language"], json!([{"layer": "client", "name": "language"}]));
    let session = other.session(&workspace).await;
    assert_eq!(info(&other, &session).await["mode"], "plan");
    let wrong = json!({"clientInfo": {"name": "t"}, "protocolVersion": "1.0", "options": {"mode": "loose"}});
    let refused = other.err("initialize", wrong).await;
    assert_eq!(
        (refused["message"].as_str(), &refused["data"]["kind"]),
        (Some("option `mode`: `loose` is not a permission mode"), &json!("invalidParams"))
    );
    let first = client.ok("config/get", json!({"key": "language"})).await;
    assert_eq!(first["values"], json!({"language": "de"}), "options are their own client's");
}

#[tokio::test]
async fn changes_are_made_one_after_the_other_and_lose_nothing() {
    let daemon = machine().configure("# mine\nlanguage = \"de\" # always\n").daemon().await;
    let path = file(daemon.machine());
    let clients = [daemon.client().await, daemon.client().await, daemon.client().await];
    let set = |client: usize, key: &str, value: Value| {
        let params = json!({"key": key, "value": value, "idempotencyKey": "k"});
        let client = &clients[client];
        async move { client.ok("config/set", params).await }
    };
    let (one, two, three) = tokio::join!(
        set(0, "limits.max_steps_per_turn", json!(7)),
        set(1, "consent.offer", json!(false)),
        set(2, "prompt.lean", json!(true)),
    );
    assert!([one, two, three].iter().all(|result| result["changed"] == true));
    let text = fs::read_to_string(&path).expect("the file");
    for part in
        ["# mine\nlanguage = \"de\" # always\n", "[limits]\nmax_steps_per_turn = 7\n", "offer = false", "lean = true"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert_eq!(set(0, "consent.offer", json!(false)).await["changed"], false);
    assert_eq!(set(0, "consent.offer", Value::Null).await["changed"], true);
    for (key, value, message) in [
        ("modle", json!("a/b"), "`key`: there is no key `modle`".to_owned()),
        ("model", json!("x/y"), format!("{}:3: `model`: there is no provider `x`. Add [providers.x]", path.display())),
        ("limits.max_steps_per_turn", json!(0), "is out of range. Write a whole number from 1 to 10000".to_owned()),
    ] {
        let before = fs::read_to_string(&path).expect("the file");
        let refused = clients[0].err("config/set", json!({"key": key, "value": value})).await;
        assert!(refused["message"].as_str().expect("a text").contains(&message), "{refused}");
        assert_eq!(fs::read_to_string(&path).expect("the file"), before);
    }
    fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).expect("a mode");
    let refused = clients[0].err("config/set", json!({"key": "language", "value": "fr"})).await;
    let expected = format!("{} is read-only; make it writable, or change it where it comes from", path.display());
    assert_eq!((refused["message"].as_str(), &refused["data"]["kind"]), (Some(&*expected), &json!("config")));
}

#[tokio::test]
async fn models_and_keys_are_listed_without_showing_one() {
    let server = ModelServer::start(Script::new([])).await;
    let configured =
        two_models(&server, "").replace("[providers.test]\n", "[providers.test]\napi_key_env = \"TEST_KEY\"\n");
    let mut daemon = machine().configure(&configured).daemon().await;
    let client = daemon.client().await;
    let list = client.ok("model/list", json!({})).await;
    let model = |id: &str, window: u64, output: u64, images: bool, key: &str| json!({"id": id, "contextWindow": window, "maxOutput": output, "images": images, "keyState": key});
    let expected = [
        model("test/scripted", 200_000, 8_192, false, "missing"),
        model("test/other", 100_000, 4_096, true, "missing"),
        model("offline/retrieval", 131_072, 4_096, false, "notNeeded"),
    ];
    assert_eq!(list, json!({"models": expected, "default": "test/scripted"}));
    daemon.set("TEST_KEY", "hush-2");
    daemon.set("ANTHROPIC_API_KEY", "hush-3");
    let client = daemon.client().await;
    let list = client.ok("model/list", json!({})).await;
    assert_eq!(list["models"][0]["keyState"], "set");
    let of_host: Vec<&Value> = list["models"].as_array().expect("models").iter().collect();
    assert!(of_host.iter().any(|model| model["id"].as_str().expect("an id").starts_with("anthropic/")), "{list}");
    let status = client.ok("auth/status", json!({})).await;
    let of = |name: &str| {
        let providers = status["providers"].as_array().expect("providers");
        providers.iter().find(|provider| provider["provider"] == name).cloned().expect("the provider")
    };
    let in_client = json!({"provider": "test", "state": "set", "source": "clientEnvironment", "variable": "TEST_KEY"});
    assert_eq!(of("test"), in_client);
    assert_eq!(of("openai"), json!({"provider": "openai", "state": "missing", "variable": "OPENAI_API_KEY"}));
    assert!(!format!("{list}{status}").contains("hush"));
    let (code, out, _) = run(daemon.machine(), &["models"]).await;
    assert_eq!(code, Some(0));
    assert!(out.starts_with("* test/scripted"), "{out}");
    assert!(out.contains("  test/other ") && out.contains("window 100000, answer 4096, images; key set\n"), "{out}");
    let (_, out, _) = run(daemon.machine(), &["models", "--json"]).await;
    let first: Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first, model("test/scripted", 200_000, 8_192, false, "set"));
}

#[tokio::test]
async fn a_key_that_a_client_gives_counts_for_its_turns_and_is_kept_nowhere() {
    let env = || Step::calls([Call::new("run_terminal_cmd", json!({"command": "env; echo end"}))]);
    let steps = vec![env(), Step::say("done"), Step::say("again")];
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon =
        machine().env("PLIMSOLL_LOG", "trace").model_with_key(&server, Api::OpenaiChat, "TEST_KEY").daemon().await;
    let workspace = Workspace::new();
    let (client, other) = (daemon.client().await, daemon.client().await);
    let project = client.ok("project/open", json!({"roots": [workspace.text()]})).await;
    let create = json!({"project": project["key"]});
    assert_eq!(client.err("session/create", create.clone()).await["data"]["kind"], "authRequired");

    let given = client.ok("auth/set", json!({"provider": "test", "key": "hush-given-7"})).await;
    assert_eq!(given, json!({"provider": "test", "state": "set", "source": "client"}));
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "look").await["stopReason"], "endTurn");
    let sent = server.requests();
    assert_eq!(sent[0].header("authorization"), Some("Bearer hush-given-7"));
    assert!(sent.iter().all(|request| !String::from_utf8_lossy(&request.body).contains("hush-given")));
    assert_eq!(other.err("session/create", create).await["data"]["kind"], "authRequired", "it is this client's");
    let refused = other.err("turn/start", json!({"session": session, "text": "x"})).await;
    assert_eq!(refused["data"]["kind"], "authRequired");

    let forgotten = client.ok("auth/set", json!({"provider": "test", "key": null})).await;
    assert_eq!(forgotten, json!({"provider": "test", "state": "missing", "variable": "TEST_KEY"}));
    let refused = client.err("turn/start", json!({"session": session, "text": "x"})).await;
    assert_eq!(refused["data"]["kind"], "authRequired");
    for (params, message) in [
        (json!({"provider": "tset", "key": "hush-given-8"}), "`provider`: there is no provider `tset`"),
        (json!({"provider": "test", "key": " "}), "`key`: is empty; null forgets the key"),
        (
            json!({"provider": "test", "key": "hush-given\n9"}),
            "`key`: is no key: it holds more than letters, digits and marks of ASCII",
        ),
        (json!({"provider": "offline", "key": "hush-given"}), "`provider`: `offline` is built in and needs no key"),
    ] {
        let refused = client.err("auth/set", params).await;
        assert_eq!((refused["message"].as_str(), &refused["data"]["kind"]), (Some(message), &json!("invalidParams")));
    }
    assert!(!daemon.machine().log().contains("hush-given"), "it is in the log");
    for folder in [daemon.machine().data(), daemon.machine().config()] {
        assert!(!holds(&folder, b"hush-given"), "it is stored");
    }
}

/// Whether a file below the folder holds these bytes.
fn holds(folder: &std::path::Path, bytes: &[u8]) -> bool {
    fs::read_dir(folder).expect("a folder").any(|entry| {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            return holds(&path, bytes);
        }
        fs::read(&path).unwrap_or_default().windows(bytes.len()).any(|part| part == bytes)
    })
}

#[tokio::test]
async fn a_session_gets_another_model_from_its_next_turn_on() {
    let gate = Gate::new();
    let steps = vec![Step::say("one").stall_before(&gate), Step::say("two"), Step::say("three"), Step::say("four")];
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon = machine().configure(&two_models(&server, "")).daemon().await;
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "one").await;
    let set = json!({"session": session, "model": "test/other", "idempotencyKey": "k"});
    assert_eq!(client.ok("session/setModel", set).await["model"], "test/other");
    gate.release();
    client.completed(&session, turn).await;
    client.turn(&session, "two").await;
    let changed = |events: &[Value]| {
        events.iter().any(|event| event["type"] == "sessionChanged" && event["info"]["model"] == "test/other")
    };
    client.wait_events("the change", changed).await;

    // A prompt brings model and mode along, for itself and what follows.
    let start = json!({"session": session, "text": "three", "model": "test/scripted", "mode": "plan"});
    let turn = client.ok("turn/start", start).await["turn"].as_u64().expect("a turn");
    client.completed(&session, turn).await;
    let now = info(&client, &session).await;
    assert_eq!((&now["model"], &now["mode"]), (&json!("test/scripted"), &json!("plan")));
    client.turn(&session, "four").await;
    let models: Vec<Value> = server.requests().iter().map(|request| request.json["model"].clone()).collect();
    assert_eq!(models, ["scripted", "other", "scripted", "scripted"]);
    let requests = client.ok("request/list", json!({"session": session})).await.to_string();
    assert_eq!(requests.matches("modelChanged").count(), 2, "{requests}");
    for (model, kind, message) in [
        ("tset/x", "config", "option `model`: there is no provider `tset`. Did you mean `test`?"),
        ("scripted", "config", "option `model`: `scripted` is not of the form provider/model."),
        ("openai/x", "authRequired", "provider `openai` has no key: the variable OPENAI_API_KEY is set neither"),
    ] {
        let refused = client.err("session/setModel", json!({"session": session, "model": model})).await;
        assert_eq!(refused["data"]["kind"], kind);
        assert!(refused["message"].as_str().expect("a text").starts_with(message), "{refused}");
        let refused = client.err("turn/start", json!({"session": session, "text": "x", "model": model})).await;
        assert_eq!(refused["data"]["kind"], kind);
    }
    let refused = client.err("turn/start", json!({"session": session, "text": "x", "mode": "loose"})).await;
    assert_eq!(refused["data"]["kind"], "invalidParams");
    assert_eq!(info(&client, &session).await["model"], "test/scripted", "what is refused changes nothing");
    server.assert_clean();
}

#[tokio::test]
async fn a_prompt_that_is_refused_as_busy_changes_nothing() {
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([Step::say("one").stall_before(&gate)])).await;
    let daemon = machine().configure(&two_models(&server, "")).daemon().await;
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "one").await;
    let start = json!({"session": session, "text": "x", "whenBusy": "refuse", "model": "test/other", "mode": "plan"});
    assert_eq!(client.err("turn/start", start).await["data"]["kind"], "busy");
    let now = info(&client, &session).await;
    assert_eq!((&now["model"], &now["mode"]), (&json!("test/scripted"), &json!("ask")));
    gate.release();
    client.completed(&session, turn).await;
}

#[tokio::test]
async fn the_command_line_shows_sets_and_checks() {
    let machine = machine().configure("# mine\nlanguage = \"de\"\n");
    let (code, out, err) = run(&machine, &["config", "get", "language"]).await;
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "de\n", "# user: FILE:2\n"));
    let (code, out, err) = run(&machine, &["config", "get", "prompt.base_prompt"]).await;
    assert_eq!((code, out.as_str(), err.as_str()), (Some(1), "", "prompt.base_prompt is not set\n"));
    let (code, _, err) = run(&machine, &["config", "get", "langage"]).await;
    assert_eq!((code, err.as_str()), (Some(1), "plimsoll: there is no key `langage`\n  Did you mean `language`?\n"));
    let (code, _, err) = run(&machine, &["config", "set", "limits.session_cost", "0.5"]).await;
    assert_eq!((code, err.as_str()), (Some(0), "written into FILE. Counts from the next turn on.\n"));
    let (code, _, err) = run(&machine, &["config", "set", "limits.session_cost", "much"]).await;
    assert_eq!(code, Some(1));
    assert_eq!(err, "plimsoll: FILE:5: `limits.session_cost`: is a text\n  Write a number from 0 to 1000000\n");
    let (code, out, _) = run(&machine, &["config", "unset", "language", "--json"]).await;
    let unset: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, unset), (Some(0), json!({"file": "FILE", "changed": true, "warnings": []})));
    assert_eq!(fs::read_to_string(file(&machine)).expect("the file"), "# mine\n\n[limits]\nsession_cost = 0.5\n");
    let (_, out, _) = run(&machine, &["config"]).await;
    assert!(out.contains("limits.session_cost = 0.5") && out.contains("# user: FILE:4\n"), "{out}");
    assert!(out.contains("language is not set") && out.contains("# built in\n"), "{out}");
    let (_, out, _) = run(&machine, &["config", "get", "limits", "--json"]).await;
    let limits: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(limits["sources"], json!({"limits.session_cost": [{"layer": "user", "file": "FILE", "line": 4}]}));
    let (_, out, _) = run(&machine, &["config", "path"]).await;
    assert_eq!(out, "FILE\n");
    let (_, out, _) = run(&machine, &["config", "schema"]).await;
    let schema: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(schema["title"], "Plimsoll configuration");
    let (code, _, err) =
        run(&machine.env("PLIMSOLL_MODE", "plan"), &["config", "set", "permissions.mode", "auto"]).await;
    assert_eq!(code, Some(0));
    assert_eq!(
        err,
        "written into FILE. Counts for new sessions; an administrator's counts for all, from the next turn on.\n\
        here something else counts: environment: PLIMSOLL_MODE\n"
    );
}

#[tokio::test]
async fn whatever_the_file_is_the_check_says_what_is_wrong() {
    let machine = machine();
    let (code, out, err) = run(&machine, &["config", "check"]).await;
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", "nothing is wrong with FILE\n"));
    for (bytes, expected_code, expected) in [
        (&b""[..], 0, String::new()),
        (
            b"model = \n",
            1,
            "error: FILE:1: not valid TOML: string values must be quoted, expected literal string. Correct this line\n"
                .to_owned(),
        ),
        (b"\xff\xfe", 1, "error: FILE: is not UTF-8. Save it as UTF-8\n".to_owned()),
        (b"modle = \"a/b\"\n", 0, "warning: FILE:1: `modle`: unknown key, ignored; did you mean `model`?\n".to_owned()),
        (
            b"\n[limits]\nsession_cost = -1\n",
            1,
            "error: FILE:3: `limits.session_cost`: the number is out of range. Write a number from 0 to 1000000\n"
                .to_owned(),
        ),
    ] {
        fs::write(file(&machine), bytes).expect("written");
        let (code, out, _) = run(&machine, &["config", "check"]).await;
        assert_eq!((code, out), (Some(expected_code), expected));
    }
    let (code, out, _) = run(&machine, &["config", "check", "--json"]).await;
    let found: Value = serde_json::from_str(&out).expect("JSON");
    let error = json!({"place": "FILE:3: `limits.session_cost`", "problem": "the number is out of range",
        "fix": "Write a number from 0 to 1000000"});
    assert_eq!((code, found), (Some(1), json!({"errors": [error], "warnings": []})));
    fs::remove_file(file(&machine)).expect("removed");
    fs::create_dir(file(&machine)).expect("a folder");
    let (code, out, _) = run(&machine, &["config", "check"]).await;
    assert_eq!(
        (code, out.as_str()),
        (Some(1), "error: FILE: is not a file. Make it a readable text file, or remove it\n")
    );
}

#[tokio::test]
async fn ask_goes_on_with_another_model_and_mode() {
    let server = ModelServer::start(Script::new([Step::say("one"), Step::say("two")])).await;
    let daemon: TestDaemon = machine().configure(&two_models(&server, "")).daemon().await;
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let session = client.session(&workspace).await;
    client.turn(&session, "one").await;
    let arguments = ["ask", "--session", &session, "--model", "test/other", "--mode", "plan", "two"];
    let (code, out, err) = run(daemon.machine(), &arguments).await;
    assert_eq!((code, out.as_str()), (Some(0), "two\n"), "{err}");
    let now = info(&client, &session).await;
    assert_eq!((&now["model"], &now["mode"]), (&json!("test/other"), &json!("plan")));
}
