//! An ACP client that knows JSON and nothing else, and what an editor shows after the updates that it got. Used by the
//! `acp_` tests beside it.

use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::collections::HashSet;

/// A connection that has been initialized, asking for a version that does not exist.
pub async fn connect(daemon: &TestDaemon) -> Client {
    connect_with(daemon, json!({})).await
}

/// The same for a client that can do this.
pub async fn connect_with(daemon: &TestDaemon, capabilities: Value) -> Client {
    let client = Client::over(daemon.greeted("acp").await, Framing::Lines);
    let asked = json!({
        "protocolVersion": 7, "clientInfo": {"name": "t", "version": "1"}, "clientCapabilities": capabilities,
    });
    let said = client.ok("initialize", asked).await;
    assert_eq!(said["protocolVersion"], 1);
    client
}

/// A new session in the workspace; its id.
pub async fn open(client: &Client, workspace: &Workspace) -> String {
    let made = client.ok("session/new", json!({"cwd": workspace.text(), "mcpServers": []})).await;
    made["sessionId"].as_str().expect("a session has an id").to_owned()
}

/// Loads a session.
pub async fn load(client: &Client, session: &str, workspace: &Workspace) -> Value {
    client.ok("session/load", json!({"sessionId": session, "cwd": workspace.text(), "mcpServers": []})).await
}

/// Prompts with text; why the turn ended.
pub async fn prompt(client: &Client, session: &str, text: &str) -> Value {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    client.ok("session/prompt", params).await["stopReason"].take()
}

/// The updates among what came, in order.
pub fn updates(others: &[Value]) -> Vec<Value> {
    let updates = others.iter().filter(|message| message["method"] == "session/update");
    updates.map(|message| message["params"]["update"].clone()).collect()
}

/// The updates of this kind among what came, in order.
pub fn of_kind(others: &[Value], kind: &str) -> Vec<Value> {
    updates(others).into_iter().filter(|update| update["sessionUpdate"] == kind).collect()
}

/// Waits for an update of which this holds.
pub async fn wait_update(client: &Client, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let others = client.wait_others(what, |others| updates(others).iter().any(&is_it)).await;
    updates(&others).into_iter().find(is_it).expect("waited for it")
}

/// The text of the agent's messages, joined.
pub fn said(others: &[Value]) -> String {
    of_kind(others, "agent_message_chunk").iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
}

/// Waits for an open question; its id and parameters.
pub async fn asked(client: &Client) -> (Value, Value) {
    request(client, "session/request_permission").await
}

/// Waits for a request of the agent; its id and parameters, of the last one.
pub async fn request(client: &Client, method: &str) -> (Value, Value) {
    let is_it = |message: &Value| message["method"] == method;
    let others = client.wait_others(method, |others| others.iter().any(is_it)).await;
    let request = others.into_iter().rev().find(is_it).expect("waited for it");
    (request["id"].clone(), request["params"].clone())
}

/// Answers a question with this option.
pub async fn choose(client: &Client, question: &Value, option: &str) {
    let outcome = json!({"outcome": "selected", "optionId": option});
    client.send(&json!({"jsonrpc": "2.0", "id": question, "result": {"outcome": outcome}})).await;
}

/// What an editor shows: messages with all their text, calls with all that is known of them, in the order in which they
/// appeared.
pub fn shown(updates: &[Value]) -> Vec<Value> {
    let mut shown: Vec<(String, Value)> = Vec::new();
    for update in updates {
        let kind = update["sessionUpdate"].as_str().expect("an update has a kind");
        if kind.ends_with("_chunk") {
            assert!(update["messageId"].is_string(), "every chunk belongs to a message: {update}");
            let key = format!("{kind} {}", update["messageId"]);
            let at = shown.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                shown.push((key, json!({kind: ""})));
                shown.len() - 1
            });
            let message = &mut shown[at].1;
            if let Some(text) = update["content"]["text"].as_str() {
                message[kind] = format!("{}{text}", message[kind].as_str().unwrap()).into();
            } else {
                let mut blocks = message["blocks"].as_array().cloned().unwrap_or_default();
                blocks.push(update["content"].clone());
                message["blocks"] = blocks.into();
            }
        } else if kind == "tool_call" || kind == "tool_call_update" {
            let key = update["toolCallId"].to_string();
            let mut update = update.clone();
            update.as_object_mut().unwrap().remove("sessionUpdate");
            if let Some((_, call)) = shown.iter_mut().find(|(known, _)| *known == key) {
                call.as_object_mut().unwrap().append(update.as_object_mut().unwrap());
            } else {
                assert_eq!(kind, "tool_call", "announced before anything else is said of it");
                update["status"] = "pending".into();
                shown.push((key, update));
            }
        }
    }
    shown.into_iter().map(|(_, entry)| entry).collect()
}

/// Name and status of each call that is shown.
pub fn calls(updates: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let calls = shown(updates).into_iter().filter(|entry| entry.get("toolCallId").is_some());
    calls.map(|call| (text(&call["name"]), text(&call["status"]))).collect()
}

/// Every call that was announced has ended, once.
pub fn assert_calls_ended(updates: &[Value]) {
    let mut open = HashSet::new();
    for update in updates {
        let id = update["toolCallId"].as_str();
        match (update["sessionUpdate"].as_str(), id) {
            (Some("tool_call"), Some(id)) => assert!(open.insert(id), "{id} is announced twice: {updates:#?}"),
            (Some("tool_call_update"), Some(id)) => {
                assert!(open.contains(id), "{id} is not open: {update}");
                if update["status"] == "completed" || update["status"] == "failed" {
                    open.remove(id);
                }
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "calls without an end: {open:?}");
}
