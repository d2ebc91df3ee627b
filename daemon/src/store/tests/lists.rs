//! What is listed, searched and relocated.

use super::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn ids(page: &ListPage) -> Vec<String> {
    page.sessions.iter().map(|found| found.session.id.to_string()).collect()
}

async fn listed(stores: &Stores, filter: ListFilter) -> Vec<String> {
    ids(&stores.list_sessions(ListFilter { limit: 9, ..filter }).await.unwrap())
}

#[tokio::test]
async fn lists_are_narrowed_by_words_states_and_what_is_archived() {
    let mut place = Place::new().await;
    let project = place.project().await;
    for (id, title) in [("s1", "Fix the PARSER"), ("s2", "parser größe"), ("s3", "something else")] {
        project.create_session(SessionRecord { title: title.into(), ..new_session(id) }).await.unwrap();
    }
    let running = Batch { state: Some(plimsoll_core::transcript::batch::SessionState::Running), ..Batch::default() };
    project.commit(&session_id("s3"), running).await.unwrap();
    assert!(project.archive(&session_id("s1"), true, at(1)).await.unwrap().archived);
    let words = |query: &str| ListFilter {
        title: Some(plimsoll_core::transcript::search::Words::new(query)),
        archived: Archived::Also,
        ..ListFilter::default()
    };
    let running =
        ListFilter { states: vec![plimsoll_core::transcript::batch::SessionState::Running], ..ListFilter::default() };
    for _ in 0..2 {
        assert_eq!(listed(&place.stores, ListFilter::default()).await, ["s3", "s2"]);
        let only = ListFilter { archived: Archived::Only, ..ListFilter::default() };
        assert_eq!(listed(&place.stores, only).await, ["s1"]);
        assert_eq!(listed(&place.stores, words("parser")).await, ["s1", "s2"]);
        assert_eq!(listed(&place.stores, words("GRÖßE pars")).await, ["s2"]);
        assert_eq!(listed(&place.stores, running.clone()).await, ["s3"]);
        place.restart().await;
    }
    // A turn puts it back, anything else does not.
    let project = place.project().await;
    let id = session_id("s1");
    project
        .commit(
            &id,
            Batch {
                events: vec![added(1, 1)],
                items: vec![Item { turn: TurnNo(0), ..user(1, "x") }],
                ..Batch::default()
            },
        )
        .await
        .unwrap();
    assert!(project.session(&id).await.unwrap().archived);
    project.commit(&id, Batch { items: vec![user(2, "go on")], ..Batch::default() }).await.unwrap();
    assert!(!project.session(&id).await.unwrap().archived);
}

#[tokio::test]
async fn pages_of_a_search_for_a_title_hold_every_session_once_while_others_change() {
    let place = Place::new().await;
    let project = place.project().await;
    for no in 0..20 {
        let title = if no % 2 == 0 { format!("even {no}") } else { "odd".into() };
        project.create_session(SessionRecord { title, ..new_session(&format!("s{no:02}")) }).await.unwrap();
    }
    let mut filter = ListFilter {
        title: Some(plimsoll_core::transcript::search::Words::new("Even")),
        limit: 3,
        ..ListFilter::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = place.stores.list_sessions(filter.clone()).await.unwrap();
        seen.extend(ids(&page));
        // One that was given, and one that is not asked for.
        project.rename(&session_id(&seen[0]), "even so", at(1)).await.unwrap();
        project.rename(&session_id("s01"), "odd", at(1)).await.unwrap();
        let Some(next) = page.next else { break };
        filter.cursor = Some(next);
    }
    let expected: Vec<String> = (0..10).rev().map(|no| format!("s{:02}", no * 2)).collect();
    assert_eq!(seen, expected);
}

fn search(query: &str) -> Search {
    Search {
        words: plimsoll_core::transcript::search::Words::new(query),
        kinds: vec!["user", "assistant", "tool_call", "tool_result"],
        stop: Arc::default(),
    }
}

const ROOM: Room = Room { hits: 50, items: 1_000, bytes: 1 << 30 };

fn found(scanned: &Scanned) -> Vec<u64> {
    scanned.hits.iter().map(|hit| hit.item.0).collect()
}

#[tokio::test]
async fn words_are_found_in_items_results_and_files_from_the_last_back() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let long = format!("{}Needle in\nthe file", "hay \u{e4}\n".repeat(400_000));
    let items = vec![
        user(1, "where is the NEEDLE"),
        assistant(2, "nothing here"),
        call(3, 1),
        result(4, 1, Body::Text("one needle, two needles".into())),
        call(5, 2),
        result(6, 2, Body::Text(long)),
        user(7, &format!("{}needle", "x ".repeat(400))),
    ];
    project.commit(&id, Batch { items, ..Batch::default() }).await.unwrap();
    assert!(
        place.data().join("projects").join(project.record().key.as_str()).join("s1/artifacts/c2.outcome.zst").exists()
    );
    let scanned = project.search(&id, &search("needle"), None, ROOM).await.unwrap();
    assert_eq!((found(&scanned), scanned.next, scanned.room.items), (vec![7, 6, 4, 1], None, 993));
    let pieces: Vec<&str> = scanned.hits.iter().map(|hit| &hit.found.text[hit.found.ranges[0].clone()]).collect();
    assert_eq!(pieces, ["needle", "Needle", "needle", "NEEDLE"]);
    assert_eq!(scanned.hits[2].found.ranges.len(), 2);
    assert!(scanned.hits[1].found.text.contains("Needle in\nthe file"), "{:?}", scanned.hits[1]);
    let both = project.search(&id, &search("file NEEDLE"), None, ROOM).await.unwrap();
    assert_eq!(found(&both), [6]);
    let calls = Search { kinds: vec!["tool_call"], ..search("f2.RS") };
    assert_eq!(found(&project.search(&id, &calls, None, ROOM).await.unwrap()), [5]);
    assert_eq!(found(&project.search(&session_id("s9"), &search("needle"), None, ROOM).await.unwrap()), [0; 0]);
}

#[tokio::test]
async fn a_scan_goes_as_far_as_there_is_room_and_on_from_there() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let items = (1..=100).map(|no| user(no, if no % 10 == 0 { "ten" } else { "other" })).collect();
    project.commit(&id, Batch { items, ..Batch::default() }).await.unwrap();
    for room in [Room { hits: 3, ..ROOM }, Room { items: 7, ..ROOM }, Room { bytes: 200, ..ROOM }] {
        let (mut all, mut before) = (Vec::new(), None);
        loop {
            let scanned = project.search(&id, &search("ten"), before, room).await.unwrap();
            all.extend(found(&scanned));
            if scanned.next.is_none() {
                break;
            }
            assert!(scanned.next < before.or(Some(ItemNo(101))), "{room:?}");
            before = scanned.next;
        }
        assert_eq!(all, [100, 90, 80, 70, 60, 50, 40, 30, 20, 10], "{room:?}");
    }
    let stopped = search("ten");
    stopped.stop.store(true, Ordering::Relaxed);
    let scanned = project.search(&id, &stopped, None, ROOM).await.unwrap();
    assert_eq!((found(&scanned), scanned.room), (vec![], ROOM));
}

#[tokio::test]
async fn projects_that_are_not_open_are_searched_without_being_opened() {
    let place = Place::new().await;
    let project = place.project().await;
    let key = project.record().key.clone();
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    project.commit(&id, Batch { items: vec![user(1, "needle")], ..Batch::default() }).await.unwrap();
    drop(project);
    let mut place = place;
    place.restart().await;
    let look = async |place: &Place| {
        let scanned = place.stores.search(&key, &id, &search("needle"), None, ROOM).await.unwrap();
        assert_eq!(found(&scanned), [1]);
        place.stores.take_out(&key).is_some()
    };
    assert!(!look(&place).await);
    // It stays as one that was closed well.
    let path = place.data().join("projects").join(key.as_str()).join("plimsoll.db");
    assert!(database::is_clean(&path));
    assert!(!look(&place).await);
    // One that was not closed well is opened for it.
    std::fs::remove_file(path.with_extension("db.clean")).unwrap();
    assert!(look(&place).await);
}

#[tokio::test]
async fn a_project_that_moved_keeps_everything_but_its_roots() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let key = project.record().key.clone();
    project.create_session(new_session("s1")).await.unwrap();
    place.stores.set_trusted(&key, true).await.unwrap();
    let new = place.temp.path().join("work/elsewhere");
    std::fs::rename(place.root(), &new).unwrap();
    let new = std::fs::canonicalize(new).unwrap();
    let missing = place.stores.relocate(&key, &[place.root()]).await.unwrap_err();
    assert!(matches!(missing, StoreError::RootMissing { .. }), "{missing}");
    // Somebody looked there: a project without anything in it gives way.
    let empty = place.stores.project_for(std::slice::from_ref(&new), NOW).await.unwrap().key;
    place.stores.open_project(&empty).await.unwrap();
    for _ in 0..2 {
        let moved = place.stores.relocate(&key, std::slice::from_ref(&new)).await.unwrap();
        assert_eq!((&moved.key, &moved.roots), (&key, &vec![new.clone()]));
    }
    assert_eq!(project.record().roots, std::slice::from_ref(&new));
    assert!(!place.data().join("projects").join(empty.as_str()).exists());
    drop(project);
    for _ in 0..2 {
        assert_eq!(place.stores.project_for(std::slice::from_ref(&new), NOW).await.unwrap().key, key);
        assert_eq!(
            listed(&place.stores, ListFilter { project: Some(key.clone()), ..ListFilter::default() }).await,
            ["s1"]
        );
        assert!(place.stores.is_trusted(&key).await.unwrap());
        assert!(place.stores.project(&empty).await.is_err());
        place.restart().await;
    }
    // Also where the index is lost: the project's own database has been told.
    place.stores.open_project(&key).await.unwrap();
    place.stores.close().await;
    for suffix in ["", "-wal", "-shm", ".clean"] {
        let _ = std::fs::remove_file(place.data().join(format!("user.db{suffix}")));
    }
    place.stores = Stores::open(&place.data()).await.unwrap();
    assert_eq!(place.stores.project(&key).await.unwrap().roots, [new]);
}

#[tokio::test]
async fn a_project_does_not_take_the_folder_of_another_that_holds_something() {
    let place = Place::new().await;
    let project = place.project().await;
    let other_root = place.temp.path().join("work/other");
    std::fs::create_dir(&other_root).unwrap();
    let other = place.stores.project_for(std::slice::from_ref(&other_root), NOW).await.unwrap();
    let store = place.stores.open_project(&other.key).await.unwrap();
    store.create_session(new_session("s2")).await.unwrap();
    drop(store);
    let refused = place.stores.relocate(&project.record().key, &[other_root]).await.unwrap_err();
    assert!(matches!(refused, StoreError::RootTaken { .. }), "{refused}");
    assert_eq!(project.record().roots, [std::fs::canonicalize(place.root()).unwrap()]);
    assert_eq!(listed(&place.stores, ListFilter { project: Some(other.key), ..ListFilter::default() }).await, ["s2"]);
}
