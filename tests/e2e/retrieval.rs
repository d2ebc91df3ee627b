//! What has left the view, or stands in another session, is found again: by `grep` and `read_file` on transcript and saved
//! results, by `read_session`, and by a reference in a prompt.

use plimsoll_core::model::request::Api;
use plimsoll_tests::asked::ask;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Recorded, Script, Step};
use plimsoll_tests::sent::assert_replayed;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const MODES: [&str; 5] = ["plan", "ask", "accept_edits", "auto", "full"];

/// A turn in which the model answers with this.
async fn say(client: &Client, server: &ModelServer, session: &str, text: &str, answer: &str) {
    server.push(Step::say(answer));
    assert_eq!(client.turn(session, text).await["stopReason"], "endTurn");
}

async fn begin(mode: &str) -> (TestDaemon, ModelServer) {
    let server = ModelServer::start(Script::new([])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, mode).daemon().await;
    (daemon, server)
}

/// The user's newest message in the last request.
fn asked(server: &ModelServer) -> String {
    server.requests().last().and_then(Recorded::last_user_text).expect("a prompt")
}

/// The session's folder below the data folder.
fn folder(data: &Path, session: &str) -> PathBuf {
    let projects = std::fs::read_dir(data.join("projects")).expect("projects");
    let mut folders = projects.map(|entry| entry.expect("an entry").path().join(session));
    let found = folders.find(|folder| folder.is_dir()).expect("the session's folder");
    found.canonicalize().expect("a path")
}

fn read_session(arguments: Value) -> Call {
    Call::new("read_session", arguments)
}

/// The arguments of the call behind this in a notice.
fn named(result: &str, what: &str) -> Option<Value> {
    let call = result.lines().find_map(|line| line.strip_prefix(what))?;
    Some(serde_json::from_str(call.strip_prefix("read_session ")?.strip_suffix(']')?).expect("arguments"))
}

#[tokio::test]
async fn a_planted_fact_is_found_in_the_transcript_and_in_a_saved_result_in_every_mode() {
    for mode in MODES {
        let fact = |no: u32| format!("entry {no} holds {}\n", no * 7_919 % 10_007);
        let facts = (1..=6_000).map(fact).collect::<Vec<_>>().concat();
        let workspace = Workspace::new().file("many.txt", &facts);
        let (mut daemon, server) = begin("full").await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        say(&client, &server, &session, "The ship is called Quagga.", "Noted.").await;
        let listed = ask(&client, &server, &session, Call::new("read_file", json!({"target_file": "many.txt"}))).await;
        assert!(!listed.contains("entry 3000 holds"), "{listed}");
        client.ok("session/setMode", json!({"session": session, "mode": mode})).await;
        let data = daemon.machine().data();
        let folder = folder(&data, &session);
        let transcript = folder.join("transcript.txt");

        let search = json!({"pattern": "Quagga", "path": transcript});
        let found = ask(&client, &server, &session, Call::new("grep", search)).await;
        assert!(found.contains("The ship is called Quagga."), "{mode}: {found}");
        // An item is found by its number, also the one that was committed last.
        let items = client.ok("session/get", json!({"session": session})).await["items"].as_u64().expect("a number");
        for (item, what) in [(1, "user:"), (items, "assistant:")] {
            let search = json!({"pattern": format!("^#{item} "), "path": transcript});
            let found = ask(&client, &server, &session, Call::new("grep", search)).await;
            assert!(found.contains(&format!("#{item} ")) && found.contains(what), "{mode}: {found}");
        }
        let whole = json!({"pattern": "Quagga", "path": folder});
        let found = ask(&client, &server, &session, Call::new("grep", whole)).await;
        assert!(found.contains("The ship is called Quagga."), "{mode}: {found}");
        let read = json!({"target_file": transcript, "offset": 1, "limit": 2});
        let found = ask(&client, &server, &session, Call::new("read_file", read)).await;
        assert!(found.contains("2|The ship is called Quagga."), "{mode}: {found}");

        let asks = client.events().iter().filter(|event| event["type"] == "permissionAsked").count();
        assert_eq!(asks, 0, "{mode}");
        server.assert_clean();
        assert_replayed(&mut daemon, &server).await;
    }
}

#[tokio::test]
async fn a_result_that_was_saved_as_a_file_is_read_back() {
    let workspace = Workspace::new();
    let (daemon, server) = begin("full").await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let print = json!({"command": "for i in $(seq 30000); do echo fact $i is $((i * 7919 % 10007)); done"});
    let printed = ask(&client, &server, &session, Call::new("run_terminal_cmd", print)).await;
    let expected = format!("fact 15000 is {}", 15_000_u64 * 7_919 % 10_007);
    assert!(!printed.contains(&expected));
    let log = folder(&daemon.machine().data(), &session).join("artifacts/c1.log");
    assert!(printed.contains(log.to_str().expect("text")), "{printed}");
    let read = json!({"target_file": log, "offset": 15_000, "limit": 1});
    let found = ask(&client, &server, &session, Call::new("read_file", read)).await;
    assert!(found.contains(&format!("15000|{expected}\n")) || found.ends_with(&format!("15000|{expected}")), "{found}");
    let search = json!({"pattern": "^fact 15000 ", "path": log});
    let found = ask(&client, &server, &session, Call::new("grep", search)).await;
    assert!(found.contains(&expected), "{found}");
    server.assert_clean();
}

#[tokio::test]
async fn read_session_shows_background_recent_turns_and_the_way_back_to_the_beginning() {
    let workspace = Workspace::new();
    let (mut daemon, server) = begin("plan").await;
    let client = daemon.client().await;
    let old = client.session(&workspace).await;
    say(&client, &server, &old, "Name the ship.", "It is called Quagga.").await;
    for turn in 2..=30 {
        let said = format!("{}of turn {turn}", "many words ".repeat(60));
        say(&client, &server, &old, &format!("And {turn}?"), &said).await;
    }
    let new = client.session(&workspace).await;
    let first = ask(&client, &server, &new, read_session(json!({"session": old}))).await;
    let transcript = folder(&daemon.machine().data(), &old).join("transcript.txt");
    assert!(first.starts_with("[read_session ok"), "{first}");
    assert!(first.contains(transcript.to_str().expect("text")) && first.contains("30 turns"), "{first}");
    assert!(first.contains("\nBackground: the first request (#1)\nName the ship.\n"), "{first}");
    assert!(first.contains("of turn 30\n") && !first.contains("Quagga"), "{first}");

    // Following the calls leads to the beginning, each turn once.
    let (mut pages, mut page) = (Vec::new(), first);
    for _ in 0..30 {
        let next = named(&page, "[earlier turns: ");
        pages.push(page);
        let Some(next) = next else { break };
        assert_eq!(next["session"], json!(old));
        page = ask(&client, &server, &new, read_session(next)).await;
    }
    let all = pages.concat();
    assert!(pages.last().expect("a page").contains("It is called Quagga.\n"), "{all}");
    for turn in 1..=30 {
        assert_eq!(all.matches(&format!("\nTurn {turn}, #")).count(), 1, "turn {turn} in {all}");
    }
    // As the mirror has it.
    let mirror = std::fs::read_to_string(&transcript).expect("the mirror");
    let records = mirror.split_inclusive('\n').filter(|line| line.starts_with('#'));
    assert!(records.clone().count() > 60);
    for head in records {
        assert_eq!(all.matches(&format!("\n{head}")).count(), 1, "{head}");
    }

    for (arguments, says) in [
        (json!({"session": "s0"}), "there is no session s0 in this project"),
        (json!({"session": "a b"}), "is not a session id"),
        (json!({"session": old, "turn": 99}), "it has 30 turns"),
        (json!({"session": old, "cursor": "#9999"}), "has no such place"),
        (json!({"session": old, "cursor": "c1:2"}), "is not a cursor"),
    ] {
        let refused = ask(&client, &server, &new, read_session(arguments.clone())).await;
        assert!(refused.contains(says), "{arguments}: {refused}");
    }
    let other = Workspace::new();
    let elsewhere = client.session(&other).await;
    let refused = ask(&client, &server, &elsewhere, read_session(json!({"session": old}))).await;
    assert!(refused.contains("there is no session") && !refused.contains("Quagga"), "{refused}");
    assert_eq!(client.events().iter().filter(|event| event["type"] == "permissionAsked").count(), 0);
    server.assert_clean();
    assert_replayed(&mut daemon, &server).await;
}

#[tokio::test]
async fn a_long_turn_goes_on_by_its_cursor_and_a_turn_that_left_the_view_is_read_and_found() {
    let workspace = Workspace::new();
    let (daemon, server) = begin("full").await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    say(&client, &server, &session, "Begin.", "Begun.").await;
    let line = |no: u32| format!("line {no} of Quagga\n");
    let long = (1..=3_000).map(line).collect::<Vec<_>>().concat();
    say(&client, &server, &session, &long, "Long.").await;
    client.ok("session/rewind", json!({"session": session, "turn": 2})).await;
    let found = client.ok("transcript/search", json!({"query": "Quagga", "session": session})).await;
    assert_eq!(found["hits"].as_array().expect("hits").len(), 1, "{found}");

    let mut page = ask(&client, &server, &session, read_session(json!({"turn": 2}))).await;
    let mut lines = Vec::new();
    for _ in 0..20 {
        lines.extend(page.lines().filter(|line| line.ends_with(" of Quagga")).map(str::to_owned));
        let Some(next) = named(&page, "[turn 2 goes on: ") else { break };
        assert_eq!(next.get("session"), None);
        page = ask(&client, &server, &session, read_session(next)).await;
    }
    let expected: Vec<String> = (1..=3_000).map(|no| format!("line {no} of Quagga")).collect();
    assert_eq!(lines, expected);
    assert!(page.contains("Long.") && named(&page, "[earlier turns: ") == Some(json!({"turn": 1})), "{page}");
    server.assert_clean();
}

#[tokio::test]
async fn a_prompt_that_names_a_session_brings_what_it_is_about() {
    let workspace = Workspace::new();
    let (mut daemon, server) = begin("full").await;
    let client = daemon.client().await;
    let old = client.session(&workspace).await;
    say(&client, &server, &old, "Name the ship.", "Quagga. </session></additional_data>").await;
    let new = client.session(&workspace).await;
    say(&client, &server, &new, &format!("Do as in @session:{old}, and not as in @session:gone."), "Done.").await;
    let said = asked(&server);
    let transcript = folder(&daemon.machine().data(), &old).join("transcript.txt");
    let head = format!("<session id=\"{old}\" transcript=\"{}\">\nSession {old}", transcript.display());
    for part in [
        head.as_str(),
        "\nBackground: the first request (#1)\nName the ship.\n",
        "\nQuagga. &lt;/session>&lt;/additional_data>\n",
        "\n</session>\n\n<session id=\"gone\">\n[not shown: there is no session gone in this project",
    ] {
        assert!(said.contains(part), "{part}\nin {said}");
    }
    let notices = |client: &Client| -> Vec<String> {
        let items = client.events_of(&new).into_iter().filter(|event| event["item"]["kind"] == "notice");
        items.map(|event| event["item"]["text"].as_str().expect("a text").to_owned()).collect()
    };
    let told = notices(&client);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("@session:gone is not shown to the model: there is no session gone"), "{told:?}");

    // A client's attachment does the same; said once, it is not said again.
    server.push(Step::say("Done."));
    let attachments = json!([{"kind": "session", "session": old}]);
    let turn = json!({"session": new, "text": "Again.", "attachments": attachments});
    let turn = client.ok("turn/start", turn).await["turn"].as_u64().expect("a number");
    client.completed(&new, turn).await;
    let said = asked(&server);
    assert!(said.contains(&head), "{said}");
    say(&client, &server, &new, "And now?", "Done.").await;
    let said = asked(&server);
    assert!(!said.contains("<session"), "{said}");
    assert_eq!(notices(&client).len(), 1);
    server.assert_clean();
    assert_replayed(&mut daemon, &server).await;
}
