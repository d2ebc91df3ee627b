//! Modes, rules and grants: who may allow what, for how long, and what a script gets that nobody can be asked about.

use crate::acp_client as acp;
use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Output, Stdio};

fn command(text: &str) -> Step {
    Step::calls([Call::new("run_terminal_cmd", json!({"command": text}))])
}

fn write(path: &str, contents: &str) -> Step {
    Step::calls([Call::new("write", json!({"file_path": path, "contents": contents}))])
}

async fn scripted(steps: impl IntoIterator<Item = Step>) -> ModelServer {
    ModelServer::start(Script::new(steps)).await
}

/// A machine with the server's model, mode `ask`, and these further lines of `[permissions]`.
fn machine(server: &ModelServer, permissions: &str) -> Machine {
    let machine = Machine::new(plimsoll_tests::binary!()).model(server, Api::OpenaiChat, "ask");
    let mut file = OpenOptions::new().append(true).open(machine.config().join("config.toml")).expect("a configuration");
    writeln!(file, "{permissions}").expect("a longer configuration");
    machine
}

async fn respond(client: &Client, session: &str, ask: &Value, choice: &str) -> Value {
    client.ok("permission/respond", json!({"session": session, "ask": ask["id"], "choice": choice})).await["accepted"]
        .take()
}

/// How each call of these events ended, in order.
fn statuses(events: &[Value]) -> Vec<&str> {
    let results = events.iter().filter(|event| event["item"]["kind"] == "toolResult");
    results.filter_map(|event| event["item"]["status"].as_str()).collect()
}

fn questions(client: &Client) -> usize {
    client.events().iter().filter(|event| event["type"] == "permissionAsked").count()
}

async fn project_of(client: &Client, workspace: &Workspace) -> Value {
    client.ok("project/open", json!({"roots": [workspace.text()]})).await
}

async fn run(machine: &Machine, workspace: &Workspace, arguments: &[&str]) -> Output {
    let mut command = machine.command(workspace.path(), arguments);
    command.stdin(Stdio::null());
    in_time("the command", command.output()).await.expect("it runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn events(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn rules_of_user_and_project_decide_and_deny_wins() {
    let workspace = Workspace::new().file(
        ".plimsoll/config.toml",
        "[permissions]\nmode = \"full\"\nallow = [\"run_terminal_cmd(touch project)\"]\ndeny = [\"run_terminal_cmd(touch denied)\"]\n",
    );
    let steps = ["allowed", "denied", "forbidden", "project"].map(|name| command(&format!("touch {name}")));
    let server = scripted(steps.into_iter().chain([Step::say("Done.")])).await;
    let rules = "allow = [\"run_terminal_cmd(touch *)\"]\nask = [\"run_terminal_cmd(touch project)\"]\ndeny = [\"run_terminal_cmd(touch forbidden)\"]";
    let daemon = machine(&server, rules).daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.ok("session/get", json!({"session": session})).await["mode"], "ask");
    let turn = client.start(&session, "go").await;
    let ask = client.asked(&session).await;
    assert_eq!(ask["command"], "touch project", "a project's own rule grants nothing");
    assert_eq!(respond(&client, &session, &ask, "reject").await, true);
    client.completed(&session, turn).await;
    assert_eq!(statuses(&client.events()), ["ok", "denied", "denied", "denied"]);
    let made = ["allowed", "denied", "forbidden", "project"].map(|name| workspace.read(name).is_some());
    assert_eq!((made, questions(&client)), ([true, false, false, false], 1));
    let (_, told) = server.requests()[2].results().pop().expect("a result");
    assert!(told.contains("touch denied"), "the model hears of the rule: {told}");
    server.assert_clean();
}

#[tokio::test]
async fn a_bad_rule_of_the_user_is_told_with_file_line_and_fix() {
    let server = scripted([]).await;
    let daemon = machine(&server, "allow = [\n  \"grep\",\n  \"rm -rf\"]").daemon().await;
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let project = project_of(&client, &workspace).await;
    let error = client.err("session/create", json!({"project": project["key"]})).await;
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("config.toml:15: `permissions.allow`: `rm -rf` is not a rule"), "{message}");
    assert!(error["data"]["hint"].as_str().expect("a hint").contains("run_terminal_cmd(cargo test *)"), "{error}");
}

#[tokio::test]
async fn what_is_allowed_for_good_lasts_over_restarts_until_it_is_revoked() {
    let workspace = Workspace::new();
    let server = scripted([command("touch one"), Step::say("Done."), command("touch one"), Step::say("Done.")]).await;
    let mut daemon = machine(&server, "").daemon().await;
    let client = daemon.client().await;
    let project = project_of(&client, &workspace).await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "go").await;
    let ask = client.asked(&session).await;
    let always = ask["options"].as_array().expect("options").iter().find(|option| option["kind"] == "allowAlways");
    let rules = always.expect("it is offered")["rules"].clone();
    assert_eq!(respond(&client, &session, &ask, "allowAlways").await, true);
    client.completed(&session, turn).await;

    daemon.kill9().await;
    daemon.restart().await;
    let client = daemon.client().await;
    let grants = client.ok("permission/grants", json!({"project": project["key"]})).await["grants"].take();
    let found: Vec<&Value> = grants.as_array().expect("a list").iter().map(|grant| &grant["rule"]).collect();
    assert_eq!(json!(found), rules);
    assert_eq!((&grants[0]["session"], &grants[0]["call"]), (&json!(session), &ask["call"]));
    let elsewhere = client.session(&workspace).await;
    client.turn(&elsewhere, "again").await;
    assert_eq!(questions(&client), 0, "it holds in every session of the project");

    let listed = run(daemon.machine(), &workspace, &["grants"]).await;
    let table = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(table.contains(rules[0].as_str().expect("a rule")), "{table}");
    for grant in grants.as_array().expect("a list") {
        let revoked = run(daemon.machine(), &workspace, &["grants", "revoke", &grant["no"].to_string()]).await;
        assert_eq!(revoked.status.code(), Some(0), "{}", stderr(&revoked));
    }
    assert_eq!(client.ok("permission/grants", json!({"project": project["key"]})).await, json!({"grants": []}));
    let again = run(daemon.machine(), &workspace, &["grants", "revoke", &grants[0]["no"].to_string()]).await;
    assert!(again.status.code() != Some(0) && stderr(&again).contains("there is no grant"), "{}", stderr(&again));
}

#[tokio::test]
async fn a_revoked_grant_is_asked_about_in_the_session_that_was_answered() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    let server = scripted([
        command("touch one"),
        Step::empty()
            .text("Now again.")
            .stall(&gate)
            .call(Call::new("run_terminal_cmd", json!({"command": "touch one"}))),
        Step::say("Done."),
    ])
    .await;
    let daemon = machine(&server, "").daemon().await;
    let client = daemon.client().await;
    let project = project_of(&client, &workspace).await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "go").await;
    let ask = client.asked(&session).await;
    respond(&client, &session, &ask, "allowAlways").await;
    let writes = |events: &[Value]| events.iter().any(|event| event["type"] == "textDelta");
    client.wait_events("the second request's text", writes).await;
    for grant in
        client.ok("permission/grants", json!({"project": project["key"]})).await["grants"].as_array().expect("a list")
    {
        client.ok("permission/revoke", json!({"project": project["key"], "grant": grant["no"]})).await;
    }
    gate.release();
    let ask = client.asked(&session).await;
    assert_eq!(ask["call"], "c2");
    respond(&client, &session, &ask, "reject").await;
    client.completed(&session, turn).await;
    assert_eq!(statuses(&client.events()), ["ok", "denied"]);
}

#[tokio::test]
async fn an_answer_for_the_session_survives_a_restart_and_no_other_session() {
    let workspace = Workspace::new();
    let server = scripted([
        command("touch one"),
        Step::say("Done."),
        command("touch one"),
        Step::say("Done."),
        command("touch one"),
        Step::say("Done."),
    ])
    .await;
    let mut daemon = machine(&server, "").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "go").await;
    let ask = client.asked(&session).await;
    respond(&client, &session, &ask, "allowSession").await;
    client.completed(&session, turn).await;
    daemon.kill9().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    let before = questions(&client);
    client.turn(&session, "again").await;
    assert_eq!(questions(&client), before.max(1));
    let other = client.session(&workspace).await;
    let turn = client.start(&other, "go").await;
    let ask = client.asked(&other).await;
    respond(&client, &other, &ask, "reject").await;
    client.completed(&other, turn).await;
}

#[tokio::test]
async fn modes_are_checked_and_a_lower_one_holds_at_once() {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let gate = Gate::new();
    let server = scripted([
        write("made.txt", "one\n"),
        Step::empty()
            .text("Now the other.")
            .stall(&gate)
            .call(Call::new("write", json!({"file_path": "other.txt", "contents": "x"}))),
        Step::calls([Call::new("read_file", json!({"target_file": "a.txt"}))]),
        Step::say("Done."),
    ])
    .await;
    let daemon = machine(&server, "").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let wrong = client.err("session/setMode", json!({"session": session, "mode": "yolo"})).await;
    assert_eq!(wrong["data"]["kind"], "invalidParams");
    for mode in ["plan", "ask", "accept_edits", "auto", "full"] {
        assert!(wrong["message"].as_str().expect("a message").contains(&format!("\"{mode}\"")), "{wrong}");
        let set = client.ok("session/setMode", json!({"session": session, "mode": mode})).await;
        assert_eq!(set["mode"], mode);
    }
    client.ok("session/setMode", json!({"session": session, "mode": "accept_edits"})).await;
    let turn = client.start(&session, "go").await;
    let writes = |events: &[Value]| events.iter().any(|event| event["type"] == "textDelta");
    client.wait_events("the second request's text", writes).await;
    client.ok("session/setMode", json!({"session": session, "mode": "plan"})).await;
    gate.release();
    client.completed(&session, turn).await;
    assert_eq!((statuses(&client.events()), questions(&client)), (vec!["ok", "denied", "ok"], 0));
    assert_eq!((workspace.read("made.txt").as_deref(), workspace.read("other.txt")), (Some("one\n"), None));
    let (_, told) = server.requests()[2].results().pop().expect("a result");
    assert!(told.contains("plan"), "the model hears why: {told}");
    server.assert_clean();
}

#[tokio::test]
async fn a_question_about_an_edit_shows_it_to_every_client_and_advice_reaches_the_model() {
    let workspace = Workspace::new().file("a.txt", "alpha\nbeta\n");
    let read = Step::calls([Call::new("read_file", json!({"target_file": "a.txt"}))]);
    let edit = || {
        let arguments = json!({"file_path": "a.txt", "old_string": "beta", "new_string": "gamma"});
        Step::calls([Call::new("string_replace", arguments)])
    };
    let server = scripted([read, edit(), edit(), Step::say("Done.")]).await;
    let daemon = machine(&server, "").daemon().await;
    let (client, other) = (daemon.client().await, daemon.client().await);
    let session = client.session(&workspace).await;
    other.attach(&session, 0).await;
    let turn = client.start(&session, "go").await;
    let ask = other.asked(&session).await;
    assert_eq!(client.asked(&session).await, ask);
    let change = &ask["changes"][0];
    assert_eq!(
        (&change["path"], &change["diff"], &change["added"], &change["removed"]),
        (
            &json!(format!("{}/a.txt", workspace.text())),
            &json!("@@ -1,2 +1,2 @@\n alpha\n-beta\n+gamma\n"),
            &json!(1),
            &json!(1)
        )
    );
    let answer = json!({"session": session, "ask": ask["id"], "choice": "reject", "advice": "say it in Greek"});
    assert_eq!(other.ok("permission/respond", answer).await, json!({"accepted": true}));
    assert_eq!(respond(&client, &session, &ask, "allowOnce").await, false);

    let editor = acp::connect(&daemon).await;
    let loaded = acp::load(&editor, &session, &workspace).await;
    let modes = loaded["modes"]["availableModes"].as_array().expect("modes").clone();
    assert_eq!(
        modes.iter().map(|mode| mode["id"].clone()).collect::<Vec<_>>(),
        ["plan", "ask", "accept_edits", "auto", "full"]
    );
    let (question, asked) = acp::asked(&editor).await;
    let path = json!(format!("{}/a.txt", workspace.text()));
    assert_eq!(asked["toolCall"]["locations"][0]["path"], path);
    let diff = json!({"type": "diff", "path": path, "oldText": "alpha\nbeta\n", "newText": "alpha\ngamma\n"});
    assert_eq!((&asked["toolCall"]["kind"], &asked["toolCall"]["content"][1]), (&json!("edit"), &diff));
    acp::choose(&editor, &question, "allow_once").await;
    client.completed(&session, turn).await;
    assert_eq!(workspace.read("a.txt").as_deref(), Some("alpha\ngamma\n"));
    let ended = |others: &[Value]| {
        acp::updates(others).iter().any(|update| update["toolCallId"] == "c3" && update["status"] == "completed")
    };
    let updates = acp::updates(&editor.wait_others("the edit's end", ended).await);
    let end = updates.iter().rfind(|update| update["toolCallId"] == "c3").expect("its end");
    assert_eq!(end["content"], json!([diff]));
    let (_, told) = server.requests()[2].results().pop().expect("a result");
    assert!(told.contains("say it in Greek"), "{told}");
    server.assert_clean();
}

#[tokio::test]
async fn scripts_get_what_rules_and_options_allow_and_exit_with_three_otherwise() {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let turn = |step: Step| [step, Step::say("Done.")];
    let server = scripted(
        [
            turn(write("b.txt", "b\n")),
            turn(command("touch ruled")),
            turn(command("touch other")),
            turn(command("touch other")),
            turn(command("touch other2")),
            turn(write("b.txt", "b\n")),
        ]
        .into_iter()
        .flatten(),
    )
    .await;
    let machine = machine(&server, "allow = [\"run_terminal_cmd(touch ruled)\"]");
    let ask = async |arguments: &[&str]| {
        let all: Vec<&str> = ["ask", "--json"].iter().chain(arguments).chain(&["go"]).copied().collect();
        let output = run(&machine, &workspace, &all).await;
        (output.status.code(), statuses(&events(&output)).join(" "))
    };
    let expected = |code, status: &str| (Some(code), status.to_owned());
    assert_eq!(ask(&[]).await, expected(3, "denied"), "an edit is asked about");
    assert_eq!(ask(&[]).await, expected(0, "ok"), "a rule of the configuration");
    assert_eq!(ask(&[]).await, expected(3, "denied"), "another command");
    assert_eq!(ask(&["--allow", "grep", "--allow", "run_terminal_cmd(touch other)"]).await, expected(0, "ok"));
    assert_eq!(ask(&["--allow", "run_terminal_cmd(touch other)"]).await, expected(3, "denied"));
    assert_eq!(ask(&["--mode", "accept_edits"]).await, expected(0, "ok"));
    let made = ["b.txt", "ruled", "other", "other2"].map(|name| workspace.read(name).is_some());
    assert_eq!(made, [true, true, true, false]);
    let wrong = run(&machine, &workspace, &["ask", "--allow", "rm -rf", "go"]).await;
    assert!(wrong.status.code() != Some(0) && stderr(&wrong).contains("`rm -rf` is not a rule"), "{}", stderr(&wrong));
    server.assert_clean();
}

#[tokio::test]
async fn trust_is_the_users_to_give_and_to_take() {
    let workspace = Workspace::new();
    let server = scripted([]).await;
    let daemon = machine(&server, "").daemon().await;
    let client = daemon.client().await;
    let project = project_of(&client, &workspace).await;
    assert_eq!(project["trusted"], false);
    let trusted = async || project_of(&client, &workspace).await["trusted"].take();
    assert_eq!(run(daemon.machine(), &workspace, &["trust"]).await.status.code(), Some(0));
    assert_eq!(trusted().await, true);
    let status = run(daemon.machine(), &workspace, &["status", "--json"]).await;
    assert_eq!(serde_json::from_slice::<Value>(&status.stdout).expect("JSON")["trusted"], true);
    let listed = client.ok("project/list", json!({})).await;
    assert_eq!(listed["projects"][0], project_of(&client, &workspace).await);
    assert_eq!(
        run(daemon.machine(), &Workspace::new(), &["trust", "--revoke", workspace.text()]).await.status.code(),
        Some(0)
    );
    assert_eq!(trusted().await, false);
    let set = client.ok("project/trust", json!({"project": project["key"], "trusted": true})).await;
    assert_eq!(set["trusted"], true);
    assert_eq!(
        client.err("project/trust", json!({"project": "nope", "trusted": true})).await["data"]["kind"],
        "notFound"
    );
}
