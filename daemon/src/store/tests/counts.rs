//! Segments keep what they were counted, and those from before counts were kept are counted when they are read.

use super::*;

#[tokio::test]
async fn counts_are_kept_and_older_rows_are_counted() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let head = epoch(1, 1);
    let mut row = request(1, &head, &[], &["{\"role\":\"user\",\"content\":\"what was said\"}"], 0);
    row.tail[0].tokens = 4_000;
    row.tail[0].images = 2;
    let batch = Batch { epoch: Some(head.clone()), request: Some(row.clone()), ..Batch::default() };
    project.commit(&id, batch).await.unwrap();
    let view = project.load_view(&id).await.unwrap();
    assert_eq!((view.messages, view.epoch), (row.tail.clone(), Some(head.clone())));

    let database = project.folder().join("plimsoll.db");
    drop(project);
    place.restart().await;
    rusqlite::Connection::open(&database)
        .unwrap()
        .execute_batch("UPDATE request_blob SET tokens = NULL, images = 0; UPDATE epoch_blob SET tokens = NULL")
        .unwrap();
    let view = place.project().await.load_view(&id).await.unwrap();
    assert_eq!(view.messages, [Segment::new(row.tail[0].text.clone())]);
    assert_eq!(view.epoch, Some(head));
}

#[tokio::test]
async fn what_attached_files_showed_stands_in_its_order_among_the_results() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let shown = |version: &str| Shown {
        path: "/w/a.rs".into(),
        version: version.into(),
        lines: vec![(1, 2)],
        cut: vec![],
        total: 2,
    };
    let prompt = |no: u64, version: &str| {
        let body = UserMessage { text: "see".into(), shown: vec![shown(version)], ..UserMessage::default() };
        Item { body: ItemBody::User(body), ..user(no, "") }
    };
    let projection = StoredProjection {
        call: CallId(1),
        text: "shown".into(),
        is_error: false,
        tokens: 1,
        partial: false,
        whole: 1,
        saved: 0,
        shown: vec![shown("two")],
    };
    project.commit(&id, Batch { items: vec![prompt(1, "one")], ..Batch::default() }).await.unwrap();
    project.commit(&id, Batch { projections: vec![projection], ..Batch::default() }).await.unwrap();
    project.commit(&id, Batch { items: vec![prompt(2, "three")], ..Batch::default() }).await.unwrap();
    drop(project);
    place.restart().await;
    let project = place.project().await;
    let view = project.load_view(&id).await.unwrap();
    assert_eq!(view.shown, [shown("one"), shown("two"), shown("three")]);
    project.delete_session(&id).await.unwrap();
}
