//! Sessions come and go: deleted, closed, let go of, taken up again.

use super::*;
use tokio::time::Instant;

#[tokio::test]
async fn a_deleted_session_ends_what_runs_and_what_waits_and_keeps_nobody_else_waiting() {
    let mut place = Place::new().await;
    let new = NewSession { mode: Some("full".into()), ..NewSession::default() };
    let other = place.service.create_session(&client(), &place.key, new).await.unwrap().id;
    let mut follower = place.follow().await;
    place.prompt("one").await.unwrap();
    place.request().await.run("make").await;
    let started = place.command().await;
    place.prompt("two").await.unwrap();
    let (service, id) = (place.service.clone(), place.id.clone());
    let delete = tokio::spawn(async move { service.delete_session(&id).await });
    soon("the stop", started.cancel.cancelled()).await;
    // The command takes its time; another session does not notice.
    soon("another session", place.service.attach(&client(), &other, Seq(0))).await.unwrap();
    assert!(!delete.is_finished());
    started.end.send(Status::Cancelled).unwrap();
    soon("the deletion", delete).await.unwrap().unwrap();
    assert_eq!(follower.until("the end", |_| false).await, None);
    let gone = place.service.attach(&client(), &place.id, Seq(0)).await.map(|_| ()).unwrap_err();
    assert_eq!(gone.kind, ApiErrorKind::NotFound);
    assert!(place.models.try_recv().is_err(), "what waited never began");
    assert_eq!(place.service.counts(), (1, 0));
}

#[tokio::test]
async fn a_shutdown_stores_how_everything_ended() {
    let mut place = Place::new().await;
    place.prompt("one").await.unwrap();
    place.request().await.run("make").await;
    let started = place.command().await;
    place.prompt("two").await.unwrap();
    let service = place.service.clone();
    let shutdown = tokio::spawn(async move { service.shutdown(CloseReason::DaemonStopped).await });
    soon("the stop", started.cancel.cancelled()).await;
    let late = place.prompt("three").await.unwrap_err();
    assert_eq!(late.kind, ApiErrorKind::ShuttingDown);
    started.end.send(Status::Cancelled).unwrap();
    soon("the shutdown", shutdown).await.unwrap();
    place.restart().await;
    let mut found = ends(&place.stored().await.0);
    found.sort_by_key(|(turn, _)| *turn);
    assert_eq!(found, [(1, TurnEnd::Cancelled), (2, TurnEnd::Cancelled)]);
    assert_eq!(place.service.get_session(&place.id).await.unwrap().state, SessionState::Idle);
}

#[tokio::test]
async fn an_idle_session_is_let_go_of_and_goes_on_where_it_was() {
    let mut place = Place::new().await;
    let let_go = |place: &Place| {
        let service = place.service.clone();
        async move { soon("idle sessions to go", service.inner.sessions.let_go(Instant::now(), 16)).await }
    };
    place.prompt("one").await.unwrap();
    let first = place.request().await;
    let begin = first.body.clone();
    let_go(&place).await;
    assert_eq!(place.service.counts(), (1, 1), "a turn runs");
    let mut follower = place.follow().await;
    first.call("todo_write", r#"{"merge":false,"todos":[{"id":"1","content":"x","status":"pending"}]}"#).await;
    place.request().await.say("ok").await;
    follower.end_of(1).await.unwrap();
    // The actor may still be about to rest when its last event is seen.
    soon("an interrupt of nothing", place.service.cancel(&place.id)).await.unwrap();
    let_go(&place).await;
    assert_eq!(place.service.counts(), (1, 0), "somebody follows it");
    drop(follower);
    let_go(&place).await;
    assert_eq!(place.service.counts(), (0, 0));
    let_go(&place).await;
    place.prompt("two").await.unwrap();
    let request = place.request().await;
    assert!(request.body.starts_with(begin.strip_suffix("]}").unwrap()), "the same bytes go on");
    request.call("todo_write", r#"{"merge":true,"todos":[{"id":"2","content":"y","status":"pending"}]}"#).await;
    let request = place.request().await;
    assert!(request.body.matches("pending").count() >= 4, "{}", request.body);
    request.say("done").await;
    assert_eq!(place.follow().await.end_of(2).await, Some((TurnEnd::EndTurn, None)));
}

#[tokio::test]
async fn of_many_idle_sessions_the_oldest_go_first() {
    let place = Place::new().await;
    let mut ids = vec![place.id.clone()];
    for _ in 0..3 {
        let info = place.service.create_session(&client(), &place.key, NewSession::default()).await.unwrap();
        ids.push(info.id);
    }
    for id in &ids {
        place.service.cancel(id).await.unwrap();
    }
    let long_ago = Instant::now().checked_sub(std::time::Duration::from_secs(1)).unwrap();
    soon("the oldest to go", place.service.inner.sessions.let_go(long_ago, 3)).await;
    assert_eq!(place.service.counts().0, 3);
}

#[tokio::test]
async fn a_change_of_title_or_mode_is_told_to_all() {
    let place = Place::new().await;
    let mut follower = place.follow().await;
    for _ in 0..2 {
        place.service.rename_session(&place.id, "another").await.unwrap();
        follower.until("the change", |body| *body == EventBody::SessionChanged).await.unwrap();
        place.service.set_mode(&place.id, "ask").await.unwrap();
        follower.until("the change", |body| *body == EventBody::SessionChanged).await.unwrap();
    }
    assert_eq!(place.service.get_session(&place.id).await.unwrap().title, "another");
}
