//! Nothing that is found on the machine is used before a person at the terminal says yes, and what they say is kept.

use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{ModelServer, Script, Step};
use plimsoll_tests::terminal::Terminal;
use plimsoll_tests::workspace::Workspace;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const QUESTION: &str = "[y/N/never] ";
const OFFLINE: &str = "No language model answers";

/// A machine on which a server listens where servers are looked for.
fn machine(server: &ModelServer) -> Machine {
    Machine::new(plimsoll_tests::binary!()).env("PLIMSOLL_PROBE_PORTS", &server.addr().port().to_string())
}

fn config(machine: &Machine) -> Option<String> {
    std::fs::read_to_string(machine.config().join("config.toml")).ok()
}

#[tokio::test]
async fn a_yes_is_written_down_and_holds_from_then_on() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([Step::say("Hello."), Step::say("Again.")])).await;
    let machine = machine(&server).configure("# mine\nlanguage = \"de\"  # always\n");
    let mut terminal = Terminal::start(&machine, workspace.path(), &["ask", "Hello?"]);
    terminal.wait_for("vLLM answers on this machine").await;
    terminal.wait_for(QUESTION).await;
    assert_eq!(server.requests().len(), 0, "nothing is sent before the yes");
    terminal.type_line("y");
    let (status, shown) = terminal.end().await;
    assert!(status.success() && shown.contains("Hello.\n") && !shown.contains(OFFLINE), "{shown}");
    let expected = format!(
        "# mine\nlanguage = \"de\"  # always\nmodel = \"vllm/scripted\"\n\n[providers.vllm]\napi = \"openai-chat\"\n\
         base_url = \"http://{}/v1\"\n\n[providers.vllm.models.scripted]\ncontext_window = 200000\n",
        server.addr()
    );
    assert_eq!(config(&machine), Some(expected));
    let mode = std::fs::metadata(machine.config().join("config.toml")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (status, shown) = Terminal::start(&machine, workspace.path(), &["ask", "Hello?"]).end().await;
    assert!(status.success() && shown.contains("Again.\n") && !shown.contains(QUESTION), "{shown}");
    server.assert_clean();
}

#[tokio::test]
async fn a_no_uses_nothing_and_keeps_nothing() {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let server = ModelServer::start(Script::new([])).await;
    let machine = machine(&server).env("OPENAI_API_KEY", "hush").env("OPENROUTER_API_KEY", "hush");
    for _ in 0..2 {
        let mut terminal = Terminal::start(&machine, workspace.path(), &["ask", "Where is alpha?"]);
        terminal.wait_for("OPENAI_API_KEY is set. Use openai (https://api.openai.com/v1, model ").await;
        terminal.wait_for(QUESTION).await;
        terminal.type_line("n");
        terminal.wait_for("OPENROUTER_API_KEY is set. Use openrouter (https://openrouter.ai/api/v1)?").await;
        terminal.wait_for("Name the model to use it, Enter for no, or never: ").await;
        terminal.type_line("");
        terminal.wait_for("vLLM answers on this machine").await;
        terminal.wait_for(QUESTION).await;
        terminal.type_line("");
        let (status, shown) = terminal.end().await;
        assert!(status.success() && shown.contains(OFFLINE) && !shown.contains("hush"), "{shown}");
    }
    assert_eq!((config(&machine), server.requests().len()), (None, 0));
}

#[tokio::test]
async fn never_is_remembered() {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let server = ModelServer::start(Script::new([])).await;
    let machine = machine(&server).env("OPENAI_API_KEY", "hush");
    let mut terminal = Terminal::start(&machine, workspace.path(), &["ask", "Where is alpha?"]);
    terminal.wait_for(QUESTION).await;
    terminal.type_line("never");
    let (status, shown) = terminal.end().await;
    assert!(status.success() && shown.contains("nothing is offered again") && shown.contains(OFFLINE), "{shown}");
    assert_eq!(config(&machine).as_deref(), Some("[consent]\noffer = false\n"));
    let (status, shown) = Terminal::start(&machine, workspace.path(), &["ask", "Where is alpha?"]).end().await;
    assert!(status.success() && !shown.contains(QUESTION) && shown.contains(OFFLINE), "{shown}");
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn where_nobody_can_be_asked_a_key_is_named_and_nothing_is_used() {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let server = ModelServer::start(Script::new([])).await;
    let machine = machine(&server).env("OPENAI_API_KEY", "hush");
    let mut command = machine.command(workspace.path(), &["ask", "Where is alpha?"]);
    let output = in_time("the command", command.stdin(Stdio::null()).output()).await.expect("it runs");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success() && said.contains(OFFLINE), "{said}");
    assert!(said.contains("OPENAI_API_KEY is set but is not used without your consent"), "{said}");
    // Neither does a program that only reads the events.
    let (status, shown) = Terminal::start(&machine, workspace.path(), &["ask", "--json", "Where?"]).end().await;
    assert!(status.success() && !shown.contains(QUESTION), "{shown}");
    assert_eq!((config(&machine), server.requests().len()), (None, 0));
}
