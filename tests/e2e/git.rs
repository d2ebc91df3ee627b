//! What the model is told of repositories of odd shapes, in the request itself.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// What the first request says in the project of this folder, and the root that was opened.
async fn first_request(folder: &Path, steps: Vec<Step>) -> (String, String) {
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let project = client.ok("project/open", json!({"roots": [folder.to_str()]})).await;
    let session = client.ok("session/create", json!({"project": project["key"]})).await;
    let session = session["id"].as_str().expect("an id");
    client.attach(session, 0).await;
    let begun = Instant::now();
    let turn = client.start(session, "look").await;
    let requests = server.wait_for(1).await;
    assert!(requests[0].at - begun < Duration::from_secs(3), "the request comes soon");
    assert_eq!(client.completed(session, turn).await["stopReason"], "endTurn");
    server.assert_clean();
    let said = requests[0].last_user_text().expect("a prompt");
    (said, project["roots"][0].as_str().expect("a root").to_owned())
}

#[tokio::test]
async fn a_linked_worktree_is_its_own_project() {
    let repository = Workspace::new().file("sub/a.txt", "a").git();
    let outer = Workspace::new();
    let linked = outer.path().join("linked");
    let path = linked.to_str().expect("a plain name");
    repository.run_git(&["worktree", "add", "--quiet", path, "-b", "feature"]);
    std::fs::write(linked.join("x.txt"), "x").expect("a file");
    let call = Call::new("run_terminal_cmd", json!({"command": "touch y.txt"}));
    let (said, root) = first_request(&linked.join("sub"), vec![Step::calls([call]), Step::say("Done.")]).await;
    assert_eq!(root, path);
    assert!(said.contains("feature") && said.contains("untracked x.txt\n"), "{said}");
    assert!(linked.join("y.txt").exists());
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_repository_without_a_commit_and_a_plain_folder_are_no_errors() {
    let repository = Workspace::new().file("a.txt", "a");
    repository.run_git(&["init", "--quiet", "--initial-branch=trunk"]);
    let (said, _) = first_request(repository.path(), vec![Step::say("Done.")]).await;
    assert!(
        said.contains("trunk") && said.to_lowercase().contains("no commits yet") && said.contains("untracked a.txt\n"),
        "{said}"
    );
    assert!(!said.contains("fatal:"), "{said}");
    let (said, _) = first_request(Workspace::new().path(), vec![Step::say("Done.")]).await;
    assert!(said.to_lowercase().contains("not a git repository") && !said.contains("fatal:"), "{said}");
}

#[tokio::test]
async fn a_huge_untracked_folder_holds_nothing_up() {
    let repository = Workspace::new().file("src/a.rs", "fn a() {}\n").git();
    repository.write("src/a.rs", "fn b() {}\n");
    for folder in 0..60 {
        let folder = repository.path().join(format!("blob/{folder}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        for file in 0..1_000 {
            std::fs::File::create(folder.join(file.to_string())).expect("a file");
        }
    }
    let (said, _) = first_request(repository.path(), vec![Step::say("Done.")]).await;
    assert!(said.contains("unstaged M src/a.rs\n") && said.contains("untracked blob/\n"), "{said}");
    assert_eq!(said.matches("\nuntracked ").count(), 1, "{said}");
}
