//! A session of 100,000 items among a thousand: what is asked for comes by pages, and nothing grows with the rest.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

const ITEMS: u64 = 100_000;
const SESSIONS: u64 = 1_000;
/// Bytes of each item's text: 300 MB in all.
const TEXT: usize = 3_000;
/// How much the daemon's memory may grow.
const GROWTH: u64 = 64 << 20;

/// Makes one session long and adds others, as rows: what only size tests is not worth a hundred thousand turns.
fn fill(database: &Path, session: &str) {
    let connection = rusqlite::Connection::open(database).expect("a database");
    let sid: i64 =
        connection.query_row("SELECT sid FROM session WHERE id = ?1", [session], |row| row.get(0)).expect("it");
    connection
        .execute_batch(&format!(
            "BEGIN;
             CREATE TEMP TABLE upto AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ITEMS}) SELECT i FROM n;
             INSERT INTO item (sid, no, turn, step, at, kind, version, codec, len, body)
                SELECT {sid}, i, 1, 1, at, kind, version, 0, length(text), CAST(text AS BLOB) FROM (
                    SELECT i, at, kind, version, '{{\"text\":\"number ' || i || ' {pad}\",\"cut\":false}}' AS text
                    FROM upto, (SELECT at, kind, version FROM item WHERE sid = {sid} AND kind = 'assistant' LIMIT 1)
                    WHERE i > (SELECT last_item FROM session WHERE sid = {sid}));
             INSERT INTO event (sid, seq, at, version, body)
                SELECT {sid}, last_seq + i, at, version, '{{\"type\":\"item_added\",\"item\":' || (last_item + i) || '}}'
                FROM upto, (SELECT last_seq, last_item FROM session WHERE sid = {sid}),
                    (SELECT at, version FROM event WHERE sid = {sid} LIMIT 1)
                WHERE last_item + i <= {ITEMS};
             UPDATE session SET last_seq = last_seq + {ITEMS} - last_item, last_item = {ITEMS} WHERE sid = {sid};
             INSERT INTO session (id, title, mode, model, created_at, updated_at, state)
                SELECT 's-filler-' || i, 'Filler ' || i, mode, model, created_at, created_at, 'idle'
                FROM upto, (SELECT mode, model, created_at FROM session WHERE sid = {sid}) WHERE i < {SESSIONS};
             COMMIT;",
            pad = "x".repeat(TEXT),
        ))
        .expect("rows");
}

// Case H09.
#[tokio::test]
async fn a_session_of_a_hundred_thousand_items_is_opened_by_pages() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([Step::say("First."), Step::say("Last.")])).await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "begin").await;
    let project = client.ok("session/get", json!({"session": session})).await["project"].clone();
    daemon.stop().await;
    let folder = daemon.machine().data().join("projects").join(project.as_str().expect("a key"));
    fill(&folder.join("plimsoll.db"), &session);

    daemon.restart().await;
    let client = daemon.client().await;
    let pinging = daemon.client().await;
    client.ok("session/get", json!({"session": session})).await;
    let before = daemon.resident();
    let work = async {
        let begun = Instant::now();
        let list = client.ok("session/list", json!({"limit": 500})).await;
        println!("list: {:?}", begun.elapsed());
        let rows = list["sessions"].as_array().expect("a list");
        assert_eq!(rows.len(), 500);
        assert!(rows.iter().all(|row| row.to_string().len() <= 1024));

        let begun = Instant::now();
        let last = client.ok("transcript/read", json!({"session": session, "limit": 50})).await;
        println!("last page: {:?}", begun.elapsed());
        let numbers = |page: &Value| -> Vec<u64> {
            page["items"].as_array().expect("items").iter().filter_map(|item| item["no"].as_u64()).collect()
        };
        assert_eq!(numbers(&last), (ITEMS - 49..=ITEMS).collect::<Vec<_>>());
        let back = json!({"session": session, "limit": 50, "before": ITEMS - 49});
        assert_eq!(numbers(&client.ok("transcript/read", back).await), (ITEMS - 99..=ITEMS - 50).collect::<Vec<_>>());

        let begun = Instant::now();
        let seq = client.ok("session/get", json!({"session": session})).await["lastSeq"].as_u64().expect("a number");
        let first = daemon.client().await;
        first.attach(&session, 0).await;
        first.wait_events("the first page", |events| events.len() >= 100).await;
        println!("attach: {:?}", begun.elapsed());
        drop(first);
        let reader = daemon.client().await;
        reader.attach(&session, seq - 10).await;
        reader.wait_events("the last events", |events| events.len() == 10).await;

        let begun = Instant::now();
        let found =
            client.ok("transcript/search", json!({"session": session, "query": "number 99999", "limit": 1})).await;
        println!("search: {:?}", begun.elapsed());
        assert_eq!(found["hits"][0]["item"], 99_999);
        // A search that finds nothing goes a bounded piece and says where it goes on.
        let piece = client.ok("transcript/search", json!({"session": session, "query": "absent"})).await;
        assert_eq!(piece["hits"], json!([]));
        assert!(piece["nextCursor"].is_string() && piece["searched"].as_u64() < Some(ITEMS / 2), "{piece}");
    };
    let (done, asked) = (std::cell::Cell::new(false), std::cell::Cell::new(0));
    let ping = async {
        let mut slowest = std::time::Duration::ZERO;
        while !done.get() {
            let begun = Instant::now();
            pinging.ok("daemon/status", json!({})).await;
            slowest = slowest.max(begun.elapsed());
            asked.set(asked.get() + 1);
        }
        println!("{} pings, the slowest {slowest:?}", asked.get());
    };
    let work = async {
        work.await;
        done.set(true);
    };
    tokio::join!(work, ping);
    assert!(asked.get() > 1, "others were answered meanwhile");
    let grown = daemon.resident().saturating_sub(before);
    println!("grown by {} KiB", grown >> 10);
    assert!(grown < GROWTH, "{grown} bytes");
}
