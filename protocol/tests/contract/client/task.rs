//! The calls about tasks and evidence.

use super::{Recorder, erased, some};
use plimsoll_protocol::{evidence, task};
use serde_json::{Value, json};

pub async fn calls(recorder: &Recorder, expect: &mut impl FnMut(&str, &dyn erased::Params) -> Option<Value>) {
    expect("task/get", &json!({"session": "s"}));
    let _ = task::TaskApiClient::get(recorder, "s".into()).await;
    let p = evidence::GetParams { session: "s".into(), evidence: "e/c7@r42".into() };
    expect("evidence/get", &p);
    let evidence::GetParams { session, evidence } = p;
    let _ = evidence::EvidenceApiClient::get(recorder, session, evidence).await;
    let p = task::SetParams {
        session: "s".into(),
        goal: some("g"),
        phase: Some(task::Phase::Verify),
        next: some("n"),
        add_constraints: Some(vec![task::NewConstraint { quote: "q".into(), denies: Some(vec!["write".into()]) }]),
        remove_constraints: Some(vec![1]),
        waive: Some(true),
        idempotency_key: some("k"),
    };
    expect("task/set", &p);
    let task::SetParams { session, goal, phase, next, add_constraints, remove_constraints, waive, idempotency_key } = p;
    let set = task::TaskApiClient::set(
        recorder,
        session,
        goal,
        phase,
        next,
        add_constraints,
        remove_constraints,
        waive,
        idempotency_key,
    );
    let _ = set.await;
}
