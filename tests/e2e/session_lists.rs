//! Lists that are searched and filtered, archived sessions, and what the command line does with sessions.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

fn ids(list: &Value) -> Vec<String> {
    let sessions = list["sessions"].as_array().expect("a list").iter();
    sessions.map(|session| session["id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn lists_are_searched_filtered_and_archived() {
    let (workspace, gate) = (Workspace::new(), Gate::new());
    let server = ModelServer::start(Script::new([Step::empty().text("Hm").stall(&gate), Step::say("Back.")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let (one, two, three) =
        (client.session(&workspace).await, client.session(&workspace).await, client.session(&workspace).await);
    for (session, title) in [(&one, "Fix the Parser"), (&two, "parser tests"), (&three, "Docs")] {
        client.ok("session/rename", json!({"session": session, "title": title})).await;
    }
    let list = async |params: Value| ids(&client.ok("session/list", params).await);
    assert_eq!(list(json!({"query": "PARSER"})).await, [two.clone(), one.clone()]);
    assert_eq!(list(json!({"query": "fix pars"})).await, std::slice::from_ref(&one));
    assert_eq!(list(json!({"query": " "})).await.len(), 3);

    // A page that is full of what is asked for, and one behind it.
    let page = client.ok("session/list", json!({"query": "parser", "limit": 1})).await;
    let next = client.ok("session/list", json!({"query": "parser", "limit": 1, "cursor": page["nextCursor"]})).await;
    assert_eq!((ids(&page), ids(&next), &next["nextCursor"]), (vec![two.clone()], vec![one.clone()], &Value::Null));

    client.start(&three, "go").await;
    gate.reached().await;
    assert_eq!(list(json!({"states": ["running", "waiting"]})).await, std::slice::from_ref(&three));
    assert_eq!(list(json!({"states": ["idle"]})).await, [two.clone(), one.clone()]);
    let error = client.err("session/list", json!({"states": ["asleep"]})).await;
    assert_eq!(error["data"]["kind"], "invalidParams");
    gate.release();
    client.completed(&three, 1).await;

    let archived = client.ok("session/archive", json!({"session": two, "archived": true})).await;
    assert_eq!((&archived["archived"], &archived["title"]), (&json!(true), &json!("parser tests")));
    assert_eq!(client.ok("session/archive", json!({"session": two, "archived": true})).await, archived);
    let changed = |events: &[Value]| {
        events.iter().any(|event| event["type"] == "sessionChanged" && event["info"]["archived"] == true)
    };
    client.wait_events("that it is archived", changed).await;
    assert_eq!(list(json!({"query": "parser"})).await, std::slice::from_ref(&one));
    assert_eq!(list(json!({"archived": "only"})).await, std::slice::from_ref(&two));
    assert_eq!(list(json!({"archived": "also"})).await.len(), 3);
    let project = archived["project"].clone();
    assert_eq!(list(json!({"archived": "only", "project": project})).await, std::slice::from_ref(&two));
    // A prompt takes it into use again.
    client.turn(&two, "are you there?").await;
    assert_eq!(client.ok("session/get", json!({"session": two})).await["archived"], false);
    assert_eq!(list(json!({})).await.len(), 3);
    let error = client.err("session/archive", json!({"session": "s0", "archived": true})).await;
    assert_eq!(error["data"]["kind"], "notFound");
}

/// Exit code, standard output and standard error of a command.
async fn run(machine: &Machine, workspace: &Workspace, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = machine.command(workspace.path(), arguments).output().await.expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test]
async fn the_command_line_searches_archives_renames_deletes_and_rebuilds() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([Step::say("The Needle is in the hay.")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let (one, two) = (client.session(&workspace).await, client.session(&workspace).await);
    client.turn(&one, "Where is the needle?").await;
    let machine = daemon.machine();

    let (code, out, _) = run(machine, &workspace, &["sessions", "rename", &two, "Second", "one"]).await;
    assert_eq!((code, out.as_str()), (Some(0), ""));
    let lines = async |arguments: &[&str]| -> Vec<Value> {
        let (code, out, said) = run(machine, &workspace, arguments).await;
        assert_eq!(code, Some(0), "{said}");
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let found = lines(&["sessions", "--search", "second", "--json"]).await;
    assert_eq!((found.len(), &found[0]["id"], &found[0]["title"]), (1, &json!(two), &json!("Second one")));
    let archived = lines(&["sessions", "archive", &two, "--json"]).await;
    assert_eq!(archived[0]["archived"], true);
    assert_eq!(lines(&["sessions", "--json"]).await.len(), 1);
    assert_eq!(lines(&["sessions", "--archived", "--json"]).await[0]["id"], json!(two));
    assert_eq!(run(machine, &workspace, &["sessions", "archive", &two, "--undo"]).await.0, Some(0));
    assert_eq!(lines(&["sessions", "--json"]).await.len(), 2);
    // Nobody can be asked.
    let (code, _, said) = run(machine, &workspace, &["sessions", "delete", &two]).await;
    assert!(code == Some(1) && said.contains("--yes"), "{said}");
    assert_eq!(run(machine, &workspace, &["sessions", "delete", &two, "--yes"]).await.0, Some(0));
    assert_eq!(lines(&["sessions", "--all", "--json"]).await.len(), 1);

    let (code, out, said) = run(machine, &workspace, &["search", "NEEDLE", "the"]).await;
    assert_eq!(code, Some(0), "{said}");
    let expected = format!(
        "Where is the needle?  {one}\n  #2 assistant: The Needle is in the hay.\n  #1 user: Where is the needle?\n"
    );
    assert_eq!(out, expected);
    let hits = lines(&["search", "--all", "--kind", "user", "--json", "needle"]).await;
    assert_eq!((hits.len(), &hits[0]["item"], &hits[0]["ranges"]), (1, &json!(1), &json!([[13, 19]])));
    assert_eq!(lines(&["search", "--session", &one, "--limit", "1", "--json", "needle"]).await.len(), 1);
    assert_eq!(run(machine, &workspace, &["search", "absent"]).await.0, Some(1));
    assert_eq!(run(machine, &workspace, &["search", "--kind", "poem", "x"]).await.0, Some(1));
    let elsewhere = Workspace::new();
    let (code, _, said) = run(machine, &elsewhere, &["search", "needle"]).await;
    assert!(code == Some(1) && said.contains("--all"), "{said}");

    let rebuilt = lines(&["transcript", "rebuild", "--json"]).await;
    let path = rebuilt[0]["path"].as_str().expect("a path");
    let before = std::fs::read_to_string(path).expect("a transcript");
    assert_eq!((&rebuilt[0]["items"], &rebuilt[0]["bytes"]), (&json!(2), &json!(before.len())));
    std::fs::write(path, "torn").expect("a file of ours");
    let (code, out, _) = run(machine, &workspace, &["transcript", "rebuild", &one]).await;
    assert_eq!((code, out), (Some(0), format!("{path}: 2 items, {} bytes\n", before.len())));
    assert_eq!(std::fs::read_to_string(path).expect("a transcript"), before);
}

#[tokio::test]
async fn a_cursor_that_no_page_gave_is_refused_and_does_not_begin_at_the_first_page() {
    let daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let session = client.session(&workspace).await;
    let searched = format!("{session}:7");
    for (method, more, cursors) in [
        ("session/list", json!({}), ["", "soon", "0", "-1", "+1", "01", "99999999999999999999", searched.as_str()]),
        ("transcript/search", json!({"query": "x"}), ["", "soon", "0", "-1", ":", "x:y", "7:", "7"]),
    ] {
        for cursor in cursors {
            let mut params = more.clone();
            params["cursor"] = json!(cursor);
            let error = client.err(method, params).await;
            assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32602), &json!("invalidParams")), "{error}");
            let hint = error["data"]["hint"].as_str().unwrap_or_default();
            assert!(hint.contains("nextCursor") && hint.contains(method), "{method} {cursor:?}: {error}");
        }
    }
    assert_eq!(client.ok("session/list", json!({})).await["sessions"][0]["id"], session);
}
