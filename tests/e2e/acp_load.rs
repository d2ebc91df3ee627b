//! A session that is taken up again over the Agent Client Protocol shows what was live, also after the daemon's death.

use crate::acp_client::{asked, assert_calls_ended, calls, choose, connect, load, open, prompt, shown, updates};
use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

#[tokio::test]
async fn a_load_replays_what_was_live() {
    let command = |text: &str| Call::new("run_terminal_cmd", json!({"command": text}));
    let todo = json!({"merge": false, "todos": [{"id": "1", "content": "look", "status": "pending"}]});
    let server = ModelServer::start(Script::new([
        Step::say("Looking. ")
            .call(Call::new("read_file", json!({"target_file": "a.txt"})))
            .call(command("touch made; exit 3")),
        Step::calls([Call::new("todo_write", todo), Call::new("nonsense", json!({}))]),
        Step::empty().text_in(["one ", "answer"]),
        Step::calls([command("touch refused")]),
        Step::say("another"),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let before = connect(&daemon).await;
    let session = open(&before, &workspace).await;
    for (text, option) in [("first", "allow_once"), ("second", "reject")] {
        let answering = async {
            let known = before.others().len();
            let is_question = |message: &Value| message["method"] == "session/request_permission";
            let others = before.wait_others("a question", |others| others[known..].iter().any(is_question)).await;
            let question = others[known..].iter().find(|message| is_question(message)).unwrap();
            choose(&before, &question["id"], option).await;
        };
        let (reason, ()) = tokio::join!(prompt(&before, &session, text), answering);
        assert_eq!(reason, "end_turn");
    }
    let live = updates(&before.others());
    drop(before);

    let after = connect(&daemon).await;
    load(&after, &session, &workspace).await;
    let replayed = updates(&after.others());
    assert_calls_ended(&replayed);
    let plan = |updates: &[Value]| updates.iter().rfind(|update| update["sessionUpdate"] == "plan").cloned();
    assert_eq!(plan(&replayed), plan(&live));
    assert!(plan(&live).is_some());
    // An editor shows its own prompts itself; only a replay brings them.
    let (own, agents): (Vec<Value>, Vec<Value>) =
        shown(&replayed).into_iter().partition(|entry| entry.get("user_message_chunk").is_some());
    assert_eq!(own, [json!({"user_message_chunk": "first"}), json!({"user_message_chunk": "second"})]);
    assert_eq!(agents, shown(&live));
    server.assert_clean();
}

#[tokio::test]
async fn after_the_daemons_death_the_call_that_ran_has_failed_and_the_next_prompt_works() {
    let call = Call::new("run_terminal_cmd", json!({"command": "touch made; echo started; sleep 600"}));
    let server = ModelServer::start(Script::new([Step::calls([call]), Step::say("Where were we?")])).await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let workspace = Workspace::new();
    let before = connect(&daemon).await;
    let session = open(&before, &workspace).await;
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": "work"}]});
    before.send(&json!({"jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": params})).await;
    let (question, _) = asked(&before).await;
    choose(&before, &question, "allow_once").await;
    let runs = |update: &Value| update["content"].to_string().contains("started");
    before.wait_others("output", |others| updates(others).iter().any(runs)).await;
    daemon.kill9().await;
    before.closed().await;
    daemon.restart().await;

    let after = connect(&daemon).await;
    load(&after, &session, &workspace).await;
    let told = updates(&after.others());
    assert_calls_ended(&told);
    assert_eq!(calls(&told), [("run_terminal_cmd".to_owned(), "failed".to_owned())]);
    assert_eq!(prompt(&after, &session, "go on").await, "end_turn");
    server.assert_clean();
}

#[tokio::test]
async fn a_session_that_was_made_just_before_the_daemons_death_is_found() {
    let mut daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let workspace = Workspace::new();
    let before = connect(&daemon).await;
    let session = open(&before, &workspace).await;
    daemon.kill9().await;
    daemon.restart().await;
    let after = connect(&daemon).await;
    assert_eq!(load(&after, &session, &workspace).await["modes"]["currentModeId"], "ask");
}
