//! Files are changed by every tool that changes files: exact bytes on the disk, over a restart, and never over what
//! somebody else wrote meanwhile.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::fs::{Permissions, metadata, set_permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

over_both_apis! { a_session_changes_files what_changed_meanwhile_is_not_overwritten }

fn read(path: &str) -> Call {
    Call::new("read_file", json!({"target_file": path}))
}

fn replace(path: &str, old: &str, new: &str) -> Call {
    Call::new("string_replace", json!({"file_path": path, "old_string": old, "new_string": new}))
}

fn write(path: &str, contents: &str) -> Call {
    Call::new("write", json!({"file_path": path, "contents": contents}))
}

/// The ends of all calls so far, in the order of the calls.
fn ends(events: &[Value]) -> Vec<String> {
    let is_end = |line: &String| line.starts_with('c') && !line.contains('=') && !line.ends_with(" runs");
    let mut ends: Vec<String> = told(events, 0).into_iter().filter(is_end).collect();
    ends.sort_by_key(|line| line.trim_start_matches('c').split(' ').next().and_then(|no| no.parse::<u32>().ok()));
    ends
}

const PATCH: &str = "\
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,3 @@
 one
+one and a half
 2
--- a/b.txt
+++ b/b.txt
@@ -1,3 +1,2 @@
 1
-2
 3
--- /dev/null
+++ b/sub/new.txt
@@ -0,0 +1 @@
+new
";

async fn a_session_changes_files(api: Api) {
    let workspace = Workspace::new()
        .file("a.txt", "one\r\ntwo\r\n")
        .file("b.txt", "x\n")
        .file("l1.txt", b"const x = 1;\n// caf\xE9 note\n")
        .file("old.txt", "old\n");
    set_permissions(workspace.path().join("b.txt"), Permissions::from_mode(0o751)).expect("a mode");
    symlink("old.txt", workspace.path().join("link")).expect("a link");
    let two = json!({"file_path": "l1.txt", "edits": [
        {"old_string": "x = 1", "new_string": "x = 2"},
        {"old_string": "caf\u{e9}", "new_string": "th\u{e9}"},
    ]});
    let delete = |path: &str| Call::new("delete_file", json!({"target_file": path}));
    let server = ModelServer::start(Script::new([
        Step::calls([read("a.txt"), read("b.txt"), read("l1.txt")]),
        // The second counts on what the first leaves.
        Step::calls([replace("a.txt", "two", "TWO"), replace("a.txt", "one\nTWO", "one\n2"), read("a.txt")]),
        Step::calls([write("b.txt", "1\n2\n3\n"), Call::new("MultiEdit", two)]),
        Step::say("Half of it is done."),
        Step::calls([delete("link"), delete("old.txt")]),
        Step::calls([Call::new("apply_patch", json!({"patch": PATCH, "purpose": "the rest"}))]),
        Step::say("Done."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "accept_edits").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "Change them").await["stopReason"], "endTurn");
    assert_eq!(workspace.read("a.txt").as_deref(), Some("one\r\n2\r\n"));
    let mode = metadata(workspace.path().join("b.txt")).expect("a file").permissions().mode() & 0o7777;
    assert_eq!((workspace.read("b.txt").as_deref(), mode), (Some("1\n2\n3\n"), 0o751));
    let bytes = std::fs::read(workspace.path().join("l1.txt")).expect("a file");
    assert_eq!(bytes, b"const x = 2;\n// th\xE9 note\n");
    let (_, reread) = server.requests()[2].results().pop().expect("a result");
    assert!(reread.contains("1|one\n2|2"), "a read waits for the edits before it: {reread}");

    daemon.stop().await;
    client.closed().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    // What was shown before the restart still counts.
    assert_eq!(client.turn(&session, "The rest").await["stopReason"], "endTurn");
    assert_eq!(workspace.read("a.txt").as_deref(), Some("one\r\none and a half\r\n2\r\n"));
    assert_eq!(workspace.read("b.txt").as_deref(), Some("1\n3\n"));
    assert_eq!(workspace.read("sub/new.txt").as_deref(), Some("new\n"));
    let mut names: Vec<_> = std::fs::read_dir(workspace.path())
        .expect("the workspace")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .collect();
    names.sort();
    assert_eq!(names, ["a.txt", "b.txt", "l1.txt", "sub"]);
    assert_eq!(ends(&client.events()), (1..=11).map(|no| format!("c{no} ok")).collect::<Vec<_>>());
    let asked = client.events().iter().filter(|event| event["type"] == "permissionAsked").count();
    assert_eq!(asked, 0, "edits inside the root are free in this mode");
    server.assert_clean();
    assert_eq!(server.steps_left(), 0);
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}

async fn allow(client: &Client, session: &str) {
    let ask = client.asked(session).await;
    let answer = json!({"session": session, "ask": ask["id"], "choice": "allowOnce"});
    assert_eq!(client.ok("permission/respond", answer).await, json!({"accepted": true}));
    let resolved = |event: &Value| event["type"] == "permissionResolved" && event["ask"]["id"] == ask["id"];
    client.wait_events("the answer", |events| events.iter().any(resolved)).await;
}

async fn what_changed_meanwhile_is_not_overwritten(api: Api) {
    let workspace = Workspace::new().file("p.txt", "v1\n");
    let server = ModelServer::start(Script::new([
        Step::calls([read("p.txt")]),
        Step::calls([write("p.txt", "v3\n")]),
        Step::calls([read("p.txt")]),
        Step::calls([write("p.txt", "v3\n")]),
        Step::say("Written."),
        Step::calls([write("p.txt", "v5\n")]),
        Step::calls([replace("p.txt", "v4", "v5")]),
        Step::say("Replaced."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "ask").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;

    let turn = client.start(&session, "Write it").await;
    client.asked(&session).await;
    workspace.write("p.txt", "v2\n");
    allow(&client, &session).await;
    let requests = server.wait_for(3).await;
    let (_, stale) = requests[2].results().pop().expect("a result");
    assert!(stale.contains("`p.txt` has changed since this call was decided"), "{stale}");
    assert_eq!(workspace.read("p.txt").as_deref(), Some("v2\n"));
    allow(&client, &session).await;
    assert_eq!(client.completed(&session, turn).await["stopReason"], "endTurn");
    assert_eq!(workspace.read("p.txt").as_deref(), Some("v3\n"));

    // Between the turns too: refused before anybody is asked, but for text that is still there once.
    workspace.write("p.txt", "mine\nv4\n");
    let turn = client.start(&session, "Once more").await;
    allow(&client, &session).await;
    assert_eq!(client.completed(&session, turn).await["stopReason"], "endTurn");
    assert_eq!(workspace.read("p.txt").as_deref(), Some("mine\nv5\n"));
    let (_, refused) = server.requests()[6].results().pop().expect("a result");
    assert!(refused.contains("has changed since it was shown"), "{refused}");
    let ends = ends(&client.events());
    assert_eq!(ends, ["c1 ok", "c2 failed", "c3 ok", "c4 ok", "c5 failed", "c6 ok"]);
    server.assert_clean();
    assert_eq!(server.steps_left(), 0);
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}
