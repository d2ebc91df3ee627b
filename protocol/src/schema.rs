//! The JSON Schema of the whole wire, generated from the types. `protocol/schema/plimsoll.schema.json` is its committed
//! form; a test compares the two.

use crate::{
    auth, checkpoint, config, context, daemon, editor, error, event, evidence, hello, history, life, memory, model,
    operation, permission, project, prompt, request, rule, session, skill, task, todo, transcript, turn, version,
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// One document: `methods` (parameters and result of each), `notifications`, `errorData`, `errorCodes`, `hello`,
/// `welcome`, and the types under `$defs`.
pub fn document() -> Value {
    let mut types = SchemaSettings::draft2020_12().into_generator();
    let methods = methods(&mut types);
    let event = of::<event::SessionEvent>(&mut types);
    let error_data = of::<error::ErrorData>(&mut types);
    let hello = of::<hello::Hello>(&mut types);
    let welcome = of::<hello::Welcome>(&mut types);
    let codes: Vec<Value> =
        error::ErrorKind::ALL.iter().map(|kind| json!({ "code": kind.code(), "kind": kind })).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Plimsoll native API",
        "protocolVersion": version::PROTOCOL,
        "methods": methods,
        "notifications": {
            event::NOTIFICATION: {
                "params": {
                    "type": "object",
                    "properties": { "subscription": { "type": "string" }, "result": event },
                    "required": ["subscription", "result"],
                },
            },
        },
        "errorData": error_data,
        "errorCodes": codes,
        "hello": hello,
        "welcome": welcome,
        "$defs": Value::Object(types.take_definitions(true)),
    })
}

/// Every method, by name, with the schemas of its parameters and its result.
fn methods(types: &mut SchemaGenerator) -> Map<String, Value> {
    let mut all = Map::new();
    let mut add = |name: &str, params: Value, result: Value| {
        all.insert(name.to_owned(), json!({ "params": params, "result": result }));
    };
    macro_rules! add {
        ($($name:literal: $params:ty => $result:ty;)*) => {
            $( add($name, of::<$params>(types), of::<$result>(types)); )*
        };
    }
    add! {
        "initialize": life::InitializeParams => life::InitializeResult;
        "shutdown": life::ShutdownParams => crate::Done;
        "project/open": project::OpenParams => project::Project;
        "project/list": project::ListParams => project::ListResult;
        "project/relocate": project::RelocateParams => project::Project;
        "project/trust": project::TrustParams => project::Project;
        "session/create": session::CreateParams => session::SessionInfo;
        "session/list": session::ListParams => session::ListResult;
        "session/get": session::GetParams => session::SessionInfo;
        "session/archive": session::ArchiveParams => session::SessionInfo;
        "session/rename": session::RenameParams => session::SessionInfo;
        "session/setMode": session::SetModeParams => session::SessionInfo;
        "session/setModel": session::SetModelParams => session::SessionInfo;
        "session/delete": session::DeleteParams => crate::Done;
        "session/fork": history::ForkParams => session::SessionInfo;
        "session/rewind": history::RewindParams => session::SessionInfo;
        "session/export": history::ExportParams => history::ExportResult;
        "session/import": history::ImportParams => session::SessionInfo;
        "session/attach": session::AttachParams => String;
        "session/detach": session::DetachParams => bool;
        "transcript/read": transcript::ReadParams => transcript::Page;
        "transcript/search": transcript::SearchParams => transcript::SearchResult;
        "transcript/rebuild": transcript::RebuildParams => transcript::RebuildResult;
        "turn/start": turn::StartParams => turn::AcceptedTurn;
        "turn/steer": turn::SteerParams => crate::Done;
        "turn/cancel": turn::CancelParams => crate::Done;
        "turn/continue": turn::ContinueParams => turn::AcceptedTurn;
        "permission/respond": permission::RespondParams => permission::RespondResult;
        "permission/grants": permission::GrantsParams => permission::GrantsResult;
        "permission/revoke": permission::RevokeParams => crate::Done;
        "memory/list": memory::ListParams => memory::ListResult;
        "memory/get": memory::GetParams => memory::GetResult;
        "memory/put": memory::PutParams => memory::Memory;
        "memory/delete": memory::DeleteParams => crate::Done;
        "rule/list": rule::ListParams => rule::ListResult;
        "skill/list": skill::ListParams => skill::ListResult;
        "prompt/list": prompt::ListParams => prompt::ListResult;
        "todo/get": todo::GetParams => todo::GetResult;
        "task/get": task::GetParams => task::TaskState;
        "task/set": task::SetParams => task::TaskState;
        "evidence/get": evidence::GetParams => evidence::Evidence;
        "checkpoint/list": checkpoint::ListParams => checkpoint::ListResult;
        "checkpoint/diff": checkpoint::DiffParams => checkpoint::DiffResult;
        "checkpoint/restore": checkpoint::RestoreParams => checkpoint::RestoreResult;
        "operation/list": operation::ListParams => operation::ListResult;
        "operation/inspect": operation::InspectParams => operation::Operation;
        "operation/resolve": operation::ResolveParams => operation::Operation;
        "context/inspect": context::InspectParams => context::Inspection;
        "context/compact": context::CompactParams => context::CompactResult;
        "context/preview": context::PreviewParams => context::Inspection;
        "request/list": request::ListParams => request::ListResult;
        "request/get": request::GetParams => request::GetResult;
        "request/replay": request::ReplayParams => request::ReplayResult;
        "request/projections": request::ProjectionsParams => request::ProjectionsResult;
        "config/get": config::GetParams => config::GetResult;
        "config/set": config::SetParams => config::SetResult;
        "model/list": model::ListParams => model::ListResult;
        "auth/status": auth::StatusParams => auth::StatusResult;
        "auth/set": auth::SetParams => auth::ProviderKey;
        "editor/state": editor::StateParams => crate::Done;
        "daemon/status": daemon::StatusParams => daemon::DaemonStatus;
        "daemon/stop": daemon::StopParams => crate::Done;
    }
    all
}

fn of<T: JsonSchema>(types: &mut SchemaGenerator) -> Value {
    types.subschema_for::<T>().to_value()
}
