//! Slash commands over the Agent Client Protocol: they run here, are answered like a prompt, and the model never sees them.

use crate::acp_client::{connect, load, of_kind, open, prompt, said, shown, updates, wait_update};
use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

#[tokio::test]
async fn commands_are_offered_behind_the_answer_and_run_without_the_model() {
    let write = Call::new("write", json!({"file_path": "a.txt", "contents": "new\n"}));
    let server = ModelServer::start(Script::new([
        Step::calls([write]),
        Step::say("written"),
        Step::say("a plan"),
        Step::say("no command"),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    let offered = wait_update(&client, "the commands", |update| !update["availableCommands"].is_null()).await;
    let names: Vec<&Value> = offered["availableCommands"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["context", "compact", "undo", "plan"]);

    // What one prompt says, and why it ended.
    let run = async |text: &str| {
        let known = client.others().len();
        let reason = prompt(&client, &session, text).await;
        (reason, said(&client.others()[known..]))
    };
    let (reason, text) = run("/compact the rules").await;
    assert_eq!(reason, "end_turn");
    assert!(text.starts_with("`/compact` did not work: there is nothing to shorten yet"), "{text}");
    let (reason, text) = run("/undo").await;
    assert_eq!(reason, "end_turn");
    assert!(text.starts_with("There is nothing to undo"), "{text}");
    assert_eq!(run("write it").await.1, "written");
    let (reason, text) = run("/context").await;
    assert_eq!(reason, "end_turn");
    assert!(text.contains("`test/scripted`") && text.contains("| tool definitions |"), "{text}");
    let (_, text) = run("/undo the last one").await;
    assert_eq!((text.contains("nothing was done"), workspace.read("a.txt").as_deref()), (true, Some("new\n")));
    let (reason, text) = run(" /undo\n").await;
    assert_eq!((reason.as_str(), workspace.read("a.txt")), (Some("end_turn"), None));
    assert!(text.starts_with("Undone: what turn 1 (“write it”) wrote.") && text.contains("a.txt`: deleted"), "{text}");

    let (reason, text) = run("/plan").await;
    assert_eq!(reason, "end_turn");
    assert!(text.starts_with("Plan mode is on"), "{text}");
    wait_update(&client, "the mode", |update| update["currentModeId"] == "plan").await;
    assert_eq!(run("/plan the move").await.1, "a plan");
    assert_eq!(run("/undone is a word").await.1, "no command");
    let asked: Vec<String> = server.requests().iter().map(|request| request.json.to_string()).collect();
    assert_eq!(asked.len(), 4);
    assert!(asked[2].contains("the move") && !asked[2].contains("/plan the"), "{}", asked[2]);
    assert!(asked[3].contains("/undone is a word"), "{}", asked[3]);
    server.assert_clean();

    // They are no part of what was said.
    let again = connect(&daemon).await;
    load(&again, &session, &workspace).await;
    wait_update(&again, "the commands", |update| !update["availableCommands"].is_null()).await;
    let prompts: Vec<Value> = shown(&updates(&again.others()))
        .iter()
        .map(|entry| entry["user_message_chunk"].clone())
        .filter(|text| !text.is_null())
        .collect();
    assert_eq!(prompts, ["write it", "the move", "/undone is a word"]);
    assert_eq!(of_kind(&again.others(), "agent_message_chunk").len(), 3);
}

#[tokio::test]
async fn nothing_is_undone_while_a_turn_runs() {
    let gate = Gate::new();
    let write = Call::new("write", json!({"file_path": "a.txt", "contents": "new\n"}));
    let steps = [Step::calls([write]), Step::say("half ").stall(&gate).text("whole")];
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    let (reason, ()) = tokio::join!(prompt(&client, &session, "write it"), async {
        gate.reached().await;
        assert_eq!(prompt(&client, &session, "/undo").await, "end_turn");
        gate.release();
    });
    assert_eq!(reason, "end_turn");
    assert!(said(&client.others()).contains("`/undo` did not work:"), "{}", said(&client.others()));
    assert_eq!(workspace.read("a.txt").as_deref(), Some("new\n"));
}
