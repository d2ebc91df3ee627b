//! Folders that move, go, or are reached by two paths, under a daemon that runs.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

// Case H06.
#[tokio::test]
async fn a_project_whose_folder_was_moved_is_relocated() {
    let outer = Workspace::new().file("P1/a.txt", "alpha\n");
    let (old, new) = (outer.path().join("P1"), outer.path().join("P2"));
    let server = ModelServer::start(Script::new([
        Step::say("One."),
        Step::calls([
            Call::new("read_file", json!({"target_file": "a.txt"})),
            Call::new("run_terminal_cmd", json!({"command": "pwd"})),
        ]),
        Step::say("Two."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let project = client.ok("project/open", json!({"roots": [text(&old)]})).await;
    let session = client.ok("session/create", json!({"project": project["key"]})).await["id"].clone();
    let session = session.as_str().expect("an id");
    client.attach(session, 0).await;
    client.turn(session, "first").await;
    std::fs::rename(&old, &new).expect("a folder that can be moved");

    let prompt = json!({"session": session, "text": "second"});
    for _ in 0..2 {
        let client = daemon.client().await;
        let info = client.ok("session/get", json!({"session": session})).await;
        assert_eq!(info["workspaceMissing"], true);
        // Somebody looks at the new place: that is another project, without sessions.
        let there = client.ok("project/open", json!({"roots": [text(&new)]})).await;
        assert_eq!(client.ok("session/list", json!({"project": there["key"]})).await["sessions"], json!([]));
        let listed = client.ok("session/list", json!({})).await;
        assert_eq!(
            (&listed["sessions"][0]["id"], &listed["sessions"][0]["workspaceMissing"]),
            (&json!(session), &json!(true))
        );
        assert_eq!(client.ok("transcript/read", json!({"session": session})).await["last"], 2);
        let error = client.err("turn/start", prompt.clone()).await;
        assert_eq!(error["data"]["kind"], "workspaceMissing");
        assert_eq!(error["message"], format!("workspace missing: {}", text(&old)));
        assert!(error["data"]["hint"].as_str().expect("a hint").contains("plimsoll project relocate"), "{error}");
        daemon.stop().await;
        daemon.restart().await;
    }

    let output = daemon.machine().command(&new, &["project", "relocate", text(&old), ".", "--json"]).output().await;
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let moved: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&moved["key"], &moved["roots"]), (&project["key"], &json!([text(&new)])));
    let client = daemon.client().await;
    client.attach(session, 0).await;
    let info = client.ok("session/get", json!({"session": session})).await;
    assert_eq!((&info["roots"], &info["workspaceMissing"]), (&json!([text(&new)]), &Value::Null));
    assert_eq!(client.turn(session, "second").await["stopReason"], "endTurn");
    let requests = server.requests();
    let results: Vec<String> = requests[2].results().into_iter().map(|(_, text)| text).collect();
    assert!(results[0].contains("1|alpha"), "{}", results[0]);
    assert!(results[1].ends_with(&format!("\n{}", text(&new))), "{}", results[1]);
    // The history is kept, and the model is told where it works now.
    let body = String::from_utf8_lossy(&requests[1].body).into_owned();
    assert!(body.contains("One.") && body.contains(text(&new)), "{body}");
    let opened = client.ok("project/open", json!({"roots": [text(&new)]})).await;
    assert_eq!(opened["key"], project["key"]);
    server.assert_clean();
}

#[tokio::test]
async fn relocating_is_refused_where_it_would_take_something_away() {
    let outer = Workspace::new().file("a/f", "").file("b/f", "").file("c/f", "");
    let at = |name: &str| format!("{}/{name}", outer.text());
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([Step::empty().text("Hm").stall(&gate)])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let a = client.ok("project/open", json!({"roots": [at("a")]})).await;
    let b = client.ok("project/open", json!({"roots": [at("b")]})).await;
    client.ok("session/create", json!({"project": b["key"]})).await;
    let session = client.ok("session/create", json!({"project": a["key"]})).await["id"].clone();
    let session = session.as_str().expect("an id");
    client.attach(session, 0).await;
    let relocate = |roots: Value| json!({"project": a["key"], "roots": roots});
    let kind = async |params: Value| client.err("project/relocate", params).await["data"]["kind"].clone();
    assert_eq!(kind(relocate(json!([at("b")]))).await, "conflict");
    assert_eq!(kind(relocate(json!([at("nowhere")]))).await, "workspaceMissing");
    assert_eq!(kind(relocate(json!(["c"]))).await, "invalidParams");
    assert_eq!(kind(relocate(json!([]))).await, "invalidParams");
    assert_eq!(kind(json!({"project": "k0", "roots": [at("c")]})).await, "notFound");
    client.start(session, "go").await;
    gate.reached().await;
    assert_eq!(kind(relocate(json!([at("c")]))).await, "busy");
    client.ok("turn/cancel", json!({"session": session})).await;
    assert_eq!(client.ok("project/list", json!({})).await["projects"], json!([a, b]));
    // The same roots again, and a root more.
    assert_eq!(client.ok("project/relocate", relocate(json!([at("a")]))).await, a);
    let wider = client.ok("project/relocate", relocate(json!([at("a"), at("c")]))).await;
    assert_eq!((&wider["key"], &wider["roots"]), (&a["key"], &json!([at("a"), at("c")])));
}

// Case H07: the lists are `sessions::one_folder_by_any_path_is_one_project`; what is known of files is shared too.
#[tokio::test]
async fn a_write_by_one_path_makes_a_read_by_another_stale() {
    let outer = Workspace::new().file("real/a.txt", "alpha\n");
    symlink("real", outer.path().join("link")).expect("a link");
    let (real, link) = (outer.path().join("real/a.txt"), outer.path().join("link/a.txt"));
    let replace = |path: &Path, from: &str, to: &str| {
        Call::new("string_replace", json!({"file_path": text(path), "old_string": from, "new_string": to}))
    };
    let server = ModelServer::start(Script::new([
        // One session reads by one path, and another writes by the other.
        Step::calls([Call::new("read_file", json!({"target_file": text(&link)}))]),
        Step::say("Read."),
        Step::calls([Call::new("read_file", json!({"target_file": text(&real)}))]),
        Step::calls([replace(&real, "alpha", "beta")]),
        Step::say("Written."),
        Step::calls([replace(&link, "alpha", "gamma")]),
        Step::say("Refused."),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let mut sessions = Vec::new();
    for name in ["link", "real"] {
        let project = client.ok("project/open", json!({"roots": [text(&outer.path().join(name))]})).await;
        let session = client.ok("session/create", json!({"project": project["key"]})).await;
        let id = session["id"].as_str().expect("an id").to_owned();
        client.attach(&id, 0).await;
        sessions.push(id);
    }
    client.turn(&sessions[0], "read").await;
    client.turn(&sessions[1], "write").await;
    assert_eq!(outer.read("real/a.txt").as_deref(), Some("beta\n"));
    client.turn(&sessions[0], "write too").await;
    assert_eq!(outer.read("real/a.txt").as_deref(), Some("beta\n"), "what nobody had seen was not replaced");
    let page = client.ok("transcript/read", json!({"session": sessions[0]})).await;
    let results = page["items"].as_array().expect("items").iter().filter(|item| item["kind"] == "toolResult");
    let states: Vec<&Value> = results.map(|item| &item["status"]).collect();
    assert_eq!(states, ["ok", "failed"], "{page:#}");
    server.assert_clean();
}
