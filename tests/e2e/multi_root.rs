//! A project of several roots: each has its layout, its repository and its instructions, and tools work in each.

use crate::acp_client::{connect, prompt};
use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::json;

/// A repository with a branch, instructions and a file of this name.
fn root(name: &str) -> Workspace {
    let root = Workspace::new()
        .file("AGENTS.md", format!("Rules of {name}.\n"))
        .file(&format!("src/{name}.rs"), format!("// needle in {name}\n"))
        .git();
    root.run_git(&["checkout", "--quiet", "-b", &format!("branch-{name}")]);
    root
}

/// What the model works through in `b`, whose path it is given, with nobody who could be asked.
fn work_in(b: &Workspace) -> Vec<Call> {
    let at = |path: &str| format!("{}/{path}", b.text());
    vec![
        Call::new("grep", json!({"pattern": "needle"})),
        Call::new("glob_file_search", json!({"glob_pattern": "*.rs", "target_directory": b.text()})),
        Call::new("list_dir", json!({"target_directory": at("src")})),
        Call::new("write", json!({"file_path": at("new.txt"), "contents": "made\n"})),
        Call::new("run_terminal_cmd", json!({"command": format!("cd {} && ls", b.text())})),
    ]
}

fn assert_worked(results: &[String], names: &[&str], b: &Workspace) {
    for name in names {
        assert!(results[0].contains(&format!("needle in {name}")), "{}", results[0]);
    }
    assert!(results[1].contains(&format!("src/{}.rs", names[1])), "{}", results[1]);
    assert!(results[2].contains(&format!("{}.rs", names[1])), "{}", results[2]);
    assert!(results[4].contains("AGENTS.md") && results[4].contains("new.txt"), "{}", results[4]);
    assert_eq!(b.read("new.txt").as_deref(), Some("made\n"));
}

#[tokio::test]
async fn every_root_is_told_of_and_worked_in_also_one_that_comes_later() {
    let (a, b, c) = (root("aaa"), root("bbb"), root("ccc"));
    let read_c = || Call::new("read_file", json!({"target_file": format!("{}/src/ccc.rs", c.text())}));
    let write_c = || Call::new("write", json!({"file_path": format!("{}/later.txt", c.text()), "contents": "later\n"}));
    let server = ModelServer::start(Script::new([
        Step::calls(work_in(&b)),
        Step::say("Done."),
        Step::calls([read_c(), write_c()]),
        Step::say("Done."),
    ]))
    .await;
    let mut daemon =
        Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "accept_edits").daemon().await;
    let client = daemon.client().await;
    let project = client.ok("project/open", json!({"roots": [a.text(), b.text()]})).await;
    assert_eq!(project["roots"], json!([a.text(), b.text()]));
    let session = client.ok("session/create", json!({"project": project["key"]})).await["id"].clone();
    let session = session.as_str().expect("an id");
    client.attach(session, 0).await;
    let turn = json!({"session": session, "text": "work", "allow": ["run_terminal_cmd"]});
    client.ok("turn/start", turn).await;
    assert_eq!(client.completed(session, 1).await["stopReason"], "endTurn");
    let first = String::from_utf8_lossy(&server.requests()[0].body).into_owned();
    let of_each =
        ["Rules of aaa.", "Rules of bbb.", "aaa.rs", "bbb.rs", "branch-aaa", "branch-bbb", a.text(), b.text()];
    for told in of_each {
        assert!(first.contains(told), "{told}: {first}");
    }
    assert!(!first.contains("Rules of ccc."));
    let results: Vec<String> = server.requests()[1].results().into_iter().map(|(_, text)| text).collect();
    assert_worked(&results, &["aaa", "bbb"], &b);

    // A root more, while the session is open.
    let wider = client.ok("project/open", json!({"roots": [a.text(), b.text(), c.text()]})).await;
    assert_eq!((&wider["key"], &wider["roots"][2]), (&project["key"], &json!(c.text())));
    assert_eq!(client.ok("session/get", json!({"session": session})).await["roots"], wider["roots"]);
    let turn = client.turn(session, "and there").await;
    assert_eq!(turn["stopReason"], "endTurn");
    let third = String::from_utf8_lossy(&server.requests()[2].body).into_owned();
    assert!(third.contains("Rules of ccc.") && third.contains(c.text()), "{third}");
    let results: Vec<String> = server.requests()[3].results().into_iter().map(|(_, text)| text).collect();
    let results = &results[results.len() - 2..];
    assert!(results[0].contains("needle in ccc"), "{}", results[0]);
    assert_eq!(c.read("later.txt").as_deref(), Some("later\n"), "{}", results[1]);
    server.assert_clean();
    daemon.stop().await;
    daemon.restart().await;
    let client = daemon.client().await;
    assert_eq!(client.ok("session/get", json!({"session": session})).await["roots"], wider["roots"]);
}

async fn open_with(client: &Client, a: &Workspace, b: &Workspace) -> String {
    let params = json!({"cwd": a.text(), "additionalDirectories": [b.text()], "mcpServers": []});
    client.ok("session/new", params).await["sessionId"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn the_additional_directories_of_the_agent_client_protocol_are_roots() {
    let (a, b) = (root("aaa"), root("bbb"));
    let mut calls = work_in(&b);
    let command = calls.pop().expect("the command");
    let server = ModelServer::start(Script::new([Step::calls(calls).call(command), Step::say("Done.")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = connect(&daemon).await;
    let session = open_with(&client, &a, &b).await;
    assert_eq!(prompt(&client, &session, "work").await, "end_turn");
    let results: Vec<String> = server.requests()[1].results().into_iter().map(|(_, text)| text).collect();
    assert_worked(&results, &["aaa", "bbb"], &b);
    server.assert_clean();
}

#[tokio::test]
async fn the_command_line_leaves_roots_that_an_editor_added() {
    let (a, b) = (root("aaa"), root("bbb"));
    let server = ModelServer::start(Script::new([Step::say("Both.")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let project = client.ok("project/open", json!({"roots": [a.text(), b.text()]})).await;
    let output = daemon.machine().command(a.path(), &["ask", "Which?"]).output().await.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let projects = client.ok("project/list", json!({})).await["projects"].clone();
    assert_eq!(projects, json!([project]), "one project with both roots");
    let seen = server.requests()[0].json.to_string();
    assert!(seen.contains("Rules of aaa.") && seen.contains("Rules of bbb."), "{seen}");
    server.assert_clean();
}

#[tokio::test]
async fn a_client_that_names_one_root_leaves_the_others_and_taking_one_away_is_said() {
    let (a, b, c) = (root("aaa"), root("bbb"), root("ccc"));
    let daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let client = daemon.client().await;
    let open = async |roots: &[&Workspace]| {
        let roots: Vec<&str> = roots.iter().map(|root| root.text()).collect();
        client.ok("project/open", json!({"roots": roots})).await
    };
    let project = open(&[&a, &b]).await;
    assert_eq!(project["roots"], json!([a.text(), b.text()]));
    assert_eq!(open(&[&a]).await, project);
    assert_eq!(open(&[&a, &c]).await["roots"], json!([a.text(), b.text(), c.text()]));
    assert_eq!(open(&[&a, &c, &b]).await["roots"], json!([a.text(), b.text(), c.text()]));
    let fewer = json!({"project": project["key"], "roots": [a.text(), c.text()]});
    client.ok("project/relocate", fewer).await;
    assert_eq!(open(&[&a]).await["roots"], json!([a.text(), c.text()]));
}

#[tokio::test]
async fn a_root_that_comes_later_is_not_trusted_because_the_others_were() {
    let (a, b) = (root("aaa"), root("bbb"));
    let moved = Workspace::new();
    let mut daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let client = daemon.client().await;
    let key = client.ok("project/open", json!({"roots": [a.text()]})).await["key"].clone();
    let trust = async |client: &Client| {
        client.ok("project/trust", json!({"project": key, "trusted": true})).await;
    };
    let trusted = async |client: &Client| {
        let projects = client.ok("project/list", json!({})).await["projects"].take();
        projects[0]["trusted"].clone()
    };
    trust(&client).await;
    // The same again, and a folder of what is trusted.
    let inside = format!("{}/src", a.text());
    for roots in [json!([a.text()]), json!([a.text(), inside])] {
        assert_eq!(client.ok("project/open", json!({"roots": roots})).await["trusted"], true, "{roots}");
    }
    let wider = client.ok("project/open", json!({"roots": [a.text(), b.text()]})).await;
    assert_eq!((&wider["key"], &wider["trusted"]), (&key, &json!(false)));
    assert_eq!(trusted(&client).await, false);
    daemon.stop().await;
    daemon.restart().await;
    let client = daemon.client().await;
    assert_eq!(trusted(&client).await, false, "it is stored");
    trust(&client).await;
    assert_eq!(client.ok("project/open", json!({"roots": [a.text()]})).await["trusted"], true, "both are trusted now");
    // What has moved is what was trusted; what comes besides is not.
    let relocate = async |roots: &[&str]| {
        client.ok("project/relocate", json!({"project": key, "roots": roots})).await["trusted"].clone()
    };
    assert_eq!(relocate(&[a.text(), moved.text()]).await, true);
    assert_eq!(relocate(&[a.text(), moved.text(), b.text()]).await, false);
}
