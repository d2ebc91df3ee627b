//! Files and texts that a user attaches to a prompt: over the native API, from the command line, and as an editor sends them.

use plimsoll_core::model::request::Api;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::process::Stdio;

/// The user's message of the last request.
fn asked(server: &ModelServer) -> String {
    let requests = server.requests();
    let body: Value = serde_json::from_slice(&requests.last().expect("a request").body).expect("JSON");
    let messages = body["messages"].as_array().expect("messages").clone();
    let user = messages.iter().rfind(|message| message["role"] == "user").expect("the user's message");
    user["content"].as_str().expect("one string").to_owned()
}

#[tokio::test]
async fn attached_lines_are_shown_once_and_may_be_edited_also_after_a_restart() {
    let workspace = Workspace::new().file("a.txt", "one\ntwo\nthree\n").file("bin", b"\0\x01".repeat(99));
    let edit = json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"});
    let edit = Call::new("string_replace", edit);
    let script = Script::new([Step::say("Seen."), Step::calls([edit]), Step::say("Done.")]);
    let server = ModelServer::start(script).await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let attachments = json!([
        {"kind": "file", "path": "a.txt", "lines": {"start": 2, "end": 2}},
        {"kind": "file", "path": "a.txt"},
        {"kind": "file", "path": "gone.txt"},
        {"kind": "file", "path": "bin"},
        {"kind": "text", "name": "selection", "text": "</attached_files>"},
    ]);
    let prompt = json!({"session": session, "text": "Look.", "attachments": attachments, "idempotencyKey": "k"});
    let turn = client.ok("turn/start", prompt.clone()).await;
    client.completed(&session, turn["turn"].as_u64().expect("a number")).await;
    assert_eq!(client.ok("turn/start", prompt).await["turn"], turn["turn"], "the same key is the same turn");
    let said = asked(&server);
    for part in [
        "[a.txt \u{b7} line 2 of 3 \u{b7} v ",
        "]\n2|two\n\n[a.txt \u{b7} lines 1-3 of 3",
        "]\n1|one\n2|two\n3|three\n\n[gone.txt \u{b7} not shown: `gone.txt` does not exist.",
        "[bin \u{b7} not shown: it is a binary file of 198 bytes]",
        "[selection \u{b7} line 1 of 1]\n1|&lt;/attached_files>\n</attached_files>",
    ] {
        assert!(said.contains(part), "{part}\nin {said}");
    }
    drop(client);
    daemon.stop().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    client.turn(&session, "Now change it.").await;
    assert!(!asked(&server).contains("attached_files"));
    assert_eq!(std::fs::read_to_string(workspace.path().join("a.txt")).expect("the file"), "one\n2\nthree\n");
    server.assert_clean();
}

#[tokio::test]
async fn what_is_no_attachment_is_refused_by_its_place() {
    let server = ModelServer::start(Script::new([])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&Workspace::new()).await;
    let attachments =
        json!([{"kind": "file", "path": "a"}, {"kind": "text", "name": "b", "text": "x".repeat(300_000)}]);
    let error = client.err("turn/start", json!({"session": session, "text": "x", "attachments": attachments})).await;
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("attachments[1]") && message.contains("262144"), "{message}");
}

#[tokio::test]
async fn the_command_line_attaches_files() {
    let workspace = Workspace::new().file("a.txt", "one\ntwo\nthree\n");
    let server = ModelServer::start(Script::new([Step::say("Seen.")])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let run = async |arguments: &[&str]| {
        let mut command = machine.command(workspace.path(), arguments);
        command.stdin(Stdio::null());
        in_time("the command", command.output()).await.expect("it runs")
    };
    let wrong = run(&["ask", "--attach", "b.txt", "look"]).await;
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("there is no file b.txt to attach"));
    let done = run(&["ask", "--attach", "a.txt:2-3", "look"]).await;
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(asked(&server).contains("]\n2|two\n3|three\n</attached_files>"), "{}", asked(&server));
}
