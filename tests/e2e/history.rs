//! Whole conversations: forked, taken back, written as text and read again.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use plimsoll_tests::{in_time, over_both_apis};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

over_both_apis! { a_fork_goes_on_with_what_was_sent a_conversation_goes_back_and_files_stay }

/// A body without its cache marks, up to the end of its last message.
fn sent(server: &ModelServer, at: usize) -> String {
    let body = server.requests()[at].body.clone();
    let text = String::from_utf8_lossy(&body).replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    text.strip_suffix("]}").expect("messages come last").to_owned()
}

fn last(server: &ModelServer) -> String {
    sent(server, server.requests().len() - 1)
}

async fn items(client: &Client, session: &str) -> Vec<Value> {
    let page = client.ok("transcript/read", json!({"session": session, "after": 0, "limit": 1000})).await;
    page["items"].as_array().expect("items").clone()
}

/// The number of the item with this text.
fn said(items: &[Value], text: &str) -> u64 {
    let found = items.iter().find(|item| item["text"] == text).expect("an item with the text");
    found["no"].as_u64().expect("a number")
}

/// The file that a result names.
fn named(items: &[Value]) -> PathBuf {
    let text = items.iter().find_map(|item| item["text"].as_str().filter(|text| text.contains("/artifacts/c1.")));
    let text = text.expect("a result that names a file");
    let end = text.find("/artifacts/c1.").expect("the name") + "/artifacts/c1.".len() + 3;
    let begin = text[..end].rfind(|c: char| c.is_whitespace() || "`(\"".contains(c)).map_or(0, |at| at + 1);
    PathBuf::from(&text[begin..end])
}

async fn a_fork_goes_on_with_what_was_sent(api: Api) {
    let workspace = Workspace::new().file("a.txt", "zero\n");
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("run_terminal_cmd", json!({"command": "seq 1 40000"}))]),
        Step::say("Counted."),
        Step::say("Second."),
        Step::say("In the fork."),
        Step::say("In the fork again."),
        Step::empty().text("Slow ").stall(&gate).text("one."),
        Step::say("In the fork of the running one."),
        Step::say("Without its parent."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "Count").await;
    client.turn(&session, "And now?").await;
    let all = items(&client, &session).await;
    let counted = said(&all, "Counted.");
    // The prompt behind it is not parted from its answer: the end before it is taken.
    let params = json!({"session": session, "item": counted + 1, "idempotencyKey": "k"});
    let fork = client.ok("session/fork", params.clone()).await;
    assert_eq!(fork["forkedFrom"], json!({"session": session, "item": counted}));
    assert_eq!((&fork["title"], &fork["state"]), (&json!("Count (fork)"), &json!("idle")));
    assert_eq!(client.ok("session/fork", params).await["id"], fork["id"], "the same key again");
    let fork = fork["id"].as_str().expect("an id").to_owned();
    assert_eq!(items(&client, &fork).await, all[..usize::try_from(counted).expect("a number")]);
    let ops = client.ok("checkpoint/list", json!({"session": fork})).await;
    assert_eq!(ops["turns"], json!([]), "what the parent did is undone there");

    // It goes on where the parent's second request ended, also when the daemon has died.
    daemon.kill9().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&fork, 0).await;
    client.turn(&fork, "Otherwise").await;
    let first = last(&server);
    assert!(first.starts_with(&sent(&server, 1)), "not a continuation:\n{first}");
    assert!(first.contains("Otherwise") && !first.contains("And now?"));
    client.turn(&fork, "More").await;
    let listed = client.ok("request/list", json!({"session": fork})).await;
    let listed = listed["requests"].as_array().expect("requests").clone();
    assert!(listed.iter().all(|request| request["break"].is_null()), "{listed:#?}");

    // Of a running turn nothing is shared that is not settled.
    client.attach(&session, 0).await;
    let turn = client.start(&session, "Slowly").await;
    gate.reached().await;
    let second = client.ok("session/fork", json!({"session": session, "title": "Another"})).await;
    assert_eq!(second["forkedFrom"]["item"], said(&all, "Second."));
    assert_eq!(second["title"], "Another");
    let second = second["id"].as_str().expect("an id").to_owned();
    client.attach(&second, 0).await;
    client.turn(&second, "Quickly").await;
    assert!(last(&server).starts_with(&sent(&server, 2)));
    gate.release();
    client.completed(&session, turn).await;

    // What a shared result names is there as long as a session says so.
    let file = named(&items(&client, &fork).await);
    assert!(file.starts_with(daemon.machine().data()) && file.exists(), "{}", file.display());
    client.ok("session/delete", json!({"session": session})).await;
    assert!(file.exists());
    client.turn(&fork, "And alone?").await;
    let third = client.ok("session/fork", json!({"session": fork})).await["id"].as_str().expect("an id").to_owned();
    for gone in [&fork, &second] {
        client.ok("session/delete", json!({"session": gone})).await;
        assert!(file.exists());
    }
    daemon.stop().await;
    daemon.restart().await;
    let client = daemon.client().await;
    assert!(file.exists());
    client.ok("session/delete", json!({"session": third})).await;
    assert!(!file.exists());
    let folder = file.ancestors().nth(2).expect("a session's folder");
    assert!(!folder.exists(), "nothing of the session is left");
    let error = client.err("session/fork", json!({"session": third})).await;
    assert_eq!(error["data"]["kind"], "notFound");
    server.assert_clean();
}

async fn rewind(client: &Client, session: &str, turn: u64) -> Value {
    client.ok("session/rewind", json!({"session": session, "turn": turn})).await
}

async fn a_conversation_goes_back_and_files_stay(api: Api) {
    let workspace = Workspace::new();
    let gate = Gate::new();
    let write = Call::new("write", json!({"file_path": "made.txt", "contents": "made\n"}));
    let server = ModelServer::start(Script::new([
        Step::say("First."),
        Step::calls([write]),
        Step::say("Second."),
        Step::empty().text("Third").stall(&gate).text("."),
        Step::say("Fourth."),
        Step::say("Fifth."),
        Step::say("Sixth."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "prompt-one").await;
    client.turn(&session, "prompt-two").await;
    let turn = client.start(&session, "prompt-three").await;
    gate.reached().await;
    let busy = client.err("session/rewind", json!({"session": session, "turn": 2})).await;
    assert_eq!(busy["data"]["kind"], "busy");
    gate.release();
    client.completed(&session, turn).await;

    let before = items(&client, &session).await;
    assert!(before.iter().all(|item| item["outOfView"].is_null()));
    rewind(&client, &session, 2).await;
    let rewound = |event: &Value| event["item"]["kind"] == "rewind";
    let events = client.wait_events("the rewind", |events| events.iter().any(rewound)).await;
    let event = events.iter().find(|event| rewound(event)).expect("the event");
    assert_eq!(event["item"]["before"], 2);
    let after = items(&client, &session).await;
    assert_eq!(after.len(), before.len() + 1, "everything is still there");
    for item in after.iter().filter(|item| item["kind"] != "rewind") {
        assert_eq!(item["outOfView"] == true, item["turn"].as_u64() >= Some(2), "{item}");
    }
    assert_eq!(workspace.read("made.txt").as_deref(), Some("made\n"), "files stay");
    let gone = client.err("session/rewind", json!({"session": session, "turn": 3})).await;
    assert_eq!(gone["data"]["kind"], "notFound");

    daemon.kill9().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    assert_eq!(items(&client, &session).await, after);
    client.turn(&session, "prompt-four").await;
    let body = last(&server);
    assert!(body.starts_with(&sent(&server, 0)), "not a continuation:\n{body}");
    for (text, there) in [("prompt-one", true), ("First.", true), ("prompt-two", false), ("prompt-three", false)] {
        assert_eq!(body.contains(text), there, "{text} in {body}");
    }
    client.turn(&session, "prompt-five").await;
    assert!(last(&server).starts_with(&body));
    let listed = client.ok("request/list", json!({"session": session})).await;
    let broke = listed["requests"].as_array().expect("requests").iter().filter(|request| !request["break"].is_null());
    let causes: Vec<&Value> = broke.map(|request| &request["break"]["cause"]).collect();
    assert_eq!(causes, ["rewind"]);

    // Before the point of the first.
    rewind(&client, &session, 1).await;
    client.turn(&session, "prompt-six").await;
    let body = last(&server);
    assert!(body.contains("prompt-six") && !body.contains("prompt-one") && !body.contains("prompt-five"));
    server.assert_clean();
}

#[tokio::test]
async fn a_conversation_goes_back_with_its_files() {
    let workspace = Workspace::new().file("a.txt", "a0\n");
    let write = |path: &str, text: &str| Call::new("write", json!({"file_path": path, "contents": text}));
    let replace = |old: &str, new: &str| {
        Call::new("string_replace", json!({"file_path": "a.txt", "old_string": old, "new_string": new}))
    };
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("read_file", json!({"target_file": "a.txt"}))]),
        Step::say("First."),
        Step::calls([replace("a0", "a1"), write("made.txt", "made\n")]),
        Step::say("Second."),
        Step::calls([replace("a1", "a2"), write("more/b.txt", "b\n")]),
        Step::say("Third."),
        Step::say("Fourth."),
    ]))
    .await;
    let (mut daemon, client, session) = begun(Api::OpenaiChat, &workspace, &server).await;
    for prompt in ["prompt-one", "prompt-two", "prompt-three"] {
        client.turn(&session, prompt).await;
    }
    let disk = || ["a.txt", "made.txt", "more/b.txt"].map(|name| workspace.read(name).unwrap_or_default());
    workspace.write("made.txt", "mine\n");
    let before = items(&client, &session).await;
    let params = |extra: Value| {
        let mut params = json!({"session": session, "turn": 2});
        params.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        params
    };

    // Somebody else's change stops it as a whole.
    let refused = client.err("session/rewind", params(json!({"files": true, "idempotencyKey": "k"}))).await;
    assert_eq!(refused["data"]["kind"], "conflict");
    let message = refused["message"].as_str().expect("a message");
    assert!(message.contains("nothing was changed") && message.contains("made.txt: changed since by"), "{message}");
    assert!(!message.contains("a.txt"), "{message}");
    assert_eq!(disk(), ["a2\n", "mine\n", "b\n"]);
    assert_eq!(items(&client, &session).await, before);
    let wrong = client.err("session/rewind", params(json!({"skip": true}))).await;
    assert_eq!(wrong["data"]["kind"], "invalidParams");
    let gone = json!({"session": session, "turn": 9, "files": true});
    assert_eq!(client.err("session/rewind", gone).await["data"]["kind"], "notFound");
    let command = ["rewind", session.as_str(), "2", "--files", "-y"];
    let (code, _, said) = run(daemon.machine(), workspace.path(), &command).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("blocked     made.txt") && said.contains("--skip"), "{said}");
    assert_eq!((disk(), items(&client, &session).await), (["a2\n", "mine\n", "b\n"].map(str::to_owned), before));

    // Left out, the others go back, and the key makes it one deed.
    let skip = params(json!({"files": true, "skip": true, "idempotencyKey": "k"}));
    client.ok("session/rewind", skip.clone()).await;
    assert_eq!(disk(), ["a0\n", "mine\n", ""]);
    let after = items(&client, &session).await;
    assert_eq!(after.last().map(|item| &item["kind"]), Some(&json!("rewind")));
    client.ok("session/rewind", skip).await;
    assert_eq!(items(&client, &session).await, after);
    for item in after.iter().filter(|item| item["kind"] != "rewind") {
        assert_eq!(item["outOfView"] == true, item["turn"].as_u64() >= Some(2), "{item}");
    }
    daemon.kill9().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    client.turn(&session, "prompt-four").await;
    let body = last(&server);
    assert!(body.contains("prompt-one") && body.contains("prompt-four") && !body.contains("prompt-two"), "{body}");
    server.assert_clean();
}

#[tokio::test]
async fn a_rewind_that_was_cut_after_the_undo_goes_on_from_there() {
    let workspace = Workspace::new();
    let write = Call::new("write", json!({"file_path": "made.txt", "contents": "made\n"}));
    let steps = [Step::calls([write]), Step::say("Made."), Step::say("Nothing to undo.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let (mut daemon, client, session) = begun(Api::AnthropicMessages, &workspace, &server).await;
    client.turn(&session, "Make it").await;
    client.turn(&session, "And?").await;
    client.ok("checkpoint/restore", json!({"session": session, "from": 1})).await;
    daemon.kill9().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    client.ok("session/rewind", json!({"session": session, "turn": 1, "files": true})).await;
    assert_eq!(workspace.read("made.txt"), None);
    assert_eq!(items(&client, &session).await.last().map(|item| item["kind"].clone()), Some(json!("rewind")));
    // Turns that wrote nothing go back all the same.
    let (code, _, said) = run(daemon.machine(), workspace.path(), &["rewind", &session, "2", "--files", "-y"]).await;
    assert_eq!(code, Some(1), "that turn has left the view: {said}");
    server.assert_clean();
}

/// Runs a command and gives what it printed.
async fn run(machine: &Machine, cwd: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = in_time("a command", machine.command(cwd, arguments).output()).await.expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

async fn exported(client: &Client, session: &str, format: &str, limit: u64) -> String {
    let (mut text, mut offset) = (String::new(), 0);
    loop {
        let params = json!({"session": session, "format": format, "offset": offset, "limit": limit});
        let page = client.ok("session/export", params).await;
        let part = page["text"].as_str().expect("text");
        assert_eq!((page["offset"].as_u64(), page["bytes"].as_u64()), (Some(offset), Some(part.len() as u64)));
        text.push_str(part);
        match page["nextOffset"].as_u64() {
            Some(next) => offset = next,
            None => return text,
        }
    }
}

async fn begun(api: Api, workspace: &Workspace, server: &ModelServer) -> (TestDaemon, Client, String) {
    let daemon = Machine::new(plimsoll_tests::binary!()).model(server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(workspace).await;
    (daemon, client, session)
}

#[tokio::test]
async fn an_export_becomes_the_same_session_on_another_machine() {
    let workspace = Workspace::new().file("a.txt", "zero ` \u{20ac}\n");
    let server = ModelServer::start(Script::new([
        Step::calls([
            Call::new("read_file", json!({"target_file": "a.txt"})),
            Call::new("run_terminal_cmd", json!({"command": "seq 1 40000"})),
        ]),
        Step::say("```\nDone\n```"),
        Step::say("Second."),
        Step::say("Third."),
        Step::say("There."),
    ]))
    .await;
    let (daemon, client, session) = begun(Api::OpenaiChat, &workspace, &server).await;
    client.turn(&session, "Look </details>").await;
    client.turn(&session, "prompt-two").await;
    rewind(&client, &session, 2).await;
    client.turn(&session, "prompt-three").await;

    let whole = exported(&client, &session, "jsonl", 4_194_304).await;
    assert_eq!(exported(&client, &session, "jsonl", 777).await, whole);
    let numbers: Vec<u64> = whole
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["no"].as_u64().expect("a number"))
        .collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "in the order in which they came");
    let file = workspace.path().join("talk.jsonl");
    let path = file.to_str().expect("a path").to_owned();
    let machine = daemon.machine();
    let (code, out, _) = run(machine, workspace.path(), &["export", &session, "-o", &path, "--json"]).await;
    assert_eq!(
        (code, serde_json::from_str::<Value>(&out).expect("JSON")["bytes"].as_u64()),
        (Some(0), Some(whole.len() as u64))
    );
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), whole);
    let (code, markdown, _) = run(machine, workspace.path(), &["export", &session, "--format", "markdown"]).await;
    assert_eq!((code, markdown.as_str()), (Some(0), exported(&client, &session, "markdown", 100).await.as_str()));
    for part in
        ["# Look", "> Look </details>", "## Turn 2 (out of the model's view", "<details><summary>c1 read_file: ok"]
    {
        assert!(markdown.contains(part), "{part} in {markdown}");
    }

    let elsewhere = Workspace::new();
    let (other, there, _) = begun(Api::OpenaiChat, &elsewhere, &server).await;
    let (code, out, complaint) = run(other.machine(), elsewhere.path(), &["import", &path, "--json"]).await;
    assert_eq!(code, Some(0), "{complaint}");
    let made: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(made["importedFrom"], json!({"session": session, "item": numbers.len()}));
    assert_eq!(made["mode"], "full", "the configuration's");
    let id = made["id"].as_str().expect("an id").to_owned();
    let again = exported(&there, &id, "jsonl", 1_048_576).await;
    let folder = |text: &str| {
        let head: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        head["session"]["folder"].as_str().expect("a folder").to_owned()
    };
    let without_ids = |text: &str, id: &str| text.replace(&folder(text), "FOLDER").replace(id, "ID");
    // Logs are no part of an export: their old names stay.
    let again = without_ids(&again, &id).replace(&folder(&whole), "FOLDER");
    assert!(again == without_ids(&whole, &session), "{again}");
    // It is gone on with like any other.
    there.attach(&id, 0).await;
    there.turn(&id, "prompt-four").await;
    let body = last(&server);
    assert!(body.contains("prompt-three") && !body.contains("prompt-two") && body.contains("prompt-four"), "{body}");

    let before = there.ok("session/list", json!({})).await;
    let project = made["project"].clone();
    let lines: Vec<&str> = whole.lines().collect();
    for (data, complaint) in [
        (String::new(), "line 1: the export is empty".to_owned()),
        ("{}".to_owned(), "line 1: it does not say".to_owned()),
        (lines[0].replace("\"version\":1", "\"version\":2"), "line 1: the export has version 2".to_owned()),
        (lines[..3].join("\n"), "line 3: the export ends after item 2".to_owned()),
        (format!("{}\n{{\n", lines[0]), "line 2: it is no item".to_owned()),
        (format!("{}\n{}", lines[0], lines[2]), "line 2: item 2 stands where item 1 belongs".to_owned()),
        (whole.replace("\"kind\":\"tool_call\"", "\"kind\":\"riddle\""), "unknown kind `riddle`".to_owned()),
    ] {
        let error = there.err("session/import", json!({"project": project, "data": data})).await;
        assert_eq!(error["data"]["kind"], "invalidParams");
        assert!(error["message"].as_str().expect("a message").contains(&complaint), "{complaint}: {error}");
    }
    let after = there.ok("session/list", json!({})).await;
    assert_eq!(after, before, "nothing is imported by half");
    server.assert_clean();
}

#[tokio::test]
async fn commands_fork_and_go_back() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([Step::say("First."), Step::say("Second.")])).await;
    let (daemon, client, session) = begun(Api::OpenaiChat, &workspace, &server).await;
    client.turn(&session, "one").await;
    client.turn(&session, "two").await;
    let machine = daemon.machine();
    let (code, out, note) = run(machine, workspace.path(), &["fork"]).await;
    assert_eq!(code, Some(0), "{note}");
    let fork = client.ok("session/get", json!({"session": out.trim()})).await;
    assert_eq!(fork["forkedFrom"]["session"], session);
    assert!(note.contains("shares the items up to"), "{note}");
    let (code, out, _) = run(machine, workspace.path(), &["fork", &session, "--item", "1", "--json"]).await;
    let made: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &made["forkedFrom"]["item"]), (Some(0), &json!(0)));
    let (code, ..) = run(machine, workspace.path(), &["fork", &session, "--item", "999"]).await;
    assert_eq!(code, Some(1));
    let (code, _, note) = run(machine, workspace.path(), &["rewind", &session, "2"]).await;
    assert_eq!(code, Some(3), "nobody can be asked: {note}");
    let (code, out, _) = run(machine, workspace.path(), &["rewind", &session, "2", "-y", "--json"]).await;
    assert_eq!(code, Some(0));
    assert_eq!(serde_json::from_str::<Value>(&out).expect("JSON")["id"], session);
    let (code, out, _) = run(machine, workspace.path(), &["show", &session]).await;
    assert!(code == Some(0) && out.contains("went back to before turn 2"), "{out}");
}
