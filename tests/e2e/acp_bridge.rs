//! `plimsoll acp` as a process: what stands on its standard output, and how it ends.

use plimsoll_core::model::request::Api;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Gate, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

struct Bridge {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bridge {
    fn start(machine: &Machine, workspace: &Workspace) -> Self {
        let mut command = machine.command(workspace.path(), &["acp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    async fn send(&mut self, id: u64, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Reads to the message that is as `wanted` says; every line on the way is a message.
    async fn read_to(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            let count = in_time(what, self.output.read_line(&mut line)).await.unwrap();
            assert!(count > 0, "the output ended before {what}");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
            assert_eq!(message["jsonrpc"], "2.0");
            if wanted(&message) {
                return message;
            }
        }
    }

    /// A session with a prompt whose answer has begun.
    async fn prompting(&mut self, workspace: &Workspace) -> String {
        self.send(1, "initialize", json!({"protocolVersion": 1})).await;
        self.read_to("the first answer", |message| message["id"] == 1).await;
        self.send(2, "session/new", json!({"cwd": workspace.text(), "mcpServers": []})).await;
        let made = self.read_to("the session", |message| message["id"] == 2).await;
        let session = made["result"]["sessionId"].as_str().unwrap().to_owned();
        let prompt = json!([{"type": "text", "text": "talk"}]);
        self.send(3, "session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
        let is_chunk = |message: &Value| message["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
        self.read_to("the first half", is_chunk).await;
        session
    }
}

#[tokio::test]
async fn a_bridge_ends_with_its_editor_and_the_turn_goes_on() {
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([Step::say("half ").stall(&gate).text("whole")])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask");
    let workspace = Workspace::new();
    let mut bridge = Bridge::start(&machine, &workspace);
    let session = bridge.prompting(&workspace).await;
    drop(bridge.input);
    let status = in_time("the bridge's end", bridge.child.wait()).await.unwrap();
    assert!(status.success(), "{status}");

    gate.release();
    let mut next = Bridge::start(&machine, &workspace);
    next.send(1, "initialize", json!({"protocolVersion": 1})).await;
    let load = json!({"sessionId": session, "cwd": workspace.text(), "mcpServers": []});
    next.send(2, "session/load", load).await;
    let text = std::cell::RefCell::new(String::new());
    let is_whole = |message: &Value| {
        let update = &message["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            text.borrow_mut().push_str(update["content"]["text"].as_str().unwrap());
        }
        *text.borrow() == "half whole"
    };
    next.read_to("the whole answer", is_whole).await;
    server.assert_clean();
}
