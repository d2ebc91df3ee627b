//! The list of requests: what each kept of the one before, what of it was cached, what it cost, and where a prefix broke.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step, Usage};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

over_both_apis! { every_request_is_listed_with_what_it_kept_and_cost }

#[tokio::test]
async fn a_damaged_text_takes_no_other_request_out_of_the_list() {
    let workspace = Workspace::new();
    let script = Script::new([Step::say("One."), Step::say("Two."), Step::say("Three.")]);
    let server = ModelServer::start(script).await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    for prompt in ["first", "second", "third"] {
        client.turn(&session, prompt).await;
    }
    let before = client.ok("request/list", json!({"session": session})).await;
    let project = client.ok("session/get", json!({"session": session})).await["project"].clone();
    daemon.stop().await;
    let folder = daemon.machine().data().join("projects").join(project.as_str().unwrap());
    harm_a_message(&folder.join("plimsoll.db"), 2);
    daemon.restart().await;

    let client = daemon.client().await;
    let list = client.ok("request/list", json!({"session": session})).await;
    let (requests, whole) = (list["requests"].as_array().unwrap(), before["requests"].as_array().unwrap());
    assert_eq!((requests.len(), &requests[0]), (3, &whole[0]));
    for (at, one) in requests.iter().enumerate().skip(1) {
        let why = one["damaged"].as_str().unwrap_or_else(|| panic!("request {} is marked: {one}", at + 1));
        assert!(why.contains("of request 2 has another hash"), "{why}");
        for known in ["request", "turn", "step", "at", "epoch", "model", "lastItem", "bytes", "usage"] {
            assert_eq!(one[known], whole[at][known], "{known}");
        }
        assert_eq!((&one["tokens"], &one["kept"]), (&json!(0), &Value::Null));
    }
    assert_eq!(list["total"]["bytes"], before["total"]["bytes"]);
    client.ok("request/get", json!({"session": session, "request": 1})).await;
    let error = client.err("request/get", json!({"session": session, "request": 2})).await;
    assert_eq!(error["data"]["kind"], "store", "{error}");
    let output = daemon.machine().command(workspace.path(), &["requests", &session]).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.matches("damaged: ").count() == 2, "{said}");
}

/// Makes the first message that this request added another text than the one that was sent.
fn harm_a_message(database: &std::path::Path, request: i64) {
    let connection = rusqlite::Connection::open(database).expect("a database");
    connection.execute_batch("DROP TRIGGER blob_is_kept; DROP TRIGGER blob_stays;").expect("no triggers");
    let harm = "UPDATE blob SET codec = 0, len = 2, body = CAST('{}' AS BLOB) \
                WHERE bid = (SELECT bid FROM request_blob WHERE request = ?1 ORDER BY pos LIMIT 1)";
    assert_eq!(connection.execute(harm, [request]).expect("a change"), 1);
}

/// A provider `test` whose model has this name, over this wire.
fn configuration(server: &ModelServer, api: Api) -> String {
    let word = if api == Api::AnthropicMessages { "anthropic-messages" } else { "openai-chat" };
    format!(
        "model = \"test/scripted\"\n\n[providers.test]\napi = \"{word}\"\nbase_url = \"{}\"\n\n\
         [providers.test.models.scripted]\ncontext_window = 200000\nmax_output = 8192\n\n[permissions]\nmode = \"full\"\n",
        server.base_url(api)
    )
}

async fn every_request_is_listed_with_what_it_kept_and_cost(api: Api) {
    let workspace = Workspace::new().file("a.txt", "alpha\n").git();
    let read = Call::new("read_file", json!({"target_file": "a.txt"}));
    let usage = |input, cached| Usage { input, cached, written: 0, output: 7 };
    let server = ModelServer::start(Script::new([
        Step::calls([read]).usage(usage(6_000, 0)),
        Step::say("Done.").usage(usage(6_400, 5_900)),
        Step::say("Sure.").usage(usage(6_600, 0)),
        Step::say("And more.").usage(usage(6_800, 6_500)),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).configure(&configuration(&server, api));
    let daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "look").await;
    // The same model over another wire: everything has to be sent anew.
    let other = if api == Api::AnthropicMessages { Api::OpenaiChat } else { Api::AnthropicMessages };
    std::fs::write(daemon.machine().config().join("config.toml"), configuration(&server, other)).unwrap();
    client.turn(&session, "and?").await;
    client.turn(&session, "more").await;

    let list = client.ok("request/list", json!({"session": session})).await;
    let requests = list["requests"].as_array().unwrap();
    let of = |name: &str| -> Vec<Value> { requests.iter().map(|one| one[name].clone()).collect() };
    assert_eq!(of("request"), [1, 2, 3, 4]);
    assert_eq!(of("turn"), [1, 1, 2, 3]);
    assert_eq!(of("step"), [1, 2, 1, 1]);
    assert_eq!(of("epoch"), [1, 1, 2, 2]);
    let sent: Vec<Value> = server.requests().iter().map(|request| json!(request.body.len())).collect();
    assert_eq!(of("bytes"), sent);
    let input: Vec<u64> = requests.iter().map(|one| one["usage"]["input"].as_u64().unwrap()).collect();
    assert_eq!(input, [6_000, 6_400, 6_600, 6_800]);
    let kept = |at: usize, name: &str| requests[at]["kept"][name].as_u64().unwrap_or_default();
    assert_eq!(requests[0]["kept"], Value::Null);
    assert_eq!(kept(1, "tokens"), kept(1, "ofTokens"));
    assert_eq!(kept(2, "tokens"), 0);
    assert_eq!(kept(3, "tokens"), kept(3, "ofTokens"));
    // A request that goes on from the one before reads all of it, as it was reported.
    assert_eq!(of("cachedExpected"), [0, 6_000, 0, 6_600]);
    assert_eq!(requests.iter().map(|one| one["break"].is_null()).collect::<Vec<_>>(), [true, true, false, true]);
    let broke = &requests[2]["break"];
    assert_eq!((broke["layer"].as_u64(), broke["cause"].as_str()), (Some(1), Some("modelChanged")), "{broke}");
    assert!(broke["lostTokens"].as_u64().unwrap() > 1_000, "{broke}");
    let total = &list["total"];
    assert_eq!((total["requests"].as_u64(), total["breaks"].as_u64()), (Some(4), Some(1)));
    assert_eq!((total["usage"]["input"].as_u64(), total["cachedExpected"].as_u64()), (Some(25_800), Some(12_600)));
    assert_eq!(total["cost"], Value::Null, "nobody knows the price of this model");

    let page = client.ok("request/list", json!({"session": session, "limit": 3})).await;
    assert_eq!(page["requests"], json!(requests[1..]));
    let before = client.ok("request/list", json!({"session": session, "before": page["nextBefore"], "limit": 3})).await;
    assert_eq!((&before["requests"], &before["nextBefore"]), (&json!(requests[..1]), &Value::Null));

    let detail = client.ok("request/get", json!({"session": session, "request": 2})).await;
    assert_eq!(&detail["info"], &requests[1]);
    let segments = detail["segments"].as_array().unwrap();
    assert_eq!(segments.last().unwrap()["chain"], detail["hash"]);
    let marked = segments.iter().filter(|segment| segment["marked"] == true).count();
    assert_eq!(marked, if api == Api::AnthropicMessages { 4 } else { 0 });

    let output = daemon.machine().command(workspace.path(), &["requests"]).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("broke at tool definitions (layer 1): modelChanged; "), "{text}");
    assert!(text.contains("4 requests, ") && text.contains(" 1 breaks\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let stats = client.ok("request/projections", json!({"session": session})).await;
    let [read] = stats["projections"].as_array().unwrap().as_slice() else { panic!("one tool: {stats}") };
    assert_eq!((&read["tool"], &read["results"], &read["partial"]), (&json!("read_file"), &json!(1), &json!(0)));
    let arguments = ["requests", "--projection", "--all"];
    let output = daemon.machine().command(workspace.path(), &arguments).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("read_file              1      0     0      0 ")), "{text}");
    server.assert_clean();
}

#[tokio::test]
async fn costs_are_those_of_the_dated_prices() {
    let workspace = Workspace::new();
    let usage = Usage { input: 6_000, cached: 1_000, written: 2_000, output: 7 };
    let server = ModelServer::start(Script::new([Step::say("Hi.").usage(usage), Step::say("Ho.")])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).env("ANTHROPIC_API_KEY", "k").configure(&format!(
        "model = \"anthropic/claude-opus-5\"\n\n[providers.anthropic]\nbase_url = \"{}\"\n",
        server.base_url(Api::AnthropicMessages)
    ));
    let daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "hello").await;
    let list = client.ok("request/list", json!({"session": session})).await;
    // 3,000 plain at $5, 1,000 read at $0.5, 2,000 written at $6.25, 7 out at $25, each for a million.
    let cost = list["requests"][0]["cost"].as_f64().unwrap();
    assert!((cost - 0.028_175).abs() < 1e-9, "{cost}");
    assert_eq!(list["total"]["priceAsOf"], "2026-11-29");
    let next = client.ok("context/inspect", json!({"session": session})).await;
    let expected = next["tokens"].as_f64().unwrap() - 6_000.0;
    // What was sent is read from the cache, the rest is written to it.
    let input = (6_000.0 * 0.5 + expected * 6.25) / 1e6;
    assert!((next["cost"].as_f64().unwrap() - input).abs() < 1e-9, "{next}");
    let output = daemon.machine().command(workspace.path(), &["inspect"]).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("session  1 requests, 0 breaks, cost $0.0282 at prices of 2026-11-29"), "{text}");
}
