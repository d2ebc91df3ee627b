//! Words in transcripts: in a session, in a project, in all; page by page.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

/// Session and item of each hit.
fn places(result: &Value) -> Vec<(String, u64)> {
    let hits = result["hits"].as_array().expect("hits").iter();
    hits.map(|hit| (hit["session"].as_str().expect("an id").to_owned(), hit["item"].as_u64().expect("a number")))
        .collect()
}

#[tokio::test]
async fn words_are_found_by_scope_and_kind_page_by_page() {
    let (first, second) = (Workspace::new().file("n.txt", "a NEEDLE in a file\n"), Workspace::new());
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("read_file", json!({"target_file": "n.txt"}))]),
        Step::say("There is a \"needle\".\nIn n.txt."),
        Step::say("No idea."),
        Step::say("A needle, again."),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let one = client.session(&first).await;
    let two = client.session(&second).await;
    let three = client.session(&first).await;
    client.turn(&one, "Read it").await;
    client.turn(&two, "Where is the needle in größe?").await;
    client.turn(&three, "And now?").await;
    let project = client.ok("session/get", json!({"session": one})).await["project"].clone();

    let at = |session: &String, item: u64| (session.clone(), item);
    let all = client.ok("transcript/search", json!({"query": "needle"})).await;
    assert_eq!(places(&all), [at(&three, 2), at(&two, 1), at(&one, 4), at(&one, 3)]);
    assert_eq!((&all["nextCursor"], &all["skipped"]), (&Value::Null, &Value::Null));
    assert_eq!(all["searched"], 2 + 2 + 4);
    let hit = &all["hits"][2];
    assert_eq!((&hit["kind"], &hit["title"], &hit["turn"]), (&json!("assistant"), &json!("Read it"), &json!(1)));
    assert_eq!((&hit["text"], &hit["ranges"]), (&json!("There is a \"needle\".\nIn n.txt."), &json!([[12, 18]])));
    let of_project = client.ok("transcript/search", json!({"query": "needle", "project": project})).await;
    assert_eq!(places(&of_project), [at(&three, 2), at(&one, 4), at(&one, 3)]);
    let of_session = client.ok("transcript/search", json!({"query": "N.TXT needle", "session": one})).await;
    assert_eq!(places(&of_session), [at(&one, 4), at(&one, 3)]);
    let results = client.ok("transcript/search", json!({"query": "needle", "kinds": ["toolResult", "user"]})).await;
    assert_eq!(places(&results), [at(&two, 1), at(&one, 3)]);
    assert_eq!(places(&client.ok("transcript/search", json!({"query": "GRÖSSE"})).await), []);
    assert_eq!(places(&client.ok("transcript/search", json!({"query": "GRÖßE"})).await), [at(&two, 1)]);

    // Page by page the same, though sessions change and go meanwhile.
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    for round in 0.. {
        let page = client.ok("transcript/search", json!({"query": "needle", "limit": 1, "cursor": cursor})).await;
        found.extend(places(&page));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
        client.ok("session/rename", json!({"session": one, "title": format!("round {round}")})).await;
        if round == 0 {
            client.ok("session/delete", json!({"session": three})).await;
        }
    }
    assert_eq!(found, [at(&three, 2), at(&two, 1), at(&one, 4), at(&one, 3)]);

    for (params, kind) in [
        (json!({"query": "  "}), "invalidParams"),
        (json!({"query": "x", "kinds": ["poem"]}), "invalidParams"),
        (json!({"query": "x", "cursor": "7"}), "invalidParams"),
        (json!({"query": "x", "limit": 0}), "invalidParams"),
        (json!({"query": "x", "session": one, "project": project}), "invalidParams"),
        (json!({"query": "x", "session": "s0"}), "notFound"),
        (json!({"query": "x", "project": "k0"}), "notFound"),
    ] {
        assert_eq!(client.err("transcript/search", params.clone()).await["data"]["kind"], kind, "{params}");
    }
}
