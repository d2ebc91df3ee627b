//! Turns that were cut: by a dead daemon, by a store that cannot be written, by a fault of Plimsoll's own.

use super::*;
use plimsoll_core::event::{Ask, AskChoice, AskOption, AskResolution};
use plimsoll_core::id::{AskId, CallId, ItemNo, StepNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::transcript::item::{ToolCall, UserMessage};
use std::fmt::Write as _;

fn event(seq: u64, body: EventBody) -> Event {
    Event { seq: Seq(seq), at: Timestamp(1), body }
}

/// What a daemon leaves that dies while it asks, with a prompt that waits.
async fn leave_asking(place: &Place) {
    let item = |no, body| Item { no: ItemNo(no), turn: TurnNo(1), step: StepNo(1), at: Timestamp(1), body };
    let user = UserMessage { text: "go".into(), ..UserMessage::default() };
    let call = ToolCall {
        call: CallId(1),
        tool: "run_terminal_cmd".into(),
        arguments: r#"{"command":"make"}"#.into(),
        provider_id: None,
    };
    let option = |kind| AskOption { kind, label: "l".into(), rules: Vec::new() };
    let ask = Ask {
        id: AskId(1),
        call: CallId(1),
        turn: TurnNo(1),
        at: Timestamp(1),
        tool: "run_terminal_cmd".into(),
        title: "make".into(),
        command: Some("make".into()),
        paths: vec![],
        changes: Vec::new(),
        plan: None,
        reason: "it runs a command".into(),
        repeats: None,
        options: vec![option(AskChoice::AllowOnce), option(AskChoice::Reject)],
        resolution: None,
    };
    let batch = Batch {
        items: vec![item(1, ItemBody::User(user)), item(2, ItemBody::ToolCall(call))],
        asks: vec![ask],
        events: vec![
            event(1, EventBody::TurnStarted { turn: TurnNo(1) }),
            event(2, EventBody::ItemAdded { item: ItemNo(1) }),
            event(3, EventBody::ItemAdded { item: ItemNo(2) }),
            event(4, EventBody::PermissionAsked { ask: AskId(1), call: CallId(1) }),
            event(5, EventBody::TurnQueued { turn: TurnNo(2) }),
        ],
        state: Some(SessionState::Waiting),
        ..Batch::default()
    };
    place.store().await.commit(&place.id, batch).await.unwrap();
}

#[tokio::test]
async fn lists_tell_the_truth_of_cut_turns_that_nobody_takes_up() {
    let mut place = Place::new().await;
    leave_asking(&place).await;
    place.restart().await;
    let filter = crate::session::api::SessionFilter { limit: 9, ..crate::session::api::SessionFilter::default() };
    let page = soon("the list", place.service.list_sessions(filter)).await.unwrap();
    let listed: Vec<_> = page.sessions.into_iter().map(|info| (info.state, info.open_asks.len())).collect();
    assert_eq!(listed, [(SessionState::Interrupted, 0)]);
    assert_eq!(place.service.counts(), (0, 0), "nobody took it up");
    let row = place.store().await.session(&place.id).await.unwrap();
    assert_eq!((row.state, row.open_asks), (SessionState::Interrupted, vec![]));
    assert_eq!(ends(&place.stored().await.0), [(1, TurnEnd::Crashed), (2, TurnEnd::Crashed)]);
}

#[tokio::test]
async fn clients_that_come_while_a_session_is_settled_all_see_its_one_end() {
    let mut place = Place::new().await;
    leave_asking(&place).await;
    place.restart().await;
    let (mut one, mut two, ()) =
        tokio::join!(place.follow(), place.follow(), soon("recovery", place.service.recover()));
    assert_eq!(one.end_of(1).await.unwrap().0, TurnEnd::Crashed);
    assert_eq!(two.end_of(2).await.unwrap().0, TurnEnd::Crashed);
    assert_eq!(ends(&place.stored().await.0).len(), 2);
}

#[tokio::test]
async fn an_answer_to_a_question_of_a_dead_daemon_is_told_that_it_is_void() {
    let mut place = Place::new().await;
    leave_asking(&place).await;
    place.restart().await;
    let answer = Answer { ask: AskId(1), choice: AskChoice::AllowOnce, advice: None };
    let error = soon("an answer", place.service.answer(&Client::default(), &place.id, answer)).await.unwrap_err();
    assert_eq!((error.kind, error.message.contains("a1 is void")), (ApiErrorKind::Conflict, true));
    let told = EventBody::PermissionResolved { ask: AskId(1), call: CallId(1) };
    place.follow().await.until("the question's end", |body| *body == told).await.unwrap();
    let kept = place.store().await.ask(&place.id, AskId(1)).await.unwrap().unwrap();
    assert_eq!(
        (kept.resolution, kept.reason.as_str(), kept.options.len()),
        (Some(AskResolution::Void), "it runs a command", 2)
    );
    place.prompt("go on").await.unwrap();
    let request = place.request().await;
    assert!(request.body.contains("Not run: the daemon ended before this call began."), "{}", request.body);
}

#[tokio::test]
async fn a_session_whose_actor_panicked_says_so_and_is_usable_again() {
    let mut place = Place::new().await;
    let mut follower = place.follow().await;
    place.prompt("go").await.unwrap();
    let held = place.request().await;
    place.handle().await.mailbox.send(Msg::Panic).await.unwrap();
    assert_eq!(follower.end_of(1).await, None, "who follows does not wait for ever");
    assert_eq!(place.service.running_turns(), 0);
    let mut follower = place.follow().await;
    let (end, message) = follower.end_of(1).await.unwrap();
    assert_eq!(end, TurnEnd::Internal);
    assert!(message.is_some());
    drop(held);
    assert_eq!(place.prompt("again").await.unwrap(), accepted(2, false));
    place.request().await.say("ok").await;
    assert_eq!(follower.end_of(2).await, Some((TurnEnd::EndTurn, None)));
    assert_eq!(place.service.counts().0, 1);
}

/// Text that does not pack.
fn noise(bytes: usize) -> String {
    let mut state = 7_u64;
    let mut text = String::new();
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = write!(text, "{:016x}", state ^ (state >> 29));
    }
    text
}

/// Lets the database grow no more, and fills what room it has.
async fn fill(place: &Place) {
    let store = place.store().await;
    store.limit_pages(1).await;
    let new = NewSession { mode: Some("full".into()), ..NewSession::default() };
    let other = place.service.create_session(&client(), &place.key, new).await;
    let Ok(other) = other else { return };
    let (mut no, mut size) = (1, 64 << 10);
    while size >= 16 {
        let user = UserMessage { text: noise(size), ..UserMessage::default() };
        let body = ItemBody::User(user);
        let item = Item { no: ItemNo(no), turn: TurnNo(1), step: StepNo(0), at: Timestamp(1), body };
        match store.commit(&other.id, Batch { items: vec![item], ..Batch::default() }).await {
            Ok(_) => no += 1,
            Err(_) => size /= 2,
        }
    }
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_ends_the_turn_for_those_who_follow() {
    let mut place = Place::new().await;
    let mut follower = place.follow().await;
    place.prompt("go").await.unwrap();
    let mut request = place.request().await;
    place.store().await.limit_pages(1).await;
    request.text(&noise(600_000)).await;
    request.end("stop").await;
    let (end, message) = follower.end_of(1).await.expect("the end fits: nobody is cut off");
    assert_eq!(end, TurnEnd::StoreError);
    assert!(message.as_deref().is_some_and(|text| text.contains("plimsoll.db")), "{message:?}");
    place.store().await.limit_pages(1_000_000).await;
    assert_eq!(place.prompt("again").await.unwrap(), accepted(2, false));
    place.request().await.say("ok").await;
    assert_eq!(follower.end_of(2).await, Some((TurnEnd::EndTurn, None)));
}

#[tokio::test]
async fn on_a_full_disk_nothing_runs_and_the_end_is_told_once_there_is_room() {
    let mut place = Place::new().await;
    let mut follower = place.follow().await;
    place.prompt("go").await.unwrap();
    let request = place.request().await;
    fill(&place).await;
    request.run("make").await;
    assert_eq!(follower.end_of(1).await, None, "who follows is told at once");
    assert!(place.commands.try_recv().is_err(), "no command without its record");
    assert_eq!(place.service.counts().1, 0);
    let listed = place.service.get_session(&place.id).await.unwrap();
    assert_eq!(listed.state, SessionState::Interrupted);
    let refused = place.prompt("still full").await.unwrap_err();
    assert_eq!(refused.kind, ApiErrorKind::Store);
    soon("an interrupt of nothing", place.service.cancel(&place.id)).await.unwrap();
    place.store().await.limit_pages(1_000_000).await;
    let mut follower = place.follow().await;
    assert_eq!(follower.end_of(1).await.unwrap().0, TurnEnd::StoreError);
    place.prompt("again").await.unwrap();
    place.request().await.say("ok").await;
    let (events, _) = place.stored().await;
    assert_eq!(ends(&events)[0], (1, TurnEnd::StoreError));
    assert_eq!(follower.end_of(2).await, Some((TurnEnd::EndTurn, None)));
}
