//! The project's tests, run by the tool that is for them: what they said and of which revision, what voids that, and who must
//! allow it.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::assert_replayed;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

over_both_apis! { a_result_speaks_of_the_revision_that_the_tests_ran_on }

const TEST: &str = "import unittest\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
                    self.assertEqual(add(1, 2), 3)\n\n    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n";
const WRONG: &str = "def add(a, b):\n    return a - b\n";

/// Waits until something is written into `gate`, so that a test can act while it runs.
const GATED: &str = "test:\n\t@echo begun\n\t@read line < gate && echo 1..1 && echo ok\n";

fn run_tests(target: Option<&str>) -> Step {
    Step::calls([Call::new("run_tests", target.map_or(json!({}), |target| json!({"target": target})))])
}

fn replace(path: &str, old: &str, new: &str) -> Step {
    Step::calls([Call::new("string_replace", json!({"file_path": path, "old_string": old, "new_string": new}))])
}

fn read(path: &str) -> Step {
    Step::calls([Call::new("read_file", json!({"target_file": path}))])
}

async fn begin(api: Api, mode: &str, more: &str, steps: Vec<Step>) -> (TestDaemon, ModelServer) {
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, api, mode);
    let file = machine.config().join("config.toml");
    let text = fs::read_to_string(&file).expect("a configuration");
    (machine.configure(&format!("{text}{more}\n")).daemon().await, server)
}

/// The results of the tool among the client's events, in order.
fn results(client: &Client) -> Vec<Value> {
    let items = client.events().into_iter().filter(|event| event["item"]["kind"] == "toolResult");
    items.map(|event| event["item"].clone()).filter(|item| item["tool"] == "run_tests").collect()
}

fn last(client: &Client) -> Value {
    results(client).pop().expect("a result of run_tests")
}

/// Numbers of a result's report.
fn counts(result: &Value) -> [u64; 4] {
    ["run", "passed", "failed", "skipped"].map(|name| result["data"]["report"][name].as_u64().expect("a number"))
}

fn revision(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.strip_prefix('r')).and_then(|no| no.parse().ok()).expect("a revision")
}

fn asked(client: &Client) -> usize {
    client.events().iter().filter(|event| event["type"] == "permissionAsked").count()
}

/// A project whose tests wait for the gate.
fn gated() -> Workspace {
    let workspace = Workspace::new().file("Makefile", GATED).file("a.txt", "one\n").file(".gitignore", "gate\n").git();
    let made = std::process::Command::new("mkfifo").arg(workspace.path().join("gate")).status();
    assert!(made.expect("mkfifo runs").success());
    workspace
}

/// Waits until the tests of a gated project run.
async fn begun(client: &Client) {
    let output = |event: &Value| {
        event["type"] == "toolOutput" && event["text"].as_str().is_some_and(|text| text.contains("begun"))
    };
    client.wait_events("the tests' output", |events| events.iter().any(output)).await;
}

async fn open_gate(workspace: &Workspace) {
    let gate = workspace.path().join("gate");
    let open = tokio::task::spawn_blocking(move || fs::write(gate, "go\n"));
    in_time("the gate", open).await.expect("no panic").expect("the tests wait at it");
}

async fn a_result_speaks_of_the_revision_that_the_tests_ran_on(api: Api) {
    let workspace = Workspace::new().file("calc.py", WRONG).file("test_calc.py", TEST).git();
    let steps = vec![
        run_tests(None),
        read("calc.py"),
        replace("calc.py", "a - b", "a + b"),
        run_tests(None),
        Step::say("Mended."),
        replace("calc.py", "a + b", "b + a"),
        Step::say("Nicer."),
        run_tests(Some("test_zero")),
        Step::say("Looked."),
    ];
    let (mut daemon, server) = begin(api, "full", "", steps).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let ended = client.turn(&session, "mend add").await;
    let [failed, passed]: [Value; 2] = results(&client).try_into().expect("two results");
    assert_eq!((&failed["status"], counts(&failed)), (&json!("failed"), [2, 1, 1, 0]));
    assert_eq!(failed["data"]["run"]["command"], "python3 -m unittest discover");
    let failure = &failed["data"]["report"]["failures"][0];
    assert_eq!(failure, &json!({"name": "test_calc.Calc.test_add", "message": "AssertionError: -1 != 3"}));
    assert_eq!((&passed["status"], counts(&passed)), (&json!("ok"), [2, 2, 0, 0]));
    // A run leaves no bytecode behind.
    assert_eq!((&failed["data"]["own"], &failed["data"]["after"]), (&json!([]), &failed["data"]["before"]));
    assert_eq!((&failed["data"]["void"], &passed["data"]["void"]), (&Value::Null, &Value::Null));
    assert!(revision(&failed["data"]["after"]) < revision(&passed["data"]["before"]));
    let file = format!("{}/calc.py", workspace.text());
    assert_eq!(ended["files"], json!([file]));
    assert_eq!(
        ended["verification"],
        json!({"call": passed["call"], "passed": true, "revision": passed["data"]["after"], "current": true})
    );
    let text = failed["text"].as_str().expect("a text");
    assert!(
        text.contains("1 passed, 1 failed") && text.contains("- test_calc.Calc.test_add\n    AssertionError: -1 != 3"),
        "{text}"
    );

    // A later edit is not what was tested, also after a restart.
    daemon.stop().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client
        .attach(&session, client.ok("session/get", json!({"session": session})).await["lastSeq"].as_u64().unwrap())
        .await;
    let ended = client.turn(&session, "make it nicer").await;
    assert_eq!(ended["files"], json!([file]));
    assert_eq!((&ended["verification"]["passed"], &ended["verification"]["current"]), (&json!(true), &json!(false)));

    let ended = client.turn(&session, "look again").await;
    assert_eq!((&ended["files"], &ended["verification"]["current"]), (&Value::Null, &json!(true)));
    assert_eq!(ended["verification"]["partial"], true);
    let one = last(&client);
    assert_eq!((counts(&one), &one["data"]["target"]), ([1, 1, 0, 0], &json!("test_zero")));
    server.assert_clean();
    assert_replayed(&mut daemon, &server).await;
}

#[tokio::test]
async fn what_python_compiled_of_an_earlier_content_is_not_tested() {
    // Into a file: not every runner shows what is printed.
    let kept = tempfile::NamedTempFile::new().expect("a file");
    let path = kept.path().to_str().expect("a text");
    let printed = format!("import sys\nwith open({path:?}, 'w') as kept:\n    kept.write(sys.pycache_prefix)\n{TEST}");
    let workspace = Workspace::new().file("calc.py", WRONG).file("test_calc.py", &printed).git();
    let stamped = || {
        let file = fs::File::options().append(true).open(workspace.path().join("calc.py")).expect("the file");
        let second = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        file.set_modified(second).expect("a time of change");
    };
    stamped();
    let mut compile = std::process::Command::new("python3");
    compile
        .args(["-c", "import py_compile; py_compile.compile('calc.py', doraise=True)"])
        .current_dir(workspace.path());
    compile.env_remove("PYTHONPYCACHEPREFIX").env_remove("PYTHONDONTWRITEBYTECODE");
    assert!(compile.status().expect("python runs").success());
    let names = |folder: &str| {
        let entries = fs::read_dir(workspace.path().join(folder)).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    let compiled = names("__pycache__");
    assert_eq!(compiled.len(), 1);
    // As large as before, and of the same second.
    workspace.write("calc.py", WRONG.replace('-', "+"));
    stamped();
    let (daemon, server) = begin(Api::OpenaiChat, "full", "", vec![run_tests(None), Step::say("Good.")]).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "test it").await;
    let result = last(&client);
    assert_eq!((&result["status"], counts(&result)), (&json!("ok"), [2, 2, 0, 0]), "{result}");
    assert_eq!(names("__pycache__"), compiled);
    let folder = fs::read_to_string(kept.path()).expect("the folder");
    let folder = std::path::Path::new(&folder);
    assert!(folder.is_absolute() && !folder.exists(), "{folder:?}");
    server.assert_clean();
}

#[tokio::test]
async fn a_change_by_somebody_else_voids_the_result() {
    let workspace = gated();
    let steps = vec![run_tests(None), Step::say("Hm."), run_tests(None), Step::say("Good.")];
    let (daemon, server) = begin(Api::OpenaiChat, "full", "", steps).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "test it").await;
    begun(&client).await;
    workspace.write("a.txt", "two\n");
    open_gate(&workspace).await;
    let ended = client.completed(&session, turn).await;
    let void = last(&client);
    assert_eq!((&void["status"], &void["data"]["foreign"]), (&json!("ok"), &json!(["a.txt"])));
    let said = void["data"]["void"].as_str().expect("it is void");
    assert!(said.starts_with("a.txt changed while it ran"), "{said}");
    assert!(void["text"].as_str().expect("a text").contains("void"), "{void}");
    let verified = |ended: &Value| [ended["verification"]["passed"].clone(), ended["verification"]["current"].clone()];
    assert_eq!(verified(&ended), [json!(false), json!(false)]);

    client.forget_events();
    let turn = client.start(&session, "once more").await;
    begun(&client).await;
    open_gate(&workspace).await;
    let ended = client.completed(&session, turn).await;
    assert_eq!((last(&client)["data"]["void"].clone(), verified(&ended)), (Value::Null, [json!(true), json!(true)]));
    server.assert_clean();
}

#[tokio::test]
async fn another_sessions_new_file_voids_the_result_too() {
    let workspace = gated();
    // The tests run while the other session asks its model.
    let write = Step::calls([Call::new("write", json!({"file_path": "new.txt", "contents": "new\n"}))]);
    let steps = vec![run_tests(None), write, Step::say("Added."), Step::say("Hm.")];
    let (daemon, server) = begin(Api::OpenaiChat, "full", "", steps).await;
    let client = daemon.client().await;
    let (testing, writing) = (client.session(&workspace).await, client.session(&workspace).await);
    let turn = client.start(&testing, "test it").await;
    begun(&client).await;
    client.turn(&writing, "add a file").await;
    open_gate(&workspace).await;
    client.completed(&testing, turn).await;
    assert_eq!(last(&client)["data"]["foreign"], json!(["new.txt"]));
    server.assert_clean();
}

#[tokio::test]
async fn project_code_asks_until_the_project_is_trusted() {
    let workspace = Workspace::new()
        .file(".plimsoll/config.toml", "[tests]\ncommand = \"sh check.sh {target}\"\n")
        .file("check.sh", "echo checked \"$@\"\n");
    let steps = vec![run_tests(None), Step::say("Done."), run_tests(Some("a b")), Step::say("Done.")];
    // A blank cheque of the user's is not for a project that he does not trust.
    let (daemon, server) = begin(Api::OpenaiChat, "auto", "allow = [\"run_tests\"]", steps).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "test it").await;
    let ask = client.asked(&session).await;
    assert_eq!(ask["command"], "sh check.sh");
    let reason = ask["reason"].as_str().expect("a reason");
    assert!(reason.contains("the project is not trusted"), "{reason}");
    client.ok("permission/respond", json!({"session": session, "ask": ask["id"], "choice": "allowOnce"})).await;
    client.completed(&session, turn).await;
    assert_eq!(last(&client)["data"]["run"]["output"]["head"], "checked\n");
    assert_eq!(last(&client)["data"]["report"], Value::Null);

    let project = client.ok("project/open", json!({"roots": [workspace.text()]})).await;
    client.ok("project/trust", json!({"project": project["key"], "trusted": true})).await;
    client.turn(&session, "test a part").await;
    assert_eq!(asked(&client), 1);
    assert_eq!(last(&client)["data"]["run"]["output"]["head"], "checked a b\n");
    server.assert_clean();
}

#[tokio::test]
async fn what_rules_say_of_the_command_holds_and_a_project_without_tests_is_told_so() {
    let workspace = Workspace::new().file("m/Makefile", "test:\n\ttouch ran\n").file("a.txt", "x\n");
    let steps = vec![run_tests(Some("m")), run_tests(None), run_tests(Some("m/Makefile")), Step::say("I see.")];
    let (daemon, server) = begin(Api::OpenaiChat, "full", "deny = [\"run_terminal_cmd(make)\"]", steps).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let ended = client.turn(&session, "test it").await;
    let [denied, nothing, refused]: [Value; 3] = results(&client).try_into().expect("three results");
    let text = |result: &Value| result["text"].as_str().expect("a text").to_owned();
    assert_eq!(denied["status"], "denied");
    assert!(text(&denied).contains("`run_terminal_cmd(make)` denies it"), "{denied}");
    assert_eq!((&nothing["status"], workspace.read("m/ran")), (&json!("failed"), None));
    assert!(text(&nothing).contains(".plimsoll/config.toml: `[tests]`, `command = "), "{nothing}");
    assert!(text(&refused).contains("takes no target"), "{refused}");
    assert_eq!(ended["verification"], Value::Null);
    server.assert_clean();
}

#[tokio::test]
async fn an_interrupt_ends_the_tests_and_leaves_what_was_known() {
    let workspace = gated();
    let steps = vec![run_tests(None), Step::say("Good."), run_tests(None), Step::say("Never mind.")];
    let (daemon, server) = begin(Api::OpenaiChat, "full", "", steps).await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let turn = client.start(&session, "test it").await;
    begun(&client).await;
    open_gate(&workspace).await;
    let known = client.completed(&session, turn).await["verification"].take();
    assert_eq!(known["passed"], true);
    client.forget_events();
    let turn = client.start(&session, "again").await;
    begun(&client).await;
    client.ok("turn/cancel", json!({"session": session})).await;
    let ended = client.completed(&session, turn).await;
    let cut = last(&client);
    assert_eq!((&cut["status"], &cut["data"]["run"]["exit"]["type"]), (&json!("cancelled"), &json!("cancelled")));
    assert_eq!((&ended["stopReason"], &ended["verification"]), (&json!("cancelled"), &known));
    assert_eq!(client.turn(&session, "never mind").await["stopReason"], "endTurn");
    server.assert_clean();
}

#[tokio::test]
async fn runners_that_are_here_are_run_and_understood() {
    let here = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    let mut cases = vec![(
        "make",
        Workspace::new()
            .file("Makefile", "check:\n\t@echo TAP version 13; echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1\n"),
        [2, 1, 1, 0],
    )];
    if here("node") {
        let test = "const {test} = require('node:test');\ntest('a', () => {});\ntest('b', () => { throw new Error('no'); });\n\
                    test('c', {skip: true}, () => {});\n";
        cases.push(("node --test", Workspace::new().file("package.json", "{}").file("x.test.js", test), [2, 1, 1, 1]));
    }
    for (name, workspace, expected) in cases {
        let (daemon, server) = begin(Api::OpenaiChat, "full", "", vec![run_tests(None), Step::say("Done.")]).await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        client.turn(&session, "test it").await;
        let result = last(&client);
        assert_eq!((&result["status"], counts(&result)), (&json!("failed"), expected), "{name}: {result}");
        assert_eq!(result["data"]["report"]["failures"][0]["name"], "b", "{name}");
        server.assert_clean();
    }
}

#[tokio::test]
async fn ask_says_at_the_end_what_changed_and_whether_it_was_tested() {
    let workspace = Workspace::new().file("calc.py", WRONG).file("test_calc.py", TEST).git();
    let steps = vec![read("calc.py"), replace("calc.py", "a - b", "a + b"), run_tests(None), Step::say("Mended.")];
    let server = ModelServer::start(Script::new(steps)).await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    let mut command = machine.command(workspace.path(), &["ask", "mend add"]);
    command.stdin(Stdio::null());
    let output = in_time("the command", command.output()).await.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("1 file changed · tests passed at r"), "{said}");
    assert!(said.contains(", nothing has changed since"), "{said}");
    server.assert_clean();
}
