//! What an administrator, a project and a prompt say about permissions, as turns feel it.

use super::*;
use plimsoll_core::event::AskChoice;

async fn asked(place: &Place, follower: &mut Follower) -> plimsoll_core::event::Ask {
    follower.until("a question", |body| matches!(body, EventBody::PermissionAsked { .. })).await.unwrap();
    place.service.get_session(&place.id).await.unwrap().open_asks.remove(0)
}

async fn reject(place: &Place, ask: &plimsoll_core::event::Ask) {
    let answer = Answer { ask: ask.id, choice: AskChoice::Reject, advice: None };
    assert!(soon("the answer", place.service.answer(&client(), &place.id, answer)).await.unwrap());
}

#[tokio::test]
async fn an_administrator_bounds_sessions_that_are_there_already() {
    let mut place = Place::with_mode("full").await;
    let mut follower = place.follow().await;
    place.prompt("one").await.unwrap();
    place.request().await.run("make").await;
    place.command().await.end.send(Status::Ok).unwrap();
    place.request().await.say("ok").await;
    follower.end_of(1).await.unwrap();

    std::fs::write(&place.folders.managed, "[permissions]\nmax_mode = \"ask\"\n").unwrap();
    let refused = place.service.set_mode(&place.id, "auto").await.unwrap_err();
    assert_eq!(refused.kind, ApiErrorKind::InvalidParams);
    assert!(refused.message.contains("no mode freer than \"ask\""), "{}", refused.message);
    place.prompt("two").await.unwrap();
    assert_eq!(place.service.get_session(&place.id).await.unwrap().mode, "ask");
    place.request().await.run("make").await;
    let ask = asked(&place, &mut follower).await;
    reject(&place, &ask).await;
    place.request().await.say("ok").await;
    follower.end_of(2).await.unwrap();
}

#[tokio::test]
async fn what_a_prompt_brings_along_holds_for_its_turn() {
    let mut place = Place::with_mode("ask").await;
    let mut follower = place.follow().await;
    let client = client();
    let start = |text: &str, allow: &'static [&'static str]| {
        let (service, id, client, text) = (place.service.clone(), place.id.clone(), client.clone(), text.to_owned());
        async move {
            let allow: Vec<String> = allow.iter().map(|rule| (*rule).to_owned()).collect();
            let start = service.start_turn_with(
                &client,
                &id,
                text,
                None,
                WhenBusy::Queue,
                Beside { allow, ..Beside::default() },
            );
            soon("the prompt to be taken", start).await
        }
    };
    let wrong = start("x", &["rm -rf"]).await.unwrap_err();
    assert_eq!(wrong.kind, ApiErrorKind::InvalidParams);
    assert!(wrong.message.starts_with("option `allow`: `rm -rf` is not a rule"), "{}", wrong.message);
    let first = start("one", &["run_terminal_cmd(make)"]).await.unwrap();
    let second = start("two", &[]).await.unwrap();
    assert_eq!((first, second), (accepted(1, false), accepted(2, true)));
    place.request().await.run("make").await;
    place.command().await.end.send(Status::Ok).unwrap();
    place.request().await.say("ok").await;
    follower.end_of(1).await.unwrap();
    place.request().await.run("make").await;
    let ask = asked(&place, &mut follower).await;
    reject(&place, &ask).await;
    place.request().await.say("ok").await;
    follower.end_of(2).await.unwrap();
}

#[tokio::test]
async fn a_grant_that_is_kept_reaches_other_sessions_and_its_end_too() {
    let mut place = Place::with_mode("ask").await;
    let mut follower = place.follow().await;
    let project = place.service.project(&place.key).await.unwrap();
    place.prompt("one").await.unwrap();
    let request = place.request().await;
    let rule =
        Rule { verdict: Verdict::Allow, scope: Scope::Project, matcher: "run_terminal_cmd(make)".parse().unwrap() };
    let other = "s1".parse().unwrap();
    for _ in 0..2 {
        project.lasting.keep(std::slice::from_ref(&rule), &other, CallId(1), now()).await.unwrap();
    }
    let grants = place.service.grants(&place.key).await.unwrap();
    assert_eq!(grants.iter().map(|grant| grant.rule.as_str()).collect::<Vec<_>>(), ["run_terminal_cmd(make)"]);
    request.run("make").await;
    place.command().await.end.send(Status::Ok).unwrap();
    let request = place.request().await;
    place.service.revoke(&place.key, grants[0].no).await.unwrap();
    place.service.revoke(&place.key, grants[0].no).await.unwrap();
    assert_eq!(place.service.grants(&place.key).await.unwrap(), []);
    request.run("make").await;
    let ask = asked(&place, &mut follower).await;
    reject(&place, &ask).await;
    place.request().await.say("ok").await;
    follower.end_of(1).await.unwrap();
}
