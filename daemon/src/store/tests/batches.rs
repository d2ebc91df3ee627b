//! What a batch writes and what is read back of it.

use super::*;
use plimsoll_core::event::{AskResolution, TurnEnd, TurnFacts};
use plimsoll_core::id::SideNo;
use plimsoll_core::model::usage::Usage;
use plimsoll_core::tool::outcome::{Todo, TodoStatus};
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::epoch::RequestEnd;
use std::collections::BTreeMap;

/// A session with one finished step and one open one; gives what was written.
async fn two_steps(project: &ProjectStore, id: &SessionId) -> (Epoch, RequestRow, RequestRow) {
    let epoch = epoch(1, 1);
    let first = request(1, &epoch, &[], &["u1"], 1);
    let batch = Batch {
        items: vec![user(1, "look")],
        epoch: Some(epoch.clone()),
        request: Some(first.clone()),
        events: vec![Event { seq: Seq(1), at: at(1), body: EventBody::TurnStarted { turn: TurnNo(1) } }, added(2, 1)],
        state: Some(SessionState::Running),
        prompt_key: Some(("p1".into(), TurnNo(1))),
        title: Some("look".into()),
        revision: Some(Revision(3)),
        ..Batch::default()
    };
    project.commit(id, batch).await.unwrap();
    let todos = vec![Todo { id: "1".into(), content: "look".into(), status: TodoStatus::Pending }];
    let second = request(2, &epoch, &first.tail, &["a1", "r1"], 5);
    let batch = Batch {
        items: vec![call(2, 1), call(3, 2), result(4, 1, Body::Text("one".into())), result(5, 2, Body::Todos(todos))],
        projections: vec![projection(1, "shown one"), projection(2, "shown two")],
        operations: vec![operation(1, OpState::Succeeded), operation(2, OpState::Unknown)],
        asks: vec![ask(1, 1), ask(2, 2)],
        request: Some(second.clone()),
        request_end: Some(RequestEnd {
            no: RequestNo(1),
            at: at(2),
            usage: Some(Usage { input: 5, cache_read: 4, cache_write: 0, output: 3 }),
            error: None,
        }),
        events: vec![
            added(3, 4),
            Event { seq: Seq(4), at: at(2), body: EventBody::PlanChanged { call: CallId(2) } },
            Event { seq: Seq(5), at: at(2), body: EventBody::PermissionAsked { ask: AskId(2), call: CallId(2) } },
        ],
        revision: Some(Revision(2)),
        ..Batch::default()
    };
    project.commit(id, batch).await.unwrap();
    project.commit(id, Batch { items: vec![assistant(6, "so far")], ..Batch::default() }).await.unwrap();
    (epoch, first, second)
}

#[tokio::test]
async fn a_turn_can_go_on_from_what_was_loaded() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let empty = project.load_view(&id).await.unwrap();
    assert_eq!((empty.epoch, empty.last_request, empty.items.len()), (None, None, 0));
    let (epoch, first, second) = two_steps(&project, &id).await;
    let (before, head) = (first.tail.clone(), epoch.clone());
    drop(project);
    let place = place.crash().await;
    let project = place.project().await;
    let view = project.load_view(&id).await.unwrap();
    let messages: Vec<Segment> = before.iter().chain(&second.tail).cloned().collect();
    let expected = LoadedView {
        running_turn: Some(TurnNo(1)),
        waiting_turns: Vec::new(),
        session: project.session(&id).await.unwrap(),
        epoch: Some(head),
        messages,
        carried: Vec::new(),
        carried_through: None,
        last_request: Some(second),
        last_end: None,
        usage: Usage { input: 5, cache_read: 4, cache_write: 0, output: 3 },
        turn_usage: Usage { input: 5, cache_read: 4, cache_write: 0, output: 3 },
        items: vec![ViewItem { item: assistant(6, "so far"), projection: None }],
        operations: vec![operation(2, OpState::Unknown)],
        untold: Vec::new(),
        shown: vec![shown(1), shown(2)],
        todos: vec![Todo { id: "1".into(), content: "look".into(), status: TodoStatus::Pending }],
        before_plan: None,
        turn_files: Vec::new(),
        verification: None,
        task: None,
        revision: Revision(3),
    };
    assert_eq!(view, expected);
    let counters = Counters {
        item: ItemNo(6),
        seq: Seq(5),
        turn: TurnNo(1),
        call: CallId(2),
        request: RequestNo(2),
        epoch: EpochNo(1),
        ask: AskId(2),
        side: SideNo(0),
    };
    assert_eq!(view.session.counters, counters);
    assert_eq!((view.session.state, view.session.title.as_str()), (SessionState::Running, "look"));
    assert_eq!(view.session.open_asks, [ask(1, 1), ask(2, 2)]);
    assert_eq!(project.prompt_turn(&id, "p1").await.unwrap(), Some(TurnNo(1)));
    assert_eq!(project.prompt_turn(&id, "p2").await.unwrap(), None);
    assert_eq!(project.operations(&id, false).await.unwrap().len(), 2);
    assert_eq!(project.revision().await.unwrap(), Revision(3));
    let all = project.view_items_at(&id, ItemNo(4), ItemNo(u64::MAX)).await.unwrap();
    let shown: Vec<_> = all.iter().map(|view| view.projection.as_ref().map(|shown| shown.text.as_str())).collect();
    assert_eq!(shown, [Some("shown one"), Some("shown two"), None]);
}

#[tokio::test]
async fn a_new_epoch_begins_without_the_messages_of_the_old_one() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let (old, first, second) = two_steps(&project, &id).await;
    let new = epoch(2, 6);
    let third = request(3, &new, &[], &["fresh"], 6);
    let batch = Batch { epoch: Some(new.clone()), request: Some(third.clone()), ..Batch::default() };
    project.commit(&id, batch).await.unwrap();
    let view = project.load_view(&id).await.unwrap();
    assert_eq!((view.epoch, texts(&view.messages)), (Some(new), vec!["fresh"]));
    assert_eq!(view.items, []);
    let body = project.request_body_segments(&id, RequestNo(2)).await.unwrap();
    assert_eq!(texts(&body.messages), [old.preamble.first().map(|segment| &*segment.text).unwrap(), "u1", "a1", "r1"]);
    assert_eq!((body.epoch, body.request), (old, second.clone()));
    let listed = project.requests(&id).await.unwrap();
    assert_eq!(listed.iter().map(|entry| &entry.request).collect::<Vec<_>>(), [&first, &second, &third]);
    assert_eq!(listed.iter().map(|entry| entry.end.is_some()).collect::<Vec<_>>(), [true, false, false]);
    let missing = project.request_body_segments(&id, RequestNo(9)).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { what: "request", .. }), "{missing}");
}

#[tokio::test]
async fn a_request_with_another_hash_is_not_replayed() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let epoch = epoch(1, 1);
    let wrong = RequestRow { hash: [7; 32], ..request(1, &epoch, &[], &["u1"], 0) };
    project.commit(&id, Batch { epoch: Some(epoch), request: Some(wrong), ..Batch::default() }).await.unwrap();
    let error = project.request_body_segments(&id, RequestNo(1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn events_come_with_what_they_refer_to_as_it_is_now() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    two_steps(&project, &id).await;
    let resolution = Some(AskResolution::Answered { choice: AskChoice::AllowOnce, advice: None });
    let answered = Ask { resolution, ..ask(2, 2) };
    let batch = Batch { asks: vec![answered.clone()], ..Batch::default() };
    let now = project.commit(&id, batch).await.unwrap();
    assert_eq!(now.open_asks, [ask(1, 1)]);
    assert_eq!(project.open_asks(&id).await.unwrap(), [ask(1, 1)]);
    let events = project.events(&id, Seq(2), 10).await.unwrap();
    let seqs: Vec<u64> = events.iter().map(|resolved| resolved.event.seq.0).collect();
    assert_eq!(seqs, [3, 4, 5]);
    assert_eq!(events[0].item, Some(result(4, 1, Body::Text("one".into()))));
    assert_eq!(events[0].projection.as_deref(), Some("shown one"));
    assert_eq!(events[1].item.as_ref().map(|item| item.no), Some(ItemNo(5)));
    assert_eq!(events[2].ask, Some(answered));
    assert_eq!(project.events(&id, Seq(0), 1).await.unwrap().len(), 1);
    assert_eq!(project.events(&id, Seq(5), 10).await.unwrap(), []);
}

#[tokio::test]
async fn items_are_read_in_pages_from_both_ends() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let items: Vec<Item> = (1..=10).map(|no| assistant(no, &format!("text {no}"))).collect();
    project.commit(&id, Batch { items: items.clone(), ..Batch::default() }).await.unwrap();
    let check = |page: ItemPage, from: usize, to: usize| {
        assert_eq!(page, ItemPage { items: items[from..to].to_vec(), projections: BTreeMap::new(), last: ItemNo(10) });
    };
    check(project.items_after(&id, ItemNo(0), 4).await.unwrap(), 0, 4);
    check(project.items_after(&id, ItemNo(8), 4).await.unwrap(), 8, 10);
    check(project.items_before(&id, None, 3).await.unwrap(), 7, 10);
    check(project.items_before(&id, Some(ItemNo(3)), 5).await.unwrap(), 0, 2);
    assert_eq!(project.item(&id, ItemNo(5)).await.unwrap().as_ref(), items.get(4));
    assert_eq!(project.item(&id, ItemNo(11)).await.unwrap(), None);
}

#[tokio::test]
async fn a_batch_with_a_gap_is_refused_whole() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    project
        .commit(&id, Batch { items: vec![user(1, "a")], events: vec![added(1, 1)], ..Batch::default() })
        .await
        .unwrap();
    let before = project.session(&id).await.unwrap();
    let check = async |batch: Batch, expected: &str| {
        let error = project.commit(&id, batch).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(project.session(&id).await.unwrap(), before);
    };
    let items = |nos: &[u64]| nos.iter().map(|no| user(*no, "b")).collect::<Vec<_>>();
    check(
        Batch { items: items(&[2, 4]), ..Batch::default() },
        "item 4 of session s1 does not follow the last stored one; 3 would",
    )
    .await;
    check(
        Batch { items: items(&[1]), ..Batch::default() },
        "item 1 of session s1 does not follow the last stored one; 2 would",
    )
    .await;
    check(
        Batch { items: items(&[2]), events: vec![added(3, 2)], ..Batch::default() },
        "event 3 of session s1 does not follow the last stored one; 2 would",
    )
    .await;
    let again = epoch(1, 1);
    project.commit(&id, Batch { epoch: Some(again.clone()), ..Batch::default() }).await.unwrap();
    let error = project.commit(&id, Batch { epoch: Some(again), ..Batch::default() }).await.unwrap_err();
    assert!(matches!(error, StoreError::Gap { what: "epoch", expected: 2, found: 1, .. }), "{error}");
}

#[tokio::test]
async fn batches_that_come_together_stand_or_fall_alone() {
    let place = Place::new().await;
    let project = place.project().await;
    let mut tasks = tokio::task::JoinSet::new();
    for no in 0..40_u64 {
        let project = project.clone();
        tasks.spawn(async move {
            let id = project.create_session(new_session(&format!("s{no}"))).await.unwrap().id;
            for round in 1..=5 {
                let good = Batch { items: vec![user(round, "x")], ..Batch::default() };
                let bad = Batch { items: vec![user(round + 7, "x")], ..Batch::default() };
                let (good, bad) = tokio::join!(project.commit(&id, good), project.commit(&id, bad));
                assert!(matches!(bad, Err(StoreError::Gap { .. })));
                assert_eq!(good.unwrap().counters.item, ItemNo(round));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    for no in 0..40 {
        let page = project.items_after(&session_id(&format!("s{no}")), ItemNo(0), 99).await.unwrap();
        assert_eq!(page.items.len(), 5);
    }
}

// Case H10: the store's part.
#[tokio::test]
async fn order_is_that_of_insertion_when_the_clock_goes_back() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    // Three messages at each time; the last six come from two processes whose clocks are a minute apart.
    let other = Stores::open(&place.data()).await.unwrap();
    let second = other.open_project(&project.record().key).await.unwrap();
    let clock = [0, 0, 0, -30, -30, -30, 1, 1, 1, 60, 0, 60, 0, 60, 0];
    for (no, seconds) in (1..).zip(clock) {
        let item = Item { at: at(seconds), ..user(no, "x") };
        let event = Event { at: at(seconds), ..added(no, no) };
        let process = if no > 9 && seconds == 60 { &second } else { &project };
        process.commit(&id, Batch { items: vec![item], events: vec![event], ..Batch::default() }).await.unwrap();
    }
    for process in [&project, &second] {
        let events = process.events(&id, Seq(0), 99).await.unwrap();
        assert!(events.iter().map(|found| found.event.seq.0).eq(1..=15));
        let items = process.items_after(&id, ItemNo(0), 99).await.unwrap().items;
        assert_eq!(items.iter().map(|item| item.at).collect::<Vec<_>>(), clock.map(at));
        let view = process.load_view(&id).await.unwrap();
        assert!(view.items.iter().map(|item| item.item.no.0).eq(1..=15));
        assert_eq!(process.session(&id).await.unwrap().updated_at, at(60));
    }
}

#[tokio::test]
async fn rows_of_the_transcript_refuse_to_change() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    two_steps(&project, &id).await;
    let connection = rusqlite::Connection::open(project.folder().join("plimsoll.db")).unwrap();
    for table in ["item", "projection", "event", "epoch", "request", "request_end", "blob"] {
        let column = if table == "blob" { "len" } else { "sid" };
        for sql in [format!("UPDATE {table} SET {column} = {column}"), format!("DELETE FROM {table}")] {
            let error = connection.execute(&sql, []).unwrap_err().to_string();
            assert!(error.contains("never change") || error.contains("are deleted with"), "{sql}: {error}");
        }
    }
}

#[tokio::test]
async fn a_large_result_lies_in_its_own_file_and_is_read_from_there() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let text = (0..200_000).map(|no| format!("line {no}\n")).collect::<Vec<_>>().concat();
    let large = result(2, 1, Body::Text(text.clone()));
    let batch =
        Batch { items: vec![call(1, 1), large.clone()], projections: vec![projection(1, "shown")], ..Batch::default() };
    let size = project.commit(&id, batch).await.unwrap().bytes;
    let file = project.session_folder(&id).join("artifacts/c1.outcome.zst");
    let length = std::fs::metadata(&file).unwrap().len();
    assert!(size > length && size < length + 2_000, "{size} {length}");
    drop(project);
    place.restart().await;
    let project = place.project().await;
    assert_eq!(project.item(&id, ItemNo(2)).await.unwrap(), Some(large.clone()));
    let ItemBody::ToolResult(saved) = large.body else { unreachable!() };
    assert_eq!(project.outcome(&id, CallId(1)).await.unwrap(), Some(saved.outcome));
    assert_eq!(project.outcome(&id, CallId(2)).await.unwrap(), None);
    std::fs::write(&file, b"other").unwrap();
    let Some(Outcome { status: Status::Ok, body: Body::Text(told) }) = project.outcome(&id, CallId(1)).await.unwrap()
    else {
        panic!("the call's status is kept")
    };
    assert!(told.contains("c1.outcome.zst") && told.contains("no longer there"), "{told}");
    assert_eq!(project.items_after(&id, ItemNo(0), 9).await.unwrap().items.len(), 2);
}

#[tokio::test]
async fn a_turns_end_is_stored_with_all_it_says() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let body = EventBody::TurnCompleted {
        turn: TurnNo(4),
        reason: TurnEnd::StoreError,
        usage: Usage { input: 1, cache_read: 2, cache_write: 3, output: 4 },
        cost: Some(0.125),
        unsettled: vec![CallId(9)],
        message: Some("no space".into()),
        facts: TurnFacts::default(),
    };
    let event = Event { seq: Seq(1), at: at(5), body };
    let queued = Event { seq: Seq(2), at: at(6), body: EventBody::TurnQueued { turn: TurnNo(5) } };
    let batch = Batch { events: vec![event.clone(), queued], state: Some(SessionState::Idle), ..Batch::default() };
    let session = project.commit(&id, batch).await.unwrap();
    assert_eq!((session.counters.turn, session.updated_at), (TurnNo(5), at(6)));
    assert_eq!(project.events(&id, Seq(0), 1).await.unwrap()[0].event, event);
}

#[tokio::test]
async fn what_projections_saved_is_counted_per_model_and_tool() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    two_steps(&project, &id).await;
    let expected = ProjectionStats {
        model: "small".into(),
        tool: "read_file".into(),
        projections: 2,
        partial: 2,
        tokens: 14,
        saved: 126,
        ..ProjectionStats::default()
    };
    assert_eq!(project.projection_stats(Some(&id)).await.unwrap(), std::slice::from_ref(&expected));
    let other = project.create_session(new_session("s2")).await.unwrap().id;
    assert_eq!(project.projection_stats(Some(&other)).await.unwrap(), []);
    two_steps(&project, &other).await;
    let both = ProjectionStats { projections: 4, partial: 4, tokens: 28, saved: 252, ..expected };
    assert_eq!(project.projection_stats(None).await.unwrap(), [both]);
}
