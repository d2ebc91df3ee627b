//! The reference names every method, event and error, and its examples are what the types read.

use plimsoll_protocol::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const REFERENCE: &str = include_str!("../../README.md");

/// The part of the reference that describes one method.
fn section(method: &str) -> &'static str {
    let heading = format!("### `{method}`\n");
    let (_, rest) = REFERENCE.split_once(&heading).unwrap_or_else(|| panic!("no heading for {method}"));
    rest.split("\n## ").next().unwrap().split("\n### ").next().unwrap()
}

/// Request and response of a method's example.
fn example(method: &str) -> (Value, Value) {
    let block = section(method).split("```json\n").nth(1).unwrap_or_else(|| panic!("no example for {method}"));
    let block = block.split("```").next().unwrap();
    let mut values = serde_json::Deserializer::from_str(block).into_iter::<Value>();
    let mut next = || values.next().unwrap_or_else(|| panic!("{method}: a request and a response")).unwrap();
    let (request, response) = (next(), next());
    assert_eq!((&request["method"], &request["jsonrpc"]), (&Value::from(method), &Value::from("2.0")));
    assert_eq!(request["id"], response["id"], "{method}");
    (request["params"].clone(), response["result"].clone())
}

/// A value that its type reads and writes again without loss, apart from absent fields.
fn check_value<T: DeserializeOwned + Serialize>(method: &str, value: &Value) {
    let read: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{method}: {error} in {value}"));
    let written = serde_json::to_value(&read).unwrap();
    if let (Value::Object(given), Value::Object(written)) = (value, written) {
        for (name, value) in given {
            assert_eq!(Some(value), written.get(name), "{method}: `{name}`");
        }
    }
}

macro_rules! check {
    ($($method:literal: $params:ty => $result:ty;)*) => {
        fn check_examples() -> Vec<&'static str> {
            $(
                let (params, result) = example($method);
                let params = if params.is_null() { serde_json::json!({}) } else { params };
                check_value::<$params>($method, &params);
                check_value::<$result>($method, &result);
            )*
            vec![$($method),*]
        }
    };
}

check! {
    "auth/set": auth::SetParams => auth::ProviderKey;
    "auth/status": auth::StatusParams => auth::StatusResult;
    "checkpoint/diff": checkpoint::DiffParams => checkpoint::DiffResult;
    "checkpoint/list": checkpoint::ListParams => checkpoint::ListResult;
    "checkpoint/restore": checkpoint::RestoreParams => checkpoint::RestoreResult;
    "config/get": config::GetParams => config::GetResult;
    "config/set": config::SetParams => config::SetResult;
    "context/compact": context::CompactParams => context::CompactResult;
    "context/inspect": context::InspectParams => context::Inspection;
    "context/preview": context::PreviewParams => context::Inspection;
    "daemon/status": daemon::StatusParams => daemon::DaemonStatus;
    "daemon/stop": daemon::StopParams => Done;
    "editor/state": editor::StateParams => Done;
    "evidence/get": evidence::GetParams => evidence::Evidence;
    "initialize": life::InitializeParams => life::InitializeResult;
    "memory/delete": memory::DeleteParams => Done;
    "memory/get": memory::GetParams => memory::GetResult;
    "memory/list": memory::ListParams => memory::ListResult;
    "memory/put": memory::PutParams => memory::Memory;
    "model/list": model::ListParams => model::ListResult;
    "operation/inspect": operation::InspectParams => operation::Operation;
    "operation/list": operation::ListParams => operation::ListResult;
    "operation/resolve": operation::ResolveParams => operation::Operation;
    "permission/grants": permission::GrantsParams => permission::GrantsResult;
    "permission/respond": permission::RespondParams => permission::RespondResult;
    "permission/revoke": permission::RevokeParams => Done;
    "project/list": project::ListParams => project::ListResult;
    "project/open": project::OpenParams => project::Project;
    "project/relocate": project::RelocateParams => project::Project;
    "project/trust": project::TrustParams => project::Project;
    "prompt/list": prompt::ListParams => prompt::ListResult;
    "request/get": request::GetParams => request::GetResult;
    "request/list": request::ListParams => request::ListResult;
    "request/projections": request::ProjectionsParams => request::ProjectionsResult;
    "request/replay": request::ReplayParams => request::ReplayResult;
    "rule/list": rule::ListParams => rule::ListResult;
    "session/archive": session::ArchiveParams => session::SessionInfo;
    "session/attach": session::AttachParams => String;
    "session/create": session::CreateParams => session::SessionInfo;
    "session/delete": session::DeleteParams => Done;
    "session/detach": session::DetachParams => bool;
    "session/export": history::ExportParams => history::ExportResult;
    "session/fork": history::ForkParams => session::SessionInfo;
    "session/get": session::GetParams => session::SessionInfo;
    "session/import": history::ImportParams => session::SessionInfo;
    "session/list": session::ListParams => session::ListResult;
    "session/rename": session::RenameParams => session::SessionInfo;
    "session/rewind": history::RewindParams => session::SessionInfo;
    "session/setMode": session::SetModeParams => session::SessionInfo;
    "session/setModel": session::SetModelParams => session::SessionInfo;
    "shutdown": life::ShutdownParams => Done;
    "skill/list": skill::ListParams => skill::ListResult;
    "task/get": task::GetParams => task::TaskState;
    "task/set": task::SetParams => task::TaskState;
    "todo/get": todo::GetParams => todo::GetResult;
    "transcript/read": transcript::ReadParams => transcript::Page;
    "transcript/rebuild": transcript::RebuildParams => transcript::RebuildResult;
    "transcript/search": transcript::SearchParams => transcript::SearchResult;
    "turn/cancel": turn::CancelParams => Done;
    "turn/continue": turn::ContinueParams => turn::AcceptedTurn;
    "turn/start": turn::StartParams => turn::AcceptedTurn;
    "turn/steer": turn::SteerParams => Done;
}

#[test]
fn every_method_has_a_section_with_a_true_example() {
    let document = schema::document();
    let mut methods: Vec<&String> = document["methods"].as_object().unwrap().keys().collect();
    methods.sort_unstable();
    assert_eq!(check_examples(), methods);
}

#[test]
fn every_parameter_and_result_field_is_described() {
    let document = schema::document();
    for (method, parts) in document["methods"].as_object().unwrap() {
        for part in ["params", "result"] {
            let reference = parts[part]["$ref"].as_str();
            let definition = reference.map_or(&parts[part], |to| document.pointer(&to[1..]).unwrap());
            for field in definition["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
                // A result that several methods share is described once, under the type's own heading.
                let shared = reference.and_then(|to| to.rsplit('/').next()).unwrap_or_default();
                let text = REFERENCE.split(&format!("### {shared}\n")).nth(1).unwrap_or_default();
                let found = section(method).contains(&format!("`{field}`")) || text.contains(&format!("`{field}`"));
                assert!(found, "{method}: {part} `{field}`");
            }
        }
    }
}

#[test]
fn every_event_item_kind_and_error_is_described() {
    let document = schema::document();
    let mut words = Vec::new();
    for (of, tag) in [("SessionEvent", "type"), ("Item", "kind")] {
        let variants = document["$defs"][of]["oneOf"].as_array().unwrap();
        words.extend(variants.iter().filter_map(|variant| variant["properties"][tag]["const"].as_str()));
    }
    assert!(words.contains(&"turnCompleted") && words.contains(&"toolResult"), "{words:?}");
    for word in words.iter().filter(|word| **word != "unknown") {
        assert!(REFERENCE.contains(&format!("`{word}`")), "{word}");
    }
    for kind in error::ErrorKind::ALL {
        let row = format!("| {} | `{}` |", kind.code(), serde_json::to_value(kind).unwrap().as_str().unwrap());
        assert!(REFERENCE.contains(&row), "{row}");
    }
}

#[test]
fn the_examples_of_events_are_what_the_types_read() {
    let (_, events) = REFERENCE.split_once("## Events").unwrap();
    let mut count = 0;
    for block in events.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        for value in serde_json::Deserializer::from_str(block).into_iter::<Value>() {
            let value = value.unwrap();
            if value["method"] == event::NOTIFICATION {
                check_value::<event::SessionEvent>("session/event", &value["params"]["result"]);
                count += 1;
            }
        }
    }
    assert!(count >= 2, "{count} examples");
}
