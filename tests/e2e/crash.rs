//! The daemon is killed at the worst moments: nothing that was committed is lost or doubled, nothing runs on, and the
//! session goes on with the same bytes.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Seen, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::session::TWO_PROCESSES;
use plimsoll_tests::told::{durable, items, told};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

over_both_apis! {
    in_the_middle_of_a_command
    before_the_effect_of_a_command
    while_the_model_writes
    between_turns
}

fn last_seq(events: &[Value]) -> u64 {
    events.iter().filter_map(|event| event["seq"].as_u64()).max().unwrap_or(0)
}

/// Kills the daemon, starts it again, and attaches behind what `client` has seen. Gives the new client, what both have
/// seen together, and how many of these the old one had.
async fn crash(daemon: &mut TestDaemon, client: Client, session: &str) -> (Client, u64) {
    daemon.kill9().await;
    client.closed().await;
    let seen = last_seq(&client.events());
    daemon.restart().await;
    let again = daemon.client().await;
    again.attach(session, seen).await;
    (again, seen)
}

/// All durable events from the first, as the store gives them.
async fn all(daemon: &TestDaemon, session: &str, until: u64) -> Vec<Value> {
    let client = daemon.client().await;
    client.attach(session, 0).await;
    client.wait_events("the events so far", |events| last_seq(events) >= until).await
}

// Case H03: after the effect.
async fn in_the_middle_of_a_command(api: Api) {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let line = &format!("echo x >> counter; {TWO_PROCESSES}");
    let server = ModelServer::start(Script::new([
        Step::empty()
            .text("I run it.")
            .call(Call::new("read_file", json!({"target_file": "a.txt"})))
            .call(Call::new("run_terminal_cmd", json!({"command": line}))),
        Step::say("I look first."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "run it").await;
    let processes = client.running_processes().await;

    let before = client.events();
    let (client, seen) = crash(&mut daemon, client, &session).await;
    for process in processes {
        process.gone().await;
    }
    let end = client.completed(&session, 1).await;
    assert_eq!((&end["stopReason"], &end["unsettled"]), (&json!("crashed"), &json!(["c2"])));
    let after = client.events();
    assert_eq!(told(&after, seen), ["c2 unknown", "notice crash", "meta unknownOperations", "turn 1 ends: crashed"]);
    let whole = all(&daemon, &session, last_seq(&after)).await;
    assert_eq!(durable(&whole), [durable(&before), durable(&after)].concat());
    let page = client.ok("transcript/read", json!({"session": session})).await;
    assert_eq!(page["items"], json!(items(&whole)));
    let info = client.ok("session/get", json!({"session": session})).await;
    assert_eq!(info["state"], "interrupted");

    assert_eq!(client.turn(&session, "go on").await["stopReason"], "endTurn");
    assert_eq!(workspace.read("counter").as_deref(), Some("x\n"), "the effect happened once");
    let request = &server.requests()[1];
    let results: Vec<String> = request.results().into_iter().map(|(_, text)| text).collect();
    assert!(results.len() == 2 && results[0].contains("1|alpha") && results[1].contains("unknown"), "{results:#?}");
    let told_model = request.seen().into_iter().any(|seen| matches!(seen, Seen::User(text) if text.contains(line)));
    assert!(told_model, "{:#?}", request.seen());
    server.assert_clean();
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}

// Case H03: before the effect.
async fn before_the_effect_of_a_command(api: Api) {
    let workspace = Workspace::new();
    let line = &format!("{TWO_PROCESSES}; echo x >> counter");
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("run_terminal_cmd", json!({"command": line}))]),
        Step::say("I look first."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "run it").await;
    let processes = client.running_processes().await;
    let (client, _) = crash(&mut daemon, client, &session).await;
    for process in processes {
        process.gone().await;
    }
    assert_eq!(client.completed(&session, 1).await["unsettled"], json!(["c1"]));
    assert_eq!(client.turn(&session, "go on").await["stopReason"], "endTurn");
    assert_eq!(workspace.read("counter"), None);
    let results = server.requests()[1].results();
    assert!(results.len() == 1 && results[0].1.contains("unknown"), "{results:#?}");
    server.assert_clean();
    assert_replayed(&mut daemon, &server).await;
}

async fn while_the_model_writes(api: Api) {
    let (workspace, gate) = (Workspace::new().file("a.txt", "alpha\n"), Gate::new());
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("read_file", json!({"target_file": "a.txt"}))]),
        Step::empty().text("Half an ans").stall(&gate).text("wer."),
        Step::say("A whole answer."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "read and answer").await;
    client.wait_events("a piece of text", |events| events.iter().any(|event| event["type"] == "textDelta")).await;
    let before = client.events();
    let (client, seen) = crash(&mut daemon, client, &session).await;
    assert_eq!(client.completed(&session, 1).await["stopReason"], "crashed");
    assert_eq!(told(&client.events(), seen), ["notice crash", "meta interrupted", "turn 1 ends: crashed"]);
    assert_eq!(client.turn(&session, "go on").await["stopReason"], "endTurn");
    let lines = told(&all(&daemon, &session, last_seq(&client.events())).await, 0);
    assert_eq!(lines[..told(&before, 0).len()], told(&before, 0));
    assert_eq!(lines.iter().filter(|line| line.starts_with("text")).collect::<Vec<_>>(), ["text \"A whole answer.\""]);
    server.assert_clean();
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}

async fn between_turns(api: Api) {
    let workspace = Workspace::new().file("AGENTS.md", "Be brief.\n").git();
    let server = ModelServer::start(Script::new([Step::say("One."), Step::say("Two."), Step::say("Three.")])).await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let mut client = daemon.client().await;
    let session = client.session(&workspace).await;
    for (turn, prompt) in (1..).zip(["first", "second", "third"]) {
        let end = client.turn(&session, prompt).await;
        assert_eq!((&end["turn"], &end["stopReason"]), (&json!(turn), &json!("endTurn")));
        let seen;
        (client, seen) = crash(&mut daemon, client, &session).await;
        assert_eq!(seen, last_seq(&all(&daemon, &session, seen).await), "a crash between turns adds nothing");
    }
    assert_eq!(client.ok("session/get", json!({"session": session})).await["state"], "idle");
    server.assert_clean();
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}
