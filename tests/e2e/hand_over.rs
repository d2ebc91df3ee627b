//! Builds that are used side by side: the older daemon makes room for the newer one, once, and nothing is lost.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::{Machine, Version};
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Child;

/// An hour: another build of the same version.
const LATER: i64 = 3_600;

fn bridge(machine: &Machine, binary: Option<&Path>, facade: &str) -> Child {
    let mut command = match binary {
        Some(binary) => machine.command_of(binary, Path::new("/"), &[facade]),
        None => machine.command(Path::new("/"), &[facade]),
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("a bridge")
}

fn is(event: &Value, kind: &str) -> bool {
    event["type"] == kind
}

#[tokio::test]
async fn a_newer_build_takes_over_when_nothing_runs_and_no_event_is_lost() {
    takes_over(|machine| machine.other_build(LATER), env!("CARGO_PKG_VERSION")).await;
}

#[tokio::test]
async fn so_does_a_newer_version_whose_file_is_older() {
    takes_over(|machine| machine.other_version(Version::Newer, -LATER), &Version::Newer.text()).await;
}

/// The binary under test runs; the build that `newer` makes, which has this version, takes over.
async fn takes_over(newer: impl Fn(&Machine) -> PathBuf, version: &str) {
    let gate = Gate::new();
    let steps = [Step::empty().text("half ").stall(&gate).text("whole"), Step::say("Again.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let newer = newer(&machine);
    let mut daemon = machine.daemon().await;
    let workspace = Workspace::new();
    let mut old_bridge = bridge(daemon.machine(), None, "stdio");
    let old = Client::editor_of(&mut old_bridge, Framing::Headers);
    old.initialize().await;
    let session = old.session(&workspace).await;
    old.start(&session, "talk").await;
    gate.reached().await;

    // A look changes nothing, also of a newer build.
    let status = daemon.machine().command_of(&newer, Path::new("/"), &["status", "--json"]).output();
    let status: Value = serde_json::from_slice(&in_time("the status", status).await.unwrap().stdout).unwrap();
    assert_eq!((&status["pid"], &status["restartPending"]), (&json!(daemon.pid()), &json!(false)));

    let mut new_bridge = bridge(daemon.machine(), Some(&newer), "stdio");
    let new = Client::editor_of(&mut new_bridge, Framing::Lines);
    new.initialize().await;
    let announced = |event: &Value| is(event, "restartPending") && event["build"] == version;
    old.wait_events("the announcement", |events| events.iter().any(announced)).await;
    let status = new.ok("daemon/status", json!({})).await;
    assert_eq!((&status["pid"], &status["restartPending"]), (&json!(daemon.pid()), &json!(true)));
    new.attach(&session, 0).await;
    new.wait_events("it, attached later", |events| events.iter().any(announced)).await;

    gate.release();
    assert!(daemon.ended().await.success());
    for client in [&old, &new] {
        client.closed().await;
        let events = client.events();
        assert_eq!(told(&events, 0).last().unwrap(), "turn 1 ends: endTurn");
        let last = events.last().unwrap();
        assert_eq!((&last["type"], &last["reason"]), (&json!("closed"), &json!("daemonEnds")), "{events:#?}");
    }
    assert_eq!(in_time("the bridge's end", old_bridge.wait()).await.unwrap().code(), Some(4));
    let before = told(&old.events(), 0);

    // The old build starts the new one, and goes on where it was.
    let mut again_bridge = bridge(daemon.machine(), None, "stdio");
    let again = Client::editor_of(&mut again_bridge, Framing::Headers);
    again.initialize().await;
    assert_eq!(daemon.machine().daemon_program().as_deref(), Some(newer.as_path()));
    assert_eq!(again.ok("daemon/status", json!({})).await["version"], version);
    let seq = before.len() as u64;
    again.attach(&session, seq).await;
    let turn = again.start(&session, "more").await;
    again.completed(&session, turn).await;
    let all = daemon_events(&again, &session, daemon.machine()).await;
    let after = told(&again.events(), seq);
    assert_eq!(all, [before, after].concat());
    server.assert_clean();
}

/// All events of a session, as another client is told them.
async fn daemon_events(client: &Client, session: &str, machine: &Machine) -> Vec<String> {
    let last = client.ok("session/get", json!({"session": session})).await["lastSeq"].as_u64().unwrap();
    let mut bridge = bridge(machine, None, "stdio");
    let other = Client::editor_of(&mut bridge, Framing::Lines);
    other.initialize().await;
    other.attach(session, 0).await;
    let events = other.wait_events("all of it", |events| events.iter().any(|event| event["seq"] == last)).await;
    told(&events, 0)
}

#[tokio::test]
async fn builds_that_alternate_hand_over_once_and_upwards() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let (older, newer) = (machine.other_build(-LATER), machine.other_build(LATER));
    alternate(&machine, &older, &newer).await;
}

#[tokio::test]
async fn versions_that_alternate_do_so_too_whatever_the_times_of_their_files() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let older = machine.other_version(Version::Older, LATER);
    let newer = machine.other_version(Version::Newer, -LATER);
    alternate(&machine, &older, &newer).await;
}

/// Uses three builds in turn, of which the binary under test is the middle one.
async fn alternate(machine: &Machine, older: &Path, newer: &Path) {
    let mut programs = Vec::new();
    let mut pids = Vec::new();
    for round in 0..12 {
        let binary = match round % 3 {
            0 => Some(older),
            1 => None,
            _ => Some(newer),
        };
        let before = machine.daemon_pid();
        let mut bridge = bridge(machine, binary, "stdio");
        let client = Client::editor_of(&mut bridge, Framing::Lines);
        client.initialize().await;
        if round < 3 {
            // Wherever a newer build has come, the older daemon leaves by itself.
            if let Some(before) = before {
                TestDaemon::watch(before).gone().await;
            }
        } else {
            assert_eq!(client.ok("daemon/status", json!({})).await["restartPending"], false);
            programs.push(machine.daemon_program().expect("a daemon runs"));
            pids.push(machine.daemon_pid().expect("a daemon runs"));
        }
    }
    programs.dedup();
    pids.dedup();
    assert_eq!((programs, pids.len()), (vec![newer.to_owned()], 1));
}

#[tokio::test]
async fn an_older_version_is_served_by_the_newer_daemon_and_never_replaces_it() {
    let server = ModelServer::start(Script::new([Step::say("One."), Step::say("Two.")])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let older = machine.other_version(Version::Older, LATER);
    let mut daemon = machine.daemon().await;
    let workspace = Workspace::new();
    for facade in ["stdio", "acp"] {
        let mut bridge = bridge(daemon.machine(), Some(&older), facade);
        let client = Client::editor_of(&mut bridge, Framing::Lines);
        if facade == "stdio" {
            client.initialize().await;
            let session = client.session(&workspace).await;
            assert_eq!(client.turn(&session, "talk").await["stopReason"], "endTurn");
            let status = client.ok("daemon/status", json!({})).await;
            assert_eq!((&status["pid"], &status["restartPending"]), (&json!(daemon.pid()), &json!(false)));
            assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
        } else {
            client.ok("initialize", json!({"protocolVersion": 1})).await;
            let new = json!({"cwd": workspace.text(), "mcpServers": []});
            let session = client.ok("session/new", new).await["sessionId"].clone();
            let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "talk"}]});
            assert_eq!(client.ok("session/prompt", prompt).await["stopReason"], "end_turn");
        }
    }
    let listed = daemon.machine().command_of(&older, Path::new("/"), &["sessions", "--all"]).output();
    assert!(in_time("the older command", listed).await.unwrap().status.success());
    assert_eq!(daemon.machine().daemon_pid(), Some(daemon.pid()));
    assert!(!daemon.machine().data().join("successor.json").exists());
    assert!(daemon.stop().await.success());
    server.assert_clean();
}

#[tokio::test]
async fn restart_and_a_lost_build() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let newer = machine.other_build(LATER);
    let run = async |binary: Option<&Path>, arguments: &[&str]| {
        let mut command = match binary {
            Some(binary) => machine.command_of(binary, Path::new("/"), arguments),
            None => machine.command(Path::new("/"), arguments),
        };
        let output = in_time("a command", command.output()).await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(run(None, &["restart"]).await.contains("of this build"));
    let first = machine.daemon_pid().unwrap();
    let watched = TestDaemon::watch(first);
    run(Some(&newer), &["sessions", "--all"]).await;
    watched.gone().await;
    let said = run(None, &["restart"]).await;
    assert!(said.contains(newer.to_str().unwrap()), "{said}");
    assert_eq!(machine.daemon_program().as_deref(), Some(newer.as_path()));
    run(None, &["stop"]).await;
    std::fs::remove_file(&newer).unwrap();
    assert!(run(None, &["restart"]).await.contains("of this build"));
    assert_eq!(machine.daemon_program().as_deref(), Some(plimsoll_tests::binary!()));
}

#[tokio::test]
async fn a_daemon_whose_own_file_is_replaced_makes_room_with_clients_connected() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let program = machine.other_build(0);
    let mut bridge = bridge(&machine, Some(&program), "stdio");
    let client = Client::editor_of(&mut bridge, Framing::Lines);
    client.initialize().await;
    let pid = machine.daemon_pid().unwrap();
    let watched = TestDaemon::watch(pid);
    let next = machine.other_build(LATER);
    std::fs::rename(&next, &program).unwrap();
    watched.gone().await;
    client.closed().await;
}

#[tokio::test]
async fn a_command_in_the_background_holds_the_daemon_until_it_ends() {
    let command = json!({"command": "mkfifo gate; cat gate", "is_background": true});
    let steps = [Step::calls([Call::new("run_terminal_cmd", command)]), Step::say("It runs.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let newer = machine.other_build(LATER);
    let mut daemon = machine.daemon().await;
    let workspace = Workspace::new();
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "start it").await["stopReason"], "endTurn");
    let mut bridge = bridge(daemon.machine(), Some(&newer), "stdio");
    let other = Client::editor_of(&mut bridge, Framing::Lines);
    other.initialize().await;
    let status = other.ok("daemon/status", json!({})).await;
    assert_eq!((&status["pid"], &status["turns"]), (&json!(daemon.pid()), &json!(0)));
    assert_eq!((&status["jobs"], &status["restartPending"]), (&json!(1), &json!(true)));
    let gate = workspace.path().join("gate");
    in_time("the command reads", tokio::task::spawn_blocking(move || std::fs::write(gate, "go\n")))
        .await
        .unwrap()
        .unwrap();
    assert!(daemon.ended().await.success());
    client.closed().await;
    let events = client.events();
    assert!(events.iter().any(|event| is(event, "taskEnded")), "{events:#?}");
    server.assert_clean();
}
