//! Many prompts, many sessions: turns of one session never mix, and one that waits holds up nobody else.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use plimsoll_tests::{in_time, over_both_apis};
use serde_json::json;
use std::time::{Duration, Instant};

over_both_apis! { prompts_at_once_are_turns_one_after_the_other }

/// Pairs of prompts that are sent at once, over each API.
const PAIRS: u64 = 50;

/// Case I10.
async fn prompts_at_once_are_turns_one_after_the_other(api: Api) {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new((0..2 * PAIRS).map(|_| Step::say("Yes.")))).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let (a, b) = (daemon.client().await, daemon.client().await);
    let session = a.session(&workspace).await;
    for pair in 0..PAIRS {
        let prompt = |who: &str| json!({"session": session, "text": format!("{who} {pair}")});
        let (from_a, from_b) = tokio::join!(a.ok("turn/start", prompt("a")), b.ok("turn/start", prompt("b")));
        let (first, second) = (2 * pair + 1, 2 * pair + 2);
        let mut got = [(from_a, "a"), (from_b, "b")];
        got.sort_by_key(|(accepted, _)| accepted["turn"].as_u64());
        assert_eq!(got[0].0, json!({"turn": first, "queued": false}));
        assert_eq!(got[1].0["turn"], second);
        a.completed(&session, second).await;
        // Whoever was told a number got the turn of this number.
        let lines = told(&a.events(), 0);
        for (turn, (_, who)) in [(first, &got[0]), (second, &got[1])] {
            let at = lines.iter().position(|line| *line == format!("turn {turn}")).expect("it began");
            let prompt = lines[at..].iter().find(|line| line.starts_with("user")).expect("its prompt");
            assert_eq!(*prompt, format!("user \"{who} {pair}\""));
        }
    }
    let turns: Vec<String> =
        told(&a.events(), 0).into_iter().filter(|line| line.starts_with("turn") && !line.ends_with("waits")).collect();
    let expected: Vec<String> =
        (1..=2 * PAIRS).flat_map(|turn| [format!("turn {turn}"), format!("turn {turn} ends: endTurn")]).collect();
    assert_eq!(turns, expected);
    server.assert_clean();
}

#[tokio::test]
async fn a_call_that_is_repeated_is_done_once() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    let steps = [Step::empty().text("One").stall(&gate).text("."), Step::say("Two.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let (client, other) = (daemon.client().await, daemon.client().await);
    let project = client.ok("project/open", json!({"roots": [workspace.text()]})).await;
    let create = json!({"project": project["key"], "idempotencyKey": "make"});
    let (made, again) = tokio::join!(client.ok("session/create", create.clone()), other.ok("session/create", create));
    assert_eq!(made, again);
    let session = made["id"].as_str().expect("an id");
    client.attach(session, 0).await;
    // The first is beginning, then it runs; the second waits behind it.
    let prompt = |key: &str| json!({"session": session, "text": key, "idempotencyKey": key});
    let (first, again) = tokio::join!(client.ok("turn/start", prompt("one")), other.ok("turn/start", prompt("one")));
    assert_eq!((&first, &again), (&json!({"turn": 1, "queued": false}), &json!({"turn": 1, "queued": false})));
    let second = client.ok("turn/start", prompt("two")).await;
    assert_eq!(second, json!({"turn": 2, "queued": true}));
    assert_eq!(other.ok("turn/start", prompt("two")).await, second);
    assert_eq!(other.ok("turn/start", prompt("one")).await, first);
    gate.release();
    client.completed(session, 2).await;
    assert_eq!(other.ok("turn/start", prompt("two")).await["turn"], 2);
    let users: Vec<String> = told(&client.events(), 0).into_iter().filter(|line| line.starts_with("user")).collect();
    assert_eq!(users, ["user \"one\"", "user \"two\""]);
    server.assert_clean();
    assert_eq!(server.requests().len(), 2);
}

/// Case I10: two clients, one session, and one of them changes its mind.
#[tokio::test]
async fn a_cancel_does_not_end_the_turn_that_waits_behind() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    let steps = [Step::empty().text("One").stall(&gate), Step::say("Two.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let (a, b) = (daemon.client().await, daemon.client().await);
    let session = a.session(&workspace).await;
    let first = a.start(&session, "from a").await;
    gate.reached().await;
    let second = b.ok("turn/start", json!({"session": session, "text": "from b"})).await;
    assert_eq!(second, json!({"turn": 2, "queued": true}));
    let refused = json!({"session": session, "text": "from b", "whenBusy": "refuse"});
    assert_eq!(b.err("turn/start", refused).await["data"]["kind"], "busy");
    a.ok("turn/cancel", json!({"session": session})).await;
    assert_eq!(a.completed(&session, first).await["stopReason"], "cancelled");
    assert_eq!(a.completed(&session, 2).await["stopReason"], "endTurn");
    let turns: Vec<String> = told(&a.events(), 0).into_iter().filter(|line| line.starts_with("turn")).collect();
    assert_eq!(turns, ["turn 1", "turn 2 waits", "turn 1 ends: cancelled", "turn 2", "turn 2 ends: endTurn"]);
    server.assert_clean();
}

/// Case I11.
#[tokio::test]
async fn a_session_that_waits_holds_up_no_other() {
    let workspaces = [Workspace::new(), Workspace::new()];
    let gate = Gate::new();
    let about = |word: &'static str| {
        move |request: &plimsoll_tests::model_server::Recorded| {
            request.last_user_text().is_some_and(|text| text.contains(word))
        }
    };
    let script = Script::new([])
        .on(about("ask me"), Step::calls([Call::new("run_terminal_cmd", json!({"command": "touch made"}))]))
        .on(about("be slow"), Step::say("Late.").stall_before(&gate))
        .on(about("be quick"), Step::say("Here."));
    let server = ModelServer::start(script).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let asking = client.session(&workspaces[0]).await;
    client.start(&asking, "ask me").await;
    client.asked(&asking).await;
    let slow = client.session(&workspaces[0]).await;
    client.start(&slow, "be slow").await;
    gate.reached().await;

    for workspace in &workspaces {
        let other = daemon.client().await;
        let quick = other.session(workspace).await;
        let (mut making, mut listing) = (Duration::MAX, Duration::MAX);
        // The quickest of three: on a busy machine any one may be late, but none is quick when the daemon is held up.
        for _ in 0..3 {
            let begun = Instant::now();
            let project = other.ok("session/get", json!({"session": quick})).await["project"].clone();
            other.ok("session/create", json!({"project": project, "title": "spare"})).await;
            making = making.min(begun.elapsed());
            let begun = Instant::now();
            other.ok("session/list", json!({})).await;
            listing = listing.min(begun.elapsed());
        }
        let bound = Duration::from_millis(200);
        assert!(making < bound && listing < bound, "made in {making:?}, listed in {listing:?}");
        let (before, begun) = (server.requests().len(), Instant::now());
        let turn = other.start(&quick, "be quick").await;
        server.wait_for(before + 1).await;
        assert!(begun.elapsed() < Duration::from_secs(1), "the request began after {:?}", begun.elapsed());
        let end = in_time("the quick turn", other.completed(&quick, turn)).await;
        assert_eq!(end["stopReason"], "endTurn");
    }
    let states = client.ok("session/list", json!({})).await;
    let mut states: Vec<&str> = states["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|session| session["title"] != "spare")
        .filter_map(|session| session["state"].as_str())
        .collect();
    states.sort_unstable();
    assert_eq!(states, ["idle", "idle", "running", "waiting"]);
    gate.release();
    server.assert_clean();
}
