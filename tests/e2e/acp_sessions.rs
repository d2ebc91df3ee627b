//! Sessions over the Agent Client Protocol: listed, resumed, closed, deleted, and the folders that they work in.

use crate::acp_client::{
    assert_calls_ended, calls, connect, connect_with, load, of_kind, open, prompt, said, shown, updates, wait_update,
};
use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

async fn list(client: &Client, params: Value) -> Vec<Value> {
    let answer = client.ok("session/list", params).await;
    answer["sessions"].as_array().expect("a list").clone()
}

fn ids(sessions: &[Value]) -> Vec<&str> {
    sessions.iter().filter_map(|session| session["sessionId"].as_str()).collect()
}

#[tokio::test]
async fn sessions_are_listed_by_folder_page_by_page() {
    let server = ModelServer::start(Script::new([Step::say("ok")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = connect(&daemon).await;
    assert_eq!(client.ok("session/list", json!({})).await, json!({"sessions": []}));

    let (here, there) = (Workspace::new().file("sub/a.txt", "").git(), Workspace::new());
    let first = open(&client, &here).await;
    prompt(&client, &first, "Fix the build\nplease").await;
    let other = open(&client, &there).await;
    let mut made = Vec::new();
    for _ in 0..50 {
        made.push(open(&client, &here).await);
    }

    let links = Workspace::new();
    let link = links.path().join("link");
    std::os::unix::fs::symlink(here.path(), &link).unwrap();
    for folder in [here.path().to_owned(), link, here.path().join("sub")] {
        let page = client.ok("session/list", json!({"cwd": folder})).await;
        let cursor = page["nextCursor"].as_str().expect("more than one page");
        let rest = client.ok("session/list", json!({"cwd": folder, "cursor": cursor})).await;
        assert_eq!(rest.get("nextCursor"), None);
        let pages = [&page, &rest].map(|page| page["sessions"].as_array().unwrap().clone()).concat();
        let mut expected: Vec<&str> = made.iter().rev().map(String::as_str).collect();
        expected.push(&first);
        assert_eq!(ids(&pages), expected);
        let last = pages.last().unwrap();
        assert_eq!((&last["cwd"], &last["title"]), (&json!(here.text()), &json!("Fix the build")));
        assert!(last["updatedAt"].as_str().unwrap().ends_with('Z'), "{last}");
        assert_eq!(pages[0].get("title"), None, "it has none yet");
    }
    assert_eq!(ids(&list(&client, json!({"cwd": there.text()})).await), [other]);
    assert_eq!(list(&client, json!({"cwd": links.text()})).await, Vec::<Value>::new(), "nobody worked there");
    assert_eq!(list(&client, json!({"cwd": "/no/such/folder"})).await, Vec::<Value>::new());
    assert_eq!(client.err("session/list", json!({"cwd": "sub"})).await["code"], -32602);
}

#[tokio::test]
async fn a_resumed_session_goes_on_and_tells_nothing_of_its_past() {
    let server = ModelServer::start(Script::new([Step::say("first"), Step::say("second")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let workspace = Workspace::new();
    let before = connect(&daemon).await;
    let session = open(&before, &workspace).await;
    prompt(&before, &session, "one").await;
    drop(before);

    let after = connect(&daemon).await;
    let params = json!({"sessionId": session, "cwd": workspace.text(), "mcpServers": []});
    let resumed = after.ok("session/resume", params).await;
    assert_eq!(resumed["modes"]["currentModeId"], "ask");
    assert_eq!(resumed["configOptions"][0]["currentValue"], "ask");
    assert_eq!(prompt(&after, &session, "two").await, "end_turn");
    assert_eq!(shown(&updates(&after.others())), [json!({"agent_message_chunk": "second"})]);
    assert!(server.requests()[1].json.to_string().contains("first"), "the model still knows it");
    let unknown = json!({"sessionId": "s1", "cwd": workspace.text(), "mcpServers": []});
    assert_eq!(after.err("session/resume", unknown).await["code"], -32002);
    server.assert_clean();
}

#[tokio::test]
async fn a_closed_session_has_ended_its_prompts_and_can_be_loaded_again() {
    let gate = Gate::new();
    let run = Call::new("run_terminal_cmd", json!({"command": "echo started; sleep 600"}));
    let server = ModelServer::start(Script::new([Step::calls([run]), Step::say("half ").stall(&gate)])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    let (reason, ()) = tokio::join!(prompt(&client, &session, "run"), async {
        wait_update(&client, "output", |update| update["content"].to_string().contains("started")).await;
        assert_eq!(client.ok("session/close", json!({"sessionId": session})).await, json!({}));
    });
    assert_eq!(reason, "cancelled");
    assert_calls_ended(&updates(&client.others()));

    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": "still there?"}]});
    let error = client.err("session/prompt", params).await;
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32002), &json!("notFound")));
    // Closed is closed; but what is nowhere cannot be.
    client.ok("session/close", json!({"sessionId": session})).await;
    assert_eq!(client.err("session/close", json!({"sessionId": "s1"})).await["code"], -32002);

    load(&client, &session, &workspace).await;
    let (reason, ()) = tokio::join!(prompt(&client, &session, "talk"), async {
        gate.reached().await;
        wait_update(&client, "the text", |update| update["content"]["text"] == "half ").await;
        client.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})).await;
    });
    assert_eq!(reason, "cancelled");
    assert_eq!(ids(&list(&client, json!({})).await), [session]);
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_deleting_again_is_no_error() {
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([Step::say("half ").stall(&gate)])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    let (reason, ()) = tokio::join!(prompt(&client, &session, "talk"), async {
        gate.reached().await;
        client.ok("session/delete", json!({"sessionId": session})).await;
    });
    assert_eq!(reason, "cancelled");
    for id in [session.as_str(), "s1", "No Id At All"] {
        assert_eq!(client.ok("session/delete", json!({"sessionId": id})).await, json!({}));
    }
    assert_eq!(list(&client, json!({})).await, Vec::<Value>::new());
    let params = json!({"sessionId": session, "cwd": workspace.text(), "mcpServers": []});
    assert_eq!(client.err("session/load", params).await["code"], -32002);
}

#[tokio::test]
async fn a_session_works_in_the_folders_that_it_was_made_with_and_others_are_told() {
    let server = ModelServer::start(Script::new([Step::say("ok"), Step::say("ok"), Step::say("ok")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let (first, second, other) = (Workspace::new(), Workspace::new(), Workspace::new());
    let client = connect(&daemon).await;
    let params = json!({"cwd": first.text(), "additionalDirectories": [second.text()], "mcpServers": []});
    let made = client.ok("session/new", params).await;
    let session = made["sessionId"].as_str().unwrap();
    let listed = list(&client, json!({})).await;
    assert_eq!(
        (&listed[0]["cwd"], &listed[0]["additionalDirectories"]),
        (&json!(first.text()), &json!([second.text()]))
    );
    prompt(&client, session, "hi").await;
    assert_eq!(said(&client.others()), "ok", "all is as it was asked for");

    // In full, the same: nothing is said of it.
    let params = |folders: &[&Workspace]| {
        let folders: Vec<&str> = folders.iter().map(|folder| folder.text()).collect();
        json!({"sessionId": session, "cwd": folders[0], "additionalDirectories": folders[1..], "mcpServers": []})
    };
    let again = connect(&daemon).await;
    again.ok("session/resume", params(&[&first, &second])).await;
    prompt(&again, session, "hi").await;
    assert_eq!(said(&again.others()), "ok");

    let elsewhere = connect_with(&daemon, json!({"session": {"notices": {}}})).await;
    elsewhere.ok("session/load", params(&[&other])).await;
    wait_update(&elsewhere, "the notice", |update| update["sessionUpdate"] == "notice").await;
    let told = format!("This session works in `{}`, not in `{}`.", first.text(), other.text());
    assert_eq!(
        of_kind(&elsewhere.others(), "notice"),
        [json!({"sessionUpdate": "notice", "severity": "warning", "title": told})]
    );
    for wrong in [json!(["sub"]), json!("sub")] {
        let params = json!({"cwd": first.text(), "additionalDirectories": wrong, "mcpServers": []});
        assert_eq!(client.err("session/new", params).await["code"], -32602);
    }
    assert_eq!(calls(&updates(&elsewhere.others())), []);
}
