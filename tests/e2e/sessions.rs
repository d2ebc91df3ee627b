//! Lists, titles and deletion, and which folders are one project.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;

fn ids(list: &Value) -> Vec<String> {
    let sessions = list["sessions"].as_array().expect("a list").iter();
    sessions.map(|session| session["id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn lists_are_paged_newest_first_and_titles_can_be_changed() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([Step::say("Yes.")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let mut made = Vec::new();
    for _ in 0..7 {
        made.push(client.session(&workspace).await);
    }
    made.reverse();
    let mut found = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = client.ok("session/list", json!({"limit": 3, "cursor": cursor})).await;
        assert!(ids(&page).len() <= 3);
        found.extend(ids(&page));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(found, made);

    let oldest = made[6].clone();
    let renamed = client.ok("session/rename", json!({"session": oldest, "title": " My \n title "})).await;
    assert_eq!(renamed["title"], "My title");
    client.turn(&made[5], "\n  What is this?  \n\nmore").await;
    let list = client.ok("session/list", json!({"limit": 2})).await;
    assert_eq!(ids(&list), [made[5].clone(), oldest.clone()]);
    assert_eq!(list["sessions"][0]["title"], "What is this?");
    let error = client.err("session/rename", json!({"session": oldest, "title": " \n"})).await;
    assert_eq!(error["data"]["kind"], "invalidParams");
    let error = client.err("session/rename", json!({"session": "s0", "title": "x"})).await;
    assert_eq!(error["data"]["kind"], "notFound");
    for limit in [json!(0), json!(501), json!("many")] {
        let error = client.err("session/list", json!({"limit": limit})).await;
        assert_eq!(error["data"]["kind"], "invalidParams", "{limit}");
    }
}

/// Every file below `folder` that holds one of `words`.
fn holding(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(holding(&path, words));
        } else if let Ok(bytes) = std::fs::read(&path) {
            let held = words.iter().filter(|word| bytes.windows(word.len()).any(|window| window == word.as_bytes()));
            found.extend(held.map(|word| format!("{}: {word}", path.display())));
        }
    }
    found
}

#[tokio::test]
async fn a_deleted_session_leaves_no_word_behind() {
    let words = ["QUAGGA-prompt", "QUAGGA-title", "QUAGGA-answer", "QUAGGA-output", "QUAGGA-file"];
    let workspace = Workspace::new().file("a.txt", "QUAGGA-file\n");
    let gate = Gate::new();
    let output = "for i in $(seq 20000); do echo QUAGGA-output $i; done";
    let server = ModelServer::start(Script::new([
        Step::calls([
            Call::new("read_file", json!({"target_file": "a.txt"})),
            Call::new("run_terminal_cmd", json!({"command": output})),
        ]),
        Step::say("QUAGGA-answer"),
        Step::empty().text("QUAGGA-answer").stall(&gate),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let kept = client.session(&workspace).await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "QUAGGA-prompt").await["stopReason"], "endTurn");
    client.ok("session/rename", json!({"session": session, "title": "QUAGGA-title"})).await;
    // In the middle of a turn, too.
    client.start(&session, "QUAGGA-prompt again").await;
    gate.reached().await;
    assert_ne!(holding(&daemon.machine().data(), &words), Vec::<String>::new());
    client.ok("session/delete", json!({"session": session})).await;
    client.ok("session/delete", json!({"session": session})).await;
    assert_eq!(ids(&client.ok("session/list", json!({})).await), std::slice::from_ref(&kept));
    assert_eq!(client.err("session/get", json!({"session": session})).await["data"]["kind"], "notFound");
    assert_eq!(holding(&daemon.machine().data(), &words), Vec::<String>::new());
    daemon.stop().await;
    assert_eq!(holding(&daemon.machine().data(), &words), Vec::<String>::new());
    daemon.restart().await;
    assert_eq!(ids(&daemon.client().await.ok("session/list", json!({})).await), [kept]);
}

// Case H07: the lists.
#[tokio::test]
async fn one_folder_by_any_path_is_one_project() {
    let outer = Workspace::new().file("real/a.txt", "a");
    let real = outer.path().join("real");
    let link = outer.path().join("link");
    symlink("real", &link).expect("a link");
    let daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let client = daemon.client().await;
    let text = |path: &Path| path.to_str().expect("a plain name").to_owned();
    let opened = client.ok("project/open", json!({"roots": [text(&link)]})).await;
    assert_eq!(opened["roots"], json!([text(&real)]));
    let session = client.ok("session/create", json!({"project": opened["key"]})).await;
    for path in [text(&real), format!("{}/", text(&real)), format!("{}/../real", text(&real)), text(&link)] {
        let project = client.ok("project/open", json!({"roots": [path]})).await;
        assert_eq!(project, opened, "{path}");
        let list = client.ok("session/list", json!({"project": project["key"]})).await;
        assert_eq!(list["sessions"], json!([session]));
    }
}

// Case H08.
#[tokio::test]
async fn names_that_look_alike_are_projects_of_their_own() {
    let outer = Workspace::new().file("x/a-b/f", "").file("x-a/b/f", "").file("-rf/f", "");
    let daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let client = daemon.client().await;
    let mut keys = Vec::new();
    for name in ["x/a-b", "x-a/b", "-rf"] {
        let project = client.ok("project/open", json!({"roots": [format!("{}/{name}", outer.text())]})).await;
        let session = client.ok("session/create", json!({"project": project["key"]})).await;
        let list = client.ok("session/list", json!({"project": project["key"]})).await;
        assert_eq!(list["sessions"], json!([session]));
        let key = project["key"].as_str().expect("a key").to_owned();
        assert!(!key.starts_with('-'), "{key}");
        keys.push(key);
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 3);
    let names = names_below(&daemon.machine().data());
    assert!(names.len() > 6 && names.iter().all(|name| !name.starts_with('-')), "{names:?}");
}

/// The names of everything below a folder.
fn names_below(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries
        .flat_map(|entry| {
            let below = if entry.path().is_dir() { names_below(&entry.path()) } else { Vec::new() };
            std::iter::once(entry.file_name().to_string_lossy().into_owned()).chain(below)
        })
        .collect()
}
