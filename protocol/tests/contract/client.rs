//! The traits say what the parameter types say: every call of the typed client is recorded and read back.

mod task;

use crate::recorder::Recorder;
use plimsoll_protocol::auth::{self, AuthApiClient};
use plimsoll_protocol::checkpoint::{self, CheckpointApiClient};
use plimsoll_protocol::config::{self, ConfigApiClient};
use plimsoll_protocol::context::{self, ContextApiClient};
use plimsoll_protocol::daemon::{DaemonApiClient, StopParams};
use plimsoll_protocol::editor::{EditorApiClient, EditorFile, LineRange, StateParams};
use plimsoll_protocol::history::{
    ExportFormat, ExportParams, ForkParams, HistoryApiClient, ImportParams, RewindParams,
};
use plimsoll_protocol::life::{ClientCapabilities, ClientInfo, ClientOptions, InitializeParams, LifeApiClient};
use plimsoll_protocol::memory::{self, MemoryApiClient};
use plimsoll_protocol::model::{self, ModelApiClient};
use plimsoll_protocol::operation::{self, OperationApiClient};
use plimsoll_protocol::permission::{Choice, GrantsParams, PermissionApiClient, RespondParams, RevokeParams};
use plimsoll_protocol::project::{self, OpenParams, ProjectApiClient, TrustParams};
use plimsoll_protocol::prompt::PromptApiClient;
use plimsoll_protocol::request::{self, RequestApiClient};
use plimsoll_protocol::rule::RuleApiClient;
use plimsoll_protocol::session::{
    self, AttachParams, CreateParams, DeleteParams, GetParams, RenameParams, SessionApiClient, SetModeParams,
    SetModelParams,
};
use plimsoll_protocol::skill::SkillApiClient;
use plimsoll_protocol::todo::TodoApiClient;
use plimsoll_protocol::transcript::{self, ReadParams, TranscriptApiClient};
use plimsoll_protocol::turn::{CancelParams, ContinueParams, StartParams, SteerParams, TurnApiClient, WhenBusy};
use plimsoll_protocol::version::PROTOCOL;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[expect(clippy::unnecessary_wraps, reason = "every optional parameter is given once, and this keeps that short")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn every_method_sends_its_parameters_as_the_schema_names_them() {
    let recorder = Recorder::default();
    let mut expected = BTreeMap::new();
    let mut expect = |method: &str, params: &dyn erased::Params| expected.insert(method.to_owned(), params.json());

    let p = InitializeParams {
        client_info: ClientInfo { name: "n".into(), version: some("1") },
        protocol_version: PROTOCOL,
        capabilities: Some(ClientCapabilities {}),
        options: Some(ClientOptions {
            model: some("a/b"),
            mode: some("ask"),
            language: some("de"),
            max_steps: Some(9),
        }),
    };
    expect("initialize", &p);
    let InitializeParams { client_info, protocol_version, capabilities, options } = p;
    let _ = recorder.initialize(client_info, protocol_version.to_string(), capabilities, options).await;

    expect("shutdown", &json!({}));
    let _ = recorder.shutdown().await;

    let p = OpenParams { roots: vec!["/a".into()], idempotency_key: some("k") };
    expect("project/open", &p);
    let OpenParams { roots, idempotency_key } = p;
    let _ = ProjectApiClient::open(&recorder, roots, idempotency_key).await;

    expect("project/list", &json!({}));
    let _ = ProjectApiClient::list(&recorder).await;

    let p = TrustParams { project: "p".into(), trusted: true, idempotency_key: some("k") };
    expect("project/trust", &p);
    let TrustParams { project, trusted, idempotency_key } = p;
    let _ = recorder.trust(project, trusted, idempotency_key).await;

    let p = CreateParams {
        project: "p".into(),
        title: some("t"),
        mode: some("ask"),
        model: some("a/b"),
        idempotency_key: some("k"),
        base_prompt: some("You are X."),
    };
    expect("session/create", &p);
    let CreateParams { project, title, mode, model, idempotency_key, base_prompt } = p;
    let _ = recorder.create(project, title, mode, model, base_prompt, idempotency_key).await;

    store_calls(&recorder, &mut expect).await;
    history_calls(&recorder, &mut expect).await;

    let p = GetParams { session: "s".into() };
    expect("session/get", &p);
    let GetParams { session } = p;
    let _ = SessionApiClient::get(&recorder, session).await;

    let p = RenameParams { session: "s".into(), title: "t".into(), idempotency_key: some("k") };
    expect("session/rename", &p);
    let RenameParams { session, title, idempotency_key } = p;
    let _ = recorder.rename(session, title, idempotency_key).await;

    let p = SetModeParams { session: "s".into(), mode: "auto".into(), idempotency_key: some("k") };
    expect("session/setMode", &p);
    let SetModeParams { session, mode, idempotency_key } = p;
    let _ = recorder.set_mode(session, mode, idempotency_key).await;

    let p = SetModelParams { session: "s".into(), model: "a/b".into(), idempotency_key: some("k") };
    expect("session/setModel", &p);
    let SetModelParams { session, model, idempotency_key } = p;
    let _ = recorder.set_model(session, model, idempotency_key).await;

    let p = DeleteParams { session: "s".into(), idempotency_key: some("k") };
    expect("session/delete", &p);
    let DeleteParams { session, idempotency_key } = p;
    let _ = SessionApiClient::delete(&recorder, session, idempotency_key).await;

    let p = AttachParams { session: "s".into(), after: Some(7) };
    expect("session/attach", &p);
    let AttachParams { session, after } = p;
    let _ = recorder.attach(session, after).await;
    // The client makes these itself, from the answer to the call above.
    expect("session/detach", &json!({}));

    let p = ReadParams { session: "s".into(), after: Some(1), before: Some(2), limit: Some(3) };
    expect("transcript/read", &p);
    let ReadParams { session, after, before, limit } = p;
    let _ = recorder.read(session, after, before, limit).await;

    let p = StartParams {
        session: "s".into(),
        text: "t".into(),
        when_busy: Some(WhenBusy::Refuse),
        allow: Some(vec!["grep".into()]),
        attachments: Some(vec![plimsoll_protocol::turn::Attachment::File { path: "a".into(), lines: None }]),
        mode: some("plan"),
        model: some("a/b"),
        idempotency_key: some("k"),
    };
    expect("turn/start", &p);
    let StartParams { session, text, when_busy, allow, attachments, mode, model, idempotency_key } = p;
    let _ = recorder.start(session, text, when_busy, allow, attachments, mode, model, idempotency_key).await;

    let p = SteerParams { session: "s".into(), text: "t".into(), idempotency_key: some("k") };
    expect("turn/steer", &p);
    let SteerParams { session, text, idempotency_key } = p;
    let _ = recorder.steer(session, text, idempotency_key).await;

    let p = CancelParams { session: "s".into(), idempotency_key: some("k") };
    expect("turn/cancel", &p);
    let CancelParams { session, idempotency_key } = p;
    let _ = recorder.cancel(session, idempotency_key).await;

    let p = ContinueParams { session: "s".into(), idempotency_key: some("k") };
    expect("turn/continue", &p);
    let ContinueParams { session, idempotency_key } = p;
    let _ = recorder.go_on(session, idempotency_key).await;

    let p = RespondParams {
        session: "s".into(),
        ask: "a1".into(),
        choice: Choice::AllowSession,
        advice: some("no"),
        idempotency_key: some("k"),
    };
    expect("permission/respond", &p);
    let RespondParams { session, ask, choice, advice, idempotency_key } = p;
    let _ = recorder.respond(session, ask, choice, advice, idempotency_key).await;

    let p = GrantsParams { project: "p".into() };
    expect("permission/grants", &p);
    let GrantsParams { project } = p;
    let _ = recorder.grants(project).await;

    let p = RevokeParams { project: "p".into(), grant: 3, idempotency_key: some("k") };
    expect("permission/revoke", &p);
    let RevokeParams { project, grant, idempotency_key } = p;
    let _ = recorder.revoke(project, grant, idempotency_key).await;
    configuration_calls(&recorder, &mut expect).await;
    checkpoint_calls(&recorder, &mut expect).await;
    operation_calls(&recorder, &mut expect).await;
    context_calls(&recorder, &mut expect).await;
    memory_calls(&recorder, &mut expect).await;

    let file = EditorFile {
        path: "/a".into(),
        total_lines: Some(9),
        open: true,
        focused: true,
        unsaved: true,
        cursor_line: Some(2),
        selection: Some(LineRange { start: 1, end: 2 }),
    };
    let p = StateParams { project: "p".into(), files: vec![file], idempotency_key: some("k") };
    expect("editor/state", &p);
    let StateParams { project, files, idempotency_key } = p;
    let _ = recorder.state(project, files, idempotency_key).await;

    expect("daemon/status", &json!({}));
    let _ = DaemonApiClient::status(&recorder).await;

    let p = StopParams { restart: Some(true), idempotency_key: some("k") };
    expect("daemon/stop", &p);
    let StopParams { restart, idempotency_key } = p;
    let _ = recorder.stop(restart, idempotency_key).await;

    assert_eq!(*recorder.calls.lock().unwrap(), expected);
    let document = plimsoll_protocol::schema::document();
    let mut named: Vec<&String> = document["methods"].as_object().unwrap().keys().collect();
    named.sort_unstable();
    assert_eq!(expected.keys().collect::<Vec<_>>(), named);
}

async fn configuration_calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    let p = config::GetParams { key: some("model"), project: some("p") };
    expect("config/get", &p);
    let config::GetParams { key, project } = p;
    let _ = ConfigApiClient::get(recorder, key, project).await;

    let p = config::SetParams { key: "model".into(), value: json!("a/b"), idempotency_key: some("k") };
    expect("config/set", &p);
    let config::SetParams { key, value, idempotency_key } = p;
    let _ = ConfigApiClient::set(recorder, key, value, idempotency_key).await;

    let p = model::ListParams { project: some("p") };
    expect("model/list", &p);
    let model::ListParams { project } = p;
    let _ = ModelApiClient::list(recorder, project).await;

    expect("auth/status", &json!({}));
    let _ = AuthApiClient::status(recorder).await;

    let p = auth::SetParams { provider: "a".into(), key: Some(auth::Key("k".into())), idempotency_key: some("k") };
    expect("auth/set", &p);
    let auth::SetParams { provider, key, idempotency_key } = p;
    let _ = AuthApiClient::set(recorder, provider, key, idempotency_key).await;
}

async fn history_calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    let p = ForkParams { session: "s".into(), item: Some(4), title: some("t"), idempotency_key: some("k") };
    expect("session/fork", &p);
    let ForkParams { session, item, title, idempotency_key } = p;
    let _ = HistoryApiClient::fork(recorder, session, item, title, idempotency_key).await;

    let (files, skip) = (Some(true), Some(true));
    let p = RewindParams { session: "s".into(), turn: 3, files, skip, idempotency_key: some("k") };
    expect("session/rewind", &p);
    let RewindParams { session, turn, files, skip, idempotency_key } = p;
    let _ = HistoryApiClient::rewind(recorder, session, turn, files, skip, idempotency_key).await;

    let p = ExportParams { session: "s".into(), format: ExportFormat::Jsonl, offset: Some(7), limit: Some(9) };
    expect("session/export", &p);
    let ExportParams { session, format, offset, limit } = p;
    let _ = HistoryApiClient::export(recorder, session, format, offset, limit).await;

    let p = ImportParams { project: "p".into(), data: "{}".into(), idempotency_key: some("k") };
    expect("session/import", &p);
    let ImportParams { project, data, idempotency_key } = p;
    let _ = HistoryApiClient::import(recorder, project, data, idempotency_key).await;
}

async fn store_calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    let p = session::ListParams {
        project: some("p"),
        query: some("q"),
        states: Some(vec![session::SessionState::Idle]),
        archived: Some(session::Archived::Only),
        cursor: some("c"),
        limit: Some(5),
    };
    expect("session/list", &p);
    let session::ListParams { project, query, states, archived, cursor, limit } = p;
    let _ = SessionApiClient::list(recorder, project, query, states, archived, cursor, limit).await;

    let p = session::ArchiveParams { session: "s".into(), archived: true, idempotency_key: some("k") };
    expect("session/archive", &p);
    let session::ArchiveParams { session, archived, idempotency_key } = p;
    let _ = SessionApiClient::archive(recorder, session, archived, idempotency_key).await;

    let p = project::RelocateParams { project: "p".into(), roots: vec!["/w".into()], idempotency_key: some("k") };
    expect("project/relocate", &p);
    let project::RelocateParams { project, roots, idempotency_key } = p;
    let _ = ProjectApiClient::relocate(recorder, project, roots, idempotency_key).await;

    let p = transcript::SearchParams {
        query: "q".into(),
        session: some("s"),
        project: some("p"),
        kinds: Some(vec!["user".into()]),
        cursor: some("c"),
        limit: Some(5),
    };
    expect("transcript/search", &p);
    let transcript::SearchParams { query, session, project, kinds, cursor, limit } = p;
    let _ = TranscriptApiClient::search(recorder, query, session, project, kinds, cursor, limit).await;

    let p = transcript::RebuildParams { session: "s".into(), idempotency_key: some("k") };
    expect("transcript/rebuild", &p);
    let transcript::RebuildParams { session, idempotency_key } = p;
    let _ = TranscriptApiClient::rebuild(recorder, session, idempotency_key).await;
}

async fn checkpoint_calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    let p = checkpoint::ListParams { session: "s".into(), before: Some(9), limit: Some(2) };
    expect("checkpoint/list", &p);
    let checkpoint::ListParams { session, before, limit } = p;
    let _ = CheckpointApiClient::list(recorder, session, before, limit).await;

    let p = checkpoint::DiffParams { session: "s".into(), turn: Some(1), from: Some(2), call: some("c3") };
    expect("checkpoint/diff", &p);
    let checkpoint::DiffParams { session, turn, from, call } = p;
    let _ = recorder.diff(session, turn, from, call).await;

    let p = checkpoint::RestoreParams {
        session: "s".into(),
        turn: Some(1),
        from: Some(2),
        call: some("c3"),
        skip: Some(true),
        force: Some(true),
        dry_run: Some(true),
        idempotency_key: some("k"),
    };
    expect("checkpoint/restore", &p);
    let checkpoint::RestoreParams { session, turn, from, call, skip, force, dry_run, idempotency_key } = p;
    let _ = recorder.restore(session, turn, from, call, skip, force, dry_run, idempotency_key).await;
}

async fn operation_calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    let p = operation::ListParams {
        session: "s".into(),
        states: Some(vec![operation::OperationState::Unknown]),
        unsettled: Some(true),
        cursor: some("c9"),
        limit: Some(2),
    };
    expect("operation/list", &p);
    let operation::ListParams { session, states, unsettled, cursor, limit } = p;
    let _ = OperationApiClient::list(recorder, session, states, unsettled, cursor, limit).await;

    let p = operation::InspectParams { session: "s".into(), call: "c3".into(), idempotency_key: some("k") };
    expect("operation/inspect", &p);
    let operation::InspectParams { session, call, idempotency_key } = p;
    let _ = OperationApiClient::inspect(recorder, session, call, idempotency_key).await;

    let p = operation::ResolveParams {
        session: "s".into(),
        call: "c3".into(),
        resolution: operation::Resolution::NotApplied,
        note: some("n"),
        idempotency_key: some("k"),
    };
    expect("operation/resolve", &p);
    let operation::ResolveParams { session, call, resolution, note, idempotency_key } = p;
    let _ = recorder.resolve(session, call, resolution, note, idempotency_key).await;
}

async fn memory_calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    let p = memory::ListParams { project: "p".into() };
    expect("memory/list", &p);
    let memory::ListParams { project } = p;
    let _ = MemoryApiClient::list(recorder, project).await;

    let p = memory::GetParams { project: "p".into(), id: "m3".into() };
    expect("memory/get", &p);
    let memory::GetParams { project, id } = p;
    let _ = MemoryApiClient::get(recorder, project, id).await;

    let p = memory::PutParams {
        project: "p".into(),
        id: some("m3"),
        scope: Some(memory::MemoryScope::User),
        title: some("t"),
        text: some("x"),
        idempotency_key: some("k"),
    };
    expect("memory/put", &p);
    let memory::PutParams { project, id, scope, title, text, idempotency_key } = p;
    let _ = MemoryApiClient::put(recorder, project, id, scope, title, text, idempotency_key).await;

    expect("rule/list", &json!({"project": "p"}));
    let _ = RuleApiClient::list(recorder, "p".into()).await;
    expect("skill/list", &json!({"project": "p"}));
    let _ = SkillApiClient::list(recorder, "p".into()).await;
    expect("prompt/list", &json!({"session": "s"}));
    let _ = PromptApiClient::list(recorder, "s".into()).await;
    expect("todo/get", &json!({"session": "s"}));
    let _ = TodoApiClient::get(recorder, "s".into()).await;
    task::calls(recorder, expect).await;

    let p = memory::DeleteParams { project: "p".into(), id: "m3".into(), idempotency_key: some("k") };
    expect("memory/delete", &p);
    let memory::DeleteParams { project, id, idempotency_key } = p;
    let _ = MemoryApiClient::delete(recorder, project, id, idempotency_key).await;
}

async fn context_calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    let p = context::InspectParams { session: "s".into() };
    expect("context/inspect", &p);
    let context::InspectParams { session } = p;
    let _ = ContextApiClient::inspect(recorder, session).await;

    let file = context::PreviewFile { path: "/a".into(), lines: Some(LineRange { start: 1, end: 2 }) };
    let p =
        context::PreviewParams { session: "s".into(), text: some("t"), files: Some(vec![file]), model: some("a/b") };
    expect("context/preview", &p);
    let context::PreviewParams { session, text, files, model } = p;
    let _ = recorder.preview(session, text, files, model).await;

    let p = context::CompactParams { session: "s".into(), focus: some("f"), idempotency_key: some("k") };
    expect("context/compact", &p);
    let context::CompactParams { session, focus, idempotency_key } = p;
    let _ = recorder.compact(session, focus, idempotency_key).await;

    let p = request::ListParams { session: "s".into(), before: Some(9), limit: Some(2) };
    expect("request/list", &p);
    let request::ListParams { session, before, limit } = p;
    let _ = RequestApiClient::list(recorder, session, before, limit).await;

    let p = request::GetParams { session: "s".into(), request: Some(3), side: Some(1), check: Some(true) };
    expect("request/get", &p);
    let request::GetParams { session, request, side, check } = p;
    let _ = RequestApiClient::get(recorder, session, request, side, check).await;

    let p = request::ProjectionsParams { session: "s".into(), all: Some(true) };
    expect("request/projections", &p);
    let request::ProjectionsParams { session, all } = p;
    let _ = recorder.projections(session, all).await;

    let p =
        request::ReplayParams { session: "s".into(), request: Some(3), side: Some(1), offset: Some(1), limit: Some(2) };
    expect("request/replay", &p);
    let request::ReplayParams { session, request, side, offset, limit } = p;
    let _ = recorder.replay(session, request, side, offset, limit).await;
}

mod erased {
    use super::{Serialize, Value};

    /// Parameters of any method.
    pub trait Params {
        fn json(&self) -> Value;
    }

    impl<T: Serialize> Params for T {
        fn json(&self) -> Value {
            serde_json::to_value(self).unwrap()
        }
    }
}
