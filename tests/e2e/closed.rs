//! Why a subscription ends is told in a word, and a bridge's exit code says the same.

use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Output, Stdio};
use tokio::process::Child;

fn bridge(machine: &Machine) -> Child {
    let mut command = machine.command(Path::new("/"), &["stdio"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("a bridge")
}

async fn end(bridge: Child) -> Output {
    in_time("the bridge's end", bridge.wait_with_output()).await.unwrap()
}

/// The reasons of the subscriptions that have ended.
fn reasons(client: &Client) -> Vec<Value> {
    let events = client.events();
    events.iter().filter(|event| event["type"] == "closed").map(|event| event["reason"].clone()).collect()
}

#[tokio::test]
async fn who_is_connected_when_somebody_stops_the_daemon_is_told_so() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let workspace = Workspace::new();
    let (mut first, mut second) = (bridge(&machine), bridge(&machine));
    let follows = Client::editor_of(&mut first, Framing::Lines);
    follows.initialize().await;
    follows.session(&workspace).await;
    let looks = Client::editor_of(&mut second, Framing::Headers);
    looks.initialize().await;
    let stop = machine.command(Path::new("/"), &["stop"]).output();
    assert!(in_time("the stop", stop).await.unwrap().status.success());
    follows.closed().await;
    assert_eq!(reasons(&follows), ["daemonStopped"]);
    for bridge in [first, second] {
        let output = end(bridge).await;
        assert_eq!(output.status.code(), Some(5));
        assert!(String::from_utf8_lossy(&output.stderr).contains("somebody stopped the daemon"));
    }
    assert_eq!(machine.daemon_pid(), None);
}

#[tokio::test]
async fn who_is_connected_at_a_restart_is_told_to_connect_again() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let workspace = Workspace::new();
    let mut first = bridge(&machine);
    let follows = Client::editor_of(&mut first, Framing::Lines);
    follows.initialize().await;
    let session = follows.session(&workspace).await;
    let before = machine.daemon_pid();
    let restart = machine.command(Path::new("/"), &["restart"]).output();
    assert!(in_time("the restart", restart).await.unwrap().status.success());
    follows.closed().await;
    assert_eq!(reasons(&follows), ["daemonEnds"]);
    assert_eq!(end(first).await.status.code(), Some(4));
    let after = machine.daemon_pid();
    assert!(after.is_some() && after != before, "{before:?} {after:?}");
    let mut second = bridge(&machine);
    let again = Client::editor_of(&mut second, Framing::Lines);
    again.initialize().await;
    again.attach(&session, 0).await;
    assert_eq!(machine.daemon_pid(), after);
}

#[tokio::test]
async fn a_deleted_session_is_not_taken_for_one_whose_daemon_ended() {
    let daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let workspace = Workspace::new();
    let (follows, deletes) = (daemon.client().await, daemon.client().await);
    let session = follows.session(&workspace).await;
    deletes.ok("session/delete", json!({"session": session})).await;
    let ends = |events: &[Value]| events.iter().any(|event| event["type"] == "closed");
    follows.wait_events("the end", ends).await;
    assert_eq!(reasons(&follows), ["sessionDeleted"]);
    assert_eq!(follows.ok("daemon/status", json!({})).await["pid"], daemon.pid());
}

#[tokio::test]
async fn an_editor_that_calls_shutdown_has_a_bridge_that_ends_well() {
    let machine = Machine::new(plimsoll_tests::binary!());
    for framing in [Framing::Lines, Framing::Headers] {
        let mut bridge = bridge(&machine);
        let client = Client::editor_of(&mut bridge, framing);
        client.initialize().await;
        client.ok("shutdown", json!({})).await;
        client.closed().await;
        let output = end(bridge).await;
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{framing:?}");
    }
    assert!(machine.daemon_pid().is_some(), "only the connection ends");
}
