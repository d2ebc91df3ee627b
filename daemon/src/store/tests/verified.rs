//! What of a turn's work is found again: the files that it changed, and the last run of the tests.

use super::*;
use plimsoll_core::ledger::OperationFile;
use plimsoll_core::tool::test_report::TestRun;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::item::Rewind;
use serde_json::json;

/// A run of the tests that ended in this way, on this revision.
fn tests(exit: serde_json::Value, revision: u64) -> TestRun {
    let output = json!({"head": "", "omitted": 0, "tail": "", "total_bytes": 0});
    let run = json!({
        "command": "make test", "cwd": ".", "exit": exit, "duration_ms": 1, "output": output, "stderr": output, "log": null,
        "left_running": [],
    });
    let before = json!(Revision(revision - 1));
    let run =
        json!({"run": run, "runner": "make", "why": "", "report": null, "before": before, "after": Revision(revision)});
    serde_json::from_value(run).unwrap()
}

fn ran(call: u64) -> Operation {
    Operation { tool: "run_tests".into(), ..operation(call, OpState::Succeeded) }
}

#[tokio::test]
async fn the_last_run_that_came_to_its_end_and_is_in_the_view_is_found() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let of_view = async || {
        project.load_view(&id).await.unwrap().verification.map(|found| (found.call, found.passed, found.after))
    };
    assert_eq!(of_view().await, None);
    let run = |no, call, exit, revision| result(no, call, Body::Tests(Box::new(tests(exit, revision))));
    let batch = Batch {
        items: vec![
            run(1, 1, json!({"code": 0}), 5),
            run(2, 2, json!({"code": 1}), 7),
            result(3, 3, Body::Text("How it ended is not known.".into())),
            run(4, 4, json!("cancelled"), 9),
        ],
        operations: (1..=4).map(ran).collect(),
        ..Batch::default()
    };
    project.commit(&id, batch).await.unwrap();
    assert_eq!(of_view().await, Some((CallId(2), false, Revision(7))));
    // The turn with the second run has left the view.
    let rewind = item(5, ItemBody::Rewind(Rewind { turn: TurnNo(1), from: ItemNo(2) }));
    project.commit(&id, Batch { items: vec![rewind], ..Batch::default() }).await.unwrap();
    assert_eq!(of_view().await, Some((CallId(1), true, Revision(5))));
}

#[tokio::test]
async fn files_that_the_cut_turn_changed_are_found() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let wrote = |call, turn, path: &str, state| {
        let file =
            OperationFile { path: path.to_owned(), before: None, after: Some("v".to_owned()), mode: None, link: false };
        Operation { turn: TurnNo(turn), files: vec![file], ..operation(call, state) }
    };
    let batch = Batch {
        operations: vec![
            wrote(1, 1, "/w/earlier", OpState::Succeeded),
            wrote(2, 2, "/w/b", OpState::Succeeded),
            wrote(3, 2, "/w/a", OpState::Succeeded),
            wrote(4, 2, "/w/a", OpState::Succeeded),
            wrote(5, 2, "/w/failed", OpState::Failed),
        ],
        events: vec![Event { seq: Seq(1), at: at(1), body: EventBody::TurnStarted { turn: TurnNo(2) } }],
        state: Some(SessionState::Running),
        ..Batch::default()
    };
    project.commit(&id, batch).await.unwrap();
    let view = project.load_view(&id).await.unwrap();
    assert_eq!((view.running_turn, view.turn_files), (Some(TurnNo(2)), vec!["/w/a".to_owned(), "/w/b".to_owned()]));
}
