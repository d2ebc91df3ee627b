//! Whatever happens to a bridge, its standard output is frames from the first byte to the last; and nothing is left of it
//! when its editor is gone.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Framing;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::session::TWO_PROCESSES;
use plimsoll_tests::workspace::Workspace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Runs, and how many at a time.
const RUNS: u64 = 200;
const AT_ONCE: u64 = 4;
/// How long a bridge may live after its editor, and half a second for a busy machine.
const GONE_WITHIN: Duration = Duration::from_millis(1_500);

/// Numbers that look random and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// What an editor might say, and what none would.
fn message(chance: &mut Chance, id: u64, cwd: &str) -> Vec<u8> {
    let call = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let text = match chance.below(9) {
        0 => call("initialize", json!({"protocolVersion": 1})),
        1 => call("initialize", json!({"clientInfo": {"name": "t"}, "protocolVersion": "1.0"})),
        2 => call("session/new", json!({"cwd": cwd, "mcpServers": []})),
        3 => call("daemon/status", json!({})),
        4 => call("session/prompt", json!({"sessionId": "s1", "prompt": []})),
        5 => call("no/such", json!({"x": "é\u{1f600}\n"})),
        6 => json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}),
        7 => return b"{garbage\n".to_vec(),
        _ => json!([1, {"jsonrpc": "2.0"}]),
    };
    format!("{text}\n").into_bytes()
}

/// One bridge with a random life; what came out of it, and whether it was killed.
async fn life(machine: &Machine, workspace: &Workspace, seed: u64) -> (Vec<u8>, bool) {
    let chance = &mut Chance(seed);
    let facade = if chance.below(2) == 0 { "stdio" } else { "acp" };
    let mut command = machine.command(workspace.path(), &[facade]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut bridge = command.spawn().expect("a bridge");
    let (mut input, mut output) = (bridge.stdin.take().unwrap(), bridge.stdout.take().unwrap());
    let reading = tokio::spawn(async move {
        let mut all = Vec::new();
        output.read_to_end(&mut all).await.expect("the pipe can be read");
        all
    });
    for id in 0..chance.below(8) {
        // A bridge whose daemon was killed may have ended.
        if input.write_all(&message(chance, id, workspace.text())).await.is_err() {
            break;
        }
    }
    if chance.below(10) == 0
        && let Some(pid) = machine.daemon_pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
    {
        let _ = kill_process(pid, Signal::KILL);
    }
    let killed = chance.below(3) == 0;
    if killed {
        bridge.start_kill().expect("it is ours");
    }
    drop(input);
    in_time("the bridge's end", bridge.wait()).await.expect("a child");
    (in_time("the end of the output", reading).await.expect("no panic"), killed)
}

#[tokio::test]
async fn the_output_of_two_hundred_random_lives_is_frames() {
    let machine = Machine::new(plimsoll_tests::binary!()).env("PLIMSOLL_LOG", "trace");
    let workspace = Workspace::new();
    let mut messages = 0;
    for round in 0..RUNS / AT_ONCE {
        let lives = (0..AT_ONCE).map(|at| life(&machine, &workspace, round * AT_ONCE + at));
        for (all, killed) in futures_util::future::join_all(lives).await {
            let mut lines: Vec<&[u8]> = all.split(|byte| *byte == b'\n').collect();
            let rest = lines.pop().expect("at least one piece");
            assert!(rest.is_empty() || killed, "{:?}", String::from_utf8_lossy(rest));
            for line in lines {
                let message: Value = serde_json::from_slice(line)
                    .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(line)));
                let answers = message.as_array().map_or(std::slice::from_ref(&message), Vec::as_slice);
                assert!(answers.iter().all(|message| message["jsonrpc"] == "2.0"), "{message}");
                messages += 1;
            }
        }
    }
    assert!(messages > 200, "{messages}");
    assert!(machine.log().contains("DEBUG"), "much is logged");
}

/// An editor as a process of its own, which holds the only other ends of its bridge's pipes, says what stands in the file
/// `say`, and keeps what it hears.
const EDITOR: &str =
    "mkfifo to from; \"$@\" <to >from & echo $! >bridge; exec 3>to 4<from; cat say >&3; exec cat <&4 >heard";

/// Processor time of a process, in ticks.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
}

#[tokio::test]
async fn an_editor_that_is_killed_leaves_no_process_and_its_turn_goes_on() {
    let gate = Gate::new();
    let steps = [Step::empty()
        .text("I run it.")
        .stall(&gate)
        .call(Call::new("run_terminal_cmd", json!({"command": TWO_PROCESSES})))];
    let server = ModelServer::start(Script::new(steps)).await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let workspace = Workspace::new();
    let watching = daemon.client_with(Framing::Headers).await;
    let session = watching.session(&workspace).await;
    let say = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientInfo": {"name": "t"}, "protocolVersion": "1.0"}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "session/attach", "params": {"session": session}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "turn/start", "params": {"session": session, "text": "run it"}}),
    ];
    let say = say.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n";
    let editor_folder = Workspace::new().file("say", say);
    let mut editor = daemon.machine().shell(editor_folder.path(), EDITOR, &["stdio"]);
    editor.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut editor = editor.spawn().expect("an editor");
    gate.reached().await;
    let bridge: u32 = editor_folder.read("bridge").expect("its number").trim().parse().expect("a number");
    let watched = TestDaemon::watch(bridge);
    let begun = Instant::now();
    editor.start_kill().expect("it is ours");
    watched.gone().await;
    assert!(begun.elapsed() < GONE_WITHIN, "{:?}", begun.elapsed());
    in_time("the editor's end", editor.wait()).await.expect("a child");

    gate.release();
    let processes = watching.running_processes().await;
    let late = daemon.client().await;
    late.attach(&session, 0).await;
    late.wait_events("the running command", |events| events.iter().any(|event| event["type"] == "toolStarted")).await;
    // A window to measure in, not something to wait for: a loop that writes to a dead pipe would take all of it.
    let before = ticks(daemon.pid());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let busy = ticks(daemon.pid()) - before;
    assert!(busy < 50, "{busy} ticks of about 100");
    daemon.kill9().await;
    for process in processes {
        process.gone().await;
    }
    server.assert_clean();
}

#[tokio::test]
async fn a_loud_command_does_not_reach_the_output_of_the_bridge_that_started_the_daemon() {
    let steps = [
        Step::calls([Call::new(
            "run_terminal_cmd",
            json!({"command": "(echo X; echo Y >&2; sleep 1; echo late) & echo now; exec 1>&2; echo Z"}),
        )]),
        Step::say("Done."),
    ];
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).env("PLIMSOLL_LOG", "trace");
    let machine = machine.model(&server, Api::OpenaiChat, "full");
    let workspace = Workspace::new();
    // The first bridge starts the daemon: whatever that inherits of it would show here.
    let script = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientInfo": {"name": "t"}, "protocolVersion": "1.0"}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "project/open", "params": {"roots": [workspace.text()]}}),
    ];
    let mut command = machine.command(Path::new("/"), &["stdio"]);
    let mut bridge =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a bridge");
    let (mut input, output) = (bridge.stdin.take().unwrap(), bridge.stdout.take().unwrap());
    let mut output = tokio::io::BufReader::new(output);
    let mut heard = Vec::new();
    for message in script {
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        heard.push(line(&mut output).await);
    }
    let create = json!({"jsonrpc": "2.0", "id": 3, "method": "session/create", "params": {"project": heard[1]["result"]["key"]}});
    input.write_all(format!("{create}\n").as_bytes()).await.unwrap();
    let session = line(&mut output).await["result"]["id"].clone();
    for (id, method, params) in [
        (4, "session/attach", json!({"session": session})),
        (5, "turn/start", json!({"session": session, "text": "be loud"})),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    loop {
        let message = line(&mut output).await;
        assert_eq!(message["jsonrpc"], "2.0");
        if message["params"]["result"]["type"] == "turnCompleted" {
            break;
        }
    }
    drop(input);
    let mut rest = String::new();
    in_time("the rest", output.read_to_string(&mut rest)).await.unwrap();
    for line in rest.lines() {
        assert_eq!(serde_json::from_str::<Value>(line).expect("JSON")["jsonrpc"], "2.0");
    }
    in_time("the bridge's end", bridge.wait()).await.unwrap();
    server.assert_clean();
}

async fn line(from: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Value {
    let mut line = String::new();
    in_time("a line", tokio::io::AsyncBufReadExt::read_line(from, &mut line)).await.unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}
