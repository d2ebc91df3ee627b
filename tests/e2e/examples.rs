//! The examples of the reference are true: each request of `protocol/README.md` is sent to a real daemon, and what is
//! answered is what the example shows, by the schema and in shape.
//!
//! `protocol/examples.json` says in which world a method's example runs. In requests, the names that the reference uses
//! throughout stand for what the world has: see [`World::real`].

use futures_util::StreamExt as _;
use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Step};
use plimsoll_tests::schema::{Schema, repository};
use plimsoll_tests::session::TWO_PROCESSES;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Map, Value, json};

/// The worlds, for the message of a failure.
const WORLDS: &str = "`new` (a workspace with Makefile and a.rs), `session` (its project is open, a session is attached), \
    `talked` (a turn has ended), `turn` (a turn runs), `ask` (a turn waits for a1, the command of c1), `worked` (turn 1 has \
    read, run a command that is granted for ever, written new.rs by c3, kept the memory m1, a todo list and a task), `cut` (the daemon \
    was killed while the command of c1 ran, and is back)";

/// A machine in the state that an example needs.
struct World {
    daemon: TestDaemon,
    client: Client,
    workspace: Workspace,
    project: Value,
    session: Value,
    subscription: Value,
    /// The session as an export.
    export: Value,
    /// What the first call showed.
    evidence: Value,
    /// Where the project could be moved to.
    elsewhere: Workspace,
    // These live as long as the turn runs.
    _server: ModelServer,
    _gate: Gate,
}

fn call(tool: &str, arguments: Value) -> Call {
    Call::new(tool, arguments)
}

/// What the model says in a world.
fn script(world: &str, gate: &Gate) -> Vec<Step> {
    match world {
        // Examples that start a turn leave it there.
        "new" | "session" | "turn" => vec![Step::empty().text("Let me see. ").stall(gate)],
        "talked" => vec![Step::say("Hello.")],
        "cut" => vec![
            Step::calls([call("run_terminal_cmd", json!({"command": TWO_PROCESSES}))]),
            Step::empty().text("Let me see. ").stall(gate),
        ],
        "ask" => vec![Step::calls([call("run_terminal_cmd", json!({"command": "make"}))])],
        "worked" => vec![
            Step::calls([call("read_file", json!({"target_file": "a.rs"}))]),
            Step::calls([call("run_terminal_cmd", json!({"command": "make"}))]),
            Step::calls([call("write", json!({"file_path": "new.rs", "contents": "fn new() {}\n"}))]),
            Step::calls([call("update_memory", json!({"action": "create", "title": "Use pnpm"}))]),
            Step::calls([call(
                "todo_write",
                json!({"merge": false, "todos": [{"id": "1", "content": "Fix the parser", "status": "in_progress"}]}),
            )]),
            Step::calls([call(
                "update_task",
                json!({"goal": "Fix the parser", "constraints": [{"quote": "Fix the parser"}], "phase": "implement"}),
            )]),
            Step::say("Done."),
        ],
        other => panic!("there is no world `{other}`; there are {WORLDS}"),
    }
}

impl World {
    async fn prepare(name: &str) -> Self {
        let lines = (1..=30).map(|no| format!("// line {no}")).collect::<Vec<_>>().join("\n") + "\n";
        let workspace = Workspace::new()
            .file("Makefile", "all:\n\ttrue\n")
            .file("a.rs", lines)
            .file("AGENTS.md", "Use tabs.\n")
            .file(
                ".plimsoll/rules/sql.md",
                "---\ndescription: How queries are written\nglobs: \"*.sql\"\n---\nUpper case.\n",
            )
            .file(".plimsoll/skills/release/SKILL.md", "---\ndescription: How a release is made\n---\nTag it.\n")
            .git();
        let gate = Gate::new();
        let server = ModelServer::start(Script::new(script(name, &gate))).await;
        let machine = Machine::new(plimsoll_tests::binary!()).env("ANTHROPIC_API_KEY", "sk-of-a-test");
        let daemon = machine.model(&server, Api::OpenaiChat, "ask").daemon().await;
        let client = daemon.client().await;
        let mut world = Self {
            daemon,
            client,
            workspace,
            project: Value::Null,
            session: Value::Null,
            subscription: Value::Null,
            export: Value::Null,
            evidence: Value::Null,
            elsewhere: Workspace::new(),
            _server: server,
            _gate: gate,
        };
        if name != "new" {
            world.open().await;
        }
        let session = world.session.as_str().unwrap_or_default().to_owned();
        match name {
            "talked" => drop(world.client.turn(&session, "hello").await),
            "turn" => {
                world.client.start(&session, "Fix the build").await;
                let writes = |event: &Value| event["type"] == "textDelta";
                world.client.wait_events("a piece of text", |events| events.iter().any(writes)).await;
            }
            "ask" => {
                world.client.start(&session, "Fix the build").await;
                world.client.asked(&session).await;
            }
            "worked" => {
                world.work(&session).await;
                let events = world.client.events();
                let first = events.iter().find(|event| event["item"]["kind"] == "toolResult").expect("a result");
                let revision = first["item"]["revision"].as_str().expect("a revision");
                world.evidence = json!(format!("e/c1@{revision}"));
            }
            "cut" => world.cut(&session).await,
            _ => {}
        }
        if name == "talked" {
            let export = json!({"session": session, "format": "jsonl"});
            world.export = world.client.ok("session/export", export).await["text"].clone();
        }
        world
    }

    async fn open(&mut self) {
        let opened = self.client.ok("project/open", json!({"roots": [self.workspace.text()]})).await;
        self.project = opened["key"].clone();
        self.client.ok("project/trust", json!({"project": self.project, "trusted": true})).await;
        self.session = self.client.ok("session/create", json!({"project": self.project})).await["id"].clone();
        let session = self.session.as_str().expect("an id").to_owned();
        self.subscription = self.client.attach(&session, 0).await;
    }

    async fn cut(&mut self, session: &str) {
        self.client.start(session, "Fix the build").await;
        // Nothing in it has to be asked about.
        let processes = self.client.running_processes().await;
        self.daemon.kill9().await;
        self.client.closed().await;
        for process in processes {
            process.gone().await;
        }
        self.daemon.restart().await;
        self.client = self.daemon.client().await;
        self.client.ok("session/get", json!({"session": session})).await;
    }

    async fn work(&self, session: &str) {
        let turn = self.client.start(session, "Fix the parser").await;
        for (tool, choice) in
            [("run_terminal_cmd", "allowAlways"), ("write", "allowOnce"), ("update_memory", "allowOnce")]
        {
            let ask = self.client.asked(session).await;
            assert_eq!(ask["tool"], tool);
            let answer = json!({"session": session, "ask": ask["id"], "choice": choice});
            self.client.ok("permission/respond", answer).await;
            // The same question is not asked again before its answer is known here.
            let resolved = |event: &Value| event["type"] == "permissionResolved" && event["ask"]["id"] == ask["id"];
            self.client.wait_events("the answer's event", |events| events.iter().any(resolved)).await;
        }
        assert_eq!(self.client.completed(session, turn).await["stopReason"], "endTurn");
    }

    /// An example's value with what the reference calls its things replaced by what they are here.
    fn real(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match text.as_str() {
                "k3f9-app" => self.project.clone(),
                "01jd" => self.session.clone(),
                "sub-1" => self.subscription.clone(),
                "e/c1@r1" => self.evidence.clone(),
                "local" => json!("test"),
                "local/large" => json!("test/scripted"),
                "/home/u/new/app" => json!(self.elsewhere.text()),
                export if export.starts_with("{\"plimsoll\":\"session\"") => self.export.clone(),
                other => json!(other.replace("/home/u/app", self.workspace.text())),
            },
            Value::Array(entries) => entries.iter().map(|entry| self.real(entry)).collect(),
            Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), self.real(field))).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// The messages of a method's example in the reference, in order.
fn example(reference: &str, method: &str) -> Vec<Value> {
    let (_, section) = reference.split_once(&format!("\n### `{method}`\n")).unwrap_or_else(|| {
        panic!("protocol/README.md has no section \"### `{method}`\": describe its parameters, result and errors")
    });
    let section = section.split("\n### ").next().unwrap_or_default();
    let block = section.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_else(|| {
        panic!(
            "the section of `{method}` has no example: add a ```json block with a request and its answer, a line each"
        )
    });
    serde_json::Deserializer::from_str(block).into_iter().map(|message| message.expect("JSON")).collect()
}

/// In what `real` differs in shape from what an example shows: other JSON types, lists that are empty although the
/// example shows entries, entries of another kind. That fields are missing or unknown is for the schema to say.
fn differences(shown: &Value, real: &Value, at: &str, found: &mut Vec<String>) {
    match (shown, real) {
        (Value::Object(shown), Value::Object(real)) => {
            for (name, field) in shown {
                let at = format!("{at}/{name}");
                let Some(other) = real.get(name) else { continue };
                // Which answers a question offers depends on what it is about.
                if matches!(name.as_str(), "kind" | "type") && !shown.contains_key("label") && field != other {
                    found.push(format!("{at} is {other}, and the example shows {field}"));
                }
                differences(field, other, &at, found);
            }
        }
        (Value::Array(shown), Value::Array(real)) => {
            if !shown.is_empty() && real.is_empty() {
                found.push(format!("{at} is empty, and the example shows entries"));
            }
            for (no, (shown, real)) in shown.iter().zip(real).enumerate() {
                differences(shown, real, &format!("{at}/{no}"), found);
            }
        }
        _ if std::mem::discriminant(shown) != std::mem::discriminant(real) => {
            found.push(format!("{at} is {real}, and the example shows {shown}"));
        }
        _ => {}
    }
}

fn worlds() -> Map<String, Value> {
    let text = std::fs::read_to_string(repository().join("protocol/examples.json")).expect("protocol/examples.json");
    serde_json::from_str(&text).expect("an object")
}

async fn run(method: &str, world: &str, messages: &[Value], schema: &Schema) {
    let world = World::prepare(world).await;
    let mut calls = 0;
    for pair in messages.chunks(2) {
        let [request, answer] = pair else { panic!("{method}: a request without its answer") };
        assert_eq!(request["method"], method);
        let params = world.real(request.get("params").unwrap_or(&json!({})));
        let real = world.client.ok(method, params.clone()).await;
        let (shown, place) = (&answer["result"], schema.result(method).expect("a method of the schema"));
        for (what, value) in [("the example's answer", shown), ("the real answer", &real)] {
            let faults = schema.faults(&place, value);
            assert!(faults.is_empty(), "{method}: {what} is not what the schema says: {faults:?}\n{value:#}");
        }
        let faults = schema.faults(&schema.params(method).expect("a method of the schema"), &params);
        assert!(faults.is_empty(), "{method}: the example's parameters are not what the schema says: {faults:?}");
        let mut found = Vec::new();
        differences(shown, &real, "", &mut found);
        assert!(found.is_empty(), "{method}: {found:#?}\nreally: {real:#}");
        calls += 1;
    }
    assert!(calls > 0, "{method} has no example");
    drop(world.daemon);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_of_the_reference_is_what_the_daemon_answers() {
    let reference = std::fs::read_to_string(repository().join("protocol/README.md")).expect("the reference");
    let schema = Schema::committed();
    let worlds = worlds();
    let mut runs = Vec::new();
    for method in schema.methods() {
        let world = worlds.get(&method).and_then(Value::as_str).unwrap_or_else(|| {
            panic!(
                "protocol/examples.json does not say in which world the example of `{method}` runs. Add \
                 `\"{method}\": \"WORLD\"`; worlds are {WORLDS}. For another, add it to `World::prepare` in \
                 tests/e2e/examples.rs"
            )
        });
        runs.push((example(&reference, &method), method, world));
    }
    // A few daemons at a time.
    let running = futures_util::stream::iter(&runs);
    let running = running.for_each_concurrent(4, |(messages, method, world)| run(method, world, messages, &schema));
    running.await;
    let known = schema.methods();
    let stale: Vec<&String> = worlds.keys().filter(|method| !known.contains(method)).collect();
    assert!(stale.is_empty(), "protocol/examples.json names methods that the schema does not have: {stale:?}");
}

#[test]
fn differences_in_shape_are_found() {
    let check = |shown: Value, real: Value, expected: usize| {
        let mut found = Vec::new();
        differences(&shown, &real, "", &mut found);
        assert_eq!(found.len(), expected, "{found:?}");
    };
    check(json!({"a": [1], "b": "x"}), json!({"a": [2, 3], "b": "y", "c": 1}), 0);
    check(json!({"a": [1], "b": "x"}), json!({"a": [], "b": null}), 2);
    check(json!([{"kind": "user", "kept": {"n": 1}}]), json!([{"kind": "meta", "kept": {"n": "1"}}]), 2);
}
