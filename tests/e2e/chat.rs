//! A chat on a terminal: turns of one session, questions, interrupts, commands of its own; and completions for shells.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::terminal::Terminal;
use plimsoll_tests::workspace::Workspace;
use serde_json::json;

fn machine(server: &ModelServer, mode: &str) -> Machine {
    Machine::new(plimsoll_tests::binary!()).env("TERM", "xterm").model(server, Api::OpenaiChat, mode)
}

#[tokio::test]
async fn prompts_go_on_with_one_session_until_another_is_begun() {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let server = ModelServer::start(Script::new(["First.", "Second.", "Third."].map(Step::say))).await;
    let machine = machine(&server, "ask");
    let mut terminal = Terminal::start(&machine, workspace.path(), &["chat", "one", "word"]);
    terminal.wait_for("First.").await;
    terminal.wait_for("> ").await;
    terminal.type_line("/attach a.txt:1");
    terminal.wait_for("> ").await;
    terminal.type_line("two \\");
    terminal.type_line("lines");
    terminal.wait_for("Second.").await;
    terminal.wait_for("> ").await;
    terminal.type_line("/new");
    terminal.wait_for("> ").await;
    terminal.type_line("three");
    terminal.wait_for("Third.").await;
    terminal.wait_for("> ").await;
    terminal.type_line("/sing");
    terminal.wait_for("there is no command /sing").await;
    terminal.wait_for("> ").await;
    terminal.type_line("/exit");
    let (status, shown) = terminal.end().await;
    assert!(status.success(), "{shown}");
    assert!(shown.contains("go on: plimsoll chat --session s"), "{shown}");
    let requests = server.requests();
    let told: Vec<String> =
        requests.iter().filter_map(plimsoll_tests::model_server::Recorded::last_user_text).collect();
    assert!(told[0].ends_with("<user_query>\none word\n</user_query>"), "{told:#?}");
    assert!(told[1].ends_with("<user_query>\ntwo \nlines\n</user_query>") && told[1].contains("alpha"), "{told:#?}");
    assert_eq!(requests[1].seen().iter().filter(|seen| format!("{seen:?}").contains("one word")).count(), 1);
    assert_eq!(requests[2].seen().iter().filter(|seen| format!("{seen:?}").contains("one word")).count(), 0);
    server.assert_clean();
}

#[tokio::test]
async fn a_question_is_answered_by_one_line_and_the_next_is_a_prompt() {
    let workspace = Workspace::new();
    let call = Call::new("run_terminal_cmd", json!({"command": "touch made"}));
    let server = ModelServer::start(Script::new([Step::calls([call]), Step::say("Made."), Step::say("Yes.")])).await;
    let machine = machine(&server, "ask");
    let mut terminal = Terminal::start(&machine, workspace.path(), &["chat"]);
    terminal.wait_for("> ").await;
    terminal.type_line("make it");
    terminal.wait_for("or say what to do instead: ").await;
    terminal.type_line("y");
    terminal.wait_for("Made.").await;
    terminal.wait_for("> ").await;
    terminal.type_line("is it there?");
    terminal.wait_for("Yes.").await;
    terminal.wait_for("> ").await;
    terminal.type_text("\x04");
    let (status, shown) = terminal.end().await;
    assert!(status.success(), "{shown}");
    assert!(workspace.path().join("made").exists());
    server.assert_clean();
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_not_the_chat() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([Step::empty().text("Slow").stall(&gate), Step::say("Quick.")])).await;
    let machine = machine(&server, "ask");
    let mut terminal = Terminal::start(&machine, workspace.path(), &["chat", "go"]);
    terminal.wait_for("Slow").await;
    terminal.type_text("\x03");
    terminal.wait_for("interrupted").await;
    terminal.wait_for("> ").await;
    terminal.type_line("again");
    terminal.wait_for("Quick.").await;
    terminal.wait_for("> ").await;
    terminal.type_line("/exit");
    let (status, shown) = terminal.end().await;
    assert!(status.success(), "{shown}");
    server.assert_clean();
}

#[tokio::test]
async fn a_chat_needs_a_terminal() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let output = machine.command(machine.data().as_path(), &["chat"]).output().await.expect("it runs");
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        (output.status.code(), complaint.as_str()),
        (Some(1), "plimsoll: a chat needs a terminal\n  use `plimsoll ask` in scripts\n")
    );
}

#[tokio::test]
async fn shells_get_scripts_that_know_every_command() {
    let machine = Machine::new(plimsoll_tests::binary!());
    for shell in ["bash", "zsh", "fish"] {
        let output =
            machine.command(machine.data().as_path(), &["completions", shell]).output().await.expect("it runs");
        let script = String::from_utf8(output.stdout).expect("text");
        for word in ["ask", "chat", "sessions", "undo", "completions"] {
            assert!(output.status.success() && script.contains(word), "{shell}: {word}");
        }
    }
    // What bash makes of it: the script is sound, and gives words.
    let output = machine.command(machine.data().as_path(), &["completions", "bash"]).output().await.expect("it runs");
    let line = "COMP_WORDS=(plimsoll compl); COMP_CWORD=1; _plimsoll plimsoll compl plimsoll; echo \"${COMPREPLY[@]}\"";
    let script = format!("{}\n{line}\n", String::from_utf8_lossy(&output.stdout));
    let shell = tokio::process::Command::new("bash").args(["--norc", "-c", &script]).output().await.expect("bash");
    assert_eq!(
        String::from_utf8_lossy(&shell.stdout).trim(),
        "completions",
        "{}",
        String::from_utf8_lossy(&shell.stderr)
    );
}
