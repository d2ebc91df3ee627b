//! `plimsoll stdio` as editors run it: real processes, real pipes.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::session::TWO_PROCESSES;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::Child;

/// How long a bridge may live after its editor: an editor expects its child to be gone within a second. Half a second
/// more is for a machine that is busy with other tests.
const GONE_WITHIN: Duration = Duration::from_millis(1_500);

fn bridge(machine: &Machine) -> Child {
    let mut command = machine.command(Path::new("/"), &["stdio"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("a bridge")
}

async fn ends(bridge: &mut Child) {
    let begun = Instant::now();
    let status = in_time("the bridge's end", bridge.wait()).await.expect("a child");
    assert!(begun.elapsed() < GONE_WITHIN, "{:?}", begun.elapsed());
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn many_bridges_at_once_start_one_daemon() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let mut bridges: Vec<Child> = (0..20).map(|_| bridge(&machine)).collect();
    let framings = [Framing::Lines, Framing::Headers];
    let clients: Vec<Client> = bridges
        .iter_mut()
        .zip(framings.into_iter().cycle())
        .map(|(bridge, framing)| Client::editor_of(bridge, framing))
        .collect();
    let pid = machine_pid(&clients).await;
    assert_eq!(machine.daemon_pid().map(u64::from), Some(pid));
    for (client, bridge) in clients.into_iter().zip(&mut bridges) {
        drop(client);
        ends(bridge).await;
    }
    // Its clients are gone; it is not.
    let mut status = machine.command(Path::new("/"), &["status", "--json"]);
    let output = in_time("the status", status.output()).await.expect("it runs");
    let status: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&status["pid"], &status["clients"]), (&json!(pid), &json!(0)));
}

/// The daemon that all of them speak with.
async fn machine_pid(clients: &[Client]) -> u64 {
    let mut pids = Vec::new();
    for client in clients {
        client.initialize().await;
        pids.push(client.ok("daemon/status", json!({})).await["pid"].as_u64().expect("a process"));
    }
    pids.dedup();
    assert_eq!(pids.len(), 1, "{pids:?}");
    pids[0]
}

#[tokio::test]
async fn daemons_that_are_started_at_once_end_up_as_one() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let start = || {
        let mut command = machine.command(Path::new("/"), &["daemon", "--detached"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a daemon")
    };
    let mut daemons = [start(), start(), start(), start()];
    let mut told = Vec::new();
    for daemon in &mut daemons {
        let mut line = String::new();
        let mut stdout = tokio::io::BufReader::new(daemon.stdout.take().expect("a pipe"));
        in_time("its line", tokio::io::AsyncBufReadExt::read_line(&mut stdout, &mut line)).await.expect("a line");
        told.push(serde_json::from_str::<Value>(&line).expect("JSON")["ready"].clone());
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    let mut running = 0;
    for daemon in &mut daemons {
        if daemon.id().map(u64::from) == told[0]["pid"].as_u64() {
            running += 1;
        } else {
            assert!(in_time("the loser's end", daemon.wait()).await.expect("a child").success());
        }
    }
    assert_eq!(running, 1);
    let client = Client::connect(Path::new(told[0]["socket"].as_str().expect("a path")), Framing::Lines).await;
    client.initialize().await;
}

#[tokio::test]
async fn standard_output_carries_frames_only() {
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("run_terminal_cmd", json!({"command": "echo X >&1; echo Y >&2"}))]),
        Step::say("Done."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).env("PLIMSOLL_LOG", "trace");
    let machine = machine.model(&server, Api::OpenaiChat, "full");
    let mut bridge = bridge(&machine);
    let (to, mut from) = (bridge.stdin.take().expect("a pipe"), bridge.stdout.take().expect("a pipe"));
    // Everything that comes out is kept beside being read.
    let (mut copy, near) = tokio::io::duplex(1 << 20);
    let keeping = tokio::spawn(async move {
        let mut all = Vec::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = tokio::io::AsyncReadExt::read(&mut from, &mut buffer).await.expect("the pipe can be read");
            if count == 0 {
                return all;
            }
            all.extend_from_slice(&buffer[..count]);
            tokio::io::AsyncWriteExt::write_all(&mut copy, &buffer[..count]).await.expect("it is read");
        }
    });
    let client = Client::between(near, to, Framing::Headers);
    client.initialize().await;
    let workspace = Workspace::new();
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "run it").await["stopReason"], "endTurn");
    client.shut_down().await;
    ends(&mut bridge).await;
    let all = keeping.await.expect("no panic");
    assert_eq!(frames(&all).len(), all_messages(&client));
    assert!(machine.log().contains("TRACE"), "the log is at its highest level");
    server.assert_clean();
}

/// How many messages the client got: its answers, which it numbers from 1, and everything else.
fn all_messages(client: &Client) -> usize {
    client.calls() + client.others().len()
}

/// The whole output as messages with headers; anything else in it fails.
fn frames(mut bytes: &[u8]) -> Vec<Value> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a header block");
        let text = std::str::from_utf8(&bytes[..head]).expect("headers are text");
        let length: usize =
            text.strip_prefix("Content-Length: ").and_then(|length| length.parse().ok()).expect("nothing but a length");
        frames.push(serde_json::from_slice(&bytes[head + 4..head + 4 + length]).expect("JSON"));
        bytes = &bytes[head + 4 + length..];
    }
    frames
}

/// For its bridge, an editor that is killed is two pipes that close at once.
#[tokio::test]
async fn an_editor_that_dies_takes_its_bridge_along_and_not_the_turn() {
    let gate = Gate::new();
    let line = TWO_PROCESSES;
    let server = ModelServer::start(Script::new([Step::empty()
        .text("I run ")
        .stall(&gate)
        .text("it.")
        .call(Call::new("run_terminal_cmd", json!({"command": line})))]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let mut bridge = bridge(daemon.machine());
    let editor = Client::editor_of(&mut bridge, Framing::Headers);
    editor.initialize().await;
    let workspace = Workspace::new();
    let session = editor.session(&workspace).await;
    let other = daemon.client().await;
    other.attach(&session, 0).await;
    editor.start(&session, "run it").await;
    editor.wait_events("a piece of text", |events| events.iter().any(|event| event["type"] == "textDelta")).await;
    drop(editor);
    ends(&mut bridge).await;
    gate.release();
    let processes = other.running_processes().await;
    let late = daemon.client().await;
    late.attach(&session, 0).await;
    late.wait_events("the running command", |events| events.iter().any(|event| event["type"] == "toolStarted")).await;
    daemon.kill9().await;
    for process in processes {
        process.gone().await;
    }
    server.assert_clean();
}

#[tokio::test]
async fn a_bridge_says_when_its_daemon_has_gone() {
    let mut daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let mut bridge = bridge(daemon.machine());
    let editor = Client::editor_of(&mut bridge, Framing::Lines);
    editor.initialize().await;
    daemon.kill9().await;
    editor.closed().await;
    let output = in_time("the bridge's end", bridge.wait_with_output()).await.expect("a child");
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the daemon closed the connection"));
}
