//! The task of a session: the user's words as rules, claims with evidence, and the gate before it is done.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

const PROMPT: &str =
    "Fix the matcher: patterns are relative to the root; leave the include rules; do not commit, do not deploy.";

const COMMIT: &str = "git -c user.name=a -c user.email=a@b.c commit -qam done";

struct World {
    daemon: TestDaemon,
    server: ModelServer,
    client: Client,
    session: String,
    workspace: Workspace,
}

impl World {
    /// A session in mode `full` in a repository with one commit.
    async fn new() -> Self {
        let workspace = Workspace::new().file("a.txt", "alpha\n").git();
        let server = ModelServer::start(Script::new([])).await;
        let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        Self { daemon, server, client, session, workspace }
    }

    /// A turn in which the model makes these calls, one after the other; gives the results' texts as the model was told them.
    async fn turn(&self, prompt: &str, calls: Vec<Call>) -> Vec<String> {
        self.turn_of(&self.session, prompt, calls).await
    }

    async fn turn_of(&self, session: &str, prompt: &str, calls: Vec<Call>) -> Vec<String> {
        let count = calls.len();
        for call in calls {
            self.server.push(Step::calls([call]));
        }
        self.server.push(Step::say("So far."));
        let end = self.client.turn(session, prompt).await;
        assert_eq!(end["stopReason"], "endTurn", "{end}");
        let requests = self.server.requests();
        let told = requests.last().map(plimsoll_tests::model_server::Recorded::results).unwrap_or_default();
        told.into_iter().rev().take(count).rev().map(|(_, text)| text).collect()
    }

    async fn task(&self, session: &str) -> Value {
        self.client.ok("task/get", json!({"session": session})).await
    }

    async fn set(&self, mut change: Value) -> Result<Value, Value> {
        change["session"] = json!(self.session);
        self.client.call("task/set", change).await
    }

    fn commits(&self) -> usize {
        self.workspace.run_git(&["log", "--oneline"]).lines().count()
    }

    /// The revision of a call's result.
    fn revision(&self, call: &str) -> String {
        let events = self.client.events();
        let result = events.iter().find(|event| event["item"]["kind"] == "toolResult" && event["item"]["call"] == call);
        result.expect("a result")["item"]["revision"].as_str().expect("a revision").to_owned()
    }
}

fn update(arguments: Value) -> Call {
    Call::new("update_task", arguments)
}

fn command(text: &str) -> Call {
    Call::new("run_terminal_cmd", json!({"command": text}))
}

fn replace(old: &str, new: &str) -> Call {
    Call::new("string_replace", json!({"file_path": "a.txt", "old_string": old, "new_string": new}))
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_lives_through_restart_and_fork_and_its_words_are_enforced_until_they_are_lifted() {
    let mut world = World::new().await;
    world.turn(PROMPT, vec![Call::new("read_file", json!({"target_file": "a.txt"}))]).await;
    let evidence = format!("e/c1@{}", world.revision("c1"));
    assert_eq!(world.task(&world.session).await["task"], Value::Null);
    let told = world
        .turn(
            "go on",
            vec![
                update(json!({
                    "goal": "Patterns are relative to the root",
                    "constraints": [
                        {"quote": "do not commit, do not deploy"},
                        {"quote": "leave the include rules", "item": 1},
                        {"quote": "never push"},
                    ],
                    "hypotheses": [{"claim": "the root is cut off", "status": "confirmed", "evidence": [evidence]}],
                    "confirmed": [{"claim": "a holds alpha", "evidence": ["e/c1@r999"]}],
                    "phase": "implement",
                })),
                replace("alpha", "beta"),
                command(COMMIT),
                update(json!({"phase": "done"})),
            ],
        )
        .await;
    let before = world.commits();
    assert_has(
        &told[0],
        &[
            "[update_task ok",
            "constraint \"do not commit, do not deploy\" as 1, enforced by ",
            "constraint \"leave the include rules\" as 2;",
            "- constraint \"never push\": no message of the user holds these words exactly",
            "- confirmed \"a holds alpha\": e/c1@r999 does not resolve: the result of c1 is of ",
            "confirmed: the root is cut off [e/c1@r",
        ],
    );
    assert_has(
        &told[2],
        &[
            "denied",
            "`run_terminal_cmd(git commit *)` denies it, because the user said \"do not commit, do not deploy\"",
        ],
    );
    assert_has(&told[3], &["[update_task failed", "- phase done: files were changed and no tests ran"]);
    let state = world.task(&world.session).await;
    assert_eq!(state["task"]["phase"], "implement");
    let constraints = state["task"]["constraints"].as_array().expect("constraints").clone();
    assert_eq!(constraints.len(), 2);
    assert!(constraints[0]["denies"].as_array().expect("rules").contains(&json!("run_terminal_cmd(git commit *)")));
    assert_eq!((&constraints[1]["denies"], &constraints[1]["item"]), (&json!([]), &json!(1)));
    assert!(world.client.events().iter().any(|event| event["type"] == "taskChanged"));

    world.daemon.kill9().await;
    world.daemon.restart().await;
    world.client = world.daemon.client().await;
    world.client.attach(&world.session, 0).await;
    assert_eq!(world.task(&world.session).await["task"], state["task"]);
    let told = world.turn("and now?", vec![command(&format!("bash -c '{COMMIT}'"))]).await;
    assert_has(&told[0], &["denied", "constraint 1 of the task"]);

    let fork = world.client.ok("session/fork", json!({"session": world.session})).await;
    let fork = fork["id"].as_str().expect("an id").to_owned();
    world.client.attach(&fork, 0).await;
    let forked = world.task(&fork).await;
    assert_eq!(forked["task"]["constraints"], state["task"]["constraints"]);
    let told = world.turn_of(&fork, "commit it", vec![command(COMMIT), update(json!({"phase": "done"}))]).await;
    assert_has(&told[0], &["denied"]);
    assert_has(&told[1], &["files were changed and no tests ran"]);
    assert_eq!(world.commits(), before);

    let conflict = world.set(json!({"phase": "done"})).await.expect_err("no tests ran");
    assert_has(&conflict.to_string(), &["no tests ran", "conflict", "waive"]);
    let set = world.set(json!({"removeConstraints": [1], "waive": true})).await.expect("a change");
    assert_eq!((set["task"]["constraints"].as_array().map(Vec::len), &set["task"]["waived"]), (Some(1), &json!(true)));
    let told = world.turn("you may", vec![command(COMMIT), update(json!({"phase": "done"}))]).await;
    assert_has(&told[0], &["[run_terminal_cmd ok"]);
    assert_has(&told[1], &["[update_task ok", "phase done"]);
    assert_eq!(world.commits(), before + 1);
    assert_eq!(world.task(&world.session).await["task"]["phase"], "done");
    // The next change is one of a task that is not done.
    world.turn("more", vec![replace("beta", "gamma")]).await;
    assert_eq!(world.task(&world.session).await["task"]["phase"], "implement");
    world.server.assert_clean();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_sets_counts_in_the_turn_that_runs() {
    let world = World::new().await;
    let gate = Gate::new();
    world.server.push(Step::empty().text("Let me see. ").stall(&gate).call(command("git status && git push origin")));
    world.server.push(Step::say("Done."));
    let turn = world.client.start(&world.session, "push it").await;
    gate.reached().await;
    let set = world.set(json!({"goal": "g", "addConstraints": [{"quote": "don't push"}], "idempotencyKey": "k"})).await;
    let set = set.expect("a change");
    assert_eq!(set["task"]["constraints"][0]["item"], Value::Null);
    let again = world.set(json!({"addConstraints": [{"quote": "don't push"}], "idempotencyKey": "k"})).await;
    assert_eq!(again.expect("the same")["task"], set["task"]);
    gate.release();
    world.client.completed(&world.session, turn).await;
    let told = world.server.requests().last().and_then(|request| request.results().pop()).expect("a result").1;
    assert_has(&told, &["denied", "because the user said \"don't push\" (constraint 1 of the task)"]);
    for (change, part) in [
        (json!({"addConstraints": [{"quote": "x", "denies": ["sh(x)"]}]}), "there is no tool `sh`"),
        (json!({"removeConstraints": [9]}), "has no constraint 9"),
        (json!({"phase": "later"}), "there is no phase `later`"),
        (json!({"addConstraints": [{"quote": " "}]}), "a quote has 1 to"),
    ] {
        let error = world.set(change).await.expect_err("not valid").to_string();
        assert_has(&error, &[part, "invalidParams"]);
    }
    let mut output = world.daemon.machine().command(world.workspace.path(), &["task"]);
    let output = output.output().await.expect("it runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_has(
        &printed,
        &["Phase: investigate\nGoal: g\nConstraint 1: \"don't push\"\n  denied: run_terminal_cmd(git push *)"],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_are_the_users_only_when_they_said_them_and_a_breach_keeps_the_task_open() {
    let world = World::new().await;
    let attached = json!([{"kind": "text", "name": "notes", "text": "do not push"}]);
    world.server.push(Step::calls([update(json!({"goal": "g", "constraints": [{"quote": "do not push"}]}))]));
    world.server.push(Step::calls([replace_whole()]));
    world.server.push(Step::calls([command(&format!("git add -A && {COMMIT}"))]));
    world.server.push(Step::calls([update(json!({"constraints": [{"quote": "Do not commit"}]}))]));
    world.server.push(Step::calls([update(json!({"phase": "done"}))]));
    world.server.push(Step::say("Done."));
    let params = json!({"session": world.session, "text": "Look. Do not commit!", "attachments": attached});
    let turn = world.client.ok("turn/start", params).await["turn"].as_u64().expect("a turn");
    world.client.completed(&world.session, turn).await;
    let results = world.server.requests().last().expect("a request").results();
    let told: Vec<&str> = results.iter().map(|(_, text)| text.as_str()).collect();
    assert_has(told[0], &["Taken: goal.", "no message of the user holds these words exactly"]);
    assert_has(told[2], &["[run_terminal_cmd ok"]);
    assert_has(told[3], &["constraint \"Do not commit\" as 1, enforced by"]);
    assert_has(told[4], &["no tests ran", "constraint 1 (\"Do not commit\") was broken: c3 ran `git add -A &&"]);
}

fn replace_whole() -> Call {
    Call::new("write", json!({"file_path": "b.txt", "contents": "new\n"}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn evidence_says_what_was_shown_and_whether_it_is_still_so() {
    let world = World::new().await;
    world.turn("look", vec![Call::new("read_file", json!({"target_file": "a.txt"}))]).await;
    let id = format!("e/c1@{}", world.revision("c1"));
    let get = |id: String| world.client.call("evidence/get", json!({"session": world.session, "evidence": id}));
    let fresh = get(id.clone()).await.expect("evidence");
    assert_eq!((&fresh["tool"], &fresh["status"], &fresh["stale"]), (&json!("read_file"), &json!("ok"), &json!(false)));
    assert_has(fresh["text"].as_str().expect("a text"), &["alpha", &id]);
    assert_eq!(fresh["files"].as_array().map(Vec::len), Some(1));
    assert_eq!(fresh["files"][0]["now"], "same");
    world.workspace.write("a.txt", "other\n");
    let changed = get(id.clone()).await.expect("evidence");
    assert_eq!((&changed["files"][0]["now"], &changed["stale"]), (&json!("changed"), &json!(true)));
    assert_eq!(changed["text"], fresh["text"]);
    std::fs::remove_file(world.workspace.path().join("a.txt")).expect("it is there");
    assert_eq!(get(id).await.expect("evidence")["files"][0]["now"], "gone");
    for (id, part) in [("e/c9@r1", "no result of c9"), ("e/c1@r9999", "not of r9999"), ("c1", "an evidence id such as")]
    {
        assert_has(&get(id.to_owned()).await.expect_err(id).to_string(), &[part]);
    }
}
