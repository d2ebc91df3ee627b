//! What users get wrong: the network, the key, the configuration, the folder. Each gets an error that names the fix; the
//! daemon lives on, and once it is put right the same session works.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

over_both_apis! { a_refused_key a_failure_that_passes }

async fn a_refused_key(api: Api) {
    let (workspace, machine) = (Workspace::new(), Machine::new(plimsoll_tests::binary!()));
    let message = json!({"type": "error", "error": {"type": "authentication_error", "message": "bad key sk-1234"}});
    let server = ModelServer::start(Script::new([Step::error(401, message), Step::say("Yes.")])).await;
    let daemon = machine.env("TEST_KEY", "sk-wrong").model_with_key(&server, api, "TEST_KEY").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let end = client.turn(&session, "hello").await;
    assert_eq!(end["stopReason"], "modelError");
    let text = end["message"].as_str().expect("a message");
    assert!(text.contains("TEST_KEY") && !text.contains("sk-wrong"), "{text}");
    assert_eq!(
        told(&client.events(), 0),
        [
            "session changed",
            "turn 1",
            "user \"hello\"",
            "step 1",
            "step 1 answered",
            "notice modelError",
            "turn 1 ends: modelError"
        ]
    );
    assert_eq!(server.requests().len(), 1, "a wrong key is not tried again");
    assert_eq!(client.turn(&session, "hello again").await["stopReason"], "endTurn");
    server.assert_clean();
}

async fn a_failure_that_passes(api: Api) {
    let workspace = Workspace::new();
    let busy = json!({"type": "error", "error": {"type": "overloaded_error", "message": "too busy"}});
    let server = ModelServer::start(Script::new([
        Step::error(529, busy.clone()).header("retry-after", "0"),
        Step::error(503, busy).header("retry-after-ms", "1"),
        Step::say("Yes."),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "hello").await["stopReason"], "endTurn");
    assert_eq!(
        told(&client.events(), 0),
        [
            "session changed",
            "turn 1",
            "user \"hello\"",
            "step 1",
            "notice retry",
            "notice retry",
            "text \"Yes.\"",
            "step 1 answered",
            "turn 1 ends: endTurn",
        ]
    );
    let bodies: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!((&bodies[0], &bodies[1]), (&bodies[1], &bodies[2]), "the same bytes each time");
    server.assert_clean();
}

/// The one test that takes the real pauses: the first two of them, then the user has enough.
#[tokio::test]
async fn a_server_that_is_not_there_is_named_and_tried_again() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::default()).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let address = server.addr().to_string();
    drop(server);
    let daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "hello").await;
    let notices = |events: &[Value]| -> Vec<String> {
        let items = events.iter().filter(|event| event["item"]["kind"] == "notice");
        items.map(|event| event["item"]["text"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let events = client.wait_events("two notices", |events| notices(events).len() == 2).await;
    let text = notices(&events).remove(0);
    assert!(text.contains(&address) && text.contains("again in 1 s"), "{text}");
    let begun = Instant::now();
    client.ok("turn/cancel", json!({"session": session})).await;
    assert_eq!(client.completed(&session, turn).await["stopReason"], "cancelled");
    assert!(begun.elapsed() < Duration::from_secs(1), "an interrupt does not wait for the pause");
}

async fn with_config(machine: Machine, text: &str) -> (TestDaemon, Client, Workspace, Value) {
    let daemon = machine.configure(text).daemon().await;
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let project = client.ok("project/open", json!({"roots": [workspace.text()]})).await;
    let key = project["key"].clone();
    (daemon, client, workspace, key)
}

#[tokio::test]
async fn a_missing_key_is_told_when_the_session_is_made() {
    let config = "model = \"test/m\"\n[providers.test]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
                  api_key_env = \"MY_PROVIDER_KEY\"\n[providers.test.models.m]\ncontext_window = 100000\n";
    let (_daemon, client, _workspace, project) = with_config(Machine::new(plimsoll_tests::binary!()), config).await;
    let error = client.err("session/create", json!({"project": project})).await;
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32027), &json!("authRequired")));
    let whole = error.to_string();
    assert!(whole.contains("MY_PROVIDER_KEY"), "{whole}");
    assert!(!error["data"]["hint"].is_null(), "{whole}");
}

#[tokio::test]
async fn a_broken_configuration_is_told_with_its_line_and_read_again() {
    let broken = "model = \"offline/retrieval\"\n\n[permissions]\nmode = \"sometimes\"\n";
    let (daemon, client, _workspace, project) = with_config(Machine::new(plimsoll_tests::binary!()), broken).await;
    let file = daemon.machine().config().join("config.toml");
    let error = client.err("session/create", json!({"project": project})).await;
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32026), &json!("config")));
    let whole = error.to_string();
    for part in [file.to_str().expect("a plain name"), ":4", "mode", "sometimes"] {
        assert!(whole.contains(part), "no {part:?} in {whole}");
    }
    std::fs::write(&file, "model = \n").expect("a configuration");
    let error = client.err("session/create", json!({"project": project})).await;
    assert_eq!(error["data"]["kind"], "config");
    std::fs::write(&file, broken.replace("sometimes", "full")).expect("a configuration");
    let session = client.ok("session/create", json!({"project": project})).await;
    assert_eq!(session["mode"], "full");
    // It breaks again: a prompt is refused, the session is not harmed.
    std::fs::write(&file, broken).expect("a configuration");
    let prompt = json!({"session": session["id"], "text": "hello"});
    assert_eq!(client.err("turn/start", prompt.clone()).await["data"]["kind"], "config");
    std::fs::write(&file, broken.replace("sometimes", "full")).expect("a configuration");
    assert_eq!(client.ok("turn/start", prompt).await["turn"], 1);
}

#[tokio::test]
async fn a_workspace_that_is_gone_is_told_and_others_work() {
    let outer = Workspace::new().file("w1/a.txt", "alpha\n").file("w2/a.txt", "alpha\n");
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("read_file", json!({"target_file": "a.txt"}))]),
        Step::say("It is gone."),
        Step::say("Yes."),
        Step::say("It is back."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let session = async |client: &Client, name: &str| {
        let project = client.ok("project/open", json!({"roots": [format!("{}/{name}", outer.text())]})).await;
        let session = client.ok("session/create", json!({"project": project["key"]})).await;
        let id = session["id"].as_str().expect("an id").to_owned();
        client.attach(&id, 0).await;
        id
    };
    let (first, second) = (session(&client, "w1").await, session(&client, "w2").await);
    let root = outer.path().join("w1");
    assert_eq!(client.turn(&first, "read it").await["stopReason"], "endTurn");
    let aside = outer.path().join("moved");
    std::fs::rename(&root, &aside).expect("a rename");
    let prompt = json!({"session": first, "text": "and now?"});
    let error = client.err("turn/start", prompt.clone()).await;
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32021), &json!("workspaceMissing")));
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("workspace missing") && message.contains(root.to_str().expect("plain")), "{message}");
    assert_eq!(client.turn(&second, "and you?").await["stopReason"], "endTurn");

    daemon.kill9().await;
    daemon.restart().await;
    let client = daemon.client().await;
    let listed = client.ok("session/list", json!({})).await;
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(2));
    assert_eq!(client.err("turn/start", prompt).await["data"]["kind"], "workspaceMissing");
    let page = client.ok("transcript/read", json!({"session": first})).await;
    assert_eq!(page["last"], 4);
    std::fs::rename(&aside, &root).expect("a rename");
    client.attach(&first, 0).await;
    assert_eq!(client.turn(&first, "and now?").await["stopReason"], "endTurn");
    server.assert_clean();
}

/// The folder goes away while the turn runs: the tools say so, and the turn goes on to its end.
#[tokio::test]
async fn tools_say_that_the_workspace_is_gone() {
    let outer = Workspace::new().file("w1/a.txt", "alpha\n");
    let root = outer.path().join("w1");
    let gate = plimsoll_tests::model_server::Gate::new();
    let calls = [
        Call::new("read_file", json!({"target_file": "a.txt"})),
        Call::new("list_dir", json!({"target_directory": "."})),
        Call::new("glob_file_search", json!({"glob_pattern": "*"})),
        Call::new("grep", json!({"pattern": "alpha"})),
        Call::new("run_terminal_cmd", json!({"command": "pwd"})),
    ];
    let step = calls.into_iter().fold(Step::empty().stall(&gate), Step::call);
    let server = ModelServer::start(Script::new([step, Step::say("It is gone.")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let project = client.ok("project/open", json!({"roots": [root.to_str()]})).await;
    let session = client.ok("session/create", json!({"project": project["key"]})).await;
    let session = session["id"].as_str().expect("an id");
    client.attach(session, 0).await;
    let turn = client.start(session, "look").await;
    gate.reached().await;
    std::fs::remove_dir_all(&root).expect("the folder goes");
    gate.release();
    assert_eq!(client.completed(session, turn).await["stopReason"], "endTurn");
    let results = server.requests()[1].results();
    assert_eq!(results.len(), 5);
    for (call, text) in results {
        assert!(text.contains("workspace missing") && text.contains(root.to_str().expect("plain")), "{call}: {text}");
    }
    server.assert_clean();
}

#[tokio::test]
async fn a_daemon_outlives_the_folder_it_was_started_in() {
    let outer = Workspace::new().file("w1/a.txt", "alpha\n");
    let root = outer.path().join("w1");
    let machine = Machine::new(plimsoll_tests::binary!());
    let mut ask = machine.command(&root, &["ask", "where is alpha?"]);
    let output = plimsoll_tests::in_time("the command", ask.stdin(std::process::Stdio::null()).output()).await;
    assert_eq!(output.expect("it runs").status.code(), Some(0));
    let pid = machine.daemon_pid().expect("it runs");
    std::fs::remove_dir_all(&root).expect("the folder goes");
    let other = Workspace::new().file("b.txt", "beta\n");
    let mut ask = machine.command(other.path(), &["ask", "where is beta?"]);
    let output = plimsoll_tests::in_time("the command", ask.stdin(std::process::Stdio::null()).output()).await;
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("b.txt"), "{output:?}");
    assert_eq!(machine.daemon_pid(), Some(pid));
}

// Case H05.
#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_not_touched() {
    let workspace = Workspace::new();
    let mut daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "where is it?").await["stopReason"], "endTurn");
    let project = client.ok("session/get", json!({"session": session})).await["project"].clone();
    daemon.stop().await;
    let project = project.as_str().expect("a key");
    let folder = daemon.machine().data().join("projects").join(project);
    let file = std::fs::read_dir(&folder)
        .expect("the project's folder")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "db"))
        .expect("a database");
    let version = newer(&file);
    let before = std::fs::read(&file).expect("the database");
    daemon.restart().await;
    let client = daemon.client().await;
    let error = client.err("session/attach", json!({"session": session})).await;
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32025), &json!("newerStore")));
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains(&version.to_string()) && message.contains(&(version - 1).to_string()),
        "both versions: {message}"
    );
    // Another project works beside it.
    let other = Workspace::new();
    let working = client.session(&other).await;
    assert_eq!(client.turn(&working, "where is it?").await["stopReason"], "endTurn");
    daemon.stop().await;
    assert_eq!(std::fs::read(&file).expect("the database"), before);
}

/// Makes a database claim the next version, with a column that this build does not know; gives that version.
fn newer(file: &std::path::Path) -> i64 {
    let connection = rusqlite::Connection::open(file).expect("a database");
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a version");
    connection.pragma_update(None, "user_version", version + 1).expect("another version");
    connection.execute("ALTER TABLE project ADD COLUMN later TEXT", []).expect("another column");
    version + 1
}

#[tokio::test]
async fn a_users_database_of_a_newer_version_keeps_the_daemon_from_starting() {
    let mut daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    daemon.stop().await;
    let file = daemon.machine().data().join("user.db");
    let version = newer(&file);
    let before = std::fs::read(&file).expect("the database");
    let mut again = daemon.machine().command(std::path::Path::new("/"), &["status"]);
    assert_eq!(again.output().await.expect("it runs").status.code(), Some(3));
    let mut ask = daemon.machine().command(std::path::Path::new("/"), &["sessions", "--all"]);
    let output = plimsoll_tests::in_time("the command", ask.output()).await.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("user.db") && said.contains(&version.to_string()) && said.contains(&(version - 1).to_string()),
        "{said}"
    );
    assert_eq!(std::fs::read(&file).expect("the database"), before);
}
