//! `plimsoll acp` outlives its daemon: its editor notices a pause, and every call is answered once.

use plimsoll_core::model::request::Api;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::{Machine, Version};
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// An editor and its bridge. Everything that comes is kept.
struct Editor {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    heard: Vec<Value>,
    last: u64,
}

impl Editor {
    /// Starts a bridge and opens a session in the workspace; gives its id.
    async fn start(machine: &Machine, workspace: &Workspace) -> (Self, String) {
        Self::start_by(machine.command(workspace.path(), &["acp"]), workspace).await
    }

    /// The same with a bridge that this command starts.
    async fn start_by(mut command: Command, workspace: &Workspace) -> (Self, String) {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut editor = Self { child, input, output, heard: Vec::new(), last: 0 };
        let id = editor.ask("initialize", json!({"protocolVersion": 1})).await;
        editor.answer(id).await;
        let id = editor.ask("session/new", json!({"cwd": workspace.text(), "mcpServers": []})).await;
        let session = editor.answer(id).await["result"]["sessionId"].as_str().unwrap().to_owned();
        (editor, session)
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    async fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.ask("session/prompt", json!({"sessionId": session, "prompt": prompt})).await
    }

    /// Reads to the next message that is as `wanted` says.
    async fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            let count = in_time(what, self.output.read_line(&mut line)).await.unwrap();
            assert!(count > 0, "the output ended before {what}; heard {:#?}", self.heard);
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
            self.heard.push(message.clone());
            if wanted(&message) {
                return message;
            }
        }
    }

    async fn answer(&mut self, id: u64) -> Value {
        self.until(&format!("the answer to {id}"), |message| message["id"] == id && message["method"].is_null()).await
    }

    async fn chunk(&mut self) {
        let is_chunk = |message: &Value| message["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
        self.until("a piece of the answer", is_chunk).await;
    }

    async fn asked(&mut self) -> Value {
        self.until("a question", |message| message["method"] == "session/request_permission").await
    }

    /// The agent's text, by messages.
    fn text(&self) -> String {
        let updates = self.heard.iter().map(|message| &message["params"]["update"]);
        let chunks = updates.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        chunks.map(|chunk| chunk["content"]["text"].as_str().unwrap()).collect()
    }

    /// Every call was answered once, every tool call was announced once and ended, and nothing was for the bridge only.
    fn assert_whole(&self) {
        for id in 1..=self.last {
            let answers = self.heard.iter().filter(|message| message["id"] == id && message["method"].is_null());
            assert_eq!(answers.count(), 1, "answers to {id}: {:#?}", self.heard);
        }
        let updates: Vec<Value> = super::acp_client::updates(&self.heard);
        super::acp_client::assert_calls_ended(&updates);
        let methods = ["session/update", "session/request_permission", "$/cancel_request"];
        let strange = |message: &&Value| message["method"].as_str().is_some_and(|method| !methods.contains(&method));
        assert_eq!(self.heard.iter().find(strange), None);
    }
}

fn kill_daemon(machine: &Machine) -> u32 {
    let pid = machine.daemon_pid().expect("a daemon runs");
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    pid
}

#[tokio::test]
async fn a_killed_daemon_costs_its_turn_and_nothing_else() {
    let gate = Gate::new();
    let steps = [Step::say("half ").stall(&gate).text("lost"), Step::say("Again.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask");
    let workspace = Workspace::new();
    let (mut editor, session) = Editor::start(&machine, &workspace).await;
    let prompt = editor.prompt(&session, "talk").await;
    editor.chunk().await;
    let before = kill_daemon(&machine);
    let end = editor.answer(prompt).await;
    assert_eq!(end["error"]["code"], -32603, "{end}");
    assert!(!end["error"]["message"].as_str().unwrap().is_empty());
    let prompt = editor.prompt(&session, "go on").await;
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!(editor.text(), "half Again.");
    assert_ne!(machine.daemon_pid(), Some(before));
    editor.assert_whole();
    drop(editor.input);
    assert!(in_time("the bridge's end", editor.child.wait()).await.unwrap().success());
    server.assert_clean();
}

#[tokio::test]
async fn an_open_question_is_withdrawn_and_asked_anew_and_its_prompt_goes_on() {
    let steps = [Step::calls([Call::new("run_terminal_cmd", json!({"command": "touch made"}))]), Step::say("Made.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask");
    let workspace = Workspace::new();
    let (mut editor, session) = Editor::start(&machine, &workspace).await;
    let prompt = editor.prompt(&session, "make it").await;
    let first = editor.asked().await;
    kill_daemon(&machine);
    let withdrawn = editor.until("the withdrawal", |message| message["method"] == "$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], first["id"]);
    // As clients do it: the request is answered, and nobody takes that for the next one's answer.
    editor.send(&json!({"jsonrpc": "2.0", "id": first["id"], "error": {"code": -32800, "message": "cancelled"}})).await;
    let second = editor.asked().await;
    assert_ne!(second["id"], first["id"]);
    assert_eq!(second["params"]["toolCall"]["toolCallId"], first["params"]["toolCall"]["toolCallId"]);
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    editor.send(&json!({"jsonrpc": "2.0", "id": second["id"], "result": outcome})).await;
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert!(workspace.path().join("made").exists());
    assert_eq!(editor.text(), "Made.");
    editor.assert_whole();
    server.assert_clean();
}

#[tokio::test]
async fn a_turn_that_waits_can_be_cancelled_after_its_daemon_died() {
    let steps = [Step::calls([Call::new("run_terminal_cmd", json!({"command": "touch made"}))])];
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask");
    let workspace = Workspace::new();
    let (mut editor, session) = Editor::start(&machine, &workspace).await;
    let prompt = editor.prompt(&session, "make it").await;
    editor.asked().await;
    kill_daemon(&machine);
    editor.asked().await;
    editor.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})).await;
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "cancelled");
    assert!(!workspace.path().join("made").exists());
    editor.assert_whole();
}

#[tokio::test]
async fn a_hand_over_to_a_newer_build_is_not_noticed() {
    let gate = Gate::new();
    let steps = [Step::empty().text("half ").stall(&gate).text("whole. "), Step::say("Again.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let newer = machine.other_build(3_600);
    let workspace = Workspace::new();
    let (mut editor, session) = Editor::start(&machine, &workspace).await;
    let before = TestDaemon::watch(machine.daemon_pid().unwrap());
    let prompt = editor.prompt(&session, "talk").await;
    editor.chunk().await;
    let mut looks = machine.command_of(&newer, Path::new("/"), &["sessions", "--all"]);
    assert!(in_time("the other build", looks.output()).await.unwrap().status.success());
    gate.release();
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    before.gone().await;
    let prompt = editor.prompt(&session, "more").await;
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!(machine.daemon_program().as_deref(), Some(newer.as_path()));
    assert_eq!(editor.text(), "half whole. Again.");
    editor.assert_whole();
    server.assert_clean();
}

#[tokio::test]
async fn editors_with_bridges_of_two_versions_share_the_newer_daemon() {
    let gate = Gate::new();
    let steps =
        [Step::empty().text("half ").stall(&gate).text("whole. "), Step::say("Of the newer. "), Step::say("Again.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let newer = machine.other_version(Version::Newer, -3_600);
    let (workspace, elsewhere) = (Workspace::new(), Workspace::new());
    let (mut old, session) = Editor::start(&machine, &workspace).await;
    let before = TestDaemon::watch(machine.daemon_pid().unwrap());
    let prompt = old.prompt(&session, "talk").await;
    old.chunk().await;
    // It is served by the daemon that has something to do, and then by its own.
    let command = machine.command_of(&newer, elsewhere.path(), &["acp"]);
    let (mut new, other) = Editor::start_by(command, &elsewhere).await;
    gate.release();
    assert_eq!(old.answer(prompt).await["result"]["stopReason"], "end_turn");
    before.gone().await;
    let prompt = new.prompt(&other, "talk").await;
    assert_eq!(new.answer(prompt).await["result"]["stopReason"], "end_turn");
    let pid = machine.daemon_pid();
    assert_eq!(machine.daemon_program().as_deref(), Some(newer.as_path()));
    let prompt = old.prompt(&session, "more").await;
    assert_eq!(old.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!((machine.daemon_pid(), pid.is_some()), (pid, true));
    assert_eq!((old.text(), new.text()), ("half whole. Again.".to_owned(), "Of the newer. ".to_owned()));
    old.assert_whole();
    new.assert_whole();
    server.assert_clean();
}

#[tokio::test]
async fn what_others_do_after_the_hand_over_is_told() {
    let server = ModelServer::start(Script::new([Step::say("First. "), Step::say("Second.")])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let workspace = Workspace::new();
    let (mut editor, session) = Editor::start(&machine, &workspace).await;
    let prompt = editor.prompt(&session, "one").await;
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    kill_daemon(&machine);
    let mut other = machine.command(workspace.path(), &["ask", "--session", &session, "two"]);
    assert!(in_time("another client's turn", other.output()).await.unwrap().status.success());
    editor.chunk().await;
    assert_eq!(editor.text(), "First. Second.");
    editor.assert_whole();
    server.assert_clean();
}

#[tokio::test]
async fn a_daemon_that_was_stopped_stays_so_until_the_editor_needs_one() {
    let server = ModelServer::start(Script::new([Step::say("Hello.")])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let workspace = Workspace::new();
    let (mut editor, session) = Editor::start(&machine, &workspace).await;
    let code = async |word: &str| {
        in_time(word, machine.command(Path::new("/"), &[word]).output()).await.unwrap().status.code()
    };
    assert_eq!(code("stop").await, Some(0));
    assert_eq!(code("status").await, Some(3));
    let prompt = editor.prompt(&session, "talk").await;
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!(editor.text(), "Hello.");
    assert_eq!(code("status").await, Some(0));
    editor.assert_whole();
    server.assert_clean();
}

#[tokio::test]
async fn daemons_that_are_killed_again_and_again_end_the_bridge_with_a_reason() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let workspace = Workspace::new();
    let (mut editor, _) = Editor::start(&machine, &workspace).await;
    let mut code = None;
    for _ in 0..10 {
        let Some(pid) = machine.daemon_pid() else { break };
        let watched = TestDaemon::watch(pid);
        kill_daemon(&machine);
        watched.gone().await;
        editor.last += 1;
        let list = json!({"jsonrpc": "2.0", "id": editor.last, "method": "session/list", "params": {}});
        // Its pipe may be closed by now.
        let _ = editor.input.write_all(format!("{list}\n").as_bytes()).await;
        let answers = format!("\"id\":{}", editor.last);
        let mut line = String::new();
        let mut over = false;
        while !over && !line.contains(&answers) {
            line.clear();
            let read = in_time("an answer", editor.output.read_line(&mut line)).await.unwrap();
            over = read == 0 || line.contains("ended 6 times");
        }
        if over {
            code = in_time("the bridge's end", editor.child.wait()).await.unwrap().code();
            break;
        }
    }
    assert_eq!(code, Some(4));
}
