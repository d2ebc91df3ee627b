//! Turns over the Agent Client Protocol: what is streamed, asked and cancelled.

use crate::acp_client::{asked, assert_calls_ended, calls, choose, connect, open, prompt, shown, updates};
use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

fn run(command: &str) -> Step {
    Step::calls([Call::new("run_terminal_cmd", json!({"command": command}))])
}

#[tokio::test]
async fn a_prompt_reads_in_parallel_asks_and_streams_its_answer() {
    let read = |file: &str| Call::new("read_file", json!({"target_file": file}));
    let server = ModelServer::start(Script::new([
        Step::say("Looking. ").call(read("a.txt")).call(read("no.txt")),
        run("echo out > out.txt"),
        Step::empty().text_in(["It ", "says ", "alpha."]),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;

    let link = format!("file://{}/a%20b.txt", workspace.text());
    let blocks = json!([
        {"type": "text", "text": "Read "},
        {"type": "resource_link", "name": "it", "uri": link},
    ]);
    let params = json!({"sessionId": session, "prompt": blocks});
    let prompting = client.ok("session/prompt", params);
    let answering = async {
        let (id, question) = asked(&client).await;
        choose(&client, &id, "allow_once").await;
        question
    };
    let (answer, question) = tokio::join!(prompting, answering);
    assert_eq!(answer, json!({"stopReason": "end_turn"}));
    let kinds: Vec<&str> =
        question["options"].as_array().unwrap().iter().filter_map(|option| option["kind"].as_str()).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "allow_always", "reject_once"]);

    let told = updates(&client.others());
    assert_calls_ended(&told);
    let place = |file: &str| json!([{"path": format!("{}/{file}", workspace.text())}]);
    let seen: Vec<Value> = shown(&told)
        .into_iter()
        .map(|entry| match entry.get("toolCallId") {
            Some(_) => json!([entry["name"], entry["kind"], entry["status"], entry["locations"]]),
            None => entry,
        })
        .collect();
    assert_eq!(
        seen,
        [
            json!({"agent_message_chunk": "Looking. "}),
            json!(["read_file", "read", "completed", place("a.txt")]),
            json!(["read_file", "read", "failed", place("no.txt")]),
            json!(["run_terminal_cmd", "execute", "completed", null]),
            json!({"agent_message_chunk": "It says alpha."}),
        ]
    );
    assert_eq!(workspace.read("out.txt").as_deref(), Some("out\n"));
    let sent = server.requests()[0].json.to_string();
    assert!(sent.contains(&format!("Read [it]({}/a b.txt)", workspace.text())), "{sent}");
    server.assert_clean();
}

#[tokio::test]
async fn a_cancel_ends_the_stream_and_the_command_and_the_session_goes_on() {
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([
        Step::say("half ").stall(&gate).text("whole"),
        run("echo started; sleep 600").call(Call::new("run_terminal_cmd", json!({"command": "echo second"}))),
        Step::say("fine"),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});

    let cancelling = async {
        let is_half = |update: &Value| update["content"]["text"] == "half ";
        client.wait_others("the first half", |others| updates(others).iter().any(is_half)).await;
        client.send(&cancel).await;
    };
    let (reason, ()) = tokio::join!(prompt(&client, &session, "talk"), cancelling);
    assert_eq!(reason, "cancelled");

    let cancelling = async {
        let runs = |update: &Value| update["content"].to_string().contains("started");
        client.wait_others("output", |others| updates(others).iter().any(runs)).await;
        client.send(&cancel).await;
    };
    let (reason, ()) = tokio::join!(prompt(&client, &session, "run"), cancelling);
    assert_eq!(reason, "cancelled");
    let told = updates(&client.others());
    assert_calls_ended(&told);
    assert_eq!(calls(&told).len(), 2);

    assert_eq!(prompt(&client, &session, "are you well?").await, "end_turn");
    server.assert_clean();
}

#[tokio::test]
async fn two_clients_see_each_others_modes_titles_and_answers() {
    let server = ModelServer::start(Script::new([run("touch shared"), Step::say("done")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let (one, two) = (connect(&daemon).await, connect(&daemon).await);
    let session = open(&one, &workspace).await;
    crate::acp_client::load(&two, &session, &workspace).await;

    one.ok("session/set_mode", json!({"sessionId": session, "modeId": "ask"})).await;
    daemon.client().await.ok("session/rename", json!({"session": session, "title": "Shared"})).await;
    let (reason, ()) = tokio::join!(prompt(&one, &session, "run it"), async {
        let (_, first) = asked(&one).await;
        let (id, second) = asked(&two).await;
        assert_eq!(first, second);
        choose(&two, &id, "allow_once").await;
    });
    assert_eq!(reason, "end_turn");
    let withdrawn = |message: &Value| message["method"] == "$/cancel_request";
    one.wait_others("the question's withdrawal", |others| others.iter().any(withdrawn)).await;
    let is_end = |update: &Value| update["content"]["text"] == "done";
    let others = two.wait_others("the answer", |others| updates(others).iter().any(is_end)).await;
    let told = updates(&others);
    assert_eq!(calls(&told), [("run_terminal_cmd".to_owned(), "completed".to_owned())]);
    let changes: Vec<(&Value, &Value)> = told
        .iter()
        .filter(|update| update["sessionUpdate"] == "current_mode_update" || !update["title"].is_null())
        .filter(|update| update.get("toolCallId").is_none())
        .map(|update| (&update["currentModeId"], &update["title"]))
        .collect();
    assert_eq!(changes, [(&json!("ask"), &Value::Null), (&Value::Null, &json!("Shared"))]);
    server.assert_clean();
}
