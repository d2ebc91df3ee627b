//! A store that cannot grow: the turn ends with a reason, the daemon lives and reads, and later it goes on. The limit is
//! that of the process on the size of its files, which needs no file system of its own.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};

/// A daemon that may not let a file grow beyond a limit, which can be lifted.
struct Limited {
    _child: tokio::process::Child,
    pid: Pid,
    socket: String,
}

impl Limited {
    /// A write beyond the limit must be an error and not the daemon's death, so the signal is ignored for it.
    async fn start(machine: &Machine) -> Self {
        let line = "trap '' XFSZ; exec \"$@\"";
        let mut command = machine.shell(Path::new("/"), line, &["daemon", "--detached"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a daemon");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        in_time("its line", BufReader::new(stdout).read_line(&mut line)).await.expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("JSON");
        let socket = ready["ready"]["socket"].as_str().expect("a socket").to_owned();
        let pid =
            ready["ready"]["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).expect("a pid");
        Self { _child: child, pid, socket }
    }

    fn limit(&self, bytes: Option<u64>) {
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(Some(self.pid), Resource::Fsize, limit).expect("the limit of an own process can be set");
    }

    async fn client(&self) -> Client {
        let client = Client::connect(Path::new(&self.socket), Framing::Lines).await;
        client.initialize().await;
        client
    }
}

// Case H02.
#[tokio::test]
async fn a_full_disk_ends_the_turn_and_not_the_daemon() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([
        Step::say("Fine."),
        Step::calls([Call::new("run_terminal_cmd", json!({"command": "touch made"}))]),
        Step::say("Fine again."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let daemon = Limited::start(&machine).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "one").await["stopReason"], "endTurn");
    let before = told(&client.events(), 0);

    // The prompt itself does not fit.
    daemon.limit(Some(4096));
    let error = client.err("turn/start", json!({"session": session, "text": "two"})).await;
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32024), &json!("store")));
    assert!(error["data"]["hint"].is_string(), "it names the fix: {error}");
    let reader = daemon.client().await;
    assert_eq!(reader.ok("session/list", json!({})).await["sessions"].as_array().map(Vec::len), Some(1));
    let page = reader.ok("transcript/read", json!({"session": session})).await;
    assert_eq!(page["last"], 2);

    // Nothing is lost and nothing was doubled; with room again the session goes on.
    daemon.limit(None);
    reader.attach(&session, 0).await;
    assert_eq!(reader.turn(&session, "three").await["stopReason"], "endTurn");
    let after = told(&reader.events(), 0);
    client.completed(&session, 2).await;
    assert_eq!(told(&client.events(), 0), after, "whoever was attached stays attached");
    assert_eq!(after[..before.len()], before);
    assert!(!after.contains(&"user \"two\"".to_owned()), "{after:#?}");
    assert_eq!(workspace.read("made").as_deref(), Some(""));
    server.assert_clean();
}

// Case H02.
#[tokio::test]
async fn a_command_whose_record_cannot_be_written_does_not_run() {
    let workspace = Workspace::new();
    let gate = plimsoll_tests::model_server::Gate::new();
    let server = ModelServer::start(Script::new([
        Step::empty().stall(&gate).call(Call::new("run_terminal_cmd", json!({"command": "touch made"}))),
        Step::say("I look."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let daemon = Limited::start(&machine).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "make it").await;
    gate.reached().await;
    daemon.limit(Some(4096));
    gate.release();
    let closed = |events: &[Value]| events.iter().find(|event| event["type"] == "closed").cloned();
    let events = client.wait_events("the end of the subscription", |events| closed(events).is_some()).await;
    let closed = closed(&events).expect("waited for it");
    assert_eq!(closed["reason"], "storeFailed");
    let message = closed["message"].as_str().expect("a text");
    assert!(message.contains("could not be stored"), "{message}");
    assert_eq!(workspace.read("made"), None);

    daemon.limit(None);
    let client = daemon.client().await;
    let seen = events.iter().filter_map(|event| event["seq"].as_u64()).max().expect("events came");
    client.attach(&session, seen).await;
    let end = client.completed(&session, 1).await;
    assert_eq!(end["stopReason"], "storeError");
    assert_eq!(client.turn(&session, "go on").await["stopReason"], "endTurn");
    assert_eq!(workspace.read("made"), None);
    server.assert_clean();
}
