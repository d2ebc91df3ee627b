//! The command line as a person or a script runs it: `ask`, `sessions`, `show`, `status`, `stop`, `restart`.

use plimsoll_core::model::request::Api;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::process::{Output, Stdio};
use tokio::io::AsyncReadExt;

over_both_apis! { an_answer_is_streamed_to_standard_output }

/// Runs a command to its end, with nothing to read and no terminal.
async fn run(machine: &Machine, workspace: &Workspace, arguments: &[&str]) -> Output {
    // A session of its own has no terminal to ask on.
    let mut command = machine.command(workspace.path(), arguments);
    command.stdin(Stdio::null());
    in_time("the command", command.output()).await.expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

#[tokio::test]
async fn without_a_key_the_built_in_model_answers_and_the_daemon_stays() {
    let workspace = Workspace::new()
        .file("src/shell.rs", "//! Runs shell commands.\n\n/// The shell command tool.\nfn run_shell_command() {}\n")
        .file("src/other.rs", "fn other() {}\n")
        .git();
    let machine = Machine::new(plimsoll_tests::binary!());
    let prompt = "Where is the shell command tool implemented?";
    let first = run(&machine, &workspace, &["ask", prompt]).await;
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(stdout(&first).contains("src/shell.rs:"), "{}", stdout(&first));
    assert!(stderr(&first).contains("No language model answers"), "{}", stderr(&first));
    let pid = machine.daemon_pid().expect("the daemon stays");
    let second = run(&machine, &workspace, &["ask", prompt]).await;
    assert_eq!(second.status.code(), Some(0), "{}", stderr(&second));
    assert_eq!((machine.daemon_pid(), stdout(&second)), (Some(pid), stdout(&first)));
}

async fn an_answer_is_streamed_to_standard_output(api: Api) {
    let workspace = Workspace::new();
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([
        Step::empty().text("The answer ").stall(&gate).text("is 42."),
        Step::say("As I said."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, api, "ask");
    let mut command = machine.command(workspace.path(), &["ask", "What", "is it?"]);
    let mut asking =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a command");
    let mut out = asking.stdout.take().expect("a pipe");
    let mut piece = vec![0; 64];
    let count = in_time("the first piece", out.read(&mut piece)).await.expect("a piece");
    assert_eq!(&piece[..count], b"The answer ");
    gate.release();
    let mut rest = String::new();
    in_time("the rest", out.read_to_string(&mut rest)).await.expect("text");
    assert_eq!(rest, "is 42.\n");
    let output = in_time("its end", asking.wait_with_output()).await.expect("a child");
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stderr).expect("text");
    let session = said.split("session ").nth(1).and_then(|rest| rest.split(' ').next()).expect("its id").to_owned();
    let again = run(&machine, &workspace, &["ask", "--session", &session, "Sure?"]).await;
    assert_eq!((again.status.code(), stdout(&again)), (Some(0), "As I said.\n".to_owned()));
    server.assert_clean();

    let listed = run(&machine, &workspace, &["sessions", "--json"]).await;
    let listed = lines(&listed);
    assert_eq!((listed.len(), &listed[0]["id"], &listed[0]["title"]), (1, &json!(session), &json!("What is it?")));
    let table = stdout(&run(&machine, &workspace, &["sessions"]).await);
    assert!(table.contains(&session) && table.contains("What is it?"), "{table}");
    let elsewhere = run(&machine, &Workspace::new(), &["sessions"]).await;
    assert_eq!((elsewhere.status.code(), stdout(&elsewhere)), (Some(0), String::new()));
    let shown = stdout(&run(&machine, &workspace, &["show", &session]).await);
    for part in ["What is it?", "The answer is 42.", "Sure?", "As I said."] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    let items = lines(&run(&machine, &workspace, &["show", "--json", &session]).await);
    let kinds: Vec<&Value> = items.iter().map(|item| &item["kind"]).collect();
    assert_eq!(kinds, ["user", "assistant", "user", "assistant"]);
    let unknown = run(&machine, &workspace, &["show", "s0"]).await;
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("s0"), "{}", stderr(&unknown));
}

#[tokio::test]
async fn events_come_as_json_lines() {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("read_file", json!({"target_file": "a.txt"}))]),
        Step::say("Alpha."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask");
    let output = run(&machine, &workspace, &["ask", "--json", "Read it"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        told(&lines(&output), 0),
        [
            "session changed",
            "turn 1",
            "user \"Read it\"",
            "step 1",
            "c1 = read_file",
            "step 1 answered",
            "c1 runs",
            "c1 ok",
            "step 2",
            "text \"Alpha.\"",
            "step 2 answered",
            "turn 1 ends: endTurn",
        ]
    );
    server.assert_clean();
}

#[tokio::test]
async fn what_would_be_asked_is_denied_without_a_terminal() {
    let workspace = Workspace::new();
    let call = || Step::calls([Call::new("run_terminal_cmd", json!({"command": "touch made"}))]);
    let server = ModelServer::start(Script::new([call(), Step::say("Not done."), call(), Step::say("Done.")])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask");
    let output = run(&machine, &workspace, &["ask", "--json", "Make it"]).await;
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(workspace.read("made"), None);
    let results = lines(&output).into_iter().filter(|event| event["item"]["kind"] == "toolResult");
    assert_eq!(results.map(|event| event["item"]["status"].clone()).collect::<Vec<_>>(), ["denied"]);
    let output = run(&machine, &workspace, &["ask", "--mode", "full", "Make it"]).await;
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), "Done.\n".to_owned()));
    assert_eq!(workspace.read("made").as_deref(), Some(""));
    server.assert_clean();
}

#[tokio::test]
async fn a_turn_that_fails_ends_with_one_and_says_why() {
    let workspace = Workspace::new();
    let error =
        json!({"error": {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found"}});
    let server = ModelServer::start(Script::new([Step::error(404, error)])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask");
    let output = run(&machine, &workspace, &["ask", "hello"]).await;
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
    assert!(stderr(&output).contains("no such model"), "{}", stderr(&output));
    for (arguments, part) in [
        (["ask", "--model", "none", "x"], "none"),
        (["ask", "--model", "test/other", "x"], "other"),
        (["ask", "--mode", "loose", "x"], "loose"),
        (["ask", "--session", "s0", "x"], "s0"),
        (["ask", "--project", "/no/such/folder", "x"], "/no/such/folder"),
    ] {
        let output = run(&machine, &workspace, &arguments).await;
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {:?}", output.status);
        assert!(stderr(&output).contains(part) && stdout(&output).is_empty(), "{arguments:?}: {}", stderr(&output));
    }
}

#[tokio::test]
async fn the_daemons_life_from_outside() {
    let workspace = Workspace::new();
    let machine = Machine::new(plimsoll_tests::binary!());
    let code = async |arguments: &[&str]| run(&machine, &workspace, arguments).await.status.code();
    assert_eq!(code(&["status"]).await, Some(3));
    assert_eq!(code(&["status", "--json"]).await, Some(3));
    assert_eq!((code(&["stop"]).await, machine.daemon_pid()), (Some(0), None), "nothing is started to be stopped");
    assert_eq!(code(&["restart"]).await, Some(0));
    let first = machine.daemon_pid().expect("it runs");
    let status: Value =
        serde_json::from_slice(&run(&machine, &workspace, &["status", "--json"]).await.stdout).expect("JSON");
    let names: Vec<&String> = status.as_object().expect("an object").keys().collect();
    assert_eq!(
        names,
        ["pid", "socket", "version", "build", "clients", "sessions", "turns", "jobs", "startedAt", "restartPending"]
    );
    assert_eq!(
        (&status["pid"], &status["clients"], &status["sessions"], &status["version"]),
        (&json!(first), &json!(0), &json!(0), &json!(env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(code(&["restart"]).await, Some(0));
    let second = machine.daemon_pid().expect("it runs");
    assert_ne!(first, second);
    assert_eq!((code(&["stop"]).await, machine.daemon_pid()), (Some(0), None));
    assert_eq!(code(&["status"]).await, Some(3));
}
