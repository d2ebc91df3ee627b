//! The transcript mirror and the artifacts beside it.

use super::*;

async fn mirror(project: &ProjectStore, id: &SessionId) -> String {
    project.settle_mirror(id).await.unwrap();
    std::fs::read_to_string(project.session_folder(id).join("transcript.txt")).unwrap()
}

async fn with_items(project: &ProjectStore, id: &SessionId, count: u64) -> String {
    for no in 1..=count {
        project
            .commit(id, Batch { items: vec![assistant(no, &format!("text {no}"))], ..Batch::default() })
            .await
            .unwrap();
    }
    mirror(project, id).await
}

#[tokio::test]
async fn the_mirror_holds_every_item_in_order() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let text = with_items(&project, &id, 300).await;
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(heads.len(), 300);
    assert_eq!(heads.first(), Some(&"#1 2028-12-31T10:00:01Z assistant:"));
    assert_eq!(text.lines().last(), Some("text 300"));
    assert!(text.lines().zip(text.lines().skip(1)).all(|(head, body)| {
        !head.starts_with('#') || body == format!("text {}", &head[1..head.find(' ').unwrap()])
    }));
}

#[tokio::test]
async fn a_mirror_that_is_short_torn_changed_or_missing_is_made_again_to_the_same_bytes() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let whole = with_items(&project, &id, 50).await;
    let path = project.session_folder(&id).join("transcript.txt");
    drop(project);
    let changes: [fn(&str) -> Option<String>; 5] = [
        |whole| Some(whole[..whole.len() / 2].to_owned()),
        |whole| Some(format!("{whole}#51 torn")),
        |whole| Some(whole.replace("text 7", "text X")),
        |_| Some(String::new()),
        |_| None,
    ];
    for change in changes {
        place.restart().await;
        match change(&whole) {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let project = place.project().await;
        project.load_view(&id).await.unwrap();
        assert_eq!(mirror(&project, &id).await, whole);
        // And it goes on from there.
        std::fs::write(&path, "garbage").unwrap();
        project.rebuild_mirror(&id).await.unwrap();
        assert_eq!(mirror(&project, &id).await, whole);
    }
}

#[tokio::test]
async fn a_mirror_goes_on_after_a_crash() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    with_items(&project, &id, 20).await;
    drop(project);
    let place = place.crash().await;
    let project = place.project().await;
    project.commit(&id, Batch { items: vec![assistant(21, "text 21")], ..Batch::default() }).await.unwrap();
    let text = mirror(&project, &id).await;
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 21);
    project.rebuild_mirror(&id).await.unwrap();
    assert_eq!(mirror(&project, &id).await, text);
}

#[tokio::test]
async fn a_long_result_is_in_the_mirror_by_its_ends_and_whole_in_its_artifact() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let long = (0..20_000).map(|no| format!("line {no}\n")).collect::<Vec<_>>().concat();
    let batch = Batch { items: vec![call(1, 1), result(2, 1, Body::Text(long.clone()))], ..Batch::default() };
    project.commit(&id, batch).await.unwrap();
    let text = mirror(&project, &id).await;
    let artifact = project.session_folder(&id).join("artifacts/c1.txt");
    assert!(text.len() < 40_000);
    assert!(text.contains(&format!("the whole text: {}]", artifact.display())), "{}", &text[..200]);
    assert_eq!(std::fs::read_to_string(&artifact).unwrap(), long);
    std::fs::remove_file(&artifact).unwrap();
    project.rebuild_mirror(&id).await.unwrap();
    assert_eq!(std::fs::read_to_string(&artifact).unwrap(), long);
    assert_eq!(mirror(&project, &id).await, text);
    assert!(project.rebuild_mirror(&session_id("nobody")).await.is_ok());
}

#[tokio::test]
async fn the_text_that_a_projection_names_is_there_before_it_and_made_again_when_it_is_gone() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    // Exactly the text, also without a line end; short enough to stand whole in the mirror.
    let text = (0..3_000).map(|no| format!("line {no}")).collect::<Vec<_>>().join("\r\n");
    let path = project.save_text(&id, CallId(1), text.clone()).await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let named = StoredProjection { saved: text.len() as u64, ..projection(1, "the ends") };
    let batch = Batch {
        items: vec![
            call(1, 1),
            result(2, 1, Body::Text(text.clone())),
            call(3, 2),
            result(4, 2, Body::Text("x".into())),
        ],
        projections: vec![named, projection(2, "x")],
        ..Batch::default()
    };
    project.commit(&id, batch).await.unwrap();
    drop(project);
    for torn in [None, Some("line 0"), Some("")] {
        place.restart().await;
        match torn {
            None => std::fs::remove_dir_all(path.parent().unwrap()).unwrap(),
            Some(part) => std::fs::write(&path, part).unwrap(),
        }
        let project = place.project().await;
        project.load_view(&id).await.unwrap();
        project.settle_mirror(&id).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{torn:?}");
        assert!(!path.with_file_name("c2.txt").exists());
    }
}

#[tokio::test]
async fn a_text_that_cannot_be_saved_leaves_nothing_behind() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    // The name is taken by something that no file can replace.
    let artifacts = project.session_folder(&id).join("artifacts");
    std::fs::create_dir_all(artifacts.join("c1.txt/full")).unwrap();
    assert!(project.save_text(&id, CallId(1), "text".into()).await.is_err());
    let names: Vec<_> = std::fs::read_dir(&artifacts).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["c1.txt"]);
}
