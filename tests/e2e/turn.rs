//! A whole turn: reads side by side, a command that asks, an answer from another client, and the bytes of every request.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Framing;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Seen, Step, Usage};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::told::{durable, items, told};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

over_both_apis! { reads_a_command_and_an_answer questions_are_answered_once a_client_that_comes_late }

fn read(path: &str) -> Call {
    Call::new("read_file", json!({"target_file": path}))
}

fn command(text: &str) -> Call {
    Call::new("run_terminal_cmd", json!({"command": text}))
}

async fn reads_a_command_and_an_answer(api: Api) {
    let workspace = Workspace::new().file("a.txt", "alpha\n").file("b.txt", "beta\n").git();
    let gate = Gate::new();
    let usage = |input, cached, output| Usage { input, cached, written: 0, output };
    let server = ModelServer::start(Script::new([
        Step::calls([read("a.txt"), read("b.txt")]).usage(usage(100, 0, 10)),
        Step::empty()
            .text("I count.")
            .call(command("cat a.txt b.txt | tee both.txt | wc -l"))
            .usage(usage(200, 100, 20)),
        Step::empty().text("Two ").stall(&gate).text("lines.").usage(usage(300, 200, 30)),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "ask").daemon().await;
    let first = daemon.client_with(Framing::Headers).await;
    let second = daemon.client().await;
    let session = first.session(&workspace).await;
    second.attach(&session, 0).await;

    let turn = first.start(&session, "How many lines?").await;
    let ask = second.asked(&session).await;
    assert_eq!(
        (&ask["call"], &ask["turn"], &ask["tool"], &ask["command"]),
        (&json!("c3"), &json!(1), &json!("run_terminal_cmd"), &json!("cat a.txt b.txt | tee both.txt | wc -l"))
    );
    let listed = second.ok("session/get", json!({"session": session})).await;
    assert_eq!((&listed["state"], &listed["openAsks"]), (&json!("waiting"), &json!([ask])));
    let answer = json!({"session": session, "ask": ask["id"], "choice": "allowOnce"});
    assert_eq!(second.ok("permission/respond", answer).await, json!({"accepted": true}));

    let writes = |event: &Value| event["type"] == "textDelta" && event["step"] == 3;
    first.wait_events("a piece of text", |events| events.iter().any(writes)).await;
    gate.release();
    let end = first.completed(&session, turn).await;
    let usage = json!({"input": 600, "cacheRead": 300, "cacheWrite": 0, "output": 60});
    assert_eq!(
        (&end["stopReason"], &end["usage"], &end["unsettled"], &end["message"]),
        (&json!("endTurn"), &usage, &json!([]), &Value::Null)
    );
    second.completed(&session, turn).await;

    let events = first.events();
    let mut lines = told(&events, 0);
    // Which of the two reads ends first is open.
    let results = lines
        .iter()
        .position(|line| line == "c1 ok")
        .expect("a result")
        .min(lines.iter().position(|line| line == "c2 ok").expect("a result"));
    lines[results..results + 2].sort();
    assert_eq!(
        lines,
        [
            "session changed",
            "turn 1",
            "user \"How many lines?\"",
            "step 1",
            "c1 = read_file",
            "c2 = read_file",
            "step 1 answered",
            "c1 runs",
            "c2 runs",
            "c1 ok",
            "c2 ok",
            "step 2",
            "text \"I count.\"",
            "c3 = run_terminal_cmd",
            "step 2 answered",
            "a1 asked for c3",
            "a1 allowOnce",
            "c3 runs",
            "c3 ok",
            "step 3",
            "text \"Two lines.\"",
            "step 3 answered",
            "turn 1 ends: endTurn",
        ]
    );
    assert_eq!(durable(&second.events()), durable(&events));
    let page = first.ok("transcript/read", json!({"session": session})).await;
    assert_eq!(page["items"], json!(items(&events)));

    // What was shown while it was written is what is stored.
    let shown: Vec<(&Value, &Value)> = events
        .iter()
        .filter(|event| event["type"] == "textDelta" && event["step"] == 3)
        .map(|event| (&event["offset"], &event["text"]))
        .collect();
    assert_eq!(shown[0], (&json!(0), &json!("Two ")));

    // Every result stands directly behind its call (the server is strict about it) and in the order of the calls.
    let requests = server.requests();
    let seen = requests[1].seen();
    let Seen::Assistant { calls, .. } = &seen[seen.len() - 3] else { panic!("{seen:#?}") };
    let called: Vec<&String> = calls.iter().map(|(id, ..)| id).collect();
    let results = requests[1].results();
    assert_eq!(results.iter().map(|(id, _)| id).collect::<Vec<_>>(), called);
    assert!(results[0].1.contains("1|alpha") && results[1].1.contains("1|beta"), "{results:#?}");
    let (_, counted) = requests[2].results().pop().expect("a result");
    assert!(counted.ends_with("\n2"), "{counted}");
    server.assert_clean();
    assert_eq!((requests.len(), server.steps_left()), (3, 0));
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}

async fn questions_are_answered_once(api: Api) {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([
        Step::calls([command("touch made")]),
        Step::say("Then not."),
        Step::calls([command("touch again")]),
        Step::calls([command("touch again")]),
        Step::say("Done."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "ask").daemon().await;
    let client = daemon.client().await;
    let other = daemon.client().await;
    let session = client.session(&workspace).await;

    let turn = client.start(&session, "Make it").await;
    let ask = client.asked(&session).await;
    let answer = |choice: &str| json!({"session": session, "ask": ask["id"], "choice": choice, "advice": "use tabs"});
    assert_eq!(client.ok("permission/respond", answer("reject")).await["accepted"], true);
    assert_eq!(other.ok("permission/respond", answer("allowOnce")).await["accepted"], false);
    assert_eq!(client.completed(&session, turn).await["stopReason"], "endTurn");
    assert_eq!(workspace.read("made"), None);
    let (_, refused) = server.requests()[1].results().pop().expect("a result");
    assert!(refused.contains("use tabs"), "{refused}");

    let turn = client.start(&session, "And again").await;
    let ask = client.asked(&session).await;
    let answer = json!({"session": session, "ask": ask["id"], "choice": "allowSession"});
    assert_eq!(client.ok("permission/respond", answer).await["accepted"], true);
    assert_eq!(client.completed(&session, turn).await["stopReason"], "endTurn");
    let asked = client.events().iter().filter(|event| event["type"] == "permissionAsked").count();
    assert_eq!(asked, 2, "the second equal call is covered by the grant");
    server.assert_clean();
    assert_replayed(&mut daemon, &server).await;
}

async fn a_client_that_comes_late(api: Api) {
    let (workspace, gate) = (Workspace::new(), Gate::new());
    let step = Step::empty().reasoning("Hm.").text_in(["Once ", "upon "]).stall(&gate).text("a time.");
    let server = ModelServer::start(Script::new([step])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "tell me").await;
    let text = |events: &[Value]| -> String {
        let deltas = events.iter().filter(|event| event["type"] == "textDelta");
        deltas.map(|event| event["text"].as_str().unwrap_or_default()).collect()
    };
    client.wait_events("the text so far", |events| text(events) == "Once upon ").await;
    let late = daemon.client().await;
    late.attach(&session, 0).await;
    let events = late.wait_events("the text so far", |events| text(events) == "Once upon ").await;
    let first = events.iter().find(|event| event["type"] == "textDelta").expect("a delta");
    assert_eq!((&first["offset"], &first["text"]), (&json!(0), &json!("Once upon ")), "in one piece");
    gate.release();
    for client in [&client, &late] {
        client.completed(&session, turn).await;
        let lines = told(&client.events(), 0);
        assert!(lines.contains(&"text \"Once upon a time.\"".to_owned()), "{lines:#?}");
    }
    server.assert_clean();
}
