//! Every body that was sent is printed again, byte for byte: by the running daemon, after a restart, and on a copy of the
//! data folder elsewhere.

use plimsoll_core::model::request::Api;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::workspace::Workspace;
use serde_json::json;
use std::path::Path;

over_both_apis! { every_body_is_printed_again_wherever_the_store_is }

/// Prints every request in this folder and compares it with what the server got.
async fn check(machine: &Machine, folder: &Path, session: &str, sent: &[bytes::Bytes]) {
    for (at, body) in sent.iter().enumerate() {
        let no = (at + 1).to_string();
        let output = machine.command(folder, &["replay", session, &no, "--check"]).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(body), "request {no}");
        assert!(said.ends_with("messages made anew from their items are as they were sent\n"), "{said}");
    }
    let next = (sent.len() + 1).to_string();
    let none = machine.command(folder, &["replay", session, &next]).output().await.unwrap();
    assert_eq!((none.status.code(), none.stdout.len()), (Some(1), 0));
    let said = String::from_utf8(none.stderr).unwrap();
    assert!(said.contains(&format!("the session has no request {next}; its last is {}", sent.len())), "{said}");
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

async fn every_body_is_printed_again_wherever_the_store_is(api: Api) {
    let workspace = Workspace::new().file("a.txt", "alpha \u{e4}\n").file("AGENTS.md", "Be brief.\n").git();
    let read = || Call::new("read_file", json!({"target_file": "a.txt"}));
    let server = ModelServer::start(Script::new([
        Step::say("I look.").call(read()).call(read()),
        Step::say("Done."),
        Step::calls([read()]),
        Step::say("Again."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "look").await;
    workspace.write("AGENTS.md", "Be long.\n");
    client.turn(&session, "and again").await;
    let sent: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(sent.len(), 4);
    check(daemon.machine(), workspace.path(), &session, &sent).await;
    daemon.stop().await;
    // Another machine, with another home and no model, that has never seen the project.
    let elsewhere = Machine::new(plimsoll_tests::binary!());
    copy(&daemon.machine().data(), &elsewhere.data());
    std::fs::remove_file(elsewhere.data().join("daemon.lock")).unwrap();
    daemon.restart().await;
    check(daemon.machine(), workspace.path(), &session, &sent).await;
    daemon.stop().await;
    let gone = workspace.path().to_owned();
    drop(workspace);
    assert!(!gone.exists());
    let copied = TestDaemon::start(elsewhere).await;
    check(copied.machine(), Path::new("/"), &session, &sent).await;
    let output = copied.machine().command(Path::new("/"), &["requests", &session, "--json"]).output().await.unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 4);
}

/// Long bodies come in pages.
#[tokio::test]
async fn pages_join_to_the_whole_body() {
    let server = ModelServer::start(Script::new([Step::say("Hi.")])).await;
    let workspace = Workspace::new();
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, &"\u{4f60}\u{597d}\u{1f600} ".repeat(500)).await;
    let (mut text, mut offset) = (String::new(), Some(0));
    while let Some(at) = offset {
        let ask = json!({"session": session, "request": 1, "offset": at, "limit": 1_001});
        let page = client.ok("request/replay", ask).await;
        text.push_str(page["text"].as_str().unwrap());
        offset = page["nextOffset"].as_u64();
    }
    assert_eq!(text.as_bytes(), server.requests()[0].body);
}
