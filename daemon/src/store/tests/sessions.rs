//! Projects, sessions and their list.

use super::*;
use plimsoll_core::permission::mode::Mode;
use plimsoll_core::transcript::batch::SessionState;

#[tokio::test]
async fn a_session_is_made_once_per_key_and_keeps_what_it_was_given() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let record = SessionRecord { key: Some("k1".into()), title: "first".into(), ..new_session("s1") };
    let made = project.create_session(record.clone()).await.unwrap();
    assert_eq!((made.id.as_str(), made.title.as_str(), made.counters), ("s1", "first", Counters::default()));
    let again = project.create_session(SessionRecord { id: session_id("s2"), ..record }).await.unwrap();
    assert_eq!(again, made);
    let other = project.create_session(new_session("s3")).await.unwrap();
    assert_eq!(other.id, session_id("s3"));
    assert!(project.session_folder(&made.id).join("artifacts").is_dir());
    drop(project);
    place.restart().await;
    let project = place.project().await;
    assert_eq!(project.session(&made.id).await.unwrap(), made);
    assert!(matches!(project.session(&session_id("s2")).await, Err(StoreError::NotFound { what: "session", .. })));
}

#[tokio::test]
async fn the_mode_before_plan_mode_is_kept_whoever_changes_it() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let change = |mode| Batch { mode: Some(mode), ..Batch::default() };
    let before = async || project.load_view(&id).await.unwrap().before_plan;
    assert_eq!(before().await, None);
    project.set_mode(&id, "full", at(1)).await.unwrap();
    project.commit(&id, change(Mode::Plan)).await.unwrap();
    assert_eq!(before().await.as_deref(), Some("full"));
    // Plan mode again is no other mode, and what is chosen after it is kept when it is left for the next plan.
    project.set_mode(&id, "plan", at(2)).await.unwrap();
    assert_eq!(before().await.as_deref(), Some("full"));
    project.commit(&id, change(Mode::AcceptEdits)).await.unwrap();
    assert_eq!(project.session(&id).await.unwrap().mode, "accept_edits");
    project.set_mode(&id, "plan", at(3)).await.unwrap();
    assert_eq!(before().await.as_deref(), Some("accept_edits"));
}

#[tokio::test]
async fn a_session_keeps_its_texts_and_older_ones_have_the_first_bundle() {
    let place = Place::new().await;
    let project = place.project().await;
    let own = SessionRecord { bundle: Bundle::Full, base_prompt: Some("You are X.".into()), ..new_session("s1") };
    let own = project.create_session(own).await.unwrap().id;
    let old = project.create_session(new_session("s2")).await.unwrap().id;
    let expected = Prompts { bundle: Bundle::Full, base: Some("You are X.".into()), ..Prompts::default() };
    assert_eq!(
        [project.made_with(&own).await.unwrap(), project.texts(&own).await.unwrap()],
        [expected.clone(), expected]
    );
    // What the new columns hold in the rows of a database from before.
    let database =
        rusqlite::Connection::open(project.session_folder(&old).parent().unwrap().join("plimsoll.db")).unwrap();
    database.execute("INSERT INTO session (id, title, mode, model, created_at, updated_at, state) VALUES ('s3', '', 'ask', 'a/b', 0, 0, 'idle')", []).unwrap();
    for id in [old, session_id("s3")] {
        assert_eq!(project.made_with(&id).await.unwrap(), Prompts::default());
    }
}

#[tokio::test]
async fn changes_of_a_session_are_kept_and_listed() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    project.rename(&id, "a title", at(1)).await.unwrap();
    project.set_mode(&id, "full", at(2)).await.unwrap();
    let now = project.set_model(&id, "other/large", at(3)).await.unwrap();
    assert_eq!((now.title.as_str(), now.mode.as_str(), now.model.as_str()), ("a title", "full", "other/large"));
    assert_eq!(now.updated_at, at(3));
    assert_eq!(project.session(&id).await.unwrap(), now);
    let page = place.stores.list_sessions(ListFilter { limit: 10, ..ListFilter::default() }).await.unwrap();
    let roots = vec![std::fs::canonicalize(place.root()).unwrap()];
    assert_eq!(page.sessions, [IndexedSession { project: project.record().key.clone(), roots, session: now }]);
    assert_eq!(page.next, None);
    assert_eq!(place.stores.session_project(&id).await.unwrap(), Some(project.record().key.clone()));
    assert_eq!(place.stores.session_project(&session_id("nobody")).await.unwrap(), None);
    assert!(project.rename(&session_id("nobody"), "x", at(1)).await.is_err());
}

#[tokio::test]
async fn the_list_is_newest_change_first_and_its_pages_do_not_overlap() {
    let place = Place::new().await;
    let project = place.project().await;
    for no in 0..7 {
        project.create_session(new_session(&format!("s{no}"))).await.unwrap();
    }
    // The clock is of no importance: what changed last stands first.
    project.rename(&session_id("s2"), "x", at(-1000)).await.unwrap();
    let mut seen = Vec::new();
    let mut filter = ListFilter { project: Some(project.record().key.clone()), limit: 3, ..ListFilter::default() };
    loop {
        let page = place.stores.list_sessions(filter.clone()).await.unwrap();
        seen.extend(page.sessions.iter().map(|found| found.session.id.to_string()));
        let Some(next) = page.next else { break };
        filter.cursor = Some(next);
        // A session that changes between two pages moves to the front and disturbs no later page.
        project.rename(&session_id("s6"), "y", at(1)).await.unwrap();
    }
    assert_eq!(seen, ["s2", "s6", "s5", "s4", "s3", "s1", "s0"]);
}

#[tokio::test]
async fn a_deleted_session_is_gone_from_rows_files_and_pages() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let other = project.create_session(new_session("s2")).await.unwrap().id;
    let secret = "the-secret-word-that-must-vanish";
    let epoch = epoch(1, 1);
    let batch = |text: &str| Batch {
        items: vec![user(1, text), call(2, 1), result(3, 1, Body::Text(format!("{text} result")))],
        projections: vec![projection(1, text)],
        request: Some(request(1, &epoch, &[], &[text], 3)),
        epoch: Some(epoch.clone()),
        operations: vec![operation(1, OpState::Running)],
        asks: vec![ask(1, 1)],
        events: vec![added(1, 1)],
        prompt_key: Some(("k".into(), TurnNo(1))),
        ..Batch::default()
    };
    project.commit(&id, batch(secret)).await.unwrap();
    project.commit(&other, batch("something else")).await.unwrap();
    project.settle_mirror(&id).await.unwrap();
    let folder = project.session_folder(&id);
    assert!(contains(&all_bytes(&place.data()), secret));
    project.delete_session(&id).await.unwrap();
    project.delete_session(&id).await.unwrap();
    assert!(!folder.exists());
    assert!(matches!(project.session(&id).await, Err(StoreError::NotFound { .. })));
    let listed = place.stores.list_sessions(ListFilter { limit: 9, ..ListFilter::default() }).await.unwrap();
    assert_eq!(listed.sessions.iter().map(|found| &found.session.id).collect::<Vec<_>>(), [&other]);
    // What the other session shares with it (the epoch's head) is still there.
    assert_eq!(project.request_body_segments(&other, RequestNo(1)).await.unwrap().epoch, epoch);
    assert!(!contains(&all_bytes(&place.data()), secret));
    drop(project);
    place.restart().await;
    let project = place.project().await;
    assert!(matches!(project.load_view(&id).await, Err(StoreError::NotFound { .. })));
    assert_eq!(project.load_view(&other).await.unwrap().epoch, Some(epoch));
}

#[tokio::test]
async fn projects_with_similar_names_have_their_own_keys() {
    let place = Place::new().await;
    let base = place.temp.path().join("p");
    let mut keys = Vec::new();
    for name in ["x/a-b", "x-a/b", "-rf", "\u{fc}\u{fc}"] {
        let root = base.join(name);
        std::fs::create_dir_all(&root).unwrap();
        let project = place.stores.project_for(&[root], NOW).await.unwrap();
        let store = place.stores.open_project(&project.key).await.unwrap();
        store.create_session(new_session(&format!("s{}", keys.len()))).await.unwrap();
        keys.push(project.key);
    }
    for (no, key) in keys.iter().enumerate() {
        assert!(!key.as_str().starts_with('-'));
        let filter = ListFilter { project: Some(key.clone()), limit: 9, ..ListFilter::default() };
        let page = place.stores.list_sessions(filter).await.unwrap();
        let ids: Vec<String> = page.sessions.iter().map(|found| found.session.id.to_string()).collect();
        assert_eq!(ids, [format!("s{no}")]);
    }
    for entry in std::fs::read_dir(place.data().join("projects")).unwrap() {
        assert!(!entry.unwrap().file_name().to_string_lossy().starts_with('-'));
    }
}

#[tokio::test]
async fn one_folder_is_one_project_by_every_path_and_also_when_it_is_gone() {
    let place = Place::new().await;
    let real = std::fs::canonicalize(place.root()).unwrap();
    let link = place.temp.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let project = place.stores.project_for(std::slice::from_ref(&real), NOW).await.unwrap();
    for path in [link, real.join("../shop"), real.join("")] {
        assert_eq!(place.stores.project_for(&[path], at(9)).await.unwrap(), project);
    }
    let second = place.temp.path().join("second");
    std::fs::create_dir(&second).unwrap();
    let wider = place.stores.project_for(&[real.clone(), second.clone()], at(9)).await.unwrap();
    assert_eq!((&wider.key, wider.created_at, wider.roots.len()), (&project.key, project.created_at, 2));
    std::fs::remove_dir(&real).unwrap();
    assert_eq!(place.stores.project_for(&[real], at(9)).await.unwrap(), wider);
    let gone = place.stores.project_for(&[place.temp.path().join("never")], NOW).await.unwrap_err();
    assert!(matches!(gone, StoreError::RootMissing { .. }), "{gone}");
    assert!(matches!(place.stores.project(&"nokey".parse().unwrap()).await, Err(StoreError::NotFound { .. })));
}

#[tokio::test]
async fn more_than_eight_projects_can_be_used_and_idle_ones_are_closed() {
    let place = Place::new().await;
    let mut keys = Vec::new();
    for no in 0..11 {
        let root = place.temp.path().join(format!("p{no}"));
        std::fs::create_dir(&root).unwrap();
        let project = place.stores.project_for(&[root], NOW).await.unwrap();
        let store = place.stores.open_project(&project.key).await.unwrap();
        store.create_session(new_session(&format!("s{no}"))).await.unwrap();
        keys.push(project.key);
    }
    let open =
        keys.iter().filter(|key| place.data().join("projects").join(key.as_str()).join("plimsoll.db-wal").exists());
    assert_eq!(open.count(), 8);
    for (no, key) in keys.iter().enumerate() {
        let store = place.stores.open_project(key).await.unwrap();
        store.session(&session_id(&format!("s{no}"))).await.unwrap();
    }
}

#[tokio::test]
async fn a_store_that_was_dropped_in_the_middle_of_a_turn_names_it() {
    let place = Place::new().await;
    let project = place.project().await;
    for (no, state) in [SessionState::Running, SessionState::Waiting, SessionState::Idle].into_iter().enumerate() {
        let id = project.create_session(new_session(&format!("s{no}"))).await.unwrap().id;
        let batch = Batch { items: vec![user(1, "go")], state: Some(state), ..Batch::default() };
        project.commit(&id, batch).await.unwrap();
    }
    let key = project.record().key.clone();
    drop(project);
    let place = place.crash().await;
    assert_eq!(place.stores.unsettled_projects().await.unwrap(), [key]);
    let project = place.project().await;
    let running = project.running_turns().await.unwrap();
    let found: Vec<_> = running.iter().map(|session| (session.id.as_str(), session.state)).collect();
    assert_eq!(found, [("s0", SessionState::Running), ("s1", SessionState::Waiting)]);
    for session in running {
        let settled = Batch { state: Some(SessionState::Interrupted), ..Batch::default() };
        project.commit(&session.id, settled).await.unwrap();
    }
    drop(project);
    let mut place = place;
    place.restart().await;
    assert_eq!(place.stores.unsettled_projects().await.unwrap(), []);
}

#[tokio::test]
async fn the_index_is_made_again_when_it_is_lost() {
    let place = Place::new().await;
    let project = place.project().await;
    project.create_session(new_session("s1")).await.unwrap();
    let id = session_id("s1");
    project
        .commit(&id, Batch { items: vec![user(1, "go")], title: Some("t".into()), ..Batch::default() })
        .await
        .unwrap();
    let before = place.stores.list_sessions(ListFilter { limit: 9, ..ListFilter::default() }).await.unwrap();
    assert_eq!(before.sessions.len(), 1);
    drop(project);
    place.stores.close().await;
    std::fs::remove_file(place.data().join("user.db")).unwrap();
    let stores = Stores::open(&place.data()).await.unwrap();
    let after = stores.list_sessions(ListFilter { limit: 9, ..ListFilter::default() }).await.unwrap();
    assert_eq!(after.sessions, before.sessions);
    assert_eq!(stores.projects().await.unwrap().len(), 1);
}
