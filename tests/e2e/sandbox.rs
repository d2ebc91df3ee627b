//! An agent that tries to get out: of its project, to keys, to the network, to its own daemon. What it meets, and what it
//! reads of it.

use plimsoll_core::model::request::Api;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use tempfile::TempDir;

const SECRET: &str = "CANARY-51d0";

/// A client without a hello: says one line to a socket and prints the answer.
const CLIENT: &str = "import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode() + b'\\n')
print(s.makefile().readline(), end='')
";

/// A daemon in this mode, with a key in its home. The project has the way to its socket, and the variables that lead a
/// `plimsoll` to it, in files: a command that names protected places is refused before it runs.
async fn begin(mode: &str) -> (TestDaemon, ModelServer, Workspace) {
    let server = ModelServer::start(Script::new([])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, mode);
    let keys = Path::new(&machine.environment()["HOME"]).join(".ssh");
    std::fs::create_dir(&keys).expect("a folder for keys");
    std::fs::write(keys.join("id_rsa"), SECRET).expect("a key");
    let daemon = machine.daemon().await;
    let own = daemon.machine().environment().iter().filter(|(name, _)| name.starts_with("PLIMSOLL_"));
    let variables: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
    let workspace = Workspace::new()
        .file("client.py", CLIENT)
        .file("socket", daemon.socket().display().to_string())
        .file("variables", variables.join(" "));
    (daemon, server, workspace)
}

/// Lets the model run these commands, one after the other in one turn; gives what it reads of each.
async fn run(daemon: &TestDaemon, server: &ModelServer, workspace: &Workspace, commands: &[String]) -> Vec<String> {
    let calls = commands.iter().map(|command| Call::new("run_terminal_cmd", json!({"command": command})));
    server.push(Step::calls(calls));
    server.push(Step::say("I give up."));
    let client = daemon.client().await;
    let session = client.session(workspace).await;
    assert_eq!(client.turn(&session, "get out").await["stopReason"], "endTurn");
    let asked = client.events().iter().filter(|event| event["type"] == "permissionAsked").count();
    assert_eq!(asked, 0, "nobody is asked");
    server.assert_clean();
    server.requests().last().expect("a request").results().into_iter().map(|(_, text)| text).collect()
}

/// `plimsoll` as a command of an agent would start it, with what it would have to know.
fn plimsoll(arguments: &str) -> String {
    format!("env $(cat variables) {} {arguments}", plimsoll_tests::binary!().display())
}

fn outside() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder outside of those for temporary files")
}

/// Whether this machine can hold commands to both, as `plimsoll doctor` says.
async fn can_hold(daemon: &TestDaemon) -> bool {
    let found = daemon.machine().command(Path::new("/"), &["doctor", "--json"]).output().await.expect("it runs");
    let found: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let findings = found["findings"].as_array().expect("findings");
    let ok = |id: &str| findings.iter().any(|finding| finding["id"] == id && finding["level"] == "ok");
    ok("sandbox.files") && ok("sandbox.network")
}

#[tokio::test]
async fn in_mode_auto_every_way_out_is_closed_and_said() {
    let (daemon, server, workspace) = begin("auto").await;
    if !can_hold(&daemon).await {
        eprintln!("skipped: this machine cannot hold commands to files and network");
        return;
    }
    let outside = outside();
    std::fs::write(outside.path().join("victim"), "as it was").expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener that does not wait");
    let port = listener.local_addr().expect("an address").port();
    let (out, data) = (outside.path().display(), daemon.machine().data());
    let commands = [
        format!("echo x > {out}/new"),
        format!("ln -s {out} link; echo x > link/victim"),
        "cat ~/.ssh/id_rsa".to_owned(),
        format!("cat {}/*.db", data.display()),
        format!("cat {}/config.toml", daemon.machine().config().display()),
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}"),
        "python3 client.py \"$(cat socket)\" '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon/stop\"}'".to_owned(),
        plimsoll("status"),
        plimsoll("ask hello"),
        format!("kill -9 {}", daemon.pid()),
        format!("cat /proc/{}/environ", daemon.pid()),
        "echo inside > inside.txt && cat inside.txt".to_owned(),
    ];
    let results = run(&daemon, &server, &workspace, &commands).await;
    let (last, refused) = results.split_last().expect("results");
    for (command, result) in commands.iter().zip(refused) {
        assert!(!result.contains("exit code 0"), "{command}\n{result}");
        assert!(!result.contains(SECRET) && !result.contains("base_url"), "{command}\n{result}");
        let held = "sandbox: writes only in the project and in folders for temporary files, no access to keys and \
                    Plimsoll's own files, no network";
        let refused = result.contains("run_terminal_cmd denied") && result.contains("is protected");
        assert!(refused || result.contains(held), "{command}\n{result}");
    }
    // Which of two layers says no first is the system's affair.
    let denied = ["Permission denied", "Read-only file system"].as_slice();
    for (no, words) in [
        (0, denied),
        (1, denied),
        (5, &["Connection refused"]),
        (9, &["Operation not permitted"]),
        (10, &["Permission denied"]),
    ] {
        assert!(words.iter().any(|words| refused[no].contains(words)), "{}\n{}", commands[no], refused[no]);
    }
    assert!(last.contains("exit code 0") && last.contains("inside") && !last.contains("sandbox"), "{last}");
    assert_eq!(std::fs::read_to_string(outside.path().join("victim")).expect("it is there"), "as it was");
    assert!(!outside.path().join("new").exists());
    assert!(listener.accept().is_err(), "nothing came");
}

#[tokio::test]
async fn in_mode_full_the_daemon_still_does_not_listen_to_what_its_commands_start() {
    let (daemon, server, workspace) = begin("full").await;
    let say = |method: &str| {
        format!("python3 client.py \"$(cat socket)\" '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\"}}'")
    };
    let hello =
        "{\"plimsoll\":\"hello\",\"facade\":\"acp\",\"build\":\"b\",\"protocol\":{\"min\":\"1.0\",\"max\":\"1.0\"}}";
    // The third leaves its group, its session and its parents behind, and is waited for by what it writes.
    let commands = [
        say("daemon/stop"),
        format!("python3 client.py \"$(cat socket)\" '{hello}'"),
        format!(
            "(setsid sh -c '({} > deep.new 2>&1; mv deep.new deep) &' &); until [ -e deep ]; do sleep 0.02; done; cat deep",
            say("initialize").replace('\'', "'\\''")
        ),
        plimsoll("status"),
        plimsoll("ask hello"),
    ];
    let results = run(&daemon, &server, &workspace, &commands).await;
    for (command, result) in commands.iter().zip(&results) {
        assert!(result.contains("was started by a command that this daemon runs for an agent"), "{command}\n{result}");
        assert!(!result.contains("sandbox:"), "{result}");
    }
    assert!(results[0].contains("\"code\":-32030") && results[0].contains("\"kind\":\"forbidden\""), "{}", results[0]);
    assert!(results[1].contains("\"plimsoll\":\"welcome\""), "{}", results[1]);
    // Who is no descendant of it is served as ever.
    let status = daemon.machine().command(Path::new("/"), &["status"]).output();
    let status = plimsoll_tests::in_time("the status", status).await.expect("it runs");
    assert_eq!(status.status.code(), Some(0), "{}", String::from_utf8_lossy(&status.stderr));
}

#[tokio::test]
async fn what_gets_rid_of_its_helper_is_not_served_and_is_ended() {
    let (daemon, server, workspace) = begin("full").await;
    let status = plimsoll("status").replace('\'', "'\\''");
    let stubborn = format!(
        "trap \"\" TERM HUP; echo $$ > pid; until [ -e go ]; do sleep 0.02; done; {status} > said 2>&1; mv said heard; sleep 60"
    );
    let command =
        format!("setsid sh -c '{stubborn}' & until [ -s pid ]; do sleep 0.02; done; touch go; kill -9 $PPID; sleep 60");
    let results = run(&daemon, &server, &workspace, &[command]).await;
    assert!(results[0].contains("is not known"), "{}", results[0]);
    let pid = workspace.read("pid").expect("it ran").trim().parse().expect("a number");
    TestDaemon::watch(pid).gone().await;
    // It had the time of a grace to be heard, and was not.
    if let Some(heard) = workspace.read("heard") {
        assert!(heard.contains("was started by a command that this daemon runs for an agent"), "{heard}");
    }
}
