//! What an ACP prompt may hold, what is told beside its answer, and how it ends.

use crate::acp_client::{
    connect, connect_with, load, of_kind, open, prompt, request, said, shown, updates, wait_update,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step, Usage};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

/// The smallest GIF of one pixel: a header and nothing more.
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x00\x00\x00\x3b";

fn machine(server: &ModelServer, model: &str) -> Machine {
    Machine::new(plimsoll_tests::binary!()).configure(&format!(
        "model = \"test/scripted\"\n[providers.test]\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
         [providers.test.models.scripted]\n{model}\n[permissions]\nmode = \"full\"\n",
        server.base_url(Api::OpenaiChat)
    ))
}

fn blocks(session: &str, blocks: Value) -> Value {
    json!({"sessionId": session, "prompt": blocks})
}

#[tokio::test]
async fn an_image_alone_is_a_prompt_and_is_replayed() {
    let server = ModelServer::start(Script::new([Step::say("a dot"), Step::say("still a dot")])).await;
    let daemon = machine(&server, "context_window = 200000\nmax_output = 8192\nimages = true").daemon().await;
    let workspace = Workspace::new();
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    let other = connect(&daemon).await;
    load(&other, &session, &workspace).await;
    let data = STANDARD.encode(GIF);
    let image = json!({"type": "image", "mimeType": "image/gif", "data": data});
    let answer = client.ok("session/prompt", blocks(&session, json!([image]))).await;
    assert_eq!(answer["stopReason"], "end_turn");
    assert!(server.requests()[0].json.to_string().contains(&data), "the model was sent it");
    // Words are still to come for the title.
    assert_eq!(prompt(&client, &session, "Sure?").await, "end_turn");
    wait_update(&client, "the title", |update| update["title"] == "Sure?").await;

    wait_update(&other, "the last answer", |update| update["content"]["text"] == "still a dot").await;
    let again = connect(&daemon).await;
    load(&again, &session, &workspace).await;
    let expected = [
        json!({"user_message_chunk": "", "blocks": [image]}),
        json!({"agent_message_chunk": "a dot"}),
        json!({"user_message_chunk": "Sure?"}),
        json!({"agent_message_chunk": "still a dot"}),
    ];
    assert_eq!(shown(&updates(&other.others())), expected, "live, for another client");
    assert_eq!(shown(&updates(&again.others())), expected, "replayed");
    for nothing in [json!([]), json!([{"type": "text", "text": " "}])] {
        assert_eq!(client.err("session/prompt", blocks(&session, nothing)).await["code"], -32602);
    }
    server.assert_clean();
}

#[tokio::test]
async fn a_prompt_that_is_too_large_is_the_clients_fault_and_the_session_goes_on() {
    let server = ModelServer::start(Script::new([Step::say("short")])).await;
    let daemon = machine(&server, "context_window = 40000\nmax_output = 4096").daemon().await;
    let workspace = Workspace::new();
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    let text = "word ".repeat(100_000);
    let params = blocks(&session, json!([{"type": "text", "text": text}]));
    let error = client.err("session/prompt", params).await;
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32602), &json!("invalidParams")));
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("The prompt was not sent") && message.contains("Put the text into a file"),
        "{message}"
    );
    assert_eq!(prompt(&client, &session, "short").await, "end_turn");
    server.assert_clean();
}

#[tokio::test]
async fn ends_that_are_no_failures_are_stop_reasons() {
    let server = ModelServer::start(Script::new([
        Step::say("I will not.").finish("content_filter"),
        Step::calls([Call::new("list_dir", json!({"target_directory": "."}))]),
        Step::calls([Call::new("read_file", json!({"target_file": "a"}))]),
    ]))
    .await;
    let config = "context_window = 200000\nmax_output = 8192\n[limits]\nmax_steps_per_turn = 2";
    let daemon = machine(&server, config).daemon().await;
    let workspace = Workspace::new().file("a", "");
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    assert_eq!(prompt(&client, &session, "no").await, "refusal");
    let (reason, ()) = tokio::join!(prompt(&client, &session, "look"), async {
        let (id, _) = request(&client, "session/request_permission").await;
        crate::acp_client::choose(&client, &id, "reject").await;
    });
    assert_eq!(reason, "max_turn_requests");
}

#[tokio::test]
async fn only_a_configured_model_without_its_key_asks_for_a_login() {
    let server = ModelServer::start(Script::new([])).await;
    let daemon =
        Machine::new(plimsoll_tests::binary!()).model_with_key(&server, Api::OpenaiChat, "NO_SUCH_KEY").daemon().await;
    let workspace = Workspace::new();
    let params = json!({"cwd": workspace.text(), "mcpServers": []});
    let error = connect(&daemon).await.err("session/new", params).await;
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32000), &json!("authRequired")));
    assert!(error["message"].as_str().unwrap().contains("NO_SUCH_KEY"), "{error}");

    let daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    assert_eq!(prompt(&client, &session, "hello").await, "end_turn");
    assert_ne!(said(&client.others()), "", "the offline model answers");
}

#[tokio::test]
async fn servers_that_are_not_used_are_told_once_where_the_user_sees_it() {
    let server = ModelServer::start(Script::new([Step::say("one"), Step::say("two")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let servers = json!([{"name": "files", "command": "/bin/false", "args": [], "env": []}]);
    let params = json!({"cwd": workspace.text(), "mcpServers": servers});
    let told = "Plimsoll does not use MCP servers yet; the tools of `files` are not there for this session.";

    let client = connect(&daemon).await;
    let made = client.ok("session/new", params.clone()).await;
    let session = made["sessionId"].as_str().unwrap();
    wait_update(&client, "the commands", |update| !update["availableCommands"].is_null()).await;
    assert_eq!(said(&client.others()), "", "clients show nothing that comes without a prompt");
    prompt(&client, session, "1").await;
    prompt(&client, session, "2").await;
    let texts: Vec<Value> =
        shown(&updates(&client.others())).into_iter().map(|entry| entry["agent_message_chunk"].clone()).collect();
    assert_eq!(texts, [told, "one", "two"]);

    let client = connect_with(&daemon, json!({"session": {"notices": {}}})).await;
    client.ok("session/new", params).await;
    let notice = wait_update(&client, "the notice", |update| update["sessionUpdate"] == "notice").await;
    assert_eq!(notice, json!({"sessionUpdate": "notice", "severity": "warning", "title": told}));
}

#[tokio::test]
async fn each_request_tells_its_load_and_what_the_session_has_cost() {
    let usage = |input, output| Usage { input, output, ..Usage::default() };
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("list_dir", json!({"target_directory": "."}))]).usage(usage(20_000, 500)),
        Step::say("done").usage(usage(21_000, 100)),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!())
        .env("ANY_KEY", "k")
        .configure(&format!(
            "model = \"anthropic/claude-sonnet-5-5\"\n[providers.anthropic]\nbase_url = \"{}\"\napi_key_env = \
             \"ANY_KEY\"\n[permissions]\nmode = \"full\"\n",
            server.base_url(Api::AnthropicMessages)
        ))
        .daemon()
        .await;
    let workspace = Workspace::new();
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    prompt(&client, &session, "look").await;
    let told = of_kind(&client.others(), "usage_update");
    assert_eq!(told.len(), 4, "each request when it is sent and when it is answered: {told:#?}");
    assert_eq!(told[0].get("cost"), None);
    assert_eq!((&told[1]["used"], &told[3]["used"]), (&json!(20_500), &json!(21_100)));
    let cost = |update: &Value| {
        assert_eq!(update["cost"]["currency"], "USD");
        update["cost"]["amount"].as_f64().unwrap()
    };
    assert_eq!(told[1]["cost"], told[2]["cost"]);
    assert!(0.0 < cost(&told[1]) && cost(&told[2]) < cost(&told[3]), "{told:#?}");
    let totals = daemon.client().await.ok("request/list", json!({"session": session})).await;
    let total = totals["total"]["cost"].as_f64().unwrap();
    assert!((total - cost(&told[3])).abs() < 1e-9, "{total} {told:#?}");

    let again = connect(&daemon).await;
    load(&again, &session, &workspace).await;
    let loaded = wait_update(&again, "the load", |update| update["sessionUpdate"] == "usage_update").await;
    assert_eq!((&loaded["used"], &loaded["size"]), (&told[3]["used"], &told[3]["size"]));
    assert!((cost(&loaded) - total).abs() < 1e-9);
    let info = of_kind(&again.others(), "session_info_update");
    assert_eq!(info[0]["title"], "look");
}

/// Answers the agent's next request for a file.
async fn give(client: &Client, known: usize, answer: Value) -> Value {
    let is_it = |message: &Value| message["method"] == "fs/read_text_file";
    let others = client.wait_others("a request for a file", |others| others.iter().skip(known).any(is_it)).await;
    let asked = others.into_iter().skip(known).find(is_it).unwrap();
    let mut message = json!({"jsonrpc": "2.0", "id": asked["id"]});
    message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    client.send(&message).await;
    asked["params"].clone()
}

#[tokio::test]
async fn a_linked_file_is_seen_as_it_is_in_the_editor() {
    let server = ModelServer::start(Script::new(["1", "2", "3", "4"].map(Step::say))).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new().file("a.txt", "on the disk\n");
    let client = connect_with(&daemon, json!({"fs": {"readTextFile": true}})).await;
    let session = open(&client, &workspace).await;
    let path = format!("{}/a.txt", workspace.text());
    let link = json!([
        {"type": "text", "text": "Look at "},
        {"type": "resource_link", "name": "a.txt", "uri": format!("file://{path}")},
    ]);
    let asks = async |answer: Value| {
        let known = client.others().len();
        let params = blocks(&session, link.clone());
        let (answered, asked) = tokio::join!(client.ok("session/prompt", params), give(&client, known, answer));
        assert_eq!(asked, json!({"sessionId": session, "path": path}));
        assert_eq!(answered["stopReason"], "end_turn");
        server.requests().pop().unwrap().last_user_text().unwrap()
    };
    let unsaved = asks(json!({"result": {"content": "in the editor\n"}})).await;
    assert!(unsaved.contains("in the editor") && !unsaved.contains("on the disk"), "{unsaved}");
    assert!(unsaved.contains("not saved yet"), "{unsaved}");
    let saved = asks(json!({"result": {"content": "on the disk\n"}})).await;
    assert!(saved.contains("on the disk") && !saved.contains("not saved yet"), "{saved}");
    let failed = asks(json!({"error": {"code": -32603, "message": "no"}})).await;
    assert!(failed.contains("on the disk"), "{failed}");
    // An editor that says nothing: the request is withdrawn, and the disk is read.
    let answered = client.ok("session/prompt", blocks(&session, link.clone())).await;
    assert_eq!(answered["stopReason"], "end_turn");
    assert!(client.others().iter().any(|message| message["method"] == "$/cancel_request"));
    let late = server.requests().pop().unwrap().last_user_text().unwrap();
    assert!(late.contains("on the disk"), "{late}");
    server.assert_clean();
}

#[tokio::test]
async fn nobody_is_asked_for_files_who_did_not_offer_them() {
    let server = ModelServer::start(Script::new([Step::say("1")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new().file("a.txt", "on the disk\n");
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    let link = json!([{"type": "resource_link", "name": "a", "uri": format!("file://{}/a.txt", workspace.text())}]);
    client.ok("session/prompt", blocks(&session, link)).await;
    assert!(client.others().iter().all(|message| message["method"] == "session/update"));
    assert!(server.requests()[0].last_user_text().unwrap().contains("on the disk"));
}
