//! The exchanges that every client must pass are true: each is played against the real daemon, and every message in them
//! is what the schema says. `editor-clients/conformance/README.md` describes them.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Cut, Gate, ModelServer, Script, Step};
use plimsoll_tests::schema::{Schema, repository};
use plimsoll_tests::template::Values;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::collections::HashMap;

/// What a model was about to say when its connection broke.
const LOST: &str = "not to be told";

/// Every case with its name.
fn cases() -> Vec<(String, Value)> {
    let folder = repository().join("editor-clients/conformance/cases");
    let mut cases: Vec<(String, Value)> = std::fs::read_dir(folder)
        .expect("the cases")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a case");
            let case = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, case)
        })
        .collect();
    cases.sort_by(|(a, _), (b, _)| a.cmp(b));
    cases
}

fn steps(case: &Value) -> &[Value] {
    case["steps"].as_array().expect("steps")
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value[field].as_str()
}

/// The answer of the scripted model that a case describes, with the gates that its stalls are.
fn answer(of: &Value, gates: &mut Vec<Gate>) -> Step {
    if let Some(error) = of.get("error") {
        return Step::error(
            error[0].as_u64().and_then(|status| status.try_into().ok()).expect("a status"),
            error[1].clone(),
        );
    }
    let mut step = Step::empty();
    if let Some(reasoning) = text(of, "reasoning") {
        step = step.reasoning(reasoning);
    }
    let pieces = |of: &Value| -> Vec<String> {
        of.as_array().expect("pieces").iter().map(|piece| piece.as_str().expect("text").to_owned()).collect()
    };
    if of.get("text").is_some() {
        step = step.text_in(pieces(&of["text"]));
    }
    if of["stall"] == true {
        let gate = Gate::new();
        step = step.stall(&gate);
        gates.push(gate);
    }
    if of.get("then").is_some() {
        step = step.text_in(pieces(&of["then"]));
    }
    if of["breaks"] == true {
        // In the middle of an event, so that of this text nothing is told.
        step = step.text(LOST).cut(Cut::Text(LOST.to_owned()));
    }
    for call in of["calls"].as_array().into_iter().flatten() {
        step = step.call(Call::new(call[0].as_str().expect("a tool"), call[1].clone()));
    }
    step
}

/// A client that does what a case says.
struct Player<'a> {
    name: &'a str,
    client: Client,
    values: Values,
    /// Ids of calls whose answers were not looked at yet, by the step's word.
    open: HashMap<String, u64>,
    calls: u64,
    /// Events of this connection that were looked at.
    seen: usize,
}

impl Player<'_> {
    /// A call under an id of its own, so that it can be answered and cancelled later.
    async fn call(&mut self, step: &Value) -> u64 {
        self.calls += 1;
        let id = 1_000_000 + self.calls;
        let params = self.values.fill(&step["params"]);
        self.client.send(&json!({"jsonrpc": "2.0", "id": id, "method": step["call"], "params": params})).await;
        id
    }

    async fn answered(&mut self, id: u64, step: &Value, at: &str) {
        let others = self.client.wait_others(at, |others| others.iter().any(|other| other["id"] == id)).await;
        let answer = others.iter().find(|other| other["id"] == id).expect("waited for it");
        let part = if step.get("error").is_some() { "error" } else { "result" };
        let told = self.values.compare(&step[part], answer.get(part), part);
        assert!(told.is_empty(), "{at}: {told:?} in {answer:#}");
    }

    async fn next_event(&mut self, at: &str) -> Value {
        let seen = self.seen;
        let events = self.client.wait_events(at, |events| events.len() > seen).await;
        self.seen += 1;
        events[seen].clone()
    }

    async fn event(&mut self, step: &Value, at: &str) {
        let event = self.next_event(at).await;
        let told = self.values.compare(&step["event"], Some(&event), "event");
        assert!(told.is_empty(), "{at}: {told:?} in {event:#}");
    }

    /// Deltas until their text is whole, however the daemon cut it, or its item is there.
    async fn deltas(&mut self, step: &Value, at: &str) {
        let pieces = step["pieces"].as_array().expect("pieces").iter();
        let whole: String = pieces.map(|piece| piece.as_str().expect("text")).collect();
        let from = step["from"].as_u64().unwrap_or(0);
        let mut covered = from;
        while covered < from + whole.len() as u64 {
            let event = self.next_event(at).await;
            if event["type"] == "itemAdded" {
                // It came in the same moment and replaces what was not told yet.
                self.seen -= 1;
                return;
            }
            let told = self.values.compare(&step["deltas"], Some(&event), "deltas");
            assert!(told.is_empty(), "{at}: {told:?} in {event:#}");
            let (offset, piece) = (event["offset"].as_u64().expect("an offset"), text(&event, "text").expect("text"));
            assert_eq!(offset, covered, "{at}: pieces follow each other: {event:#}");
            let begin = usize::try_from(offset - from).expect("small");
            assert_eq!(whole.get(begin..begin + piece.len()), Some(piece), "{at}: {event:#}");
            covered += piece.len() as u64;
        }
    }

    /// What the conversation shows in the end, by the stored items.
    async fn shown(&self) -> Vec<Value> {
        let session = self.values.fill(&json!("${session}"));
        let page = self.client.ok("transcript/read", json!({"session": session, "limit": 1000})).await;
        let line = |item: &Value| match text(item, "kind") {
            Some("user") => Some(json!(["user", item["text"]])),
            Some("assistant") => Some(json!(["assistant", item["text"]])),
            Some("toolResult") => Some(json!(["call", item["tool"], item["status"]])),
            Some("notice") => Some(json!(["notice"])),
            _ => None,
        };
        page["items"].as_array().expect("items").iter().filter_map(line).collect()
    }
}

async fn play(name: &str, case: &Value, framing: Framing) {
    let workspace = Workspace::new();
    for (path, content) in case["world"]["files"].as_object().into_iter().flatten() {
        workspace.write(path, content.as_str().expect("a file's content"));
    }
    let mut gates = Vec::new();
    let model = case["world"]["model"].as_array().expect("the model's answers");
    let server = ModelServer::start(Script::new(model.iter().map(|of| answer(of, &mut gates)))).await;
    let mode = text(&case["world"], "mode").expect("a mode");
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, mode).daemon().await;
    let config_file = daemon.machine().config().join("config.toml");
    let config = std::fs::read_to_string(&config_file).expect("the configuration");
    let client = Client::connect(daemon.socket(), framing).await;
    let mut values = Values::new(&case["values"]);
    values.set("root", workspace.text());
    // These are the daemon's to say; the samples are for the server that plays it.
    for name in ["project", "session", "subscription"] {
        assert!(case["values"].get(name).is_some(), "the case has no sample for ${{{name}}}");
    }
    let mut player = Player { name, client, values, open: HashMap::new(), calls: 0, seen: 0 };
    let mut gates = gates.into_iter();
    for (no, step) in (1..).zip(steps(case)) {
        let at = format!("{} ({framing:?}), step {no}", player.name);
        if step.get("call").is_some() {
            let id = player.call(step).await;
            match text(step, "later") {
                Some(word) => drop(player.open.insert(word.to_owned(), id)),
                None => player.answered(id, step, &at).await,
            }
        } else if let Some(word) = text(step, "answer") {
            let id = player.open.remove(word).expect("a call with this word");
            player.answered(id, step, &at).await;
        } else if let Some(method) = text(step, "notify") {
            let mut params = player.values.fill(&step["params"]);
            if let Some(word) = text(&params, "id").and_then(|id| id.strip_prefix('#')) {
                params["id"] = json!(player.open[word]);
            }
            player.client.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
        } else if step.get("event").is_some() {
            player.event(step, &at).await;
        } else if step.get("deltas").is_some() {
            player.deltas(step, &at).await;
        } else if step.get("close").is_some() {
            player.client = Client::connect(daemon.socket(), framing).await;
            player.seen = 0;
            player.values.forget("subscription");
        } else if let Some(world) = step.get("world") {
            std::fs::write(&config_file, text(world, "config").unwrap_or(&config)).expect("a configuration");
        } else if step["model"] == "goes on" {
            let gate = gates.next().expect("a stall of the model");
            gate.reached().await;
            gate.release();
        } else {
            assert!(step.get("user").is_some(), "{at} is of no known kind: {step}");
        }
    }
    assert_eq!(json!(player.shown().await), case["shows"], "{name}: what a client shows");
    server.assert_clean();
    assert_eq!(server.steps_left(), 0, "{name}: answers that were not asked for");
}

#[tokio::test]
async fn the_exchanges_are_what_the_daemon_does() {
    let cases = cases();
    assert!(cases.len() >= 2, "{} cases", cases.len());
    for (name, case) in cases.iter().filter(|(_, case)| case["newer"] != true) {
        for framing in [Framing::Lines, Framing::Headers] {
            play(name, case, framing).await;
        }
    }
}

#[test]
fn every_message_of_the_exchanges_is_what_the_schema_says() {
    let schema = Schema::committed();
    for (name, case) in cases() {
        let values = Values::new(&case["values"]);
        let check = |at: &str, place: &str, value: &Value| {
            let faults = schema.faults(place, &values.fill(value));
            assert!(faults.is_empty(), "{name}, {at}: {faults:?}");
        };
        let mut later: HashMap<String, String> = HashMap::new();
        for (no, step) in (1..).zip(steps(&case)) {
            let at = format!("step {no}");
            let mut method = text(step, "call").map(str::to_owned);
            if let Some(method) = &method {
                let params = schema.params(method).unwrap_or_else(|| panic!("{name}, {at}: there is no {method}"));
                check(&at, &params, &step["params"]);
                if let Some(word) = text(step, "later") {
                    later.insert(word.to_owned(), method.clone());
                }
            }
            if let Some(word) = text(step, "answer") {
                method = later.remove(word);
            }
            // What a newer daemon says is more than this schema knows.
            if case["newer"] == true {
                continue;
            }
            if let (Some(method), Some(result)) = (&method, step.get("result")) {
                check(&at, &schema.result(method).expect("a method of the schema"), result);
            }
            if let Some(error) = step.get("error") {
                check(&at, "/errorData", &error["data"]);
            }
            if let Some(event) = step.get("event") {
                check(&at, "/$defs/SessionEvent", event);
            }
            if let Some(deltas) = step.get("deltas") {
                let mut event = deltas.clone();
                event["offset"] = json!(0);
                event["text"] = json!("x");
                check(&at, "/$defs/SessionEvent", &event);
            }
        }
        assert!(later.is_empty(), "{name}: calls without an answer: {later:?}");
    }
}

/// What a newer daemon says is read by the types of today.
#[test]
fn messages_of_a_newer_daemon_are_survived() {
    let mut count = 0;
    for (name, case) in cases().into_iter().filter(|(_, case)| case["newer"] == true) {
        let values = Values::new(&case["values"]);
        for event in steps(&case).iter().filter_map(|step| step.get("event")) {
            let read = serde_json::from_value::<plimsoll_protocol::event::SessionEvent>(values.fill(event));
            assert!(read.is_ok(), "{name}: {read:?}: {event:#}");
            count += 1;
        }
    }
    assert!(count > 0, "no case of a newer daemon");
}
