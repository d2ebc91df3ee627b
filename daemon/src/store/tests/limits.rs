//! A full disk, several writers, permissions, and the size on disk.

use super::*;
use rusqlite::Connection;
use std::os::unix::fs::PermissionsExt as _;

// Case H02: the store's part.
#[tokio::test]
async fn a_full_disk_refuses_the_batch_and_nothing_else() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    project.commit(&id, Batch { items: vec![user(1, "before")], ..Batch::default() }).await.unwrap();
    let other = project.create_session(new_session("s2")).await.unwrap().id;
    project.limit_pages(1).await;
    // Random digits do not pack.
    let mut state = 7_u64;
    let noise: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{state:016x}")
    })
    .take(20_000)
    .collect();
    let big = Batch { items: vec![user(2, &noise)], ..Batch::default() };
    let error = project.commit(&id, big).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("plimsoll.db"), "{error}");
    assert_eq!(project.items_after(&id, ItemNo(0), 9).await.unwrap().items, [user(1, "before")]);
    let listed = place.stores.list_sessions(ListFilter { limit: 9, ..ListFilter::default() }).await.unwrap();
    assert_eq!(listed.sessions.len(), 2);
    // A batch that comes together with one that does not fit is not lost with it.
    let too_big = Batch { items: vec![user(1, &noise)], ..Batch::default() };
    let small = Batch { items: vec![user(2, "small")], ..Batch::default() };
    let (small, too_big) = tokio::join!(project.commit(&id, small), project.commit(&other, too_big));
    assert!(matches!(too_big, Err(StoreError::Full { .. })));
    assert_eq!(small.unwrap().counters.item, ItemNo(2));
    project.limit_pages(1_000_000).await;
    project.commit(&id, Batch { items: vec![user(3, &noise)], ..Batch::default() }).await.unwrap();
    let path = project.folder().join("plimsoll.db");
    drop(project);
    place.restart().await;
    let items = place.project().await.items_after(&id, ItemNo(0), 9).await.unwrap();
    assert_eq!(items.items, [user(1, "before"), user(2, "small"), user(3, &noise)]);
    place.stores.close().await;
    let answer: String =
        Connection::open(path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(answer, "ok");
}

// Case H01.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_write_one_database_while_a_third_lists() {
    let place = Place::new().await;
    let first = place.project().await;
    let other = Stores::open(&place.data()).await.unwrap();
    let second = other.open_project(&first.record().key).await.unwrap();
    let write = async |project: ProjectStore, name: &str| {
        let id = project.create_session(new_session(name)).await.unwrap().id;
        for no in 1..=500 {
            let batch = Batch { items: vec![user(no, "x")], events: vec![added(no, no)], ..Batch::default() };
            project.commit(&id, batch).await.unwrap();
        }
    };
    let list = async {
        for _ in 0..100 {
            place.stores.list_sessions(ListFilter { limit: 9, ..ListFilter::default() }).await.unwrap();
        }
    };
    tokio::join!(write(first.clone(), "s1"), write(second.clone(), "s2"), list);
    for name in ["s1", "s2"] {
        for project in [&first, &second] {
            let events = project.events(&session_id(name), Seq(0), 999).await.unwrap();
            assert!(events.iter().map(|found| found.event.seq.0).eq(1..=500));
        }
    }
}

fn modes(path: &Path, out: &mut Vec<(PathBuf, u32)>) {
    let meta = std::fs::symlink_metadata(path).unwrap();
    out.push((path.to_owned(), meta.permissions().mode() & 0o7777));
    if meta.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            modes(&entry.unwrap().path(), out);
        }
    }
}

#[tokio::test]
async fn everything_on_disk_is_for_its_owner_only() {
    let place = Place::new().await;
    let check = || {
        let mut found = Vec::new();
        modes(&place.data(), &mut found);
        for (path, mode) in &found {
            assert_eq!(*mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        }
        found.len()
    };
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let long = result(2, 1, Body::Text("a line of text\n".repeat(100_000)));
    project.commit(&id, Batch { items: vec![call(1, 1), long], ..Batch::default() }).await.unwrap();
    project.settle_mirror(&id).await.unwrap();
    assert!(check() >= 12);
    drop(project);
    place.stores.close().await;
    check();
}

#[tokio::test]
async fn a_wider_data_folder_is_tightened() {
    let place = Place::new().await;
    let project = place.project().await;
    let database = project.folder().join("plimsoll.db");
    drop(project);
    place.stores.close().await;
    for path in [place.data(), database.parent().unwrap().to_owned()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(&database, std::fs::Permissions::from_mode(0o644)).unwrap();
    let stores = Stores::open(&place.data()).await.unwrap();
    let key = stores.projects().await.unwrap()[0].key.clone();
    stores.open_project(&key).await.unwrap();
    let mut found = Vec::new();
    modes(&place.data(), &mut found);
    assert!(found.iter().all(|(_, mode)| mode.trailing_zeros() >= 6), "{found:?}");
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    place.stores.close().await;
    let commit = project.commit(&id, Batch { items: vec![user(1, "x")], ..Batch::default() }).await;
    assert!(matches!(commit, Err(StoreError::Closed { .. })));
    assert!(matches!(project.session(&id).await, Err(StoreError::Closed { .. })));
    assert!(matches!(project.rebuild_mirror(&id).await, Err(StoreError::Closed { .. })));
    assert!(matches!(place.stores.open_project(&project.record().key).await, Err(StoreError::Closed { .. })));
}

/// Thirty turns of five steps with a megabyte of results, in words that are like source text.
#[tokio::test]
async fn thirty_turns_stay_small_on_disk() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let mut state = 1_u64;
    let mut word = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ["let ", "self.", "return ", "value", "(", ") {\n", "};\n", "index", " + ", "match ", "count"]
            [(state >> 33) as usize % 11]
    };
    let mut source = move |bytes: usize| {
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(word());
        }
        text
    };
    let mut head = epoch(1, 1);
    head.system.push(Segment::new(source(8_000)));
    head.stated = stated(&[("instructions:AGENTS.md", &source(4_000)), ("git_status", "clean")]);
    let (mut items, mut seqs, mut requests) = (0, 0, 0);
    let mut sent: Vec<Segment> = Vec::new();
    let mut content = 0;
    for turn in 0..30_u64 {
        for step in 0..5_u64 {
            let text = source(7_000);
            content += text.len();
            let shown: String = text.chars().take(2_500).collect();
            let call_no = turn * 5 + step + 1;
            let new =
                [user(items + 1, "go on"), call(items + 2, call_no), result(items + 3, call_no, Body::Text(text))];
            items += 3;
            requests += 1;
            let tail = format!("{{\"role\":\"tool\",\"content\":{}}}", serde_json::Value::from(shown.as_str()));
            let mut row = request(requests, &head, &sent, &["{\"role\":\"assistant\"}", &tail], items);
            row.stated.blocks.clone_from(&head.stated.blocks);
            row.stated.blocks.insert("git_status".into(), format!("{turn} files changed"));
            sent.extend(row.tail.iter().cloned());
            let batch = Batch {
                items: new.to_vec(),
                projections: vec![projection(call_no, &shown)],
                epoch: (requests == 1).then(|| head.clone()),
                request: Some(row),
                events: (1..=3).map(|at| added(seqs + at, items - 3 + at)).collect(),
                ..Batch::default()
            };
            seqs += 3;
            project.commit(&id, batch).await.unwrap();
        }
    }
    assert!(content >= 1_000_000);
    let database = project.folder().join("plimsoll.db");
    drop(project);
    place.stores.close().await;
    let size: u64 = ["", "-wal", "-shm"]
        .iter()
        .filter_map(|suffix| std::fs::metadata(format!("{}{suffix}", database.display())).ok())
        .map(|meta| meta.len())
        .sum();
    assert!(size <= 1_500_000, "{size} bytes");
}
