//! Undoing what the agent wrote: a turn and a call, links and modes, files that somebody else changed, across a restart.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::assert_replayed;
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Output, Stdio};

over_both_apis! { a_turn_is_undone_and_done_again_and_the_model_is_told }

fn read(path: &str) -> Call {
    Call::new("read_file", json!({"target_file": path}))
}

fn write(path: &str, contents: &str) -> Call {
    Call::new("write", json!({"file_path": path, "contents": contents}))
}

fn replace(path: &str, old: &str, new: &str) -> Call {
    Call::new("string_replace", json!({"file_path": path, "old_string": old, "new_string": new}))
}

fn delete(path: &str) -> Call {
    Call::new("delete_file", json!({"target_file": path}))
}

/// What stands in the workspace: contents, where links lead, permission bits.
fn state(workspace: &Workspace) -> Vec<String> {
    let mut lines = Vec::new();
    for name in ["a.txt", "new/n.txt", "tool.sh", "link"] {
        let path = workspace.path().join(name);
        let line = match fs::symlink_metadata(&path) {
            Err(_) => "gone".to_owned(),
            Ok(found) if found.is_symlink() => format!("-> {}", fs::read_link(&path).expect("a link").display()),
            Ok(found) => {
                format!("{:o} {:?}", found.permissions().mode() & 0o777, fs::read_to_string(&path).expect("text"))
            }
        };
        lines.push(format!("{name}: {line}"));
    }
    lines
}

async fn restore(client: &Client, session: &str, params: Value) -> Value {
    let mut all = json!({"session": session});
    let fields = all.as_object_mut().expect("an object");
    fields.extend(params.as_object().expect("an object").clone());
    client.ok("checkpoint/restore", all).await
}

/// Verdict and whether it was done, by the file's name.
fn files(result: &Value) -> Vec<String> {
    let files = result["files"].as_array().expect("files");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let name = |path: String| path.rsplit('/').next().expect("a name").to_owned();
    files
        .iter()
        .map(|file| {
            format!(
                "{} {} {} {}",
                name(text(&file["path"])),
                text(&file["action"]),
                text(&file["verdict"]),
                file["done"]
            )
        })
        .collect()
}

async fn a_turn_is_undone_and_done_again_and_the_model_is_told(api: Api) {
    let workspace = Workspace::new().file("a.txt", "zero\none\n").file("tool.sh", "#!/bin/sh\n");
    fs::set_permissions(workspace.path().join("tool.sh"), fs::Permissions::from_mode(0o755)).expect("a mode");
    symlink("a.txt", workspace.path().join("link")).expect("a link");
    let workspace = workspace.git();
    workspace.write("staged.txt", "staged\n");
    workspace.run_git(&["add", "staged.txt"]);
    let server = ModelServer::start(Script::new([
        Step::calls([read("a.txt"), read("tool.sh")]),
        Step::calls([replace("a.txt", "one", "two"), write("new/n.txt", "new\n"), delete("tool.sh"), delete("link")]),
        Step::say("Done."),
        Step::say("I see."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let before = state(&workspace);
    let git = |workspace: &Workspace| {
        ["diff --cached", "stash list", "for-each-ref"]
            .map(|arguments| workspace.run_git(&arguments.split(' ').collect::<Vec<_>>()))
    };
    let repository = git(&workspace);
    assert_eq!(client.turn(&session, "Change things").await["stopReason"], "endTurn");
    let after = state(&workspace);
    assert_eq!(after, ["a.txt: 644 \"zero\\ntwo\\n\"", "new/n.txt: 644 \"new\\n\"", "tool.sh: gone", "link: gone"]);

    let list = client.ok("checkpoint/list", json!({"session": session})).await;
    let turn = &list["turns"][0];
    assert_eq!(
        (&turn["turn"], &turn["prompt"], &turn["restorable"], list["turns"].as_array().map(Vec::len)),
        (&json!(1), &json!("Change things"), &json!({"state": "ready"}), Some(1))
    );
    let calls: Vec<&Value> = turn["calls"].as_array().expect("calls").iter().map(|call| &call["tool"]).collect();
    assert_eq!(calls, ["string_replace", "write", "delete_file", "delete_file"]);
    let edit = &turn["calls"][0]["files"][0];
    assert_eq!((&edit["added"], &edit["removed"]), (&json!(1), &json!(1)));
    let diff = client.ok("checkpoint/diff", json!({"session": session, "turn": 1})).await;
    assert_eq!(diff["files"][0]["diff"], "@@ -1,2 +1,2 @@\n zero\n-two\n+one\n");
    let expected =
        ["a.txt write ready true", "link link ready true", "n.txt delete ready true", "tool.sh create ready true"];
    let planned = restore(&client, &session, json!({"turn": 1, "dryRun": true})).await;
    assert_eq!((&planned["state"], files(&planned)), (&json!("planned"), expected.map(str::to_owned).to_vec()));
    assert_eq!(state(&workspace), after);

    // What was written before is known after a restart too.
    daemon.stop().await;
    daemon.restart().await;
    let client = daemon.client().await;
    let seen = client.ok("session/get", json!({"session": session})).await["lastSeq"].as_u64().expect("a number");
    client.attach(&session, seen).await;
    let undone = restore(&client, &session, json!({"turn": 1})).await;
    assert_eq!((&undone["state"], &undone["call"]), (&json!("done"), &json!("c7")));
    assert_eq!(state(&workspace), before);
    assert_eq!(git(&workspace), repository);
    client.wait_events("the undo", |events| events.len() >= 2).await;
    assert_eq!(told(&client.events(), seen), ["notice undone", "meta undone"]);
    assert_eq!(restore(&client, &session, json!({"turn": 1})).await["state"], "nothing");

    // The model hears of it with the next prompt.
    assert_eq!(client.turn(&session, "What now?").await["stopReason"], "endTurn");
    let sent = String::from_utf8_lossy(&server.requests().last().expect("a request").body).into_owned();
    assert!(sent.contains("The user undid the file changes of turn 1"), "{sent}");
    assert!(sent.contains(&format!("- {}/new/n.txt (not there any more)", workspace.text())), "{sent}");

    let again = restore(&client, &session, json!({"call": "c7"})).await;
    assert_eq!((&again["state"], &again["call"]), (&json!("done"), &json!("c8")));
    assert_eq!(state(&workspace), after);
    restore(&client, &session, json!({"from": 1})).await;
    assert_eq!(state(&workspace), before);
    server.assert_clean();
    assert_replayed(&mut daemon, &server).await;
}

#[tokio::test]
async fn calls_are_undone_one_by_one_from_the_last() {
    let workspace = Workspace::new().file("a.txt", "zero\n");
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([
        Step::calls([read("a.txt")]),
        Step::calls([replace("a.txt", "zero", "one")]),
        Step::calls([replace("a.txt", "one", "two")]),
        Step::empty().text("Wait ").stall(&gate).text("over."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "Count").await;
    client.wait_events("some text", |events| events.iter().any(|event| event["type"] == "textDelta")).await;
    // While a turn runs nothing is undone, and what would be can be looked at.
    let busy = client.err("checkpoint/restore", json!({"session": session, "turn": 1})).await;
    assert_eq!(busy["data"]["kind"], "busy");
    let planned = restore(&client, &session, json!({"turn": 1, "dryRun": true})).await;
    assert_eq!(files(&planned), ["a.txt write ready true"]);
    gate.release();
    client.completed(&session, turn).await;

    let first = restore(&client, &session, json!({"call": "c2"})).await;
    assert_eq!((&first["state"], files(&first)), (&json!("refused"), vec!["a.txt write later false".to_owned()]));
    assert!(first["files"][0]["reason"].as_str().expect("a reason").starts_with("c3 changed it later"), "{first}");
    assert_eq!(workspace.read("a.txt").as_deref(), Some("two\n"));
    for (call, content) in [("c3", "one\n"), ("c2", "zero\n")] {
        assert_eq!(restore(&client, &session, json!({"call": call})).await["state"], "done");
        assert_eq!(workspace.read("a.txt").as_deref(), Some(content));
    }
    for (params, kind) in [
        (json!({"turn": 9}), "notFound"),
        (json!({"call": "c1"}), "notFound"),
        (json!({}), "invalidParams"),
        (json!({"turn": 1, "call": "c2"}), "invalidParams"),
    ] {
        let mut all = json!({"session": session});
        all.as_object_mut().expect("an object").extend(params.as_object().expect("an object").clone());
        assert_eq!(client.err("checkpoint/restore", all).await["data"]["kind"], kind, "{params}");
    }
    server.assert_clean();
}

#[tokio::test]
async fn what_somebody_else_changed_is_left_alone_unless_it_is_forced_and_kept() {
    let workspace = Workspace::new().file("a.txt", "a0\n").file("b.txt", "b0\n").file("c.txt", "c0\n");
    let server = ModelServer::start(Script::new([
        Step::calls([read("a.txt"), read("b.txt"), read("c.txt")]),
        Step::calls([replace("a.txt", "a0", "a1"), replace("b.txt", "b0", "b1"), replace("c.txt", "c0", "c1")]),
        Step::say("Done."),
        Step::calls([read("c.txt")]),
        Step::calls([replace("c.txt", "c1", "c2")]),
        Step::say("Done too."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::AnthropicMessages, "full");
    let daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "Change all").await;
    let other = client.session(&workspace).await;
    client.turn(&other, "Change one more").await;
    workspace.write("a.txt", "mine\n");

    let refused = restore(&client, &session, json!({"turn": 1})).await;
    let expected = ["a.txt write changed false", "b.txt write ready false", "c.txt write changed false"];
    assert_eq!((&refused["state"], files(&refused)), (&json!("refused"), expected.map(str::to_owned).to_vec()));
    assert_eq!(refused["files"][0]["reason"], "changed since by somebody else");
    let reason = refused["files"][2]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with(&format!("changed since by c2 of session {other}")), "{reason}");
    let all = || ["a.txt", "b.txt", "c.txt"].map(|name| workspace.read(name).expect("a file"));
    assert_eq!(all(), ["mine\n", "b1\n", "c2\n"]);
    let listed = client.ok("checkpoint/list", json!({"session": session})).await;
    assert_eq!(listed["turns"][0]["restorable"]["state"], "blocked");

    let skipped = restore(&client, &session, json!({"turn": 1, "skip": true})).await;
    assert_eq!(skipped["state"], "done");
    assert_eq!(all(), ["mine\n", "b0\n", "c2\n"]);
    let forced = restore(&client, &session, json!({"turn": 1, "force": true})).await;
    assert_eq!(all(), ["a0\n", "b0\n", "c0\n"]);
    let kept = forced["files"][0]["keeps"][0].as_str().expect("a version");
    let kept = fs::read_dir(daemon.machine().data().join("projects"))
        .expect("projects")
        .flatten()
        .find_map(|project| fs::read_to_string(project.path().join("pre-images").join(kept)).ok());
    assert_eq!(kept.as_deref(), Some("mine\n"));
    restore(&client, &session, json!({"call": forced["call"]})).await;
    assert_eq!(all(), ["mine\n", "b0\n", "c2\n"]);
}

async fn run(machine: &Machine, workspace: &Workspace, arguments: &[&str]) -> Output {
    let mut command = machine.command(workspace.path(), arguments);
    command.stdin(Stdio::null());
    in_time("the command", command.output()).await.expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[tokio::test]
async fn the_command_shows_what_it_will_do_and_needs_a_yes() {
    let workspace = Workspace::new().file("a.txt", "one\n");
    let server = ModelServer::start(Script::new([
        Step::calls([read("a.txt")]),
        Step::calls([replace("a.txt", "one", "two"), write("n.txt", "new\n")]),
        Step::say("Done."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let none = run(&machine, &workspace, &["undo"]).await;
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none.stderr).contains("there is no session in"), "{}", text(&none.stderr));
    assert_eq!(run(&machine, &workspace, &["ask", "Change"]).await.status.code(), Some(0));

    let unasked = run(&machine, &workspace, &["undo"]).await;
    assert_eq!((unasked.status.code(), text(&unasked.stdout)), (Some(3), String::new()));
    assert!(text(&unasked.stderr).contains("give -y"), "{}", text(&unasked.stderr));
    let list = "write       a.txt  +1 -1\ndelete      n.txt  +0 -1\n";
    let dry = run(&machine, &workspace, &["undo", "--dry-run"]).await;
    assert_eq!((dry.status.code(), text(&dry.stdout)), (Some(0), list.to_owned()));
    let diff = run(&machine, &workspace, &["undo", "--dry-run", "--diff"]).await;
    assert!(
        text(&diff.stdout).starts_with("--- a.txt\n+++ a.txt\n@@ -1,1 +1,1 @@\n-two\n+one\n"),
        "{}",
        text(&diff.stdout)
    );
    assert_eq!(workspace.read("a.txt").as_deref(), Some("two\n"));

    let done = run(&machine, &workspace, &["undo", "-y"]).await;
    assert_eq!((done.status.code(), text(&done.stdout)), (Some(0), list.to_owned()), "{}", text(&done.stderr));
    assert_eq!((workspace.read("a.txt").as_deref(), workspace.read("n.txt")), (Some("one\n"), None));
    let said = text(&done.stderr);
    let redo: Vec<&str> = said.split('`').nth(1).expect("a command").split(' ').skip(1).collect();
    let nothing = run(&machine, &workspace, &["undo", "-y"]).await;
    assert_eq!(nothing.status.code(), Some(0));
    assert!(text(&nothing.stderr).contains("nothing to undo"), "{}", text(&nothing.stderr));
    let listed = run(&machine, &workspace, &["undo", "--list"]).await;
    let expected = "turn 1  Change  [not in effect]\n  c2 string_replace  [not in effect]\n    M a.txt  +1 -1\n  \
        c3 write  [not in effect]\n    A n.txt  +1 -0\n  c4 undo\n    M a.txt\n    D n.txt\n";
    assert_eq!(text(&listed.stdout), expected);

    let again = run(&machine, &workspace, &[redo.as_slice(), &["--yes", "--json"]].concat()).await;
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    let result: Value = serde_json::from_str(&text(&again.stdout)).expect("JSON");
    assert_eq!((&result["state"], &result["call"]), (&json!("done"), &json!("c5")));
    assert_eq!(workspace.read("a.txt").as_deref(), Some("two\n"));
    workspace.write("a.txt", "mine\n");
    let refused = run(&machine, &workspace, &["undo", "-y"]).await;
    let expected = "blocked     a.txt: changed since by somebody else\nblocked     n.txt: left out\n";
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(1), expected.to_owned()));
    assert!(text(&refused.stderr).contains("--force these too"), "{}", text(&refused.stderr));
    assert_eq!(workspace.read("a.txt").as_deref(), Some("mine\n"));
}
