//! Plan mode: what may be written in it, the way out by the user's answer, and what of it outlives the daemon.

use crate::acp_client as acp;
use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::terminal::Terminal;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

over_both_apis! {
    a_plan_is_written_approved_and_carried_out
    a_plan_that_is_refused_or_to_be_changed_keeps_plan_mode
    an_open_plan_outlives_a_death_of_the_daemon
}

struct World {
    daemon: TestDaemon,
    server: ModelServer,
    client: Client,
    session: String,
    workspace: Workspace,
    /// The session's plan file.
    plan: PathBuf,
}

impl World {
    /// A session in plan mode whose user had chosen `before`.
    async fn new(api: Api, before: &str) -> Self {
        let workspace = Workspace::new().file("a.txt", "alpha\n");
        let server = ModelServer::start(Script::new([])).await;
        let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, before).daemon().await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        client.ok("session/setMode", json!({"session": session, "mode": "plan"})).await;
        let info = client.ok("session/get", json!({"session": session})).await;
        let plan = plan_file(&daemon, info["project"].as_str().expect("a project"), &session);
        Self { daemon, server, client, session, workspace, plan }
    }

    async fn mode(&self) -> String {
        let info = self.client.ok("session/get", json!({"session": self.session})).await;
        info["mode"].as_str().expect("a mode").to_owned()
    }

    async fn respond(&self, ask: &Value, choice: &str, advice: Option<&str>) {
        let answer = json!({"session": self.session, "ask": ask["id"], "choice": choice, "advice": advice});
        assert_eq!(self.client.ok("permission/respond", answer).await, json!({"accepted": true}));
    }

    /// Waits until the client has heard that a question was answered, so that the next one that it hears of is another.
    async fn settled(&self, ask: &Value) {
        let resolved = |event: &Value| event["type"] == "permissionResolved" && event["ask"]["id"] == ask["id"];
        self.client.wait_events("the answer", |events| events.iter().any(resolved)).await;
    }

    fn writes_plan(&self, contents: &str) -> Call {
        write(self.plan.to_str().expect("a path"), contents)
    }

    fn kept(&self) -> Option<String> {
        std::fs::read_to_string(&self.plan).ok()
    }

    /// The result of the last call that the model was told of.
    fn last_result(&self) -> String {
        let requests = self.server.requests();
        requests.last().and_then(|request| request.results().pop()).expect("a result").1
    }
}

fn plan_file(daemon: &TestDaemon, project: &str, session: &str) -> PathBuf {
    let data = daemon.machine().data().canonicalize().expect("a data folder");
    data.join("projects").join(project).join("plans").join(format!("{session}.md"))
}

fn write(path: &str, contents: &str) -> Call {
    Call::new("write", json!({"file_path": path, "contents": contents}))
}

fn command(text: &str) -> Call {
    Call::new("run_terminal_cmd", json!({"command": text}))
}

fn replace(path: &str, old: &str, new: &str) -> Call {
    Call::new("string_replace", json!({"file_path": path, "old_string": old, "new_string": new}))
}

fn read(path: &str) -> Call {
    Call::new("read_file", json!({"target_file": path}))
}

fn exit() -> Step {
    Step::calls([Call::new("exit_plan_mode", json!({}))])
}

/// How each call of these events ended, in order.
fn statuses(events: &[Value]) -> Vec<&str> {
    let results = events.iter().filter(|event| event["item"]["kind"] == "toolResult");
    results.filter_map(|event| event["item"]["status"].as_str()).collect()
}

/// What the model was told by the harness, by its causes.
fn causes(events: &[Value]) -> Vec<&str> {
    let told = events.iter().filter(|event| event["item"]["kind"] == "meta");
    told.filter_map(|event| event["item"]["cause"].as_str()).collect()
}

async fn a_plan_is_written_approved_and_carried_out(api: Api) {
    let mut world = World::new(api, "accept_edits").await;
    let plan = world.plan.to_str().expect("a path").to_owned();
    let looks = [
        read("a.txt"),
        write("b.txt", "no"),
        replace("a.txt", "alpha", "no"),
        command("touch made"),
        command(&format!("echo no > {plan}")),
        command("cat a.txt"),
        Call::new("exit_plan_mode", json!({})),
    ];
    let after = [replace("a.txt", "alpha", "beta"), world.writes_plan("3. Late."), read(&plan)];
    for step in [
        Step::calls(looks),
        Step::calls([world.writes_plan("1. Change a.\n")]),
        Step::calls([replace(&plan, "1. Change a.", "1. Change alpha.")]),
        exit(),
        Step::calls(after),
        Step::say("Done."),
    ] {
        world.server.push(step);
    }
    let turn = world.client.start(&world.session, "plan it").await;
    let ask = world.client.asked(&world.session).await;
    assert_eq!((&ask["tool"], &ask["plan"]), (&json!("exit_plan_mode"), &json!("1. Change alpha.\n")));
    let kinds: Vec<&Value> = ask["options"].as_array().expect("options").iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allowOnce", "reject"], "accept_edits is the mode that it goes back to");
    assert_eq!((world.workspace.read("b.txt"), world.workspace.read("made")), (None, None));
    world.respond(&ask, "allowOnce", None).await;
    world.client.completed(&world.session, turn).await;
    assert_eq!(world.mode().await, "accept_edits");
    let events = world.client.events();
    assert_eq!(
        statuses(&events),
        ["ok", "denied", "denied", "denied", "denied", "ok", "failed", "ok", "ok", "ok", "ok", "denied", "ok"]
    );
    assert_eq!(causes(&events), ["planMode", "planModeLeft"]);
    assert_eq!(world.workspace.read("a.txt").as_deref(), Some("beta\n"));
    assert_eq!(world.kept().as_deref(), Some("1. Change alpha.\n"));
    world.server.assert_clean();
    assert_eq!(world.server.steps_left(), 0);
    assert_grows(&world.server);
    assert_replayed(&mut world.daemon, &world.server).await;
}

async fn a_plan_that_is_refused_or_to_be_changed_keeps_plan_mode(api: Api) {
    let world = World::new(api, "ask").await;
    for step in [
        Step::calls([world.writes_plan("1. Change a.")]),
        exit(),
        exit(),
        Step::calls([write("b.txt", "no")]),
        Step::say("What else?"),
    ] {
        world.server.push(step);
    }
    let turn = world.client.start(&world.session, "plan it").await;
    let ask = world.client.asked(&world.session).await;
    world.respond(&ask, "reject", Some("Leave a.txt alone.")).await;
    world.settled(&ask).await;
    world.server.wait_for(3).await;
    assert!(world.last_result().contains("says: Leave a.txt alone."), "{}", world.last_result());
    let ask = world.client.asked(&world.session).await;
    world.respond(&ask, "reject", None).await;
    world.server.wait_for(4).await;
    assert!(world.last_result().contains("did not approve"), "{}", world.last_result());
    world.client.completed(&world.session, turn).await;
    assert_eq!((world.mode().await.as_str(), world.workspace.read("b.txt")), ("plan", None));
    assert_eq!(statuses(&world.client.events()), ["ok", "denied", "denied", "denied"]);
    assert_eq!(causes(&world.client.events()), ["planMode"]);
    world.server.assert_clean();
}

async fn an_open_plan_outlives_a_death_of_the_daemon(api: Api) {
    let mut world = World::new(api, "ask").await;
    for step in [
        Step::calls([world.writes_plan("1. Change a.")]),
        exit(),
        Step::calls([write("b.txt", "made")]),
        Step::say("Done."),
    ] {
        world.server.push(step);
    }
    world.client.start(&world.session, "plan it").await;
    let ask = world.client.asked(&world.session).await;
    let choices: Vec<&Value> =
        ask["options"].as_array().expect("options").iter().map(|option| &option["kind"]).collect();
    assert_eq!(choices, ["allowOnce", "allowSession", "reject"]);
    world.daemon.kill9().await;
    world.client.closed().await;
    world.daemon.restart().await;
    world.client = world.daemon.client().await;
    let info = world.client.ok("session/get", json!({"session": world.session})).await;
    assert_eq!((&info["state"], &info["mode"], &info["openAsks"]), (&json!("waiting"), &json!("plan"), &json!([ask])));
    world.client.attach(&world.session, 0).await;
    world.respond(&ask, "allowSession", None).await;
    world.client.completed(&world.session, 1).await;
    assert_eq!(world.mode().await, "accept_edits");
    assert_eq!(world.workspace.read("b.txt").as_deref(), Some("made"), "nothing is asked any more");
    assert_eq!(causes(&world.client.events()), ["planMode", "planModeLeft"]);
    world.server.assert_clean();
    assert_grows(&world.server);
    assert_replayed(&mut world.daemon, &world.server).await;
}

#[tokio::test]
async fn the_plan_file_is_one_file_whatever_leads_to_it() {
    let world = World::new(Api::OpenaiChat, "full").await;
    let folder = world.plan.parent().expect("a folder");
    std::fs::create_dir_all(folder).expect("a folder for plans");
    let link = |target: &Path, name: &str| {
        std::os::unix::fs::symlink(target, world.workspace.path().join(name)).expect("a link");
    };
    link(&world.plan, "plan.md");
    link(folder, "plans");
    let name = world.plan.file_name().expect("a name").to_str().expect("a name").to_owned();
    let around = folder.join("..").join("plans").join(&name);
    let around = around.to_str().expect("a path");
    let ways = ["plan.md".to_owned(), format!("plans/{name}"), around.to_owned()];
    let others = ["plans/other.md".to_owned(), format!("{around}x"), format!("plans/../plans/{name}/deeper.md")];
    let all = |contents: &str| -> Vec<Call> { ways.iter().chain(&others).map(|path| write(path, contents)).collect() };
    world.server.push(Step::calls(all("a plan")));
    world.server.push(Step::say("Planned."));
    world.client.turn(&world.session, "plan it").await;
    assert_eq!(statuses(&world.client.events()), ["ok", "ok", "ok", "denied", "denied", "denied"]);
    assert_eq!(world.kept().as_deref(), Some("a plan"));

    world.client.ok("session/setMode", json!({"session": world.session, "mode": "full"})).await;
    let mut calls = all("no plan");
    calls.push(command(&format!("echo no > {around}")));
    world.server.push(Step::calls(calls));
    world.server.push(Step::say("Not planned."));
    world.client.turn(&world.session, "write it").await;
    assert_eq!(statuses(&world.client.events())[6..], ["denied"; 7]);
    assert_eq!(world.kept().as_deref(), Some("a plan"));
    world.server.assert_clean();
}

#[tokio::test]
async fn an_editor_sees_the_plan_and_the_mode_that_follows() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("enter_plan_mode", json!({}))]),
        Step::calls([Call::new("exit_plan_mode", json!({"plan": "1. Look\n2. Fix"}))]),
        Step::say("Fixed."),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = acp::connect(&daemon).await;
    let session = acp::open(&client, &workspace).await;
    let answer = async {
        let (question, asked) = acp::asked(&client).await;
        let call = &asked["toolCall"];
        assert_eq!((&call["kind"], &call["title"]), (&json!("switch_mode"), &json!("Plan to be approved")));
        assert_eq!(call["content"][1]["content"]["text"], "1. Look\n2. Fix");
        let option = |option: &Value| (option["optionId"].clone(), option["kind"].clone());
        let options: Vec<_> = asked["options"].as_array().expect("options").iter().map(option).collect();
        assert_eq!(
            options,
            [
                (json!("allow_once"), json!("allow_once")),
                (json!("allow_session"), json!("allow_once")),
                (json!("reject"), json!("reject_once")),
            ]
        );
        acp::choose(&client, &question, "allow_once").await;
    };
    let (end, ()) = tokio::join!(acp::prompt(&client, &session, "fix it"), answer);
    assert_eq!(end, "end_turn");
    let updates = acp::updates(&client.others());
    let modes: Vec<_> = updates.iter().filter(|update| update["sessionUpdate"] == "current_mode_update").collect();
    let modes: Vec<_> = modes.iter().map(|update| update["currentModeId"].as_str().expect("a mode")).collect();
    assert_eq!(modes, ["plan", "ask"]);
    acp::assert_calls_ended(&updates);
    server.assert_clean();
}

#[tokio::test]
async fn a_person_reads_the_plan_on_the_terminal_and_says_there_what_to_change() {
    let workspace = Workspace::new();
    let plan = |text: &str| Step::calls([Call::new("exit_plan_mode", json!({"plan": text}))]);
    let server = ModelServer::start(Script::new([plan("1. Look"), plan("2. Fix"), Step::say("Fixed.")])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask");
    let mut terminal = Terminal::start(&machine, workspace.path(), &["ask", "--mode", "plan", "fix it"]);
    terminal.wait_for("    1. Look").await;
    terminal.wait_for("y = Approve, and go on in mode `ask`").await;
    terminal.wait_for("what is to be different: ").await;
    terminal.type_line("Only fix it.");
    terminal.wait_for("    2. Fix").await;
    terminal.wait_for("what is to be different: ").await;
    terminal.type_line("y");
    let (status, shown) = terminal.end().await;
    assert!(status.success() && shown.contains("Fixed."), "{shown}");
    let told = |at: usize| server.requests()[at].results().pop().expect("a result").1;
    assert!(told(1).contains("says: Only fix it."), "{}", told(1));
    assert!(told(2).contains("The user approved the plan"), "{}", told(2));
    server.assert_clean();
}
