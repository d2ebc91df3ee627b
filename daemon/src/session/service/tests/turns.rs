//! Prompts, steering, interrupts and answers, as clients see them.

use super::*;
use plimsoll_core::event::AskChoice;
use plimsoll_core::turn::machine::MAX_QUEUED;

#[tokio::test]
async fn prompts_that_come_together_each_hear_of_their_own_turn() {
    let mut place = Place::new().await;
    let (one, two, three) = tokio::join!(place.prompt("one"), place.prompt("two"), place.prompt("three"));
    let mut told = [(one, "one"), (two, "two"), (three, "three")].map(|(turn, text)| (turn.unwrap(), text));
    told.sort_by_key(|(turn, _)| turn.turn);
    assert_eq!(told.map(|(turn, _)| turn), [accepted(1, false), accepted(2, true), accepted(3, true)]);
    let mut follower = place.follow().await;
    for turn in 1..=3 {
        place.request().await.say("ok").await;
        assert_eq!(follower.end_of(turn).await, Some((TurnEnd::EndTurn, None)));
    }
    let (events, items) = place.stored().await;
    assert_eq!(prompts(&items), told.map(|(_, text)| text));
    assert_eq!(ends(&events).len(), 3);
}

#[tokio::test]
async fn the_same_key_is_the_same_turn_at_any_time() {
    let mut place = Place::new().await;
    let (one, again) = tokio::join!(place.keyed("go", "k"), place.keyed("go", "k"));
    assert_eq!([one, again], [accepted(1, false); 2]);
    assert_eq!(place.keyed("next", "n").await, accepted(2, true));
    assert_eq!(place.keyed("next", "n").await, accepted(2, true));
    assert_eq!(place.keyed("go", "k").await, accepted(1, false));
    let mut follower = place.follow().await;
    for turn in 1..=2 {
        place.request().await.say("ok").await;
        follower.end_of(turn).await.unwrap();
    }
    assert_eq!(place.keyed("go", "k").await, accepted(1, false));
    place.restart().await;
    assert_eq!(place.keyed("next", "n").await, accepted(2, false));
    assert_eq!(prompts(&place.stored().await.1), ["go", "next"]);
}

#[tokio::test]
async fn an_interrupt_ends_its_turn_and_not_the_one_that_waits() {
    let mut place = Place::new().await;
    place.prompt("one").await.unwrap();
    let mut first = place.request().await;
    first.text("half an").await;
    place.prompt("two").await.unwrap();
    soon("the interrupt", place.service.cancel(&place.id)).await.unwrap();
    place.request().await.say("second").await;
    let mut follower = place.follow().await;
    assert_eq!(follower.end_of(1).await, Some((TurnEnd::Cancelled, None)));
    assert_eq!(follower.end_of(2).await, Some((TurnEnd::EndTurn, None)));
}

#[tokio::test]
async fn an_interrupt_of_a_command_waits_for_its_outcome() {
    let mut place = Place::new().await;
    place.prompt("go").await.unwrap();
    place.request().await.run("make").await;
    let started = place.command().await;
    let service = place.service.clone();
    let id = place.id.clone();
    let cancel = tokio::spawn(async move { service.cancel(&id).await });
    soon("the stop", started.cancel.cancelled()).await;
    assert!(!cancel.is_finished());
    // What is said after an interrupt is a prompt of its own.
    let service = place.service.clone();
    let id = place.id.clone();
    let steer = tokio::spawn(async move { service.steer(&client(), &id, "then this".to_owned()).await });
    soon("the steering", steer).await.unwrap().unwrap();
    started.end.send(Status::Cancelled).unwrap();
    soon("the interrupt", cancel).await.unwrap().unwrap();
    place.request().await.say("done").await;
    let mut follower = place.follow().await;
    assert_eq!(follower.end_of(1).await, Some((TurnEnd::Cancelled, None)));
    assert_eq!(follower.end_of(2).await, Some((TurnEnd::EndTurn, None)));
}

#[tokio::test]
async fn steering_without_a_turn_begins_one() {
    let mut place = Place::new().await;
    soon("the steering", place.service.steer(&client(), &place.id, "go".to_owned())).await.unwrap();
    place.request().await.say("ok").await;
    assert_eq!(place.follow().await.end_of(1).await, Some((TurnEnd::EndTurn, None)));
}

#[tokio::test]
async fn a_full_queue_is_busy_and_the_rest_keeps_its_order() {
    let mut place = Place::new().await;
    place.prompt("p").await.unwrap();
    for turn in 2..=MAX_QUEUED as u64 + 1 {
        assert_eq!(place.prompt(&format!("p{turn}")).await.unwrap(), accepted(turn, true));
    }
    let refused = place.prompt("one too many").await.unwrap_err();
    assert_eq!(refused.kind, ApiErrorKind::Busy);
    let mut follower = place.follow().await;
    for turn in 1..=MAX_QUEUED as u64 + 1 {
        place.request().await.say("ok").await;
        follower.end_of(turn).await.unwrap();
    }
    assert_eq!(prompts(&place.stored().await.1).len(), MAX_QUEUED + 1);
}

#[tokio::test]
async fn a_prompt_larger_than_the_window_is_told_and_the_session_goes_on() {
    let mut place = Place::new().await;
    let big = "word ".repeat(1 << 20);
    place.prompt(&big).await.unwrap();
    let mut follower = place.follow().await;
    let (end, message) = follower.end_of(1).await.unwrap();
    assert_eq!(end, TurnEnd::ModelError);
    assert!(message.as_deref().is_some_and(|text| text.contains("5242880 bytes")), "{message:?}");
    place.prompt("small").await.unwrap();
    let request = place.request().await;
    assert!(request.body.len() < 100_000, "{}", request.body.len());
    request.say("ok").await;
    assert_eq!(follower.end_of(2).await, Some((TurnEnd::EndTurn, None)));
    assert_eq!(prompts(&place.stored().await.1)[0], big);
}

#[tokio::test]
async fn an_endless_answer_ends_the_turn_with_what_was_shown() {
    let mut place = Place::new().await;
    place.prompt("go").await.unwrap();
    let mut request = place.request().await;
    let piece = "x".repeat(1 << 20);
    for _ in 0..40 {
        request.text(&piece).await;
    }
    let mut follower = place.follow().await;
    let (end, message) = follower.end_of(1).await.unwrap();
    assert_eq!(end, TurnEnd::ModelError);
    assert!(message.as_deref().is_some_and(|text| text.contains("larger than")), "{message:?}");
    // The session goes on: a summary is asked for twice and not given, and what does not fit the window is shown in short.
    place.prompt("and now?").await.unwrap();
    for answer in ["No sections.", "None again.", "Short."] {
        place.request().await.say(answer).await;
    }
    assert_eq!(follower.end_of(2).await.unwrap().0, TurnEnd::EndTurn);
}

async fn asked(place: &Place) -> plimsoll_core::id::AskId {
    let asked =
        place.follow().await.until("a question", |body| matches!(body, EventBody::PermissionAsked { .. })).await;
    let Some(EventBody::PermissionAsked { ask, .. }) = asked else { panic!("a question") };
    ask
}

#[tokio::test]
async fn a_question_stays_open_when_the_mode_changes_and_the_first_answer_counts() {
    let mut place = Place::with_mode("ask").await;
    place.prompt("go").await.unwrap();
    place.request().await.run("make").await;
    let ask = asked(&place).await;
    let info = place.service.set_mode(&place.id, "full").await.unwrap();
    assert_eq!((info.mode.as_str(), info.open_asks.len(), info.state), ("full", 1, SessionState::Waiting));
    let nobody = Client::default();
    let answer = |choice| place.service.answer(&nobody, &place.id, Answer { ask, choice, advice: None });
    let (first, second) = tokio::join!(answer(AskChoice::AllowOnce), answer(AskChoice::Reject));
    assert_eq!((first, second), (Ok(true), Ok(false)));
    let unknown = Answer { ask: plimsoll_core::id::AskId(77), choice: AskChoice::Reject, advice: None };
    assert_eq!(
        place.service.answer(&Client::default(), &place.id, unknown).await.unwrap_err().kind,
        ApiErrorKind::NotFound
    );
    place.command().await.end.send(Status::Ok).unwrap();
    // From the next decision on the new mode holds.
    place.request().await.run("make again").await;
    place.command().await.end.send(Status::Ok).unwrap();
    place.request().await.say("done").await;
    assert_eq!(place.follow().await.end_of(1).await, Some((TurnEnd::EndTurn, None)));
}

#[tokio::test]
async fn a_panicking_tool_is_an_outcome_and_the_turn_goes_on() {
    let mut place = Place::new().await;
    place.prompt("go").await.unwrap();
    for command in ["panic in prepare", "panic"] {
        place.request().await.run(command).await;
    }
    let request = place.request().await;
    assert_eq!(request.body.matches("internal fault").count(), 2, "{}", request.body);
    request.say("sorry").await;
    assert_eq!(place.follow().await.end_of(1).await, Some((TurnEnd::EndTurn, None)));
}

#[tokio::test]
async fn a_task_that_panics_ends_what_waits_for_it() {
    let mut place = Place::new().await;
    place.prompt("go").await.unwrap();
    let held = place.request().await;
    let error =
        plimsoll_core::model::error::ModelError::new(plimsoll_core::model::error::ErrorClass::Protocol, "fault");
    let owed = plimsoll_core::turn::input::InputBody::ModelFailed { request: plimsoll_core::id::RequestNo(1), error };
    place.handle().await.mailbox.send(Msg::PanicInTask(Box::new(owed))).await.unwrap();
    assert_eq!(place.follow().await.end_of(1).await, Some((TurnEnd::ModelError, Some("fault".to_owned()))));
    drop(held);
}
