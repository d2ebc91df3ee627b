//! Compactions as rows: an epoch that one opened, requests beside the conversation, and the history that one works on.

use super::*;
use plimsoll_core::id::SideNo;
use plimsoll_core::model::usage::Usage;
use plimsoll_core::transcript::epoch::{CompactionCause, Level, RequestEnd, SummarySource, Switch, SwitchFacts};
use plimsoll_core::transcript::shape::{PicturePlace, Snip, Summary, Through};
use plimsoll_core::transcript::side::{Purpose, SideEnd, SideRow};

/// Three items and one request that holds the first two.
async fn begun(project: &ProjectStore, id: &SessionId) -> (Epoch, RequestRow) {
    let head = epoch(1, 1);
    let first = request(1, &head, &[], &["m1", "m2"], 2);
    let usage = Some(Usage { input: 100, cache_read: 40, cache_write: 0, output: 10 });
    let end = RequestEnd { no: RequestNo(1), at: at(1), usage, error: None };
    let prompt = Item { step: StepNo(0), ..user(1, "never edit legacy/") };
    let batch = Batch {
        items: vec![prompt, assistant(2, "a"), assistant(3, "b")],
        epoch: Some(head.clone()),
        request: Some(first.clone()),
        events: (1..=3).map(|no| added(no, no)).collect(),
        ..Batch::default()
    };
    project.commit(id, batch).await.unwrap();
    project.commit(id, Batch { request_end: Some(end), ..Batch::default() }).await.unwrap();
    (head, first)
}

fn facts() -> SwitchFacts {
    SwitchFacts {
        cause: CompactionCause::Manual,
        levels: vec![Level::Snip, Level::Summarize],
        before: 9_000,
        after: 4_000,
        usable: 10_000,
        first_changed: 1,
        summary: Some(SummarySource::Fork),
        waited_ms: 12,
    }
}

fn shape() -> Shape {
    Shape {
        snipped: [(CallId(1), Snip::Large)].into(),
        pruned: Some(Through::turn(TurnNo(1))),
        summary: Some(Summary { text: "what was".into(), through: Through::turn(TurnNo(1)), last_item: ItemNo(2) }),
        pictures: Some(PicturePlace { item: ItemNo(2), nth: 1 }),
        replaced: [ItemNo(2)].into(),
    }
}

/// The epoch that a compaction of everything up to item 3 opens.
fn switched(no: u64) -> Epoch {
    let messages = vec![Segment::new("m1"), Segment::counted("with a picture", 1_600, 1)];
    Epoch { shape: shape(), switch: Some(Switch { messages, last_item: ItemNo(3), facts: facts() }), ..epoch(no, 1) }
}

/// An epoch that goes on with the one before and has the same wire.
fn cold(no: u64) -> Epoch {
    Epoch { shape: shape(), ..epoch(no, 1) }
}

fn numbers(view: &LoadedView) -> Vec<u64> {
    view.items.iter().map(|item| item.item.no.0).collect()
}

#[tokio::test]
async fn an_epoch_that_a_compaction_opened_is_loaded_with_what_it_left() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let (_, first) = begun(&project, &id).await;
    let opened = switched(2);
    let more = Batch {
        items: vec![assistant(4, "c")],
        epoch: Some(opened.clone()),
        events: vec![added(4, 4)],
        ..Batch::default()
    };
    project.commit(&id, more).await.unwrap();
    let left = opened.switch.clone().unwrap().messages;
    let check = async |project: &ProjectStore, newest: &Epoch| {
        let view = project.load_view(&id).await.unwrap();
        assert_eq!(view.epoch.as_ref(), Some(newest));
        assert_eq!((&view.carried, view.carried_through), (&left, Some(ItemNo(3))));
        assert_eq!((view.messages.len(), view.last_request.as_ref()), (0, Some(&first)));
        assert_eq!(numbers(&view), [4]);
        let last = project.last_switch(&id).await.unwrap().unwrap();
        assert_eq!((last.epoch, last.facts, last.given_up), (EpochNo(2), facts(), 7));
    };
    check(&project, &opened).await;
    // Its event has what the provider's cache lost by it.
    let finished = EventBody::CompactionFinished { epoch: Some(EpochNo(2)), facts: Some(facts()), message: None };
    let event = Event { seq: Seq(5), at: at(5), body: finished };
    project.commit(&id, Batch { events: vec![event], ..Batch::default() }).await.unwrap();
    assert_eq!(project.events(&id, Seq(4), 9).await.unwrap()[0].given_up, Some(7));
    // Behind it an epoch on the same wire opens before anything is sent.
    project.commit(&id, Batch { epoch: Some(cold(3)), ..Batch::default() }).await.unwrap();
    check(&project, &cold(3)).await;
    drop(project);
    place.restart().await;
    let project = place.project().await;
    check(&project, &cold(3)).await;
    // What is sent then goes on with what was left, once.
    let tail = Segment::new("m4");
    let params = Params { model: "small".into(), max_output: 4096, temperature: Some(0.5) };
    let now = cold(3);
    let sent: Vec<Segment> = left.iter().cloned().chain([tail]).collect();
    let all = now.tools.iter().chain(&now.system).chain(&now.preamble).chain(&sent);
    let hash = request_hash(&params, all);
    let row = RequestRow { tail: sent.clone(), hash, ..request(2, &now, &[], &[], 4) };
    project.commit(&id, Batch { request: Some(row.clone()), ..Batch::default() }).await.unwrap();
    let view = project.load_view(&id).await.unwrap();
    assert_eq!((view.carried.len(), view.carried_through, view.messages.as_slice()), (0, None, sent.as_slice()));
    assert_eq!((view.items.len(), view.last_request), (0, Some(row)));
    let body = project.request_body_segments(&id, RequestNo(2)).await.unwrap();
    assert_eq!(body.messages[1..], sent[..]);
}

#[tokio::test]
async fn on_another_wire_only_what_the_shape_does_not_stand_for_is_read() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    begun(&project, &id).await;
    let parted = |step| {
        let through = Through { turn: TurnNo(1), step };
        let summary = Summary { text: "s".into(), through, last_item: ItemNo(2) };
        Shape { summary: Some(summary), ..Shape::default() }
    };
    let found = async |shape: &Shape| -> Vec<u64> {
        let items = project.shaped_items(&id, ItemNo(1), shape).await.unwrap();
        items.iter().map(|item| item.item.no.0).collect()
    };
    assert_eq!(found(&Shape::default()).await, [1, 2, 3]);
    assert_eq!(found(&parted(None)).await, [3]);
    assert_eq!(found(&parted(Some(StepNo(1)))).await, [1, 3], "what the user said in the parted turn");
    let other = Epoch { api: Api::AnthropicMessages, shape: parted(Some(StepNo(1))), ..epoch(2, 1) };
    project.commit(&id, Batch { epoch: Some(other), ..Batch::default() }).await.unwrap();
    let view = project.load_view(&id).await.unwrap();
    assert_eq!((numbers(&view), view.carried_through, view.last_request), (vec![1, 3], None, None));
}

fn side(no: u64, head: &Epoch, base: Option<u64>) -> SideRow {
    let params = Params { model: "small".into(), max_output: 4096, temperature: None };
    let messages = vec![Segment::new("m1"), Segment::counted("m2 with a picture", 1_700, 1), Segment::new("summarise")];
    let all = head.tools.iter().chain(&head.system).chain(&messages);
    SideRow {
        no: SideNo(no),
        purpose: Purpose::Summary,
        at: at(no as i64),
        epoch: EpochNo(1),
        last_item: ItemNo(3),
        base: base.map(RequestNo),
        api: Api::OpenaiChat,
        hash: request_hash(&params, all),
        params,
        tools: head.tools.clone(),
        system: head.system.clone(),
        messages: messages.clone(),
        marks: vec![1],
        bytes: 300,
    }
}

fn side_end(no: u64) -> SideEnd {
    let usage = Some(Usage { input: 1_000, cache_read: 900, cache_write: 5, output: 70 });
    SideEnd { no: SideNo(no), at: at(9), usage, text: "1. Intent".into(), error: Some("section 2 is missing".into()) }
}

#[tokio::test]
async fn requests_beside_the_conversation_are_kept_counted_and_deleted_with_their_session() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let (head, _) = begun(&project, &id).await;
    let rows = [side(1, &head, Some(1)), side(2, &head, None)];
    for row in &rows {
        project.commit(&id, Batch { side: Some(row.clone()), ..Batch::default() }).await.unwrap();
    }
    project.commit(&id, Batch { side_end: Some(side_end(1)), ..Batch::default() }).await.unwrap();
    drop(project);
    place.restart().await;
    let project = place.project().await;
    for row in &rows {
        assert_eq!(&project.side_request(&id, row.no).await.unwrap(), row);
    }
    let listed = project.side_requests(&id).await.unwrap();
    let shown: Vec<_> = listed.iter().map(|one| (one.no.0, one.base, one.bytes, one.end.clone())).collect();
    assert_eq!(shown, [(1, Some(RequestNo(1)), 300, Some(side_end(1))), (2, None, 300, None)]);
    let tokens: u64 = rows[0].tools.iter().chain(&rows[0].system).chain(&rows[0].messages).map(|s| s.tokens).sum();
    assert_eq!(listed[0].tokens, tokens);
    let view = project.load_view(&id).await.unwrap();
    assert_eq!(view.session.counters.side, SideNo(2));
    assert_eq!(view.usage, Usage { input: 1_100, cache_read: 940, cache_write: 5, output: 80 });
    assert!(matches!(project.side_request(&id, SideNo(3)).await, Err(StoreError::NotFound { .. })));
    // The other session paid for them.
    let record = ForkRecord { id: session_id("s2"), until: None, title: None, at: at(50), key: None };
    let fork = project.fork_session(&id, record).await.unwrap();
    assert_eq!((fork.counters.side, project.side_requests(&fork.id).await.unwrap().len()), (SideNo(0), 0));
    assert_eq!(project.load_view(&fork.id).await.unwrap().usage, Usage::default());
    // A deletion takes them, and leaves what another session still has.
    project.delete_session(&fork.id).await.unwrap();
    assert_eq!(&project.side_request(&id, SideNo(2)).await.unwrap(), &rows[1]);
    project.delete_session(&id).await.unwrap();
    place.stores.close().await;
    assert!(!contains(&all_bytes(&place.data()), "summarise"));
}

#[tokio::test]
async fn rows_beside_the_conversation_refuse_to_change() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let (head, _) = begun(&project, &id).await;
    let batch = Batch { side: Some(side(1, &head, None)), ..Batch::default() };
    project.commit(&id, batch).await.unwrap();
    project.commit(&id, Batch { side_end: Some(side_end(1)), ..Batch::default() }).await.unwrap();
    let connection = rusqlite::Connection::open(project.folder().join("plimsoll.db")).unwrap();
    for table in ["side_request", "side_end"] {
        for sql in [format!("UPDATE {table} SET sid = sid"), format!("DELETE FROM {table}")] {
            let error = connection.execute(&sql, []).unwrap_err().to_string();
            assert!(error.contains("never change") || error.contains("are deleted with"), "{sql}: {error}");
        }
    }
}

#[tokio::test]
async fn the_history_has_what_the_view_has_and_all_that_the_user_said() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let refused = ItemBody::User(UserMessage { text: "too long".into(), refused: true, ..UserMessage::default() });
    let steering = ItemBody::User(UserMessage { text: "only src/".into(), steering: true, ..UserMessage::default() });
    let large = "large ".repeat(200_000);
    let rewind = ItemBody::Rewind(plimsoll_core::transcript::item::Rewind { turn: TurnNo(2), from: ItemNo(8) });
    let other = |no, call| {
        let ItemBody::ToolResult(body) = result(no, call, Body::Text(large.clone())).body else { unreachable!() };
        item(no, ItemBody::ToolResult(ToolResult { tool: "grep".into(), ..body }))
    };
    let items = vec![
        user(1, "one"),
        call(2, 1),
        result(3, 1, Body::Text(large.clone())),
        item(4, refused),
        item(5, steering),
        call(6, 2),
        other(7, 2),
        user(8, "gone back from"),
        item(9, rewind),
        user(10, "two"),
    ];
    let batch = Batch {
        items,
        projections: vec![projection(1, "shown one"), projection(2, "shown two")],
        events: (1..=10).map(|no| added(no, no)).collect(),
        ..Batch::default()
    };
    project.commit(&id, batch).await.unwrap();
    let history = project.history(&id, ItemNo(3)).await.unwrap();
    assert_eq!(history.items.iter().map(|item| item.no.0).collect::<Vec<_>>(), [3, 4, 5, 6, 7, 10]);
    assert_eq!(history.projections.keys().map(|call| call.0).collect::<Vec<_>>(), [1, 2]);
    let said: Vec<_> = history.said.iter().map(|said| (said.item.0, said.text.as_str(), said.steering)).collect();
    assert_eq!(said, [(1, "one", false), (5, "only src/", true), (10, "two", false)]);
    // What can be an image is whole; other large results are not read from their files.
    let weight = |no: u64| match &history.items.iter().find(|item| item.no.0 == no).unwrap().body {
        ItemBody::ToolResult(result) => result.outcome.body.weight(),
        _ => 0,
    };
    assert_eq!(weight(3), large.len());
    assert!(weight(7) < 1_000, "{}", weight(7));
}

#[tokio::test]
async fn a_damaged_item_is_named() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    begun(&project, &id).await;
    let folder = project.folder().to_path_buf();
    drop(project);
    place.stores.close().await;
    let connection = rusqlite::Connection::open(folder.join("plimsoll.db")).unwrap();
    connection
        .execute_batch("DROP TRIGGER item_is_kept; UPDATE item SET body = x'00', codec = 1 WHERE no = 2")
        .unwrap();
    drop(connection);
    place.stores = Stores::open(&place.data()).await.unwrap();
    let project = place.project().await;
    let error = project.history(&id, ItemNo(1)).await.unwrap_err().to_string();
    assert!(error.contains("item 2 cannot be read"), "{error}");
    assert_eq!(project.history(&id, ItemNo(3)).await.unwrap().items.len(), 1);
}
