//! Damaged, empty, foreign and newer files.

use super::*;
use rusqlite::Connection;
use std::io::{Seek as _, SeekFrom, Write as _};

/// A store with some sessions, closed well. Gives the project's database.
async fn filled() -> (Place, PathBuf) {
    let place = Place::new().await;
    let project = place.project().await;
    for no in 0..6 {
        let id = project.create_session(new_session(&format!("s{no}"))).await.unwrap().id;
        let epoch = epoch(1, 1);
        for round in 0..20 {
            let items =
                (1..=3).map(|at| assistant(round * 3 + at, &format!("{no} {round} {at} ").repeat(40))).collect();
            let first = (round == 0).then(|| epoch.clone());
            let request = (round == 0).then(|| request(1, &epoch, &[], &["u1"], 3));
            let events = vec![added(round + 1, round * 3 + 1)];
            project.commit(&id, Batch { items, events, epoch: first, request, ..Batch::default() }).await.unwrap();
        }
        project.settle_mirror(&id).await.unwrap();
    }
    let path = project.folder().join("plimsoll.db");
    drop(project);
    place.stores.close().await;
    (place, path)
}

fn overwrite(path: &Path, from: u64, len: usize) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(from)).unwrap();
    file.write_all(&vec![0; len]).unwrap();
}

fn copies(path: &Path) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = std::fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|found| found.to_string_lossy().contains(".damaged-") && !found.to_string_lossy().ends_with("-wal"))
        .filter(|found| !found.to_string_lossy().ends_with("-shm"))
        .collect();
    out.sort();
    out
}

/// Opens the damaged store twice: the first time it is kept aside with its bytes and recovered, the second time not.
async fn check_recovered(place: &mut Place, path: &Path) {
    let damaged = std::fs::read(path).unwrap();
    place.stores = Stores::open(&place.data()).await.unwrap();
    let project = place.project().await;
    let Health::Recovered { kept, detail } = project.health().clone() else { panic!("damage was not noticed") };
    assert_eq!(place.stores.damages(), [project.health().clone()]);
    assert_eq!(std::fs::read(&kept).unwrap(), damaged, "{detail}");
    let page = place.stores.list_sessions(ListFilter { limit: 99, ..ListFilter::default() }).await.unwrap();
    for found in &page.sessions {
        let id = &found.session.id;
        let view = project.load_view(id).await.unwrap();
        let items = project.items_after(id, ItemNo(0), 999).await.unwrap().items;
        let nos: Vec<u64> = items.iter().map(|item| item.no.0).collect();
        assert_eq!(nos, (1..=view.session.counters.item.0).collect::<Vec<_>>());
        let events = project.events(id, Seq(0), 999).await.unwrap();
        assert_eq!(events.len() as u64, view.session.counters.seq.0);
        // It goes on.
        let next = view.session.counters.item.next().0;
        project.commit(id, Batch { items: vec![user(next, "on")], ..Batch::default() }).await.unwrap();
    }
    drop(project);
    place.restart().await;
    let project = place.project().await;
    assert_eq!(project.health(), &Health::Good);
    assert_eq!(copies(path), [kept]);
    let after = place.stores.list_sessions(ListFilter { limit: 99, ..ListFilter::default() }).await.unwrap();
    assert_eq!(after.sessions.len(), page.sessions.len());
    drop(project);
    place.stores.close().await;
    let connection = Connection::open(path).unwrap();
    let answer: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(answer, "ok");
    let broken: Option<String> = connection.query_row("PRAGMA foreign_key_check", [], |row| row.get(0)).ok();
    assert_eq!(broken, None);
}

// Case H04: the store's part.
#[tokio::test]
async fn a_zeroed_page_is_kept_aside_and_the_rest_recovered() {
    let (mut place, path) = filled().await;
    overwrite(&path, 8192, 4096);
    check_recovered(&mut place, &path).await;
}

#[tokio::test]
async fn damage_anywhere_leaves_a_store_that_works() {
    let (place, path) = filled().await;
    let size = std::fs::metadata(&path).unwrap().len();
    let good = std::fs::read(&path).unwrap();
    let user = std::fs::read(place.data().join("user.db")).unwrap();
    let mut place = place;
    let pages = size / 4096;
    for step in 0..8 {
        let page = step * pages / 8;
        for copy in copies(&path) {
            std::fs::remove_file(copy).unwrap();
        }
        std::fs::write(&path, &good).unwrap();
        std::fs::write(place.data().join("user.db"), &user).unwrap();
        overwrite(&path, page * 4096 + 100, 3 * 4096);
        check_recovered(&mut place, &path).await;
    }
}

#[tokio::test]
async fn sessions_are_named_by_the_index_when_their_table_is_lost() {
    let (mut place, path) = filled().await;
    let connection = Connection::open(&path).unwrap();
    let root: u64 = connection
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'session'", [], |row| row.get::<_, i64>(0))
        .unwrap() as u64;
    drop(connection);
    overwrite(&path, (root - 1) * 4096, 4096);
    place.stores = Stores::open(&place.data()).await.unwrap();
    let project = place.project().await;
    for no in 0..6 {
        let id = session_id(&format!("s{no}"));
        let page = project.items_before(&id, None, 1).await.unwrap();
        let text = format!("{no} 19 3 ").repeat(40);
        assert_eq!(page.items, [assistant(60, &text)]);
        assert_eq!(project.load_view(&id).await.unwrap().epoch, Some(epoch(1, 1)));
        let kept = project.session_folder(&id).join("transcript.txt.before-recovery-1");
        assert!(std::fs::read_to_string(kept).unwrap().contains(&text));
    }
}

#[tokio::test]
async fn an_empty_or_senseless_file_is_kept_aside_and_replaced() {
    for content in [Vec::new(), b"this is no database at all, but long enough to be read as a page".repeat(99)] {
        let (mut place, path) = filled().await;
        std::fs::write(&path, &content).unwrap();
        place.stores = Stores::open(&place.data()).await.unwrap();
        let project = place.project().await;
        let Health::Recovered { kept, .. } = project.health().clone() else { panic!("damage was not noticed") };
        assert_eq!(std::fs::read(&kept).unwrap(), content);
        project.create_session(new_session("new")).await.unwrap();
        drop(project);
        place.restart().await;
        assert_eq!(place.project().await.health(), &Health::Good);
        assert_eq!(copies(&path), [kept]);
    }
}

/// The files of a store with one session of twenty items as they are while the daemon lives: what a killed one leaves.
async fn killed() -> (tempfile::TempDir, plimsoll_core::id::ProjectKey, PathBuf) {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    for no in 1..=20 {
        project.commit(&id, Batch { items: vec![user(no, "x")], ..Batch::default() }).await.unwrap();
    }
    let after = tempfile::tempdir().unwrap();
    let key = project.record().key.clone();
    let target = after.path().join("projects").join(key.as_str());
    std::fs::create_dir_all(&target).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        for (from, to, name) in [(project.folder(), &*target, "plimsoll.db"), (&place.data(), after.path(), "user.db")]
        {
            let name = format!("{name}{suffix}");
            std::fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
    }
    (after, key, target)
}

#[tokio::test]
async fn a_killed_daemon_loses_nothing_that_was_committed() {
    let (after, key, _) = killed().await;
    let stores = Stores::open(after.path()).await.unwrap();
    assert_eq!(stores.unsettled_projects().await.unwrap(), std::slice::from_ref(&key));
    let project = stores.open_project(&key).await.unwrap();
    assert_eq!(project.health(), &Health::Good);
    let items: Vec<Item> = (1..=20).map(|no| user(no, "x")).collect();
    let id = session_id("s1");
    assert_eq!(project.items_after(&id, ItemNo(0), 99).await.unwrap().items, items);
    let listed = stores.list_sessions(ListFilter { limit: 9, ..ListFilter::default() }).await.unwrap();
    assert_eq!(listed.sessions[0].session.counters.item, ItemNo(20));
}

#[tokio::test]
async fn a_cut_log_is_noticed_and_what_came_before_is_there() {
    let (after, key, target) = killed().await;
    let id = session_id("s1");
    let log = target.join("plimsoll.db-wal");
    let length = std::fs::metadata(&log).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(length / 2 + 1000).unwrap();
    let cut = std::fs::read(&log).unwrap();
    let stores = Stores::open(after.path()).await.unwrap();
    let reopened = stores.open_project(&key).await.unwrap();
    let Health::Recovered { kept, detail } = reopened.health().clone() else { panic!("the cut was not noticed") };
    assert!(detail.contains("newest changes are lost"), "{detail}");
    assert_eq!(std::fs::read(format!("{}-wal", kept.display())).unwrap(), cut);
    let items = reopened.items_after(&id, ItemNo(0), 99).await.unwrap();
    assert!(!items.items.is_empty() && items.items.len() < 20 && items.items.len() as u64 == items.last.0);
    drop(reopened);
    stores.close().await;
    let stores = Stores::open(after.path()).await.unwrap();
    assert_eq!(stores.open_project(&key).await.unwrap().health(), &Health::Good);
}

#[tokio::test]
async fn a_store_that_was_only_dropped_is_not_damaged() {
    let place = Place::new().await;
    let project = place.project().await;
    project.create_session(new_session("s1")).await.unwrap();
    drop(project);
    let place = place.crash().await;
    assert_eq!(place.project().await.health(), &Health::Good);
    assert_eq!(place.stores.damages(), []);
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_untouched() {
    let (place, path) = filled().await;
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("ALTER TABLE session ADD COLUMN mood TEXT; PRAGMA user_version = 99").unwrap();
    connection.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    let stores = Stores::open(&place.data()).await.unwrap();
    let key = stores.projects().await.unwrap()[0].key.clone();
    let error = stores.open_project(&key).await.err().unwrap();
    let StoreError::Newer { found: 99, known, .. } = &error else { panic!("{error}") };
    assert!(
        error.to_string().contains("version 99") && error.to_string().contains(&format!("up to {known}")),
        "{error}"
    );
    stores.close().await;
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let user = place.data().join("user.db");
    let connection = Connection::open(&user).unwrap();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    connection.close().unwrap();
    let before = std::fs::read(&user).unwrap();
    let error = Stores::open(&place.data()).await.err().unwrap();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    assert_eq!(std::fs::read(&user).unwrap(), before);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_untouched() {
    let (place, path) = filled().await;
    std::fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let stores = Stores::open(&place.data()).await.unwrap();
    let key = stores.projects().await.unwrap()[0].key.clone();
    let error = stores.open_project(&key).await.err().unwrap();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn damage_that_is_met_while_running_is_recovered_at_the_next_start() {
    let (mut place, path) = filled().await;
    let connection = Connection::open(&path).unwrap();
    let root: i64 =
        connection.query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'event'", [], |row| row.get(0)).unwrap();
    drop(connection);
    place.stores = Stores::open(&place.data()).await.unwrap();
    let project = place.project().await;
    overwrite(&path, (root as u64 - 1) * 4096, 4096);
    let met = project.events(&session_id("s1"), Seq(0), 9).await.unwrap_err();
    assert!(matches!(met, StoreError::Damaged { .. }), "{met}");
    assert_eq!(project.items_after(&session_id("s1"), ItemNo(0), 99).await.unwrap().items.len(), 60);
    drop(project);
    place.restart().await;
    let project = place.project().await;
    assert!(matches!(project.health(), Health::Recovered { .. }));
    assert_eq!(project.events(&session_id("s1"), Seq(0), 99).await.unwrap().len(), 20);
}

/// A session with one epoch and two requests; what is then done to its database is told of the second one.
async fn replayed(damage: impl FnOnce(&Connection)) -> Result<RequestBody, StoreError> {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s")).await.unwrap().id;
    let epoch = epoch(1, 1);
    let first = request(1, &epoch, &[], &["u1", "u2"], 1);
    let second = request(2, &epoch, &first.tail, &["u3"], 2);
    let items = vec![user(1, "a")];
    let batch = Batch { items, epoch: Some(epoch), request: Some(first), ..Batch::default() };
    project.commit(&id, batch).await.unwrap();
    let batch = Batch { items: vec![user(2, "b")], request: Some(second), ..Batch::default() };
    project.commit(&id, batch).await.unwrap();
    let path = project.folder().join("plimsoll.db");
    drop(project);
    place.stores.close().await;
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; DROP TRIGGER blob_is_kept; DROP TRIGGER blob_stays;").unwrap();
    damage(&connection);
    drop(connection);
    place.stores = Stores::open(&place.data()).await.unwrap();
    let project = place.project().await;
    project.request_body_segments(&id, RequestNo(2)).await
}

/// The number of the blob with this text.
fn bid(connection: &Connection, text: &str) -> i64 {
    let hash = Segment::new(text).hash;
    connection.query_row("SELECT bid FROM blob WHERE hash = ?1", [&hash[..]], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_replay_names_the_segment_that_is_not_as_it_was_sent() {
    assert_eq!(replayed(|_| {}).await.unwrap().messages.len(), 4);
    let check = async |damage: &dyn Fn(&Connection), expected: &str| {
        let error = replayed(damage).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    };
    check(
        &|store| {
            let other = "UPDATE blob SET codec = 0, len = 2, body = CAST('x2' AS BLOB) WHERE bid = ?1";
            store.execute(other, [bid(store, "u2")]).unwrap();
        },
        "is damaged: message 2 after the head's has another hash than it was sent with",
    )
    .await;
    check(
        &|store| {
            store
                .execute("UPDATE blob SET codec = 1, body = x'00' WHERE bid = ?1", [bid(store, "{\"name\":\"grep\"}")])
                .unwrap();
        },
        "tool 2 of epoch 1 cannot be unpacked",
    )
    .await;
    check(
        &|store| {
            store.execute("DELETE FROM blob WHERE bid = ?1", [bid(store, "u1")]).unwrap();
        },
        "message 1 after the head's is missing",
    )
    .await;
    check(
        &|store| {
            store.execute("DELETE FROM request_blob WHERE request = 1 AND pos = 0", []).unwrap();
        },
        "request 2 does not have the hash that it was sent with: its segments are whole",
    )
    .await;
}
