//! Modes and configuration options over the Agent Client Protocol, in step with each other and between clients.

use crate::acp_client::{connect, load, of_kind, wait_update};
use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{ModelServer, Script};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

/// The current value of each option.
fn current(options: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let options = options.as_array().expect("a list of options").iter();
    options.map(|option| (text(&option["id"]), text(&option["currentValue"]))).collect()
}

fn pairs(mode: &str) -> [(String, String); 2] {
    [("mode".to_owned(), mode.to_owned()), ("model".to_owned(), "test/scripted".to_owned())]
}

#[tokio::test]
async fn the_mode_is_told_in_both_spellings_and_in_step() {
    let server = ModelServer::start(Script::new([])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let workspace = Workspace::new();
    let (one, two) = (connect(&daemon).await, connect(&daemon).await);
    let made = one.ok("session/new", json!({"cwd": workspace.text(), "mcpServers": []})).await;
    let session = made["sessionId"].as_str().unwrap();
    assert_eq!(current(&made["configOptions"]), pairs("ask"));
    assert_eq!(made["configOptions"][0]["category"], "mode");
    assert_eq!(made["configOptions"][1]["category"], "model");
    let values = |options: &Value, key: &str| -> Vec<Value> {
        options.as_array().unwrap().iter().map(|option| option[key].clone()).collect()
    };
    assert_eq!(
        values(&made["configOptions"][0]["options"], "value"),
        values(&made["modes"]["availableModes"], "id"),
        "the same choice twice"
    );
    let loaded = load(&two, session, &workspace).await;
    assert_eq!(loaded["configOptions"], made["configOptions"]);

    let set = |value: &str| json!({"sessionId": session, "configId": "mode", "value": value});
    let answer = one.ok("session/set_config_option", set("plan")).await;
    assert_eq!(current(&answer["configOptions"]), pairs("plan"));
    wait_update(&two, "the mode", |update| update["currentModeId"] == "plan").await;
    let told = wait_update(&two, "the option", |update| update["sessionUpdate"] == "config_option_update").await;
    assert_eq!(current(&told["configOptions"]), pairs("plan"));

    // The other spelling, by the other client; and by one that speaks another protocol.
    two.ok("session/set_mode", json!({"sessionId": session, "modeId": "auto"})).await;
    let is_auto = |update: &Value| {
        update["sessionUpdate"] == "config_option_update" && update["configOptions"][0]["currentValue"] == "auto"
    };
    wait_update(&one, "the option", is_auto).await;
    daemon.client().await.ok("session/setMode", json!({"session": session, "mode": "full"})).await;
    wait_update(&one, "the mode", |update| update["currentModeId"] == "full").await;
    wait_update(&one, "the option", |update| update["configOptions"][0]["currentValue"] == "full").await;
    assert_eq!(
        of_kind(&one.others(), "current_mode_update").len(),
        of_kind(&one.others(), "config_option_update").len()
    );

    let same = json!({"sessionId": session, "configId": "model", "value": "test/scripted"});
    let answer = one.ok("session/set_config_option", same).await;
    assert_eq!(current(&answer["configOptions"]), pairs("full"));
    for (option, value, named) in
        [("mode", json!("reckless"), "reckless"), ("speed", json!("fast"), "speed"), ("mode", json!(true), "mode")]
    {
        let mut params = json!({"sessionId": session, "configId": option, "value": value});
        if value.is_boolean() {
            params["type"] = "boolean".into();
        }
        let error = one.err("session/set_config_option", params).await;
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
    }
}
