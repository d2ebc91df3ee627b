//! Steering and interrupts: exact ends, a result for every call, and a next turn that the provider takes.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, End, Gate, ModelServer, Script, Seen, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::session::TWO_PROCESSES;
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use serde_json::json;

over_both_apis! {
    steering_joins_the_running_turn
    an_interrupt_while_the_model_writes
    an_interrupt_in_a_command
    an_interrupt_while_a_question_waits
    an_interrupt_ends_its_own_turn_only
}

async fn begin(api: Api, mode: &str, steps: Vec<Step>) -> (TestDaemon, ModelServer) {
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, mode).daemon().await;
    (daemon, server)
}

async fn text_begins(client: &Client) {
    client.wait_events("a piece of text", |events| events.iter().any(|event| event["type"] == "textDelta")).await;
}

async fn end(mut daemon: TestDaemon, server: ModelServer) {
    server.assert_clean();
    assert_eq!(server.steps_left(), 0);
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}

async fn steering_joins_the_running_turn(api: Api) {
    let (workspace, gate) = (Workspace::new(), Gate::new());
    let steps = vec![Step::empty().text("I use ").stall(&gate).text("blanks."), Step::say("I use tabs.")];
    let (daemon, server) = begin(api, "full", steps).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "indent it").await;
    text_begins(&client).await;
    let other = daemon.client().await;
    other.ok("turn/steer", json!({"session": session, "text": "use tabs"})).await;
    gate.release();
    assert_eq!(client.completed(&session, turn).await["stopReason"], "endTurn");
    assert_eq!(
        told(&client.events(), 0),
        [
            "session changed",
            "turn 1",
            "user \"indent it\"",
            "step 1",
            "text \"I use blanks.\"",
            "step 1 answered",
            "steering \"use tabs\"",
            "step 2",
            "text \"I use tabs.\"",
            "step 2 answered",
            "turn 1 ends: endTurn",
        ]
    );
    let last = server.requests()[1].last_user_text().expect("a user's message");
    assert!(last.contains("use tabs"), "{last}");
    // Without a running turn it is a prompt.
    server.push(Step::say("Yes."));
    other.ok("turn/steer", json!({"session": session, "text": "really?"})).await;
    assert_eq!(client.completed(&session, 2).await["stopReason"], "endTurn");
    end(daemon, server).await;
}

async fn an_interrupt_while_the_model_writes(api: Api) {
    let (workspace, gate) = (Workspace::new(), Gate::new());
    let steps = vec![Step::empty().text("A long ").stall(&gate).text("answer."), Step::say("Short.")];
    let (daemon, server) = begin(api, "full", steps).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "explain").await;
    text_begins(&client).await;
    client.ok("turn/cancel", json!({"session": session})).await;
    let ended = client.completed(&session, turn).await;
    assert_eq!((&ended["stopReason"], &ended["unsettled"]), (&json!("cancelled"), &json!([])));
    assert_eq!(
        told(&client.events(), 0),
        [
            "session changed",
            "turn 1",
            "user \"explain\"",
            "step 1",
            "cut \"A long \"",
            "step 1 answered",
            "notice interrupted",
            "meta interrupted",
            "turn 1 ends: cancelled",
        ]
    );
    server.wait_until("the end of the connection", |requests| requests[0].end == End::Dropped).await;
    assert_eq!(client.turn(&session, "shorter").await["stopReason"], "endTurn");
    // With no turn running there is nothing to interrupt.
    client.ok("turn/cancel", json!({"session": session})).await;
    end(daemon, server).await;
}

async fn an_interrupt_in_a_command(api: Api) {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let line = TWO_PROCESSES;
    let calls = [
        Call::new("run_terminal_cmd", json!({"command": line})),
        Call::new("read_file", json!({"target_file": "a.txt"})),
        Call::new("run_terminal_cmd", json!({"command": "touch late"})),
    ];
    let (daemon, server) = begin(api, "full", vec![Step::calls(calls), Step::say("I stopped.")]).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "run it").await;
    let processes = client.running_processes().await;
    client.ok("turn/cancel", json!({"session": session})).await;
    assert_eq!(client.completed(&session, turn).await["stopReason"], "cancelled");
    for process in processes {
        process.gone().await;
    }
    let lines = told(&client.events(), 0);
    let after = lines.iter().position(|line| line == "c1 runs").expect("it ran");
    let mut results: Vec<&String> = lines[after + 1..].iter().filter(|line| line.starts_with('c')).collect();
    results.sort();
    assert_eq!(results, ["c1 cancelled", "c2 cancelled", "c3 cancelled"]);
    assert_eq!(lines[lines.len() - 3..], ["notice interrupted", "meta interrupted", "turn 1 ends: cancelled"]);
    assert_eq!(client.turn(&session, "what now?").await["stopReason"], "endTurn");
    assert_eq!(workspace.read("late"), None);
    end(daemon, server).await;
}

async fn an_interrupt_while_a_question_waits(api: Api) {
    let workspace = Workspace::new();
    let calls = [Call::new("run_terminal_cmd", json!({"command": "touch made"}))];
    let (daemon, server) = begin(api, "ask", vec![Step::calls(calls), Step::say("Then not.")]).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "make it").await;
    let ask = client.asked(&session).await;
    client.ok("turn/cancel", json!({"session": session})).await;
    assert_eq!(client.completed(&session, turn).await["stopReason"], "cancelled");
    let lines = told(&client.events(), 0);
    assert_eq!(
        lines[lines.len() - 5..],
        ["a1 void", "c1 cancelled", "notice interrupted", "meta interrupted", "turn 1 ends: cancelled"]
    );
    let answer = json!({"session": session, "ask": ask["id"], "choice": "allowOnce"});
    assert_eq!(client.err("permission/respond", answer).await["data"]["kind"], "conflict");
    assert_eq!(client.turn(&session, "leave it").await["stopReason"], "endTurn");
    assert_eq!(workspace.read("made"), None);
    end(daemon, server).await;
}

async fn an_interrupt_ends_its_own_turn_only(api: Api) {
    let (workspace, first, second) = (Workspace::new(), Gate::new(), Gate::new());
    let steps =
        vec![Step::empty().text("One").stall(&first).text("."), Step::empty().text("Two").stall(&second).text(".")];
    let (daemon, server) = begin(api, "full", steps).await;
    let (client, other) = (daemon.client().await, daemon.client().await);
    let session = client.session(&workspace).await;
    client.start(&session, "one").await;
    text_begins(&client).await;
    let queued = other.ok("turn/start", json!({"session": session, "text": "two"})).await;
    assert_eq!(queued, json!({"turn": 2, "queued": true}));
    let busy = other.err("turn/start", json!({"session": session, "text": "three", "whenBusy": "refuse"})).await;
    assert_eq!((&busy["code"], &busy["data"]["kind"]), (&json!(-32022), &json!("busy")));
    // Answered when the first turn is over, although the second runs on.
    client.ok("turn/cancel", json!({"session": session})).await;
    assert_eq!(client.completed(&session, 1).await["stopReason"], "cancelled");
    second.reached().await;
    second.release();
    assert_eq!(client.completed(&session, 2).await["stopReason"], "endTurn");
    let users =
        |seen: Vec<Seen>| seen.into_iter().filter(|seen| matches!(seen, Seen::User(text) if text.contains("two")));
    assert_eq!(users(server.requests()[1].seen()).count(), 1);
    end(daemon, server).await;
}

#[tokio::test]
async fn a_stopping_daemon_interrupts_what_runs_and_what_waits() {
    let (workspace, gate) = (Workspace::new(), Gate::new());
    let steps = vec![Step::empty().text("One").stall(&gate).text("."), Step::say("Never.")];
    let (mut daemon, server) = begin(Api::OpenaiChat, "full", steps).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "one").await;
    text_begins(&client).await;
    client.start(&session, "two").await;
    assert!(daemon.stop().await.success());
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    for turn in [1, 2] {
        assert_eq!(client.completed(&session, turn).await["stopReason"], "cancelled");
    }
    assert_eq!(client.ok("session/get", json!({"session": session})).await["state"], "idle");
    assert_eq!(server.requests().len(), 1);
}
