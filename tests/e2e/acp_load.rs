//! A session that is taken up again over the Agent Client Protocol shows what was live, also after the daemon's death.

use crate::acp_client::{
    asked, assert_calls_ended, calls, choose, connect, load, open, prompt, shown, updates, wait_update,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

/// The smallest GIF of one pixel: a header and nothing more.
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x00\x00\x00\x3b";

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

/// Answers the next questions of a client in this order.
async fn answer(client: &Client, options: &[&str]) {
    let is_question = |message: &&Value| message["method"] == "session/request_permission";
    let known = client.others().iter().filter(is_question).count();
    for (at, option) in options.iter().enumerate() {
        let enough = |others: &[Value]| others.iter().filter(is_question).count() > known + at;
        let others = client.wait_others("a question", enough).await;
        let question = others.iter().filter(is_question).nth(known + at).expect("waited for it");
        choose(client, &question["id"], option).await;
    }
}

#[tokio::test]
async fn whatever_a_session_holds_is_replayed_as_it_was_live() {
    let command = |text: &str| Call::new("run_terminal_cmd", json!({"command": text}));
    let todo = json!({"merge": false, "todos": [{"id": "1", "content": "look", "status": "in_progress"}]});
    let write = Call::new("write", json!({"file_path": "b.txt", "contents": "one\ntwo\n"}));
    let server = ModelServer::start(Script::new([
        Step::empty()
            .reasoning("First I look, then I write.")
            .text_in(["Look", "ing ", "closely."])
            .call(Call::new("read_file", json!({"target_file": "dot.gif"})))
            .call(write),
        Step::calls([Call::new("todo_write", todo), command("touch refused"), Call::raw("grep", "{no JSON")]),
        Step::empty().reasoning("It was refused.").text("Then not."),
        Step::say("Running. ").call(command("echo started; sleep 600")).call(command("echo never")),
        Step::say("fine"),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!())
        .configure(&format!(
            "model = \"test/scripted\"\n[providers.test]\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
             [providers.test.models.scripted]\ncontext_window = 200000\nmax_output = 8192\nimages = true\n\
             [permissions]\nmode = \"ask\"\n",
            server.base_url(Api::OpenaiChat)
        ))
        .daemon()
        .await;
    let workspace = Workspace::new().file("dot.gif", GIF);
    let client = connect(&daemon).await;
    let session = open(&client, &workspace).await;
    // Another client sees everything live, the prompts too.
    let live = connect(&daemon).await;
    load(&live, &session, &workspace).await;

    let image = json!({"type": "image", "mimeType": "image/gif", "data": STANDARD.encode(GIF)});
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": "begin with this"}, image]});
    let (answered, ()) = tokio::join!(client.ok("session/prompt", params), answer(&client, &["allow_once", "reject"]));
    assert_eq!(answered["stopReason"], "end_turn");
    let (reason, ()) = tokio::join!(prompt(&client, &session, "run it"), async {
        wait_update(&client, "output", |update| update["content"].to_string().contains("started")).await;
        client.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})).await;
    });
    assert_eq!(reason, "cancelled");
    assert_eq!(prompt(&client, &session, "and now?").await, "end_turn");
    wait_update(&live, "the last answer", |update| update["content"]["text"] == "fine").await;

    let after = connect(&daemon).await;
    load(&after, &session, &workspace).await;
    let (seen, replayed) = (updates(&live.others()), updates(&after.others()));
    assert_calls_ended(&seen);
    assert_calls_ended(&replayed);
    assert_eq!(shown(&replayed), shown(&seen));
    let plans = |updates: &[Value]| -> Vec<Value> {
        updates.iter().filter(|update| update["sessionUpdate"] == "plan").cloned().collect()
    };
    assert_eq!(plans(&replayed), plans(&seen));
    let messages = |updates: &[Value]| -> Vec<String> {
        let mut ids: Vec<String> =
            updates.iter().filter_map(|update| update["messageId"].as_str().map(str::to_owned)).collect();
        ids.dedup();
        ids
    };
    assert_eq!(messages(&replayed), messages(&seen), "messages keep their ids");
    // That was everything that there is to be seen.
    let kinds = |name: &str| seen.iter().filter(|update| update["sessionUpdate"] == name).count() > 0;
    for kind in ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "plan"] {
        assert!(kinds(kind), "{kind}");
    }
    let statuses: Vec<String> = calls(&seen).into_iter().map(|(name, status)| format!("{name} {status}")).collect();
    assert_eq!(
        statuses,
        [
            "read_file completed",
            "write completed",
            "todo_write completed",
            "run_terminal_cmd failed",
            "grep failed",
            "run_terminal_cmd failed",
            "run_terminal_cmd failed",
        ]
    );
    let contents: Vec<String> = shown(&seen).iter().map(|entry| entry["content"].to_string()).collect();
    for part in ["\"type\":\"image\"", "\"type\":\"diff\""] {
        assert!(contents.iter().any(|content| content.contains(part)), "{part}: {contents:#?}");
    }
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
