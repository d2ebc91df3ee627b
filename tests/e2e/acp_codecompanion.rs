//! The order of messages of CodeCompanion.nvim, a client that asks one thing after the other and shows nothing that comes
//! outside of a prompt.

use crate::acp_client::{assert_calls_ended, of_kind, said, updates};
use plimsoll_core::model::request::Api;
use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

#[tokio::test]
async fn initialize_new_mode_prompt_permission_cancel_and_a_load_by_the_next_process() {
    let command = Call::new("run_terminal_cmd", json!({"command": "touch made"}));
    let server =
        ModelServer::start(Script::new([Step::say("Running. ").call(command), Step::say("ok"), Step::say("on")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let initialize = json!({
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": true, "writeTextFile": true}},
        "clientInfo": {"name": "CodeCompanion.nvim", "version": "1.0.0"},
    });
    let client = Client::over(daemon.greeted("acp").await, Framing::Lines);
    let said_of_itself = client.ok("initialize", initialize.clone()).await;
    // It logs in only where a way is offered, and takes up its session where that is.
    assert_eq!(said_of_itself["authMethods"], json!([]));
    assert_eq!(said_of_itself["agentCapabilities"]["loadSession"], true);
    let made = client.ok("session/new", json!({"cwd": workspace.text(), "mcpServers": []})).await;
    let session = made["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(made["modes"]["currentModeId"], "full");
    client.ok("session/set_mode", json!({"sessionId": session, "modeId": "ask"})).await;

    let text = |text: &str| json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    let (answer, ()) = tokio::join!(client.ok("session/prompt", text("run it")), async {
        let (id, params) = crate::acp_client::asked(&client).await;
        assert_eq!(params["sessionId"], json!(session));
        // The notification first, then the open question.
        client.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})).await;
        let cancelled = json!({"outcome": {"outcome": "cancelled"}});
        client.send(&json!({"jsonrpc": "2.0", "id": id, "result": cancelled})).await;
    });
    assert_eq!(answer, json!({"stopReason": "cancelled"}));
    assert_calls_ended(&updates(&client.others()));
    assert_eq!(workspace.read("made"), None);
    assert_eq!(client.ok("session/prompt", text("and now?")).await, json!({"stopReason": "end_turn"}));
    assert_eq!(said(&client.others()), "Running. ok");
    // It kills its process; the next one has the session's id.
    drop(client);

    let next = Client::over(daemon.greeted("acp").await, Framing::Lines);
    next.ok("initialize", initialize).await;
    let params = json!({"sessionId": session, "cwd": workspace.text(), "mcpServers": []});
    next.ok("session/load", params).await;
    let prompts: Vec<Value> = of_kind(&next.others(), "user_message_chunk");
    assert_eq!(prompts.len(), 2);
    assert_eq!(next.ok("session/prompt", text("go on")).await, json!({"stopReason": "end_turn"}));
    assert_eq!(said(&next.others()), "Running. okon");
    server.assert_clean();
}
