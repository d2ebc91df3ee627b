//! The inspector accounts for every byte of the next request, and what it says is what is then sent. Looking changes
//! nothing.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step, Usage};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

over_both_apis! {
    every_byte_of_the_next_request_has_an_origin
    a_preview_is_what_is_then_sent
    looking_changes_nothing
    while_a_turn_runs_the_last_request_is_shown
}

struct Talk {
    daemon: TestDaemon,
    server: ModelServer,
    workspace: Workspace,
    client: Client,
    session: String,
}

impl Talk {
    async fn begin(api: Api, steps: Vec<Step>) -> Self {
        let workspace = Workspace::new().file("a.txt", "alpha\n").file("AGENTS.md", "Be brief.\n").git();
        let server = ModelServer::start(Script::new(steps)).await;
        let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        Self { daemon, server, workspace, client, session }
    }

    async fn inspect(&self) -> Value {
        self.client.ok("context/inspect", json!({"session": self.session})).await
    }

    /// Standard output of a command in the workspace.
    async fn print(&self, arguments: &[&str]) -> String {
        let output = self.daemon.machine().command(self.workspace.path(), arguments).output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn reading() -> Step {
    let read = |path: &str| Call::new("read_file", json!({"target_file": path}));
    Step::say("I look.").call(read("a.txt")).call(read("AGENTS.md"))
}

/// All parts of an inspection, each as its layer, its origin and its name.
fn parts(inspection: &Value) -> Vec<(u64, String, Value)> {
    let layers = inspection["layers"].as_array().unwrap();
    let of = |layer: &Value| {
        let no = layer["layer"].as_u64().unwrap();
        let parts = layer["parts"].as_array().unwrap().clone();
        parts.into_iter().map(move |part| (no, part["origin"].as_str().unwrap().to_owned(), part))
    };
    layers.iter().flat_map(of).collect()
}

fn assert_whole(inspection: &Value) {
    let sum: u64 = parts(inspection).iter().map(|(.., part)| part["bytes"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), inspection["bytes"].as_u64());
    let layers: u64 = inspection["layers"].as_array().unwrap().iter().map(|l| l["bytes"].as_u64().unwrap()).sum();
    assert_eq!(layers, sum);
}

async fn every_byte_of_the_next_request_has_an_origin(api: Api) {
    let talk = Talk::begin(api, vec![reading(), Step::say("Done.")]).await;
    let first = talk.inspect().await;
    assert_whole(&first);
    assert_eq!((first["of"].as_str(), first["opens"].as_str()), (Some("next"), Some("sessionStart")));
    assert_eq!(talk.client.turn(&talk.session, "look").await["stopReason"], "endTurn");
    let next = talk.inspect().await;
    assert_whole(&next);
    assert_eq!(next["opens"], Value::Null);
    let found = parts(&next);
    let some = |layer: u64, origin: &str, name: Option<&str>| {
        let of = |(no, word, part): &&(u64, String, Value)| {
            *no == layer && word == origin && name.is_none_or(|name| part["name"] == name)
        };
        found.iter().find(of).unwrap_or_else(|| panic!("{layer} {origin} {name:?} in {found:#?}")).2.clone()
    };
    some(1, "tool", Some("read_file"));
    some(2, "static", None);
    some(3, "block", Some("project_layout"));
    let agents = some(4, "block", Some("project_instructions"));
    assert!(agents["path"].as_str().unwrap().ends_with("AGENTS.md"), "{agents}");
    some(6, "answer", None);
    some(6, "call", Some("c2"));
    let result = some(6, "result", Some("c1"));
    let item = result["items"][0]["first"].as_u64().unwrap();
    let read = talk.client.ok("transcript/read", json!({"session": talk.session, "after": item - 1, "limit": 1})).await;
    assert_eq!(
        (read["items"][0]["kind"].as_str(), read["items"][0]["call"].as_str()),
        (Some("toolResult"), Some("c1"))
    );
    assert!(found.iter().all(|(_, origin, _)| origin != "message"), "{found:#?}");
    // What was sent is in the cache, and what an empty prompt would add is not.
    let sum = |name: &str| next["layers"].as_array().unwrap().iter().map(|l| l[name].as_u64().unwrap()).sum::<u64>();
    assert!(sum("cacheRead") > 0 && sum("cacheRead") < sum("tokens"), "{next}");
    let text = talk.print(&["inspect"]).await;
    assert!(text.starts_with("the next request, for test/scripted\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'), "{text}");
    for part in ["1 tool definitions", "4 project instructions", "<project_instructions>", "#", "65%", "82%", "95%"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let json: Value = serde_json::from_str(&talk.print(&["inspect", &talk.session, "--json"]).await).unwrap();
    assert_eq!((&json["bytes"], &json["layers"]), (&next["bytes"], &next["layers"]));
    talk.server.assert_clean();
}

async fn a_preview_is_what_is_then_sent(api: Api) {
    let talk = Talk::begin(api, vec![reading(), Step::say("Done."), Step::say("Sure.")]).await;
    talk.client.turn(&talk.session, "look").await;
    talk.workspace.write("AGENTS.md", "Be long.\n");
    talk.workspace.write("new.txt", "new\n");
    let ask = json!({"session": talk.session, "text": "and </user_query> \u{e4}?"});
    let preview = talk.client.ok("context/preview", ask).await;
    assert_whole(&preview);
    let reminded = parts(&preview).into_iter().any(|(layer, origin, part)| {
        (layer, origin.as_str(), part["name"].as_str()) == (8, "reminder", Some("instructionsChanged"))
    });
    assert!(reminded, "{preview}");
    let before = talk.server.requests().len();
    talk.client.turn(&talk.session, "and </user_query> \u{e4}?").await;
    let sent = talk.server.requests()[before].body.clone();
    assert_eq!(preview["bytes"].as_u64(), Some(sent.len() as u64));
    let list = talk.client.ok("request/list", json!({"session": talk.session, "limit": 1})).await;
    let no = list["requests"][0]["request"].clone();
    // What is told of the request after it was sent is what was told before.
    let detail = talk.client.ok("request/get", json!({"session": talk.session, "request": no, "check": true})).await;
    assert_eq!(detail["check"]["differences"], json!([]));
    let body = talk.client.ok("request/replay", json!({"session": talk.session, "request": no})).await;
    assert_eq!(body["text"].as_str().unwrap().as_bytes(), sent);
    // Another model would send it all anew, under its own name.
    let other = json!({"session": talk.session, "text": "x", "model": "test/other"});
    let other = talk.client.ok("context/preview", other).await;
    assert_whole(&other);
    assert_eq!((other["opens"].as_str(), other["model"].as_str()), (Some("modelChanged"), Some("test/other")));
    let read: u64 = other["layers"].as_array().unwrap().iter().map(|l| l["cacheRead"].as_u64().unwrap()).sum();
    assert_eq!(read, 0);
    let huge = json!({"session": talk.session, "text": "word ".repeat(300_000)});
    let refused = talk.client.ok("context/preview", huge).await;
    assert!(refused["refused"].as_str().unwrap().starts_with("The prompt was not sent"), "{refused}");
    talk.server.assert_clean();
}

/// Everything below a folder but what SQLite keeps in memory shared between processes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.to_string_lossy().ends_with("-shm") {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

async fn looking_changes_nothing(api: Api) {
    let mut talk = Talk::begin(api, vec![reading(), Step::say("Done.")]).await;
    talk.client.turn(&talk.session, "look").await;
    // Nothing is being written any more once it is closed and taken up again.
    talk.daemon.stop().await;
    talk.daemon.restart().await;
    talk.client = talk.daemon.client().await;
    talk.inspect().await;
    let data = talk.daemon.machine().data().join("projects");
    let before = files(&data);
    talk.client.attach(&talk.session, 0).await;
    talk.inspect().await;
    talk.workspace.write("AGENTS.md", "Be long.\n");
    for model in [None, Some("test/other")] {
        let ask = json!({"session": talk.session, "text": "and?", "model": model});
        talk.client.ok("context/preview", ask).await;
    }
    talk.client.ok("request/list", json!({"session": talk.session})).await;
    talk.client.ok("request/get", json!({"session": talk.session, "request": 1, "check": true})).await;
    assert_eq!(files(&data).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(files(&data) == before, "a look wrote into the store");
    let page = talk.client.ok("transcript/read", json!({"session": talk.session})).await;
    assert!(page["items"].as_array().unwrap().iter().all(|item| item["turn"] == 1), "{page}");
}

async fn while_a_turn_runs_the_last_request_is_shown(api: Api) {
    let gate = Gate::new();
    let usage = Usage { input: 4_321, cached: 0, written: 0, output: 5 };
    let steps = vec![reading().usage(usage), Step::say("Don").stall(&gate).text("e.")];
    let talk = Talk::begin(api, steps).await;
    let turn = talk.client.start(&talk.session, "look").await;
    gate.reached().await;
    let running = talk.inspect().await;
    assert_whole(&running);
    assert_eq!((running["of"].as_str(), running["request"].as_u64()), (Some("last"), Some(2)));
    let sent = talk.server.requests()[1].body.len() as u64;
    assert_eq!(running["bytes"].as_u64(), Some(sent));
    assert_eq!(running["since"]["items"], json!([]));
    let busy = talk.client.err("context/preview", json!({"session": talk.session, "text": "x"})).await;
    assert_eq!(busy["data"]["kind"], "busy");
    gate.release();
    talk.client.completed(&talk.session, turn).await;
    assert_eq!(talk.inspect().await["of"], "next");
}

#[tokio::test]
async fn unknown_sessions_and_requests_are_told_with_a_way_out() {
    let talk = Talk::begin(Api::OpenaiChat, vec![Step::say("Hi.")]).await;
    for method in ["context/inspect", "context/preview", "request/list"] {
        let error = talk.client.err(method, json!({"session": "nobody"})).await;
        assert_eq!(error["data"]["kind"], "notFound", "{method}: {error}");
        assert!(error["data"]["hint"].as_str().is_some_and(|hint| hint.contains("session/list")), "{error}");
    }
    for method in ["request/get", "request/replay"] {
        let none = talk.client.err(method, json!({"session": talk.session, "request": 1})).await;
        assert_eq!(none["message"], "the session has sent no request yet", "{method}");
        assert!(none["data"]["hint"].as_str().unwrap().contains("plimsoll inspect"));
    }
    talk.client.turn(&talk.session, "hello").await;
    for method in ["request/get", "request/replay"] {
        let none = talk.client.err(method, json!({"session": talk.session, "request": 7})).await;
        assert_eq!(none["message"], "the session has no request 7; its last is 1", "{method}");
    }
    let offset = json!({"session": talk.session, "request": 1, "offset": 9_999_999});
    let wrong = talk.client.err("request/replay", offset).await;
    assert_eq!(wrong["data"]["kind"], "invalidParams");
    assert!(wrong["message"].as_str().unwrap().starts_with("`offset`: the body has"), "{wrong}");
    let here = talk.daemon.machine().command(Path::new("/"), &["inspect"]).output().await.unwrap();
    assert_eq!(here.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&here.stderr).contains("there is no session in /"));
}
