//! The traits say what the parameter types say: every call of the typed client is recorded and read back.

use jsonrpsee::core::client::{BatchResponse, ClientT, Error, Subscription, SubscriptionClientT};
use jsonrpsee::core::params::BatchRequestBuilder;
use jsonrpsee::core::traits::ToRpcParams;
use plimsoll_protocol::checkpoint::{self, CheckpointApiClient};
use plimsoll_protocol::context::{self, ContextApiClient};
use plimsoll_protocol::daemon::{DaemonApiClient, StopParams};
use plimsoll_protocol::editor::{EditorApiClient, EditorFile, LineRange, StateParams};
use plimsoll_protocol::life::{ClientCapabilities, ClientInfo, InitializeParams, LifeApiClient};
use plimsoll_protocol::memory::{self, MemoryApiClient};
use plimsoll_protocol::permission::{Choice, GrantsParams, PermissionApiClient, RespondParams, RevokeParams};
use plimsoll_protocol::project::{OpenParams, ProjectApiClient, TrustParams};
use plimsoll_protocol::request::{self, RequestApiClient};
use plimsoll_protocol::session::{
    AttachParams, CreateParams, DeleteParams, GetParams, ListParams, RenameParams, SessionApiClient, SetModeParams,
};
use plimsoll_protocol::transcript::{ReadParams, TranscriptApiClient};
use plimsoll_protocol::turn::{CancelParams, StartParams, SteerParams, TurnApiClient, WhenBusy};
use plimsoll_protocol::version::PROTOCOL;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Records calls and answers none.
#[derive(Default)]
struct Recorder {
    calls: Mutex<BTreeMap<String, Value>>,
}

impl Recorder {
    fn record(&self, method: &str, params: impl ToRpcParams) -> Error {
        let params = params.to_rpc_params().unwrap();
        let params = params.map_or(json!({}), |params| serde_json::from_str(params.get()).unwrap());
        self.calls.lock().unwrap().insert(method.to_owned(), params);
        Error::Custom("recorded".to_owned())
    }
}

impl ClientT for Recorder {
    async fn notification<P: ToRpcParams + Send>(&self, method: &str, params: P) -> Result<(), Error> {
        Err(self.record(method, params))
    }

    async fn request<R: DeserializeOwned, P: ToRpcParams + Send>(&self, method: &str, params: P) -> Result<R, Error> {
        Err(self.record(method, params))
    }

    async fn batch_request<'a, R: DeserializeOwned + std::fmt::Debug + 'a>(
        &self,
        _: BatchRequestBuilder<'a>,
    ) -> Result<BatchResponse<'a, R>, Error> {
        Err(Error::Custom("not recorded".to_owned()))
    }
}

impl SubscriptionClientT for Recorder {
    async fn subscribe<'a, N: DeserializeOwned, P: ToRpcParams + Send>(
        &self,
        method: &'a str,
        params: P,
        unsubscribe: &'a str,
    ) -> Result<Subscription<N>, Error> {
        self.record(unsubscribe, jsonrpsee::core::params::ArrayParams::new());
        Err(self.record(method, params))
    }

    async fn subscribe_to_method<N: DeserializeOwned>(&self, method: &str) -> Result<Subscription<N>, Error> {
        Err(self.record(method, jsonrpsee::core::params::ArrayParams::new()))
    }
}

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
    };
    expect("initialize", &p);
    let InitializeParams { client_info, protocol_version, capabilities } = p;
    let _ = recorder.initialize(client_info, protocol_version.to_string(), capabilities).await;

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

    let p = ListParams { project: some("p"), cursor: some("c"), limit: Some(5) };
    expect("session/list", &p);
    let ListParams { project, cursor, limit } = p;
    let _ = SessionApiClient::list(&recorder, project, cursor, limit).await;

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
        idempotency_key: some("k"),
    };
    expect("turn/start", &p);
    let StartParams { session, text, when_busy, allow, attachments, idempotency_key } = p;
    let _ = recorder.start(session, text, when_busy, allow, attachments, idempotency_key).await;

    let p = SteerParams { session: "s".into(), text: "t".into(), idempotency_key: some("k") };
    expect("turn/steer", &p);
    let SteerParams { session, text, idempotency_key } = p;
    let _ = recorder.steer(session, text, idempotency_key).await;

    let p = CancelParams { session: "s".into(), idempotency_key: some("k") };
    expect("turn/cancel", &p);
    let CancelParams { session, idempotency_key } = p;
    let _ = recorder.cancel(session, idempotency_key).await;

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
    checkpoint_calls(&recorder, &mut expect).await;
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
    let _ = recorder.status().await;

    let p = StopParams { idempotency_key: some("k") };
    expect("daemon/stop", &p);
    let StopParams { idempotency_key } = p;
    let _ = recorder.stop(idempotency_key).await;

    assert_eq!(*recorder.calls.lock().unwrap(), expected);
    let document = plimsoll_protocol::schema::document();
    let mut named: Vec<&String> = document["methods"].as_object().unwrap().keys().collect();
    named.sort_unstable();
    assert_eq!(expected.keys().collect::<Vec<_>>(), named);
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

async fn memory_calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    let p = memory::ListParams { project: "p".into() };
    expect("memory/list", &p);
    let memory::ListParams { project } = p;
    let _ = MemoryApiClient::list(recorder, project).await;

    let p = memory::DeleteParams { project: "p".into(), id: "m3".into(), idempotency_key: some("k") };
    expect("memory/delete", &p);
    let memory::DeleteParams { project, id, idempotency_key } = p;
    let _ = MemoryApiClient::delete(recorder, project, id, idempotency_key).await;
}

async fn context_calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    let p = context::InspectParams { session: "s".into() };
    expect("context/inspect", &p);
    let context::InspectParams { session } = p;
    let _ = recorder.inspect(session).await;

    let file = context::PreviewFile { path: "/a".into(), lines: Some(LineRange { start: 1, end: 2 }) };
    let p =
        context::PreviewParams { session: "s".into(), text: some("t"), files: Some(vec![file]), model: some("a/b") };
    expect("context/preview", &p);
    let context::PreviewParams { session, text, files, model } = p;
    let _ = recorder.preview(session, text, files, model).await;

    let p = request::ListParams { session: "s".into(), before: Some(9), limit: Some(2) };
    expect("request/list", &p);
    let request::ListParams { session, before, limit } = p;
    let _ = RequestApiClient::list(recorder, session, before, limit).await;

    let p = request::GetParams { session: "s".into(), request: 3, check: Some(true) };
    expect("request/get", &p);
    let request::GetParams { session, request, check } = p;
    let _ = RequestApiClient::get(recorder, session, request, check).await;

    let p = request::ProjectionsParams { session: "s".into(), all: Some(true) };
    expect("request/projections", &p);
    let request::ProjectionsParams { session, all } = p;
    let _ = recorder.projections(session, all).await;

    let p = request::ReplayParams { session: "s".into(), request: 3, offset: Some(1), limit: Some(2) };
    expect("request/replay", &p);
    let request::ReplayParams { session, request, offset, limit } = p;
    let _ = recorder.replay(session, request, offset, limit).await;
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
