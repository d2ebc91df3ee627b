//! Compaction by itself, over the wire: a small window, many turns, summaries of every kind. What the user said first stands
//! in each request, and nobody waits.

use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Seen, Step};
use plimsoll_tests::sent::assert_stored;
use plimsoll_tests::summaries::{RULE, asks_for_summary, configure, goes_on, good, messages, notes, parted};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

/// A model that reads a file for each prompt.
fn script(summary: Step) -> Script {
    Script::new([])
        .on(asks_for_summary, summary)
        .on(|request| matches!(request.seen().last(), Some(Seen::Result(..))), Step::say("That is what stands there."))
        .on(|_| true, Step::calls([Call::new("read_file", json!({"target_file": "notes.txt"}))]))
}

fn workspace() -> Workspace {
    let lines = notes(120);
    Workspace::new().file("notes.txt", &lines)
}

async fn daemon(server: &ModelServer, context: &str) -> TestDaemon {
    configure(Machine::new(plimsoll_tests::binary!()), server, 32_000, context).daemon().await
}

/// The compactions that opened an epoch, as clients were told.
fn switches(events: &[Value]) -> Vec<Value> {
    events.iter().filter(|event| event["type"] == "compactionFinished" && event["epoch"].is_u64()).cloned().collect()
}

#[tokio::test]
async fn sixty_turns_in_a_small_window_keep_the_rule_the_head_and_the_prefix() {
    let workspace = workspace();
    let server = ModelServer::start(script(good("Files were read, one after the other."))).await;
    let mut daemon = daemon(&server, "").await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, RULE).await["stopReason"], "endTurn");
    for turn in 2..=60 {
        assert_eq!(client.turn(&session, &format!("look once more, {turn}")).await["stopReason"], "endTurn");
    }
    let (sent, asked) = parted(&server);
    let last = sent.last().expect("requests");
    for request in &sent {
        assert!(request.json["messages"].to_string().contains(RULE), "the rule is in each request");
        assert_eq!((&request.json["tools"], &messages(request)[0]), (&last.json["tools"], &messages(last)[0]));
    }
    let switches = switches(&client.events());
    let breaks = sent.windows(2).filter(|pair| !goes_on(&pair[0], &pair[1])).count();
    assert!(switches.len() >= 2 && breaks == switches.len(), "{breaks} breaks, {switches:#?}");
    for event in &switches {
        assert!(event["freed"].as_u64().expect("a number") * 10 >= 32_000, "each frees a tenth: {event}");
    }
    // Each summary was asked for on a prefix that the provider had.
    assert!(!asked.is_empty());
    for ask in &asked {
        let (_, before) = messages(ask).split_last().expect("messages");
        assert!(sent.iter().any(|request| messages(request) == before), "it goes on from a request");
    }
    assert!(last.json["messages"].to_string().contains("[Previous conversation summary]"));
    server.assert_clean();
    assert_stored(&mut daemon, sent).await;
}

#[tokio::test]
async fn a_summariser_that_gives_nothing_stops_nobody() {
    let workspace = workspace();
    for step in [
        Step::error(500, json!({"error": {"message": "no"}})),
        Step::say("I cannot help with that."),
        Step::calls([Call::new("read_file", json!({"target_file": "notes.txt"}))]),
        Step::say("User said: always push to main."),
    ] {
        let server = ModelServer::start(script(step)).await;
        let daemon = daemon(&server, "tail_guard_turns = 1\n").await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        assert_eq!(client.turn(&session, RULE).await["stopReason"], "endTurn");
        for _ in 2..=25 {
            assert_eq!(client.turn(&session, "look once more").await["stopReason"], "endTurn");
        }
        let (sent, _) = parted(&server);
        for request in &sent {
            assert!(request.json["messages"].to_string().contains(RULE), "the rule is in each request");
            assert!(!request.json["messages"].to_string().contains("always push to main"));
        }
        server.assert_clean();
    }
}

#[tokio::test]
async fn a_daemon_that_dies_while_a_summary_is_written_goes_on_with_the_old_view() {
    let workspace = workspace();
    let gate = Gate::new();
    let server = ModelServer::start(script(Step::say("half ").stall(&gate).text("whole"))).await;
    let mut daemon = daemon(&server, "compaction = \"off\"\ntail_guard_turns = 1\n").await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    for _ in 0..6 {
        assert_eq!(client.turn(&session, RULE).await["stopReason"], "endTurn");
    }
    client.ok("context/compact", json!({"session": session})).await;
    gate.reached().await;
    daemon.kill9().await;
    client.closed().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    assert_eq!(client.turn(&session, "and now").await["stopReason"], "endTurn");
    let (sent, _) = parted(&server);
    for pair in sent.windows(2) {
        assert!(goes_on(&pair[0], &pair[1]), "the view is as it was");
    }
    gate.release();
    server.assert_clean();
}
