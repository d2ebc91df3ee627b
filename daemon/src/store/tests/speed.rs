//! Long sessions and many of them: reading stays quick because every page has its index. Bounds are generous, so that a
//! busy machine and an unoptimised build pass; a scan of the whole table would not.

use super::*;
use std::time::{Duration, Instant};

async fn timed<T>(what: &str, bound: Duration, work: impl Future<Output = T>) -> T {
    let start = Instant::now();
    let out = work.await;
    let took = start.elapsed();
    println!("{what}: {took:?}");
    assert!(took < bound, "{what} took {took:?}");
    out
}

#[tokio::test]
async fn a_session_of_a_hundred_thousand_items_is_read_by_pages() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    for round in 0..100_u64 {
        let from = round * 1000;
        let items = (1..=1000).map(|no| assistant(from + no, &format!("text number {no}"))).collect();
        let events = (1..=1000).map(|no| added(from + no, from + no)).collect();
        project.commit(&id, Batch { items, events, ..Batch::default() }).await.unwrap();
    }
    let bound = Duration::from_millis(300);
    let events = timed("events, first 200", bound, project.events(&id, Seq(0), 200)).await.unwrap();
    assert_eq!(events.len(), 200);
    let events = timed("events, last 200", bound, project.events(&id, Seq(99_800), 200)).await.unwrap();
    assert_eq!(events.len(), 200);
    let page = timed("items, last 50", bound, project.items_before(&id, None, 50)).await.unwrap();
    assert_eq!((page.items.len(), page.last), (50, ItemNo(100_000)));
    let page = timed("items, page before", bound, project.items_before(&id, Some(ItemNo(99_951)), 50)).await.unwrap();
    assert_eq!(page.items.len(), 50);
}

#[tokio::test]
async fn ten_thousand_sessions_are_listed_by_pages() {
    let place = Place::new().await;
    let project = place.project().await;
    let session = project.create_session(new_session("first")).await.unwrap();
    let key = project.record().key.clone();
    drop(project);
    place.stores.close().await;
    let path = place.data().join("user.db");
    let mut connection = rusqlite::Connection::open(&path).unwrap();
    let transaction = connection.transaction().unwrap();
    for no in 0..10_000 {
        let session = SessionRow { id: session_id(&format!("s{no}")), ..session.clone() };
        let row = index::IndexRow { project: key.clone(), sid: 2, session };
        index::UserSql { connection: &transaction, path: &path }.put(&row).unwrap();
    }
    transaction.commit().unwrap();
    drop(connection);
    let mut place = place;
    place.stores = Stores::open(&place.data()).await.unwrap();
    let first = ListFilter { limit: 50, ..ListFilter::default() };
    place.stores.list_sessions(first.clone()).await.unwrap();
    let bound = Duration::from_millis(250);
    let page = timed("list, first 50 of 10,000", bound, place.stores.list_sessions(first)).await.unwrap();
    let next = ListFilter { project: Some(key), cursor: page.next, limit: 500, ..ListFilter::default() };
    let page = timed("list, next 500", bound, place.stores.list_sessions(next)).await.unwrap();
    assert_eq!(page.sessions.len(), 500);
}

#[tokio::test]
async fn a_view_of_a_hundred_turns_is_loaded_in_one_go() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let head = epoch(1, 1);
    let mut sent: Vec<Segment> = Vec::new();
    let mut slowest = Duration::ZERO;
    let start = Instant::now();
    for no in 1..=400_u64 {
        let text = format!("message {no} ").repeat(60);
        let row = request(no, &head, &sent, &[&text], no);
        sent.extend(row.tail.iter().cloned());
        let items = vec![assistant(no, &text)];
        let first = (no == 1).then(|| head.clone());
        let batch = Batch { items, events: vec![added(no, no)], epoch: first, request: Some(row), ..Batch::default() };
        let began = Instant::now();
        project.commit(&id, batch).await.unwrap();
        slowest = slowest.max(began.elapsed());
    }
    println!("commit: {:?} each, {slowest:?} the slowest", start.elapsed() / 400);
    let view = timed("view of 400 requests", Duration::from_millis(400), project.load_view(&id)).await.unwrap();
    assert_eq!(view.messages, sent);
}
