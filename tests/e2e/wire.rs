//! Malformed and odd messages over the real socket, in both framings: each gets its error, the connection lives where it
//! can, and nobody else notices.

use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

const FRAMINGS: [Framing; 2] = [Framing::Lines, Framing::Headers];

async fn daemon() -> TestDaemon {
    Machine::new(plimsoll_tests::binary!()).daemon().await
}

/// Says `texts` one after the other and gives what is answered until a last call shows that there is no more. Answers to
/// calls may overtake each other, so they are sorted by their id.
async fn answers(daemon: &TestDaemon, framing: Framing, texts: &[&str]) -> Vec<Value> {
    let client = Client::connect(daemon.socket(), framing).await;
    for text in texts {
        client.send_bytes(&framing.frame(text)).await;
    }
    client.shut_down().await;
    client.closed().await;
    let mut answers = client.others();
    answers.sort_by_key(|answer| answer["id"].to_string());
    answers
}

/// An answer by its id, code and kind.
fn short(answer: &Value) -> Value {
    let error = &answer["error"];
    if error.is_null() {
        json!([answer["id"], "ok"])
    } else {
        json!([answer["id"], error["code"], error["data"]["kind"]])
    }
}

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"clientInfo":{"name":"t"},"protocolVersion":"1.0"}}"#;

#[tokio::test]
async fn bad_messages_get_their_error_and_the_connection_lives() {
    let daemon = daemon().await;
    let witness = daemon.client().await;
    let said = [
        INITIALIZE,
        "{bad",
        r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
        r#"{"jsonrpc":"1.0","id":2,"method":"daemon/status"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"daemon/status","params":"x"}"#,
        r#"{"jsonrpc":"2.0","method":"noSuch"}"#,
        r#"{"jsonrpc":"2.0","method":"session/get","params":{"session":7}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"noSuch"}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"session/get"}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"session/get","params":{"session":7}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"session/get","params":{"session":"../x"}}"#,
        r#"{"jsonrpc":"2.0","id":8,"method":"session/get","params":{"session":"s1"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"project/open","params":{"roots":[]}}"#,
        r#"{"jsonrpc":"2.0","id":"10","method":"project/open","params":{"roots":["relative"]}}"#,
        r#"{"jsonrpc":"2.0","id":"11","method":"project/open","params":{"roots":["/no/such/folder"]}}"#,
        r#"{"jsonrpc":"2.0","id":"12","method":"session/create","params":{"project":"nope"}}"#,
        r#"{"jsonrpc":"2.0","id":12345678901234567890,"method":"daemon/status"}"#,
    ];
    for framing in FRAMINGS {
        let found: Vec<Value> = answers(&daemon, framing, &said).await.iter().map(short).collect();
        assert_eq!(
            found,
            [
                json!(["10", -32602, "invalidParams"]),
                json!(["11", -32021, "workspaceMissing"]),
                json!(["12", -32020, "notFound"]),
                json!(["i", "ok"]),
                json!([1, -32600, "invalidRequest"]),
                json!([12_345_678_901_234_567_890_u64, "ok"]),
                json!([2, -32600, "invalidRequest"]),
                json!([3, -32600, "invalidRequest"]),
                json!([4, -32601, "methodNotFound"]),
                json!([5, -32602, "invalidParams"]),
                json!([6, -32602, "invalidParams"]),
                json!([7, -32602, "invalidParams"]),
                json!([8, -32020, "notFound"]),
                json!([9, -32602, "invalidParams"]),
                json!([null, -32700, "parseError"]),
            ],
            "{framing:?}"
        );
        witness.ok("daemon/status", json!({})).await;
    }
}

#[tokio::test]
async fn errors_name_what_is_wrong() {
    let daemon = daemon().await;
    let client = daemon.client().await;
    for (method, params, named) in [
        ("session/get", json!({}), "session"),
        ("session/get", json!({"session": 7}), "string"),
        ("session/get", json!({"session": "../x"}), "../x"),
        ("session/rename", json!({"session": "s1"}), "title"),
        ("turn/start", json!({"session": "s1", "text": "x", "whenBusy": "never"}), "never"),
        ("turn/start", json!({"session": "s1", "text": "  "}), "blank"),
        ("transcript/read", json!({"session": "s1", "after": -1}), "-1"),
        ("permission/respond", json!({"session": "s1", "ask": "a1", "choice": "maybe"}), "maybe"),
        ("project/open", json!({"roots": "x"}), "sequence"),
    ] {
        let error = client.err(method, params.clone()).await;
        assert_eq!(error["data"]["kind"], "invalidParams", "{method} {params}: {error}");
        assert!(error["message"].as_str().expect("a message").contains(named), "{method} {params}: {error}");
    }
    let error = client.err("turn/begin", json!({})).await;
    assert!(error["message"].as_str().expect("a message").contains("turn/begin"), "{error}");
}

/// Case I04.
#[tokio::test]
async fn notifications_get_no_answer() {
    let daemon = daemon().await;
    let said = [
        r#"{"jsonrpc":"2.0","method":"noSuch"}"#,
        r#"{"jsonrpc":"2.0","method":"session/get","params":{"session":7}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"noSuch"}"#,
    ];
    for framing in FRAMINGS {
        let found: Vec<Value> = answers(&daemon, framing, &said).await.iter().map(short).collect();
        assert_eq!(found, [json!([9, -32601, "methodNotFound"])], "{framing:?}");
    }
}

/// Case I06.
#[tokio::test]
async fn invalid_requests_get_their_code_and_ids_come_back_as_they_were_written() {
    let daemon = daemon().await;
    let said = [
        "{bad",
        r#"{"jsonrpc":"2.0","id":5,"method":1}"#,
        r#"{"jsonrpc":"1.0","id":6,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}"#,
        r#"{"jsonrpc":"2.0","id":"s","method":"daemon/status"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"daemon/status"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"daemon/status"}"#,
        r#"{"jsonrpc":"2.0","id":12345678901234567890,"method":"daemon/status"}"#,
    ];
    let mut stream = daemon.stream().await;
    stream.write_all(said.map(|text| Framing::Lines.frame(text)).concat().as_slice()).await.expect("the daemon reads");
    stream.shutdown().await.expect("a shut down");
    let heard = rest(&mut stream).await;
    for begin in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700"#,
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32600"#,
        r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32600"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600"#,
        r#"{"jsonrpc":"2.0","id":"s","result""#,
        r#"{"jsonrpc":"2.0","id":1.5,"result""#,
        r#"{"jsonrpc":"2.0","id":null,"result""#,
        r#"{"jsonrpc":"2.0","id":12345678901234567890,"result""#,
    ] {
        assert_eq!(heard.lines().filter(|line| line.starts_with(begin)).count(), 1, "{begin} in {heard}");
    }
    assert_eq!(heard.lines().count(), said.len(), "{heard}");
}

#[tokio::test]
async fn capabilities_that_are_not_known_are_survived() {
    let daemon = daemon().await;
    let client = Client::connect(daemon.socket(), Framing::Lines).await;
    let hello = |capabilities: Value| {
        let client_info = json!({"name": "t", "mood": "good"});
        json!({"clientInfo": client_info, "protocolVersion": "1.9", "capabilities": capabilities, "more": [1]})
    };
    for capabilities in [Value::Null, json!({}), json!({"holograms": {"depth": 3}, "diff": true})] {
        let answer = client.ok("initialize", hello(capabilities)).await;
        let methods: Vec<&str> =
            answer["capabilities"]["methods"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        assert!(methods.contains(&"initialize") && methods.contains(&"turn/start"), "{methods:?}");
        assert!(methods.is_sorted() && !methods.contains(&"session/event"), "{methods:?}");
    }
    assert_eq!(client.err("initialize", hello(json!("all"))).await["data"]["kind"], "invalidParams");
}

#[tokio::test]
async fn a_connection_that_is_shut_down_gets_its_answers_and_ends() {
    let daemon = daemon().await;
    let workspace = Workspace::new();
    let witness = daemon.client().await;
    let session = witness.session(&workspace).await;
    for framing in FRAMINGS {
        let client = daemon.client_with(framing).await;
        client.attach(&session, 0).await;
        let (status, done) = tokio::join!(client.ok("daemon/status", json!({})), client.ok("shutdown", json!({})));
        assert_eq!((&status["pid"], done), (&json!(daemon.pid()), json!({})));
        client.closed().await;
    }
    assert_eq!(witness.ok("session/get", json!({"session": session})).await["state"], "idle");
}

/// Case I01.
#[tokio::test]
async fn header_names_blanks_and_order_do_not_matter() {
    let daemon = daemon().await;
    let body = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"daemon/status"}}"#);
    let mut stream = daemon.stream().await;
    for (id, head) in
        (1..).zip(["content-length:#", "CONTENT-LENGTH:    #", "Content-Type: x; charset=utf-8\r\nContent-Length: #"])
    {
        let body = body(id);
        let head = head.replace('#', &body.len().to_string());
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.expect("the daemon reads");
    }
    stream.shutdown().await.expect("a shut down");
    let heard = rest(&mut stream).await;
    for id in 1..=3 {
        assert_eq!(heard.matches(&format!("\"id\":{id},\"result\"")).count(), 1, "{heard}");
    }
    for bad in ["Content-Length: x", "Content-Length: -1", "Content-Length: 0", "Other: 1"] {
        let mut stream = daemon.stream().await;
        stream.write_all(format!("{bad}\r\n\r\n").as_bytes()).await.expect("the daemon reads");
        let heard = rest(&mut stream).await;
        assert_eq!((heard.matches("\"error\"").count(), heard.contains("-32600")), (1, true), "{bad}: {heard}");
    }
    daemon.client().await;
}

async fn rest(stream: &mut UnixStream) -> String {
    let mut heard = String::new();
    in_time("the end of the connection", stream.read_to_string(&mut heard)).await.expect("text");
    heard
}

/// Case I02.
#[tokio::test]
async fn pieces_are_joined_and_a_message_that_is_cut_is_not_run() {
    let daemon = daemon().await;
    let witness = daemon.client().await;
    let workspace = Workspace::new();
    let session = witness.session(&workspace).await;
    for (framing, title) in FRAMINGS.into_iter().zip(["é 😀 one", "é 😀 two"]) {
        let client = daemon.client_with(framing).await;
        let rename = |id: u32, title: &str| json!({"jsonrpc": "2.0", "id": id, "method": "session/rename", "params": {"session": session, "title": title}});
        for byte in framing.frame(&rename(101, title).to_string()) {
            client.send_bytes(&[byte]).await;
        }
        client.wait_others("an answer", |others| others.iter().any(|answer| answer["id"] == 101)).await;
        let read =
            |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "session/get", "params": {"session": session}});
        let both = [framing.frame(&read(102).to_string()), framing.frame(&read(103).to_string())].concat();
        client.send_bytes(&both).await;
        let cut = framing.frame(&rename(104, "never").to_string());
        client.send_bytes(&cut[..cut.len() - 20]).await;
        client.shut_down().await;
        client.closed().await;
        let titles: Vec<Value> = client.others().iter().map(|answer| answer["result"]["title"].clone()).collect();
        assert_eq!(titles, [title, title, title], "{framing:?}");
        assert_eq!(witness.ok("session/get", json!({"session": session})).await["title"], title);
    }
}

/// Case I03.
#[tokio::test]
async fn large_messages_pass_and_endless_ones_end_their_connection() {
    let daemon = daemon().await;
    let witness = daemon.client().await;
    let workspace = Workspace::new();
    let session = witness.session(&workspace).await;
    let text = "long words ".repeat(5 * 1024 * 1024 / 11 + 1);
    for (turn, framing) in (1..).zip(FRAMINGS) {
        let client = daemon.client_with(framing).await;
        let accepted = client.ok("turn/start", json!({"session": session, "text": text})).await;
        assert_eq!(accepted["turn"], turn);
        witness.ok("turn/cancel", json!({"session": session})).await;
        let page = client.ok("transcript/read", json!({"session": session, "limit": 1000})).await;
        let prompts = page["items"].as_array().expect("items").iter().filter(|item| item["text"] == text.as_str());
        assert!(prompts.count() > 0);
    }
    let mut stream = daemon.stream().await;
    stream.write_all(b"{\"x\":\"").await.expect("the daemon reads");
    let before = daemon.resident();
    let chunk = vec![b'x'; 1 << 20];
    let mut sent = 0_u64;
    let mut quickest = Duration::MAX;
    while stream.write_all(&chunk).await.is_ok() {
        sent += 1;
        assert!(sent <= 70, "an endless line is ended at 64 MiB");
        if sent.is_multiple_of(8) {
            let begun = Instant::now();
            witness.ok("daemon/status", json!({})).await;
            quickest = quickest.min(begun.elapsed());
        }
    }
    // The quickest: on a busy machine any one may be late, but none is quick when the daemon is held up.
    assert!(quickest < Duration::from_millis(100), "others wait {quickest:?}");
    let grown = daemon.resident().saturating_sub(before);
    assert!(grown < 128 << 20, "grown by {grown} bytes");
    witness.ok("daemon/status", json!({})).await;
}

/// Case I05.
#[tokio::test]
async fn batches_are_answered_in_both_framings() {
    let daemon = daemon().await;
    let status = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "daemon/status"});
    let note = json!({"jsonrpc": "2.0", "method": "noSuch"});
    let many: Vec<Value> = (0..100_000).map(|_| status(1)).collect();
    let texts = [
        json!([status(1), note, status(2)]).to_string(),
        json!([note]).to_string(),
        "[]".to_owned(),
        "[1]".to_owned(),
        json!(many).to_string(),
        status(9).to_string(),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for framing in FRAMINGS {
        let client = Client::connect(daemon.socket(), framing).await;
        for text in &texts {
            client.send_bytes(&framing.frame(text)).await;
        }
        client.shut_down().await;
        client.closed().await;
        let mut found: Vec<Value> = client
            .others()
            .iter()
            .map(|answer| match answer.as_array() {
                Some(entries) => json!(entries.iter().map(short).collect::<Vec<_>>()),
                None => short(answer),
            })
            .collect();
        found.sort_by_key(Value::to_string);
        assert_eq!(
            found,
            [
                json!([9, "ok"]),
                json!([[1, "ok"], [2, "ok"]]),
                json!([[null, -32600, "invalidRequest"]]),
                json!([null, -32010, "batchTooLong"]),
                json!([null, -32600, "invalidRequest"]),
            ],
            "{framing:?}"
        );
    }
}
