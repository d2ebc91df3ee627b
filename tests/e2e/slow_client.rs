//! A client that does not read: it costs the daemon nothing and the others nothing, and it gets the whole text later.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

/// Deltas of the answer, and bytes of each.
const DELTAS: usize = 40_000;
const BYTES: usize = 100;

/// The text of all deltas, put together by their offsets.
fn shown(events: &[Value]) -> String {
    let mut text = String::new();
    for event in events.iter().filter(|event| event["type"] == "textDelta") {
        let offset = usize::try_from(event["offset"].as_u64().expect("an offset")).expect("small");
        assert_eq!(offset, text.len(), "pieces follow each other");
        text.push_str(event["text"].as_str().expect("text"));
    }
    text
}

#[tokio::test]
async fn a_client_that_does_not_read_costs_nothing_and_gets_the_text_later() {
    let (begin, end) = (Gate::new(), Gate::new());
    let deltas: Vec<String> = (0..DELTAS).map(|at| format!("{at:0width$} ", width = BYTES - 1)).collect();
    let whole: String = deltas.concat();
    let step = Step::empty().text("0").stall(&begin).text_in(deltas).stall(&end).text("!");
    let server = ModelServer::start(Script::new([step])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let reader = daemon.client().await;
    let workspace = Workspace::new();
    let session = reader.session(&workspace).await;

    // It attaches, and reads nothing at all from then on.
    let mut stalled = daemon.greeted("native").await;
    for (id, method, params) in [
        (1, "initialize", json!({"clientInfo": {"name": "stalled"}, "protocolVersion": "1.0"})),
        (2, "session/attach", json!({"session": session, "after": 0})),
    ] {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        stalled.write_all(&Framing::Lines.frame(&call.to_string())).await.expect("the daemon reads");
    }
    let turn = reader.start(&session, "tell me everything").await;
    begin.reached().await;
    let before = daemon.resident();
    begin.release();
    let expected = format!("0{whole}");
    let events = reader
        .wait_events("the whole text", |events| {
            let last = events.iter().rev().find(|event| event["type"] == "textDelta");
            last.is_some_and(|last| {
                let bytes = last["text"].as_str().map_or(0, str::len) as u64;
                last["offset"].as_u64().unwrap_or(0) + bytes == expected.len() as u64
            })
        })
        .await;
    assert!(shown(&events) == expected, "the reader has all of it");
    let grown = daemon.resident().saturating_sub(before);
    assert!(grown < 64 << 20, "grown by {grown} bytes");
    let pieces = events.iter().filter(|event| event["type"] == "textDelta").count();
    assert!(pieces < DELTAS, "deltas that come together are told together: {pieces}");
    end.release();
    assert_eq!(reader.completed(&session, turn).await["stopReason"], "endTurn");

    // Now it reads: all of it, whatever came in pieces.
    let stalled = Client::over(stalled, Framing::Lines);
    let late = stalled.completed(&session, turn).await;
    assert_eq!(late["stopReason"], "endTurn");
    let item = |events: &[Value]| -> Value {
        let is_answer = |event: &&Value| event["item"]["kind"] == "assistant";
        events.iter().find(is_answer).expect("the answer")["item"]["text"].clone()
    };
    assert!(item(&stalled.events()) == format!("{expected}!"), "the stalled client has all of it");
    let late = stalled.events().iter().filter(|event| event["type"] == "textDelta").count();
    assert!(late < DELTAS, "deltas that waited are told together: {late}");
    server.assert_clean();
}
