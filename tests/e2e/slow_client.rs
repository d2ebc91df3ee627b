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

/// Case I09 in small; the whole of it is below.
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

/// Sessions, and bytes of the answer in each: 200 MB in all.
const SESSIONS: usize = 100;
const ANSWER: usize = 2_000_000;

/// Case I09. An answer ends at 32 MiB and a session keeps its conversation in memory, so the 200 MB are the answers of many
/// sessions, all of which the one connection follows; each session is deleted when its answer is there.
#[tokio::test]
#[ignore = "streams 200 MB; part of the full run"]
async fn two_hundred_megabytes_for_a_client_that_does_not_read() {
    let piece = "deltas ".repeat(1_000);
    let pieces = ANSWER / piece.len() + 1;
    let answer = || Step::empty().text_in((0..pieces).map(|_| piece.clone()));
    let server = ModelServer::start(Script::new((0..=SESSIONS).map(|_| answer()))).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let reader = daemon.client().await;
    let workspace = Workspace::new();
    let mut stalled = daemon.greeted("native").await;
    // What a first turn takes for good is not counted.
    let first = reader.session(&workspace).await;
    reader.turn(&first, "warm up").await;
    let before = daemon.resident();
    let (mut most, mut last) = (0, String::new());
    let mut cut_off = false;
    for no in 0..SESSIONS {
        let session = reader.session(&workspace).await;
        let call = json!({"jsonrpc": "2.0", "id": no, "method": "session/attach", "params": {"session": session}});
        // Who takes nothing for long enough is cut off, and cannot say more.
        cut_off |= stalled.write_all(&Framing::Lines.frame(&call.to_string())).await.is_err();
        let turn = reader.start(&session, "tell me everything").await;
        assert_eq!(reader.completed(&session, turn).await["stopReason"], "endTurn");
        let of_this = |event: &Value| event["session"] == session.as_str();
        let shown: usize = reader
            .events_of(&session)
            .iter()
            .filter(|event| of_this(event) && event["type"] == "textDelta")
            .map(|event| event["text"].as_str().map_or(0, str::len))
            .sum();
        assert!(shown > 0, "the reader is told while the answer comes");
        most = most.max(daemon.resident());
        reader.forget_events();
        if no + 1 < SESSIONS {
            reader.ok("session/delete", json!({"session": session})).await;
        }
        last = session;
    }
    let grown = most.saturating_sub(before);
    assert!(grown < 64 << 20, "grown by {grown} bytes");
    // It comes back, or connects anew, and reads the whole of what it missed.
    let again = daemon.client().await;
    let page = again.ok("transcript/read", json!({"session": last})).await;
    let whole = piece.repeat(pieces);
    let items = page["items"].as_array().expect("items");
    assert!(
        items.iter().any(|item| item["kind"] == "assistant" && item["text"] == whole.as_str()),
        "cut off: {cut_off}"
    );
    server.assert_clean();
}
