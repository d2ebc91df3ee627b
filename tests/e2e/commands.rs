//! Commands over the whole way: input, time, floods, ends, as a client sees them and the model reads them.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What is hardest to end: deaf to being asked, with a child that changes the project later.
const STUBBORN: &str = "sh -c '(sleep 5; touch late) & trap \"\" TERM; touch begun; sleep 60'";

async fn begin(calls: impl IntoIterator<Item = Value>) -> (TestDaemon, ModelServer, Workspace) {
    let calls: Vec<Call> = calls.into_iter().map(|args| Call::new("run_terminal_cmd", args)).collect();
    let server = ModelServer::start(Script::new([Step::calls(calls), Step::say("Done.")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    (daemon, server, Workspace::new())
}

fn results(server: &ModelServer) -> Vec<String> {
    server.requests().last().expect("a request").results().into_iter().map(|(_, text)| text).collect()
}

/// Processes whose current folder is the workspace.
fn processes(workspace: &Workspace) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("a table of processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let here = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == workspace.path());
    pids.filter(here).collect()
}

#[tokio::test]
async fn commands_that_read_input_end_at_once_and_take_nothing_from_a_bridge() {
    let (daemon, server, workspace) = begin([
        json!({"command": "cat"}),
        json!({"command": "read x; echo \"[$x] $?\""}),
        json!({"command": "git -c credential.helper= ls-remote https://user@127.0.0.1:9/x"}),
    ])
    .await;
    let mut bridge = daemon.machine().command(workspace.path(), &["stdio"]);
    bridge.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut bridge = bridge.spawn().expect("a bridge");
    let client = Client::editor_of(&mut bridge, Framing::Lines);
    client.initialize().await;
    let session = client.session(&workspace).await;
    let begin = Instant::now();
    let turn = client.start(&session, "read").await;
    for _ in 0..3 {
        assert_eq!(client.ok("session/get", json!({"session": session})).await["id"], session.as_str());
    }
    assert_eq!(client.completed(&session, turn).await["stopReason"], "endTurn");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let results = results(&server);
    assert!(results[0].contains("exit code 0") && results[0].contains("no output"), "{}", results[0]);
    assert!(results[1].contains("exit code 0") && results[1].contains("[] 1"), "{}", results[1]);
    assert!(!results[2].contains("exit code 0") && !results[2].contains("Password"), "{}", results[2]);
    server.assert_clean();
}

#[tokio::test]
async fn the_end_of_the_time_ends_the_whole_tree() {
    let (daemon, server, workspace) = begin([json!({"command": STUBBORN, "timeout_ms": 1_000})]).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let begin = Instant::now();
    assert_eq!(client.turn(&session, "run it").await["stopReason"], "endTurn");
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    let results = results(&server);
    assert_eq!(results.len(), 1);
    assert!(results[0].contains("timed out, ended with everything it started"), "{}", results[0]);
    ended(&workspace);
    server.assert_clean();
}

#[tokio::test]
async fn an_interrupt_and_the_end_of_a_session_end_the_whole_tree() {
    for by in ["turn/cancel", "session/delete"] {
        let (daemon, _server, workspace) = begin([json!({"command": STUBBORN})]).await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        let turn = client.start(&session, "run it").await;
        plimsoll_tests::in_time("the command's begin", async {
            let mut look = tokio::time::interval(Duration::from_millis(10));
            while workspace.read("begun").is_none() {
                look.tick().await;
            }
        })
        .await;
        let begin = Instant::now();
        client.ok(by, json!({"session": session})).await;
        if by == "turn/cancel" {
            assert_eq!(client.completed(&session, turn).await["stopReason"], "cancelled");
            let results = told(&client.events(), 0).into_iter().filter(|line| line == "c1 cancelled").count();
            assert_eq!(results, 1, "exactly one result");
        }
        assert!(begin.elapsed() < Duration::from_secs(5), "{by}: {:?}", begin.elapsed());
        ended(&workspace);
    }
}

/// With the last process nobody is left who could still do something.
fn ended(workspace: &Workspace) {
    assert_eq!(processes(workspace), [] as [u32; 0]);
    assert_eq!(workspace.read("late"), None);
}

#[tokio::test]
async fn a_flood_is_bounded_in_memory_and_shown_with_its_ends() {
    /// What the daemon may grow by.
    const GROWTH: u64 = 64 * 1024 * 1024;
    let (daemon, server, workspace) = begin([
        json!({"command": "echo first; timeout 3 yes; echo; echo last", "timeout_ms": 20_000}),
        // Nobody waits for it, nobody reads it.
        json!({"command": "(timeout 3 yes) & echo begun"}),
    ])
    .await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let before = daemon.resident();
    let turn = client.turn(&session, "print");
    tokio::pin!(turn);
    let (mut most, mut look) = (before, tokio::time::interval(Duration::from_millis(50)));
    loop {
        tokio::select! {
            ended = &mut turn => {
                assert_eq!(ended["stopReason"], "endTurn");
                break;
            }
            _ = look.tick() => most = most.max(daemon.resident()),
        }
    }
    plimsoll_tests::in_time("the end of the flood behind the back", async {
        while !processes(&workspace).is_empty() {
            look.tick().await;
            most = most.max(daemon.resident());
        }
    })
    .await;
    assert!(most - before < GROWTH, "grew by {} bytes", most - before);
    let results = results(&server);
    let (first, second) = (&results[0], &results[1]);
    assert!(first.contains("\nfirst\ny\n") && first.contains("\nlast") && first.contains(" not shown"), "{first}");
    assert!(first.len() < 200_000, "{} bytes", first.len());
    assert!(second.contains("still running in the background"), "{second}");
    server.assert_clean();
}

#[tokio::test]
async fn death_by_a_signal_is_a_failure() {
    let (daemon, server, workspace) = begin([
        json!({"command": "printf before; kill -KILL $$"}),
        json!({"command": "kill -SEGV $$"}),
        json!({"command": "exit 7"}),
        json!({"command": "sh -c 'kill -TERM $$'; true"}),
    ])
    .await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "die").await["stopReason"], "endTurn");
    let results = results(&server);
    for (result, (exit, status)) in results.iter().zip([
        ("exit code 137, ended by signal 9 (KILL)", "failed"),
        ("exit code 139, ended by signal 11 (SEGV)", "failed"),
        ("exit code 7", "failed"),
        ("exit code 0", "ok"),
    ]) {
        let header = result.lines().next().unwrap_or_default();
        assert!(header.contains(exit) && header.contains(status), "{result}");
    }
    assert!(results[0].contains("\nbefore"), "{}", results[0]);
    server.assert_clean();
}
