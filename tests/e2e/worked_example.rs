//! One repair from its beginning to its end, with the daemon's death in the middle: what was done is not done again, the
//! tests speak of the revision that is there, what the user forbade is refused, and the work counts as done when it is.

use plimsoll_core::model::request::Api;
use plimsoll_tests::boundary::{Boundary, Stopper, When, arm};
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_all_stored, assert_grows};
use plimsoll_tests::told::{durable, item, items};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

over_both_apis! { a_repair_that_the_daemon_does_not_survive }

const PROMPT: &str = "Exclude patterns match nothing, although the files are there. Repair that: patterns are relative to the \
                      root; leave the include rules; do not commit, do not deploy.";

const FILTER: &str = r#""""Which files of a folder are taken."""

from fnmatch import fnmatchcase


def included(path, patterns):
    return any(fnmatchcase(path.name, pattern) for pattern in patterns)


def excluded(path, patterns):
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def select(root, files, include, exclude):
    """`files` are absolute paths."""
    chosen = [path for path in files if included(path, include)]
    return [path for path in chosen if not excluded(str(path), exclude)]
"#;

const TESTS: &str = r#"import unittest
from pathlib import Path

from collector.filter import select

ROOT = Path("/srv/project")


class Select(unittest.TestCase):
    def test_names_are_included(self):
        files = [ROOT / "a.py", ROOT / "a.txt"]
        self.assertEqual(select(ROOT, files, ["*.py"], []), [ROOT / "a.py"])

    def test_excludes_are_relative_to_the_root(self):
        files = [ROOT / "a.py", ROOT / "generated" / "b.py"]
        self.assertEqual(select(ROOT, files, ["*.py"], ["generated/*"]), [ROOT / "a.py"])


if __name__ == "__main__":
    unittest.main()
"#;

const PATCH: &str = "\
--- a/collector/filter.py
+++ b/collector/filter.py
@@ -14,4 +14,4 @@ def select(root, files, include, exclude):
     \"\"\"`files` are absolute paths.\"\"\"
     chosen = [path for path in files if included(path, include)]
-    return [path for path in chosen if not excluded(str(path), exclude)]
+    return [path for path in chosen if not excluded(path.relative_to(root).as_posix(), exclude)]
";

/// The call of the patch.
const PATCHED: &str = "c6";

fn repaired() -> String {
    FILTER.replace("excluded(str(path), exclude)", "excluded(path.relative_to(root).as_posix(), exclude)")
}

fn call(tool: &str, arguments: Value) -> Step {
    Step::calls([Call::new(tool, arguments)])
}

/// What the model does until the daemon dies: it takes up what the user demands, looks, sees the tests fail, repairs.
fn before() -> Vec<Step> {
    let quotes = ["patterns are relative to the root", "leave the include rules", "do not commit, do not deploy"];
    let constraints: Vec<Value> = quotes.iter().map(|quote| json!({"quote": quote})).collect();
    vec![
        call("update_task", json!({"goal": "exclude patterns match again", "constraints": constraints})),
        call("grep", json!({"pattern": "exclude"})),
        Step::calls([
            Call::new("read_file", json!({"target_file": "collector/filter.py"})),
            Call::new("read_file", json!({"target_file": "tests/test_filter.py"})),
        ]),
        call("run_tests", json!({})),
        call("apply_patch", json!({"patch": PATCH, "purpose": "match what is relative to the root"})),
    ]
}

/// What it does afterwards.
fn after() -> Vec<Step> {
    vec![
        call("inspect_operation", json!({"operation_id": PATCHED})),
        call("update_task", json!({"phase": "done"})),
        call("run_tests", json!({})),
        call("run_terminal_cmd", json!({"command": "git commit --all --message 'Repair exclude patterns'"})),
        call("update_task", json!({"phase": "done"})),
        Step::say("Repaired; nothing was committed."),
    ]
}

fn last_result(server: &ModelServer, request: usize) -> String {
    server.requests()[request].results().pop().expect("a result").1
}

/// `plimsoll` with these arguments on the daemon's machine: what it prints.
async fn printed(daemon: &TestDaemon, arguments: &[&str]) -> String {
    let output = daemon.machine().command(Path::new("/"), arguments).output().await.expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Lets the model work until the patch is written, and the daemon die before that is recorded. Gives what was seen.
async fn die(daemon: &mut TestDaemon, client: &Client, session: &str) -> Vec<Value> {
    arm(daemon.machine());
    client.start(session, PROMPT).await;
    client.closed().await;
    assert_eq!(daemon.ended().await.signal(), Some(9));
    durable(&client.events())
}

async fn a_repair_that_the_daemon_does_not_survive(api: Api) {
    let workspace = Workspace::new()
        .file("collector/__init__.py", "")
        .file("collector/filter.py", FILTER)
        .file("tests/__init__.py", "")
        .file("tests/test_filter.py", TESTS)
        .file(".gitignore", "__pycache__/\n")
        .git();
    let stopper = Stopper::new();
    let server = ModelServer::start(Script::new(before())).await;
    let mut machine = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full");
    let written = Boundary {
        when: When::After,
        call: "rename".to_owned(),
        glob: "*/.plimsoll-*>*/collector/filter.py".to_owned(),
        nth: 1,
    };
    stopper.watch(&mut machine, Some(&written));
    let mut daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let seen = die(&mut daemon, &client, &session).await;
    assert_eq!(workspace.read("collector/filter.py"), Some(repaired()), "the patch is written");
    assert!(last_result(&server, 1).contains("enforced by"), "{}", last_result(&server, 1));
    assert!(last_result(&server, 4).contains("1 failed"), "{}", last_result(&server, 4));

    // The daemon finds out what became of it and says so to everybody; nothing goes on by itself.
    daemon.machine_mut().unset_for_daemon();
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    let end = client.completed(&session, 1).await;
    assert_eq!((&end["stopReason"], &end["unsettled"]), (&json!("crashed"), &json!([])));
    assert_eq!(durable(&client.events())[..seen.len()], seen);
    let listed = client.ok("operation/list", json!({"session": session})).await;
    let operation = |listed: &Value| {
        let all = listed["operations"].as_array().expect("a list").clone();
        all.into_iter().find(|operation| operation["call"] == PATCHED).expect("the patch")
    };
    let patch = operation(&listed);
    let finding = (&patch["state"], &patch["settled"], &patch["finding"]["verdict"], &patch["finding"]["by"]);
    assert_eq!(finding, (&json!("unknown"), &json!(true), &json!("applied"), &json!("recovery")));
    assert_eq!(server.requests().len(), 5);

    server.rewrite(after());
    let turn = client.ok("turn/continue", json!({"session": session})).await;
    let end = client.completed(&session, turn["turn"].as_u64().expect("a number")).await;
    assert_eq!((&end["stopReason"], &end["unsettled"]), (&json!("endTurn"), &json!([])));

    // What the model was told, step by step.
    let told: Vec<String> = server.requests()[5].seen().iter().map(|seen| format!("{seen:?}")).collect();
    let verdict =
        told.iter().any(|text| text.contains(PATCHED) && text.contains("applied: the file is as it was intended"));
    assert!(verdict, "{told:#?}");
    assert!(last_result(&server, 6).contains("applied"), "{}", last_result(&server, 6));
    let refused = last_result(&server, 7);
    let missing = "[update_task failed";
    assert!(refused.contains(missing) && refused.contains("the tests of c5 failed"), "{refused}");
    let tested = last_result(&server, 8);
    assert!(tested.contains("2 passed"), "{tested}");
    assert!(last_result(&server, 9).contains("do not commit, do not deploy"), "{}", last_result(&server, 9));
    let done = last_result(&server, 10);
    assert!(done.contains("[update_task ok") && done.contains("phase: done"), "{done}");

    // What the world and the clients see.
    assert_eq!(workspace.read("collector/filter.py"), Some(repaired()), "nothing was written again");
    assert_eq!(workspace.run_git(&["rev-list", "--count", "HEAD"]), "1\n", "nothing was committed");
    let task = client.ok("task/get", json!({"session": session})).await;
    assert_eq!((&task["task"]["phase"], &task["unsettled"]), (&json!("done"), &json!([])));
    assert_eq!(task["verification"]["after"], task["revision"], "the tests speak of the revision that is there");
    let verified = (&end["verification"]["call"], &end["verification"]["passed"], &end["verification"]["current"]);
    assert_eq!(verified, (&json!("c9"), &json!(true), &json!(true)));
    let lines: Vec<String> = items(&client.events()).iter().map(item).collect();
    // Of two reads at the same time either may end first.
    let is_call = |line: &&str| line.starts_with('c') && !["c3 ok", "c4 ok"].contains(line);
    let calls: Vec<&str> = lines.iter().map(String::as_str).filter(is_call).collect();
    assert_eq!(
        calls,
        [
            "c1 = update_task",
            "c1 ok",
            "c2 = grep",
            "c2 ok",
            "c3 = read_file",
            "c4 = read_file",
            "c5 = run_tests",
            "c5 failed",
            "c6 = apply_patch",
            "c6 unknown",
            "c7 = inspect_operation",
            "c7 ok",
            "c8 = update_task",
            "c8 failed",
            "c9 = run_tests",
            "c9 ok",
            "c10 = run_terminal_cmd",
            "c10 denied",
            "c11 = update_task",
            "c11 ok",
        ]
    );
    let shown = printed(&daemon, &["ops", &session, "--all"]).await;
    let line = |call: &str| shown.lines().find(|line| line.split_whitespace().next() == Some(call)).unwrap_or_default();
    assert!(line(PATCHED).contains("applied") && line("c10").contains("denied"), "{shown}");
    server.assert_clean();
    assert_eq!(server.steps_left(), 0);
    assert_grows(&server);
    assert_all_stored(&mut daemon, &server).await;
}
