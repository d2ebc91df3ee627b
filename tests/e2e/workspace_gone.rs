//! A root that is deleted under a running daemon is a fault of that project alone.

use plimsoll_core::model::request::Api;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::json;

// Case D07.
#[tokio::test]
async fn a_deleted_root_is_a_fault_of_its_own_project_alone() {
    let (outer, second) = (Workspace::new().file("W1/a.txt", "alpha\n"), Workspace::new().file("b.txt", "beta\n"));
    let first = outer.path().join("W1");
    let root = first.to_str().expect("a plain name");
    let gate = Gate::new();
    let calls = [
        ("read_file", json!({"target_file": "a.txt"})),
        ("list_dir", json!({"target_directory": "."})),
        ("glob_file_search", json!({"glob_pattern": "*"})),
        ("grep", json!({"pattern": "alpha"})),
        ("string_replace", json!({"file_path": "a.txt", "old_string": "alpha", "new_string": "x"})),
        ("MultiEdit", json!({"file_path": "a.txt", "edits": [{"old_string": "alpha", "new_string": "x"}]})),
        ("write", json!({"file_path": "new.txt", "contents": "x"})),
        ("delete_file", json!({"target_file": "a.txt"})),
        ("apply_patch", json!({"patch": "--- /dev/null\n+++ b/p.txt\n@@ -0,0 +1 @@\n+x\n"})),
        ("run_terminal_cmd", json!({"command": "echo hi"})),
    ];
    let server = ModelServer::start(Script::new([
        calls
            .iter()
            .fold(Step::empty().stall(&gate), |step, (name, arguments)| step.call(Call::new(name, arguments.clone()))),
        Step::say("Nothing works."),
        Step::calls([
            Call::new("read_file", json!({"target_file": "b.txt"})),
            Call::new("run_terminal_cmd", json!({"command": "cat b.txt"})),
        ]),
        Step::say("All works."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let mut daemon = TestDaemon::start_in(machine, &first).await;
    let client = daemon.client().await;
    let project = client.ok("project/open", json!({"roots": [root]})).await;
    let gone = client.ok("session/create", json!({"project": project["key"]})).await["id"].clone();
    let gone = gone.as_str().expect("an id");
    client.attach(gone, 0).await;
    client.start(gone, "go").await;
    gate.reached().await;
    std::fs::remove_dir_all(&first).expect("a folder that can be removed");
    gate.release();
    assert_eq!(client.completed(gone, 1).await["stopReason"], "endTurn");
    let results = server.requests()[1].results();
    assert_eq!(results.len(), calls.len());
    for ((name, _), (_, text)) in calls.iter().zip(&results) {
        assert!(text.contains("workspace missing") && text.contains(root), "{name}: {text}");
    }
    let page = client.ok("transcript/read", json!({"session": gone, "limit": 100})).await;
    let states = page["items"].as_array().expect("items").iter().filter(|item| item["kind"] == "toolResult");
    assert!(states.clone().count() == calls.len() && states.clone().all(|item| item["status"] == "failed"), "{page:#}");
    assert!(!first.exists(), "nothing was made in its place");
    let error = client.err("turn/start", json!({"session": gone, "text": "again"})).await;
    assert_eq!(
        (&error["data"]["kind"], &error["message"]),
        (&json!("workspaceMissing"), &json!(format!("workspace missing: {root}")))
    );

    let other = client.session(&second).await;
    assert_eq!(client.turn(&other, "go").await["stopReason"], "endTurn");
    let results: Vec<String> = server.requests()[3].results().into_iter().map(|(_, text)| text).collect();
    assert!(results[0].contains("1|beta") && results[1].ends_with("\nbeta"), "{results:#?}");

    daemon.stop().await;
    daemon.restart().await;
    let client = daemon.client().await;
    let list = client.ok("session/list", json!({})).await;
    let of = |id: &str| list["sessions"].as_array().expect("a list").iter().find(|info| info["id"] == id).cloned();
    assert_eq!(of(gone).expect("it is listed")["workspaceMissing"], true);
    assert_eq!(of(&other).expect("it is listed").get("workspaceMissing"), None);
    assert_eq!(client.ok("transcript/read", json!({"session": gone, "limit": 100})).await["items"], page["items"]);
    server.assert_clean();
}
