//! The first look is small, the way to more is exact: what a result leaves out is read by the call that it names, and
//! what cannot be read back is not left out.

use plimsoll_core::model::request::Api;
use plimsoll_tests::asked::ask;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script};
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The call that the first notice of a result names.
fn named(result: &str) -> Call {
    let notice = result.lines().find(|line| line.starts_with('[') && line.contains(" not shown: ")).expect("a notice");
    let (_, call) = notice.rsplit_once(" not shown: ").expect("a call");
    let (tool, arguments) = call.strip_suffix(']').expect("its end").split_once(' ').expect("arguments");
    Call::raw(tool, arguments)
}

fn numbers(result: &str) -> Vec<u64> {
    result.lines().filter_map(|line| line.split_once('|')?.0.parse().ok()).collect()
}

/// With these settings for results.
fn machine(server: &ModelServer, context: &str) -> Machine {
    let machine = Machine::new(plimsoll_tests::binary!()).model(server, Api::OpenaiChat, "accept_edits");
    let file = machine.config().join("config.toml");
    let written = std::fs::read_to_string(&file).expect("a configuration");
    std::fs::write(file, format!("{written}\n[context]\n{context}\n")).expect("a configuration");
    machine
}

#[tokio::test]
async fn what_is_left_out_is_read_by_the_call_that_is_named() {
    let function = |no: u32| format!("fn number_{no}() -> u64 {{\n    {no} // in the middle\n}}\n");
    let source = (1..=300).map(function).collect::<Vec<_>>().concat();
    let workspace = Workspace::new().file("long.rs", &source);
    let server = ModelServer::start(Script::new([])).await;
    let mut daemon = machine(&server, "asked_tokens = 100000").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;

    let first = ask(&client, &server, &session, Call::new("read_file", json!({"target_file": "long.rs"}))).await;
    assert!(first.contains(" definitions in them:]\n  "), "{first}");
    assert!(first.contains(": fn number_150() -> u64") || first.contains(" of "), "{first}");
    let rest = ask(&client, &server, &session, named(&first)).await;
    let mut all = numbers(&first);
    all.extend(numbers(&rest));
    all.sort_unstable();
    assert_eq!(all, (1..=900).collect::<Vec<_>>(), "every line once");

    // The same call when the file is another one: what is there now, and it says so.
    workspace.write("long.rs", "fn other() {}\n");
    let changed = ask(&client, &server, &session, named(&first)).await;
    assert!(changed.contains("changed since v ") && changed.contains("1|fn other() {}"), "{changed}");

    let search = || Call::new("grep", json!({"pattern": "LINE", "case_insensitive": true, "path": "many.txt"}));
    let line = |no: u32| format!("line {no} of many\n");
    workspace.write("many.txt", (1..=900).map(line).collect::<Vec<_>>().concat());
    let page = ask(&client, &server, &session, search()).await;
    workspace.write("many.txt", "line 1 of many\nline 2 of few\n");
    let next = ask(&client, &server, &session, named(&page)).await;
    // From what was saved, not from what a search would find now.
    assert!(next.contains("matches in 1 file · from entry ") && next.contains(" of many"), "{next}");
    let dead = json!({"pattern": "LINE", "path": "many.txt", "cursor": "c99:5"});
    let dead = ask(&client, &server, &session, Call::new("grep", dead)).await;
    let (_, fresh) = dead.rsplit_once("Start afresh: grep ").expect("the first call");
    let fresh: Value = serde_json::from_str(fresh).expect("its arguments");
    assert_eq!(fresh, json!({"pattern": "LINE", "path": "many.txt"}));

    // What a search has shown whole may be edited.
    ask(&client, &server, &session, search()).await;
    let edit = json!({"file_path": "many.txt", "old_string": "line 2 of few", "new_string": "line 2"});
    let edited = ask(&client, &server, &session, Call::new("string_replace", edit)).await;
    assert!(edited.starts_with("[string_replace ok"), "{edited}");
    assert_eq!(workspace.read("many.txt").as_deref(), Some("line 1 of many\nline 2\n"));
    server.assert_clean();
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}

/// A call that fails with a long text: the places that come near to what it looks for.
fn miss() -> (String, Call) {
    let place = |no: usize| format!("    {}\n    {no}\n", "v=1; ".repeat(60));
    let text: String = (1..=3).map(|no| place(no).repeat(4)).collect();
    let wanted = place(2).repeat(4).replace("    ", "\t");
    (text, Call::new("string_replace", json!({"file_path": "a.txt", "old_string": wanted, "new_string": "x"})))
}

fn artifacts(data: &Path) -> PathBuf {
    let folder = |path: &Path| {
        let mut found = std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
        found
            .find(|path| path.is_dir() && !path.ends_with("pre-images") && !path.ends_with("plans"))
            .expect("a folder in it")
    };
    folder(&folder(&data.join("projects"))).join("artifacts")
}

#[tokio::test]
async fn a_long_text_is_a_file_before_the_model_hears_of_it() {
    let (text, call) = miss();
    let workspace = Workspace::new().file("a.txt", &text);
    let server = ModelServer::start(Script::new([])).await;
    let mut daemon = machine(&server, "general_tokens = 300").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    ask(&client, &server, &session, Call::new("read_file", json!({"target_file": "a.txt"}))).await;
    let failed = ask(&client, &server, &session, call).await;
    assert!(failed.starts_with("[string_replace failed · ") && failed.contains(" · partial · "), "{failed}");
    let rest = ask(&client, &server, &session, named(&failed)).await;
    assert!(rest.contains("/artifacts/c2.txt · line"), "{rest}");
    let saved = std::fs::read_to_string(artifacts(&daemon.machine().data()).join("c2.txt")).expect("the text");
    for line in saved.lines() {
        assert!(failed.contains(line) || rest.contains(line), "{line} is in neither of\n{failed}\n{rest}");
    }
    server.assert_clean();
    assert_replayed(&mut daemon, &server).await;
}

#[tokio::test]
async fn what_cannot_be_saved_is_not_left_out() {
    let (text, call) = miss();
    let workspace = Workspace::new().file("a.txt", &text);
    let server = ModelServer::start(Script::new([])).await;
    let daemon = machine(&server, "general_tokens = 300").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    ask(&client, &server, &session, Call::new("read_file", json!({"target_file": "a.txt"}))).await;
    let folder = artifacts(&daemon.machine().data());
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    std::fs::write(&folder, "in its place").expect("a file");
    let failed = ask(&client, &server, &session, call).await;
    assert!(failed.starts_with("[string_replace failed · e/c2@"), "{failed}");
    assert!(!failed.contains("not shown") && failed.matches("v=1; v=1;").count() >= 3, "{failed}");
    let events: Vec<Value> = client.events();
    assert!(events.iter().any(|event| event["type"] == "turnCompleted"));
    server.assert_clean();
}
