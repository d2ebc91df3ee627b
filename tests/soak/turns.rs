//! Thousands of turns in one daemon: memory and descriptors stay as they were, no event is lost or comes twice.

use crate::model;
use plimsoll_core::model::request::Api;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::ModelServer;
use plimsoll_tests::told::{durable, told};
use plimsoll_tests::workspace::Workspace;
use serde_json::json;

/// Turns of one session.
const OF_SESSION: u64 = 20;

/// What a daemon holds at one moment.
#[derive(Debug, Clone, Copy)]
struct Held {
    bytes: u64,
    descriptors: usize,
}

impl Held {
    fn by(daemon: &TestDaemon) -> Self {
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).expect("the daemon runs").count();
        Self { bytes: daemon.resident(), descriptors }
    }
}

/// The middle one of these.
fn median<T: Copy + Ord>(of: impl Iterator<Item = T>) -> T {
    let mut sorted: Vec<T> = of.collect();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

async fn run(turns: u64) {
    let workspace = Workspace::new().file(model::FILE, "one\ntwo\nthree\n");
    let server = ModelServer::start(model::script()).await;
    server.forget_bodies();
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let mut held = Vec::new();
    for at in 0..turns / OF_SESSION {
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        for turn in 1..=OF_SESSION {
            let word = model::WORDS[usize::try_from((at + turn) % model::WORDS.len() as u64).expect("an index")];
            let started = client.start(&session, &format!("{word} something")).await;
            assert_eq!(started, turn);
            let end = client.completed(&session, turn).await;
            assert_eq!(end["stopReason"], if word == "fail" { "modelError" } else { "endTurn" });
        }
        // What was told live is what is told again, each once.
        let last = client.ok("session/get", json!({"session": session})).await["lastSeq"].clone();
        let live = client
            .wait_events("the last event", |events| events.last().is_some_and(|event| event["seq"] == last))
            .await;
        assert_eq!(told(&live, 0).len() as u64, last.as_u64().expect("a number"));
        let other = daemon.client().await;
        other.attach(&session, 0).await;
        let again =
            other.wait_events("the last event", |events| events.last().is_some_and(|event| event["seq"] == last)).await;
        assert_eq!(durable(&again), durable(&live));
        held.push(Held::by(&daemon));
        client.ok("session/delete", json!({"session": session})).await;
    }
    server.assert_clean();
    let tenth = held.len() / 10;
    let (first, last) = (&held[tenth..2 * tenth], &held[held.len() - tenth..]);
    let bytes = (median(first.iter().map(|held| held.bytes)), median(last.iter().map(|held| held.bytes)));
    let descriptors =
        (median(first.iter().map(|held| held.descriptors)), median(last.iter().map(|held| held.descriptors)));
    println!("{turns} turns: {bytes:?} bytes, {descriptors:?} descriptors after the first tenth and in the last");
    assert!(bytes.1 * 10 <= bytes.0 * 11, "memory has grown: {held:?}");
    assert!(descriptors.1 <= descriptors.0, "descriptors have grown: {held:?}");
}

#[tokio::test]
async fn a_thousand_turns_leave_nothing_behind() {
    run(1_000).await;
}

#[tokio::test]
#[ignore = "runs for many minutes"]
async fn ten_thousand_turns_leave_nothing_behind() {
    run(10_000).await;
}
