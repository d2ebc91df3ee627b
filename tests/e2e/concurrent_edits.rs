//! Somebody else writes while a call waits or works, and the daemon dies between two files of a patch: nothing of theirs is
//! lost, and a patch is all there or not at all.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Recorded, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::fmt::Write as _;

fn read(path: &str) -> Call {
    Call::new("read_file", json!({"target_file": path}))
}

fn delete(path: &str) -> Call {
    Call::new("delete_file", json!({"target_file": path}))
}

fn patch(patch: &str) -> Call {
    Call::new("apply_patch", json!({"patch": patch}))
}

async fn allow(client: &Client, session: &str) {
    let ask = client.asked(session).await;
    let answer = json!({"session": session, "ask": ask["id"], "choice": "allowOnce"});
    assert_eq!(client.ok("permission/respond", answer).await, json!({"accepted": true}));
    let resolved = |event: &Value| event["type"] == "permissionResolved" && event["ask"]["id"] == ask["id"];
    client.wait_events("the answer", |events| events.iter().any(resolved)).await;
}

/// The text of the newest result that the model got.
fn result(request: &Recorded) -> String {
    request.results().pop().expect("a result").1
}

const TWO: &str = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a0\n+a1\n--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-b0\n+b1\n";

#[tokio::test]
async fn what_the_user_or_another_session_writes_while_a_call_waits_is_not_overwritten() {
    let workspace = Workspace::new().file("a.txt", "a0\n").file("b.txt", "b0\n").file("c.txt", "c0\n");
    let edit = json!({"file_path": "c.txt", "old_string": "c0", "new_string": "c of the other"});
    let server = ModelServer::start(Script::new([
        Step::calls([read("a.txt"), read("b.txt"), read("c.txt")]),
        Step::calls([patch(TWO)]),
        Step::calls([delete("c.txt")]),
        // The other session's.
        Step::calls([read("c.txt")]),
        Step::calls([Call::new("string_replace", edit)]),
        Step::say("Changed."),
        Step::say("Both were refused."),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;

    let turn = client.start(&session, "Patch both").await;
    client.asked(&session).await;
    workspace.write("b.txt", "b of the user\n");
    allow(&client, &session).await;
    let told = result(&server.wait_for(3).await[2]);
    assert!(told.contains("`b.txt` has changed since this call was decided"), "{told}");
    assert!(told.contains("nothing was written"), "{told}");
    assert_eq!(workspace.read("a.txt").as_deref(), Some("a0\n"), "all files of a patch or none");
    assert_eq!(workspace.read("b.txt").as_deref(), Some("b of the user\n"));

    client.asked(&session).await;
    let other = client.session(&workspace).await;
    client.ok("session/setMode", json!({"session": other, "mode": "accept_edits"})).await;
    assert_eq!(client.turn(&other, "Change c").await["stopReason"], "endTurn");
    allow(&client, &session).await;
    assert_eq!(client.completed(&session, turn).await["stopReason"], "endTurn");
    let told = result(server.requests().last().expect("a request"));
    assert!(told.contains("`c.txt` has changed since this call was decided"), "{told}");
    assert_eq!(workspace.read("c.txt").as_deref(), Some("c of the other\n"));
    server.assert_clean();
}

/// Files that the patch makes.
const MADE: usize = 400;

/// Two files are changed, and between them many are made, in folders that are not there.
fn many() -> String {
    let mut text = String::from("--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a0\n+a1\n");
    for at in 0..MADE {
        let _ = writeln!(text, "--- /dev/null\n+++ new/{}/f{at}.txt\n@@ -0,0 +1 @@\n+made {at}", at % 7);
    }
    text.push_str("--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-b0\n+b1\n");
    text
}

/// How many of the patch's files stand as intended.
fn done(workspace: &Workspace) -> usize {
    let made = |at: &usize| workspace.read(&format!("new/{}/f{at}.txt", at % 7)).is_some_and(|text| !text.is_empty());
    let edited = [("a.txt", "a1\n"), ("b.txt", "b1\n")];
    let edited = edited.iter().filter(|(name, text)| workspace.read(name).as_deref() == Some(text)).count();
    edited + (0..MADE).filter(made).count()
}

#[tokio::test]
async fn a_patch_that_the_daemon_dies_in_is_all_there_or_not_at_all() {
    /// Rounds until a death hit the middle of a patch, at most.
    const ROUNDS: usize = 20;
    let mut hit = false;
    for round in 0..ROUNDS {
        let workspace = Workspace::new().file("a.txt", "a0\n").file("b.txt", "b0\n");
        let server = ModelServer::start(Script::new([
            Step::calls([read("a.txt"), read("b.txt")]),
            Step::calls([patch(&many())]),
            Step::say("I see."),
            Step::say("I see again."),
        ]))
        .await;
        let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::AnthropicMessages, "full");
        let mut daemon = machine.daemon().await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        client.start(&session, "Patch it").await;
        // What happens is awaited, not a time: the first file is there, and hundreds come after it.
        while workspace.read("a.txt").as_deref() != Some("a1\n") {
            tokio::task::yield_now().await;
        }
        daemon.kill9().await;
        let cut = done(&workspace);
        daemon.restart().await;
        let client = daemon.client().await;
        client.attach(&session, 0).await;
        let ended = |event: &Value| event["type"] == "turnCompleted";
        client.wait_events("the end of the turn", |events| events.iter().any(ended)).await;
        let now = done(&workspace);
        let all = MADE + 2;
        assert!(now == 0 || (now == all && cut == all), "{now} of {all} in round {round}, {cut} when it was cut");
        assert_eq!(workspace.path().join("new").exists(), now == all, "folders that were made go too");
        let names = std::fs::read_dir(workspace.path()).expect("the workspace").flatten();
        let left = names.filter(|entry| entry.file_name().to_string_lossy().starts_with(".plimsoll-")).count();
        assert_eq!(left, 0, "temporary files in round {round}");
        let listed = client.ok("operation/list", json!({"session": session})).await;
        let operation = &listed["operations"][0];
        if operation["state"] == "unknown" {
            let verdict = if now == 0 { "notApplied" } else { "applied" };
            assert_eq!(operation["finding"]["verdict"], verdict, "{operation}");
            assert_eq!((&operation["finding"]["by"], &operation["settled"]), (&json!("recovery"), &json!(true)));
        } else {
            assert_eq!((operation["state"].as_str(), now), (Some("succeeded"), all));
        }
        assert_eq!(client.turn(&session, "And now?").await["stopReason"], "endTurn");
        server.assert_clean();
        hit |= (1..all).contains(&cut);
        if hit && round > 0 {
            return;
        }
    }
    panic!("no death in {ROUNDS} hit the middle of a patch");
}
