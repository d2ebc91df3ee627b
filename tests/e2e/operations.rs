//! Calls whose end was not seen: told with what is known, held back when they are proposed again, inspected, settled by the
//! user; and turns that go on with one that was cut.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Recorded, Script, Seen, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::session::TWO_PROCESSES;
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::{Output, Stdio};

over_both_apis! {
    a_cut_command_is_told_held_back_inspected_and_asked_about
    the_verdict_on_a_cut_edit_is_what_stands_on_the_disk
    a_turn_goes_on_with_one_that_was_cut
}

fn command(line: &str) -> Call {
    Call::new("run_terminal_cmd", json!({"command": line}))
}

fn inspect(call: &str) -> Call {
    Call::new("inspect_operation", json!({"operation_id": call}))
}

/// Starts the daemon again after it was killed; the new client follows the session after `seen`.
async fn back(daemon: &mut TestDaemon, client: Client, session: &str) -> (Client, u64) {
    daemon.kill9().await;
    client.closed().await;
    let seen = client.events().iter().filter_map(|event| event["seq"].as_u64()).max().unwrap_or(0);
    daemon.restart().await;
    let again = daemon.client().await;
    again.attach(session, seen).await;
    (again, seen)
}

/// What the harness told in the newest request of the model.
fn reminders(request: &Recorded) -> Vec<String> {
    let user =
        request.seen().into_iter().filter_map(|seen| if let Seen::User(text) = seen { Some(text) } else { None });
    user.filter(|text| text.contains("still open whether") || text.contains("The end of these calls was not seen"))
        .collect()
}

async fn list(client: &Client, session: &str, unsettled: Option<bool>) -> Vec<String> {
    let found = client.ok("operation/list", json!({"session": session, "unsettled": unsettled})).await;
    let line = |operation: &Value| {
        let verdict = operation["finding"]["verdict"].as_str().unwrap_or("-").to_owned();
        format!("{} {} {verdict} {}", text(&operation["call"]), text(&operation["state"]), operation["settled"])
    };
    found["operations"].as_array().expect("operations").iter().map(line).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}

async fn a_cut_command_is_told_held_back_inspected_and_asked_about(api: Api) {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let line = &format!("echo x >> counter; {TWO_PROCESSES}");
    let server = ModelServer::start(Script::new([
        Step::calls([command(line)]),
        Step::calls([command(line)]),
        Step::calls([inspect("c1"), inspect("c9")]),
        Step::calls([command(line)]),
        Step::say("I leave it."),
        Step::say("It is still not clear."),
        Step::say("Now it is."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "run it").await;
    let processes = client.running_processes().await;
    let (client, seen) = back(&mut daemon, client, &session).await;
    for process in processes {
        process.gone().await;
    }
    assert_eq!(client.completed(&session, 1).await["unsettled"], json!(["c1"]));
    assert_eq!(
        told(&client.events(), seen),
        ["c1 unknown", "notice crash", "meta unknownOperations", "turn 1 ends: crashed"]
    );
    assert_eq!(list(&client, &session, Some(true)).await, ["c1 unknown cannotTell false"]);

    // Proposed again it does not run; inspected it says what is known; proposed once more the user is asked, in full mode.
    client.start(&session, "go on").await;
    let ask = client.asked(&session).await;
    assert_eq!(ask["call"], "c5");
    let reason = text(&ask["reason"]);
    assert!(reason.contains("c1 (run_terminal_cmd echo x"), "{reason}");
    let kinds: Vec<String> = ask["options"].as_array().expect("options").iter().map(|one| text(&one["kind"])).collect();
    assert_eq!(kinds, ["allowOnce", "reject"]);
    let answer = json!({"session": session, "ask": ask["id"], "choice": "reject"});
    client.ok("permission/respond", answer).await;
    let end = client.completed(&session, 2).await;
    assert_eq!((&end["stopReason"], &end["unsettled"]), (&json!("endTurn"), &json!(["c1"])));
    assert_eq!(workspace.read("counter").as_deref(), Some("x\n"), "the effect happened once");
    let request = &server.requests()[4];
    assert_eq!(reminders(request).len(), 1, "the crash has told it");
    let results: Vec<String> = request.results().into_iter().map(|(_, text)| text).collect();
    let [cut, held, inspected, wrong, refused] = results.as_slice() else { panic!("{results:#?}") };
    assert!(cut.contains("its end was not seen") && cut.contains("unknown"), "{cut}");
    assert!(held.contains("Not run: it would do again what c1") && held.contains("`inspect_operation`"), "{held}");
    // A daemon that dies at once may have noted no process yet; that there was one is seen all the same.
    assert!(inspected.contains("does not run any more") || inspected.contains("it has begun"), "{inspected}");
    for words in ["Verdict: cannot tell", "Its log ", "processes ", "  counter", "does not settle it"] {
        assert!(inspected.contains(words), "{words:?} is not in {inspected}");
    }
    assert!(wrong.contains("no operation c9. Open are: c1 (run_terminal_cmd echo x"), "{wrong}");
    assert!(refused.contains("the user refused"), "{refused}");

    // As long as it is open it is told when a turn begins, and no longer.
    client.turn(&session, "and?").await;
    let told_model = reminders(&server.requests()[5]);
    assert!(told_model.len() == 2 && told_model[1].contains("still open"), "{told_model:#?}");
    let resolve = json!({"session": session, "call": "c1", "resolution": "accepted", "note": "I looked"});
    let settled = client.ok("operation/resolve", resolve.clone()).await;
    let finding = &settled["finding"];
    assert_eq!(
        (&finding["by"], &finding["note"], &settled["settled"]),
        (&json!("user"), &json!("I looked"), &json!(true))
    );
    assert_eq!(client.ok("operation/resolve", resolve).await, settled, "saying it twice changes nothing");
    let changed =
        |events: &[Value]| events.iter().any(|event| event["type"] == "operationChanged" && event["call"] == "c1");
    client.wait_events("the change", changed).await;
    let end = client.turn(&session, "and now?").await;
    assert_eq!((&end["unsettled"], reminders(&server.requests()[6]).len()), (&json!([]), 2));
    assert_eq!(list(&client, &session, Some(true)).await, Vec::<String>::new());
    assert_eq!(
        list(&client, &session, None).await,
        ["c5 denied - true", "c2 denied - true", "c1 unknown cannotTell true"]
    );
    server.assert_clean();
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}

async fn the_verdict_on_a_cut_edit_is_what_stands_on_the_disk(api: Api) {
    // Large, so that the daemon is likely to be killed in the middle of it.
    let rest = "0123456789abcde\n".repeat(1 << 20);
    let workspace = Workspace::new().file("a.txt", format!("old\n{rest}"));
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("read_file", json!({"target_file": "a.txt", "limit": 2}))]),
        Step::calls([Call::new(
            "string_replace",
            json!({"file_path": "a.txt", "old_string": "old\n", "new_string": "new\n"}),
        )]),
        Step::calls([inspect("c2")]),
        Step::say("I see."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "edit it").await;
    let runs = |event: &Value| event["type"] == "toolStarted" && event["call"] == "c2";
    client.wait_events("the edit", |events| events.iter().any(runs)).await;
    let (client, _) = back(&mut daemon, client, &session).await;
    client.completed(&session, 1).await;
    let content = workspace.read("a.txt").expect("a file");
    let (first, others) = content.split_once('\n').expect("lines");
    assert!(others == rest, "the file is whole, whatever has happened");
    let operation = &client.ok("operation/list", json!({"session": session})).await["operations"][0];
    // Killed behind its end, it has succeeded.
    if operation["state"] == "unknown" {
        let expected = if first == "new" { "applied" } else { "notApplied" };
        assert_eq!((&operation["finding"]["verdict"], &operation["settled"]), (&json!(expected), &json!(true)));
        assert_eq!(operation["finding"]["by"], "recovery");
    } else {
        assert_eq!((&operation["state"], first), (&json!("succeeded"), "new"));
    }
    assert_eq!(list(&client, &session, Some(true)).await, Vec::<String>::new());
    let end = client.turn(&session, "go on").await;
    assert_eq!((&end["stopReason"], &end["unsettled"]), (&json!("endTurn"), &json!([])));
    let results = server.requests().last().expect("a request").results();
    let inspected = &results.last().expect("a result").1;
    let stands = if first == "new" { "is as it was intended" } else { "is as it was before" };
    assert!(inspected.contains(stands), "{inspected}");
    server.assert_clean();
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}

async fn a_turn_goes_on_with_one_that_was_cut(api: Api) {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([
        Step::calls([command(TWO_PROCESSES)]),
        Step::say("I looked, and it is done."),
        Step::say("Hello."),
    ]))
    .await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let go_on = json!({"session": session, "idempotencyKey": "k1"});
    let nothing = client.err("turn/continue", go_on.clone()).await;
    assert_eq!(nothing["data"]["kind"], "conflict");
    client.start(&session, "run it").await;
    let busy = client.err("turn/continue", go_on.clone()).await;
    assert_eq!(busy["data"]["kind"], "conflict");
    client.running_processes().await;
    let (client, _) = back(&mut daemon, client, &session).await;
    client.completed(&session, 1).await;
    assert_eq!(client.ok("session/get", json!({"session": session})).await["state"], "interrupted");

    let accepted = client.ok("turn/continue", go_on.clone()).await;
    assert_eq!(accepted, json!({"turn": 2, "queued": false}));
    assert_eq!(client.completed(&session, 2).await["stopReason"], "endTurn");
    assert_eq!(client.ok("turn/continue", go_on).await, accepted, "the same key is the same turn");
    let page = client.ok("transcript/read", json!({"session": session})).await;
    let of_turn: Vec<&Value> =
        page["items"].as_array().expect("items").iter().filter(|item| item["turn"] == 2).collect();
    let kinds: Vec<(String, &Value)> = of_turn.iter().map(|item| (text(&item["kind"]), &item["cause"])).collect();
    assert_eq!(kinds, [("meta".to_owned(), &json!("goesOn")), ("assistant".to_owned(), &Value::Null)]);
    let last = server.requests()[1].last_user_text().expect("a text");
    assert!(last.contains("Plimsoll's daemon ended in the middle of it"), "{last}");

    let ended = client.err("turn/continue", json!({"session": session, "idempotencyKey": "k2"})).await;
    assert_eq!(ended["data"]["kind"], "conflict");
    assert!(text(&ended["message"]).contains("turn 2 was not cut"), "{ended}");
    assert_eq!(client.turn(&session, "hello").await["stopReason"], "endTurn");
    server.assert_clean();
    assert_grows(&server);
    assert_replayed(&mut daemon, &server).await;
}

/// A field of a process's line in the table of processes, counted from its state on.
fn process(pid: u32, field: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(field).map(str::to_owned)
}

fn lives(pid: u32) -> bool {
    process(pid, 0).is_some_and(|state| state != "Z" && state != "X")
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process number")).expect("not 0");
    kill_process(pid, signal).expect("it is ours");
}

#[tokio::test]
async fn an_orphan_whose_helper_was_killed_too_has_ended_when_the_verdict_is_told() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([Step::calls([command(TWO_PROCESSES)]), Step::say("I see.")])).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let mut daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "run it").await;
    drop(client.running_processes().await);
    let printed: String = client
        .events()
        .iter()
        .filter(|event| event["type"] == "toolOutput")
        .map(|event| text(&event["text"]))
        .collect();
    let processes: Vec<u32> = printed.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [shell, child] = processes.as_slice() else { panic!("two processes: {printed}") };
    let helper: u32 = process(*shell, 1).and_then(|parent| parent.parse().ok()).expect("a parent");
    // Stopped, the daemon does not see that the helper is gone, so that nobody ends what it started.
    signal(daemon.pid(), Signal::STOP);
    signal(helper, Signal::KILL);
    daemon.kill9().await;
    assert!(lives(*shell) && lives(*child));
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    assert_eq!(client.completed(&session, 1).await["unsettled"], json!(["c1"]));
    assert!(!lives(*shell) && !lives(*child), "what runs on is ended before anything is said of it");
    client.turn(&session, "go on").await;
    server.assert_clean();
}

async fn run(machine: &Machine, workspace: &Workspace, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = machine.command(workspace.path(), arguments);
    command.stdin(Stdio::null());
    let output: Output = in_time("the command", command.output()).await.expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn the_commands_list_inspect_settle_and_go_on() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([
        Step::calls([command(TWO_PROCESSES)]),
        Step::say("I looked, and it is done."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let mut daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "run it").await;
    client.running_processes().await;
    let (client, _) = back(&mut daemon, client, &session).await;
    client.completed(&session, 1).await;
    let machine = daemon.machine();

    let line = format!("c1    run_terminal_cmd {TWO_PROCESSES}  [end not seen: cannot tell; open]\n");
    let (code, listed, notes) = run(machine, &workspace, &["ops"]).await;
    assert_eq!((code, listed), (Some(0), line.clone()));
    assert!(notes.contains("1 is open: `plimsoll ops inspect CALL`"), "{notes}");
    let (code, inspected, _) = run(machine, &workspace, &["ops", "inspect", "c1"]).await;
    assert_eq!((code, inspected), (Some(0), line));
    let (code, _, error) = run(machine, &workspace, &["ops", "inspect", "c7"]).await;
    assert_eq!(code, Some(1));
    assert!(error.contains("no operation c7") && error.contains("open are c1"), "{error}");

    let (code, answer, notes) = run(machine, &workspace, &["ask", "--session", &session, "--continue"]).await;
    assert_eq!((code, answer.trim()), (Some(0), "I looked, and it is done."), "{notes}");
    let (code, _, error) = run(machine, &workspace, &["ask", "--session", &session, "--continue"]).await;
    assert_eq!(code, Some(1));
    assert!(error.contains("turn 2 was not cut"), "{error}");

    let resolve = ["ops", "resolve", "c1", "not-applied", "--note", "I looked", "--json"];
    let (code, settled, error) = run(machine, &workspace, &resolve).await;
    assert_eq!(code, Some(0), "{error}");
    let settled: Value = serde_json::from_str(&settled).expect("JSON");
    assert_eq!((&settled["finding"]["verdict"], &settled["settled"]), (&json!("notApplied"), &json!(true)));
    let (code, _, error) = run(machine, &workspace, &["ops", "resolve", "c1", "applied"]).await;
    assert_eq!(code, Some(1));
    assert!(error.contains("operation c1 is not open: not applied, as the user says (I looked)"), "{error}");
    let (_, listed, notes) = run(machine, &workspace, &["ops", &session, "--all"]).await;
    let line = format!(
        "c1    run_terminal_cmd {TWO_PROCESSES}  [end not seen: not applied, taken so by you]\n      I looked\n"
    );
    assert_eq!((listed, notes), (line, String::new()));
}
