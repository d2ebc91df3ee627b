//! Compaction by hand, seen from outside: on the wire, on the command line, in the list of requests, and after a restart.

use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Recorded, Script, Step, Usage};
use plimsoll_tests::summaries::{RULE, asks_for_summary, configure, notes};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

struct Talk {
    daemon: TestDaemon,
    server: ModelServer,
    workspace: Workspace,
    client: Client,
    session: String,
}

impl Talk {
    /// Four turns, each with the content of files in its view; nothing is shortened by itself.
    async fn begin(summary: Step) -> Self {
        let mut workspace = Workspace::new();
        let mut steps = Vec::new();
        for turn in 0..4 {
            let mut calls = Vec::new();
            for file in 0..3 {
                let name = format!("f{turn}{file}.txt");
                workspace = workspace.file(&name, notes(400));
                calls.push(Call::new("read_file", json!({"target_file": name})));
            }
            steps.push(Step::calls(calls));
            steps.push(Step::say("read"));
        }
        steps.push(Step::say("gone on"));
        let server = ModelServer::start(Script::new(steps).on(asks_for_summary, summary)).await;
        let context = "compaction = \"off\"\ntail_guard_turns = 1\n";
        let machine = configure(Machine::new(plimsoll_tests::binary!()), &server, 40_000, context);
        let daemon = machine.daemon().await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        let talk = Self { daemon, server, workspace, client, session };
        for turn in 0..4 {
            let text = if turn == 0 { RULE.to_owned() } else { format!("read {turn}") };
            assert_eq!(talk.client.turn(&talk.session, &text).await["stopReason"], "endTurn");
        }
        talk
    }

    /// The end of a compaction, the `count`th of the session.
    async fn finished(&self, count: usize) -> Value {
        let is = |event: &&Value| event["type"] == "compactionFinished";
        let events = self
            .client
            .wait_events("the end of the compaction", |events| events.iter().filter(is).count() >= count)
            .await;
        events.iter().filter(is).nth(count - 1).unwrap().clone()
    }

    async fn requests(&self) -> Value {
        self.client.ok("request/list", json!({"session": self.session})).await
    }
}

#[tokio::test]
async fn a_compaction_by_hand_is_told_listed_and_goes_on_after_a_restart() {
    let summary = Step::say("no sections").usage(Usage { input: 9_000, cached: 8_000, written: 0, output: 20 });
    let mut talk = Talk::begin(summary).await;
    let asked = json!({"session": talk.session, "focus": "legacy", "idempotencyKey": "k"});
    assert_eq!(talk.client.ok("context/compact", asked.clone()).await, json!({"started": true}));
    let end = talk.finished(1).await;
    let (before, after) = (end["before"].as_u64().unwrap(), end["after"].as_u64().unwrap());
    assert!(after < before && end["epoch"].is_u64(), "{end}");
    assert_eq!(end["freed"], json!(before - after));
    let started = talk.client.events().into_iter().find(|event| event["type"] == "compactionStarted").unwrap();
    assert_eq!(started["cause"], "manual");
    // The same key again begins nothing.
    assert_eq!(talk.client.ok("context/compact", asked).await, json!({"started": true}));
    let state = talk.client.ok("session/get", json!({"session": talk.session})).await;
    assert_eq!(state["state"], "idle");

    // What was asked beside the conversation is listed, counted and can be had again byte for byte.
    let listed = talk.requests().await;
    let asks: Vec<Recorded> = talk.server.requests().into_iter().filter(asks_for_summary).collect();
    let side = listed["side"].as_array().unwrap();
    assert!(!asks.is_empty());
    assert_eq!((side.len(), &listed["total"]["side"]["requests"]), (asks.len(), &json!(asks.len())));
    assert_eq!(
        (&side[0]["purpose"], &side[0]["base"], &side[0]["usage"]["input"]),
        (&json!("summary"), &json!(8), &json!(9_000))
    );
    for (no, ask) in (1..).zip(&asks) {
        let one = json!({"session": talk.session, "side": no});
        let body = talk.client.ok("request/replay", one.clone()).await;
        assert_eq!(body["text"].as_str().unwrap().as_bytes(), &ask.body[..], "side request {no}");
        let detail = talk.client.ok("request/get", one).await;
        assert_eq!((&detail["answer"], detail.get("info")), (&json!("no sections"), None));
    }
    let both = talk.client.err("request/get", json!({"session": talk.session, "side": 1, "request": 1})).await;
    assert!(both["message"].as_str().unwrap().contains("give one of them"), "{both}");
    let shortened = talk.client.ok("context/inspect", json!({"session": talk.session})).await["shortened"].clone();
    assert_eq!((&shortened["last"]["cause"], &shortened["last"]["epoch"]), (&json!("manual"), &end["epoch"]));
    assert!(shortened["summary"]["lastItem"].is_u64(), "{shortened}");

    // After a restart the next request has the same head, the user's own words, and is shorter.
    talk.daemon.kill9().await;
    talk.client.closed().await;
    talk.daemon.restart().await;
    talk.client = talk.daemon.client().await;
    talk.client.attach(&talk.session, 0).await;
    assert_eq!(talk.client.turn(&talk.session, "and now").await["stopReason"], "endTurn");
    let sent = talk.server.requests();
    let (last, full) = (sent.last().unwrap(), &sent[7]);
    assert!(last.json["messages"].to_string().contains(RULE), "{}", last.json["messages"]);
    assert!(last.body.len() * 2 < full.body.len(), "{} of {}", last.body.len(), full.body.len());
    assert_eq!((&last.json["tools"], &last.json["messages"][0]), (&full.json["tools"], &full.json["messages"][0]));
    let no = talk.requests().await["requests"].as_array().unwrap().last().unwrap()["request"].clone();
    let body = talk.client.ok("request/replay", json!({"session": talk.session, "request": no})).await;
    assert_eq!(body["text"].as_str().unwrap().as_bytes(), &last.body[..]);
}

#[tokio::test]
async fn the_command_says_what_came_of_it() {
    let talk = Talk::begin(Step::say("no sections")).await;
    let run = async |arguments: &[&str]| {
        let output = talk.daemon.machine().command(talk.workspace.path(), arguments).output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, said, _) = run(&["compact", "--focus", "the rules"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(" → ") && said.contains("the beginning is summarised"), "{said}");
    let (_, requests, _) = run(&["requests"]).await;
    assert!(requests.contains("\ns1 ") && requests.contains("\nbeside: "), "{requests}");
    let (code, body, _) = run(&["replay", &talk.session, "1", "--side"]).await;
    assert_eq!((code, serde_json::from_str::<Value>(&body).unwrap()["model"].clone()), (Some(0), json!("scripted")));
    // All that is left is in the turns that stay.
    let (code, _, said) = run(&["compact", &talk.session]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("shorten"), "{said}");
}

#[tokio::test]
async fn one_that_is_interrupted_leaves_everything_as_it_was() {
    let gate = Gate::new();
    let talk = Talk::begin(Step::say("half ").stall(&gate).text("whole")).await;
    let before = talk.client.ok("context/inspect", json!({"session": talk.session})).await;
    talk.client.ok("context/compact", json!({"session": talk.session})).await;
    gate.reached().await;
    talk.client.ok("turn/cancel", json!({"session": talk.session})).await;
    let end = talk.finished(1).await;
    assert!(end.get("epoch").is_none(), "{end}");
    gate.release();
    let after = talk.client.ok("context/inspect", json!({"session": talk.session})).await;
    assert_eq!((&before["layers"], after.get("shortened")), (&after["layers"], None));
    assert_eq!(talk.client.turn(&talk.session, "and now").await["stopReason"], "endTurn");
}
