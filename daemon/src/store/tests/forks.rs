//! Forks and rewinds as rows: what is shared, what is left out, and what stays when one of the two sessions goes.

use super::*;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::item::Rewind;
use plimsoll_core::turn::rewind::rewind;

/// Two turns: the first calls twice and has a large result, the second answers at once.
async fn two_turns(project: &ProjectStore, id: &SessionId) -> (Epoch, RequestRow) {
    let head = epoch(1, 1);
    let first = request(1, &head, &[], &["m1"], 1);
    let second = request(2, &head, &first.tail, &["m2", "m3"], 5);
    let turn = |no, turn, item: Item| Item { no: ItemNo(no), turn: TurnNo(turn), ..item };
    let prompt = |no: u64, of: u64, text: &str| Item { step: StepNo(0), ..turn(no, of, user(no, text)) };
    let large = "large ".repeat(200_000);
    let started = |seq, turn| Event { seq: Seq(seq), at: at(1), body: EventBody::TurnStarted { turn: TurnNo(turn) } };
    let batches = [
        Batch {
            items: vec![prompt(1, 1, "one")],
            epoch: Some(head.clone()),
            request: Some(first.clone()),
            events: vec![started(1, 1), added(2, 1)],
            ..Batch::default()
        },
        Batch {
            items: vec![call(2, 1), call(3, 2), result(4, 2, Body::Text(large)), result(5, 1, Body::Text("b".into()))],
            projections: vec![projection(2, "shown two"), projection(1, "shown one")],
            operations: vec![operation(1, OpState::Succeeded)],
            asks: vec![ask(1, 1)],
            request: Some(second.clone()),
            events: (3..7).map(|seq| added(seq, seq - 1)).collect(),
            ..Batch::default()
        },
        Batch {
            items: vec![turn(6, 1, Item { step: StepNo(2), ..assistant(6, "a") })],
            events: vec![added(7, 6)],
            ..Batch::default()
        },
        Batch {
            items: vec![prompt(7, 2, "two"), turn(8, 2, assistant(8, "b"))],
            events: vec![started(8, 2), added(9, 7), added(10, 8)],
            state: Some(SessionState::Idle),
            title: Some("talk".into()),
            ..Batch::default()
        },
    ];
    for batch in batches {
        project.commit(id, batch).await.unwrap();
    }
    (head, second)
}

fn fork(id: &str, until: u64) -> ForkRecord {
    ForkRecord { id: session_id(id), until: Some(ItemNo(until)), title: None, at: at(50), key: Some(id.to_owned()) }
}

#[tokio::test]
async fn a_fork_has_what_it_shares_and_outlives_the_other_session() {
    let mut place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    let (head, second) = two_turns(&project, &id).await;
    // Item 7 is a prompt, and items 2 to 4 are calls without all their results.
    for (name, until, last) in [("s2", 7, 6), ("s3", 4, 0), ("s4", 99, 8)] {
        let row = project.fork_session(&id, fork(name, until)).await.unwrap();
        let origin = row.origin.clone().unwrap();
        assert_eq!((origin.session.as_str(), origin.item.0, row.counters.item.0), ("s1", last, last), "{name}");
        assert_eq!(project.fork_session(&id, fork(name, until)).await.unwrap(), row, "the same key again");
    }
    let forked = session_id("s2");
    let row = project.session(&forked).await.unwrap();
    assert_eq!((row.title.as_str(), row.state, row.open_asks.len()), ("talk (fork)", SessionState::Idle, 0));
    assert_eq!((row.counters.turn, row.counters.call, row.counters.request), (TurnNo(1), CallId(2), RequestNo(2)));
    let all = project.whole_items(&id, ItemNo(0), 99).await.unwrap();
    let check = async |project: &ProjectStore| {
        assert_eq!(project.whole_items(&forked, ItemNo(0), 99).await.unwrap(), all[..6]);
        let view = project.load_view(&forked).await.unwrap();
        let opened = view.epoch.unwrap();
        assert_eq!((opened.no, opened.cause, opened.base), (EpochNo(2), EpochCause::Fork, Some(RequestNo(2))));
        assert_eq!((&opened.tools, &opened.system, &opened.preamble), (&head.tools, &head.system, &head.preamble));
        assert_eq!(opened.stated, second.stated);
        assert_eq!((view.last_request.as_ref(), texts(&view.carried)), (Some(&second), vec!["m1", "m2", "m3"]));
        assert_eq!(view.items.iter().map(|item| item.item.no.0).collect::<Vec<_>>(), [6]);
        assert_eq!(view.shown, [shown(2), shown(1)]);
        assert_eq!((view.operations.len(), project.operations(&forked, false).await.unwrap().len()), (0, 0));
        project.request_body_segments(&forked, RequestNo(2)).await.unwrap();
    };
    check(&project).await;
    let events = project.events(&forked, Seq(0), 99).await.unwrap();
    let ended = |event: &ResolvedEvent| matches!(event.event.body, EventBody::TurnCompleted { turn: TurnNo(1), .. });
    assert!(events.last().is_some_and(ended), "{events:?}");
    assert_eq!(events.iter().map(|event| event.event.seq.0).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
    // The large result lies in the first session's folder.
    let large = project.session_folder(&id).join("artifacts/c2.outcome.zst");
    project.delete_session(&id).await.unwrap();
    assert!(large.exists() && !project.session_folder(&id).join("transcript.txt").exists());
    check(&project).await;
    drop(project);
    place.restart().await;
    let project = place.project().await;
    check(&project).await;
    for name in ["s3", "s4", "s2"] {
        assert!(large.exists());
        project.delete_session(&session_id(name)).await.unwrap();
    }
    assert!(!project.session_folder(&id).exists());
}

#[tokio::test]
async fn what_left_the_view_is_in_the_transcript_and_in_nothing_that_is_folded() {
    let place = Place::new().await;
    let project = place.project().await;
    let id = project.create_session(new_session("s1")).await.unwrap().id;
    two_turns(&project, &id).await;
    assert!(project.point_before(&id, TurnNo(3)).await.unwrap().is_none());
    let counters = async || {
        let counters = project.session(&id).await.unwrap().counters;
        let Counters { item, seq, turn, call, request, epoch, ask, side } = counters;
        plimsoll_core::turn::machine::Counters { item, seq, turn, call, ask, request, epoch, side }
    };
    let point = project.point_before(&id, TurnNo(2)).await.unwrap().unwrap();
    assert_eq!((point.from, point.base.as_ref().map(|(row, ..)| row.no)), (ItemNo(7), Some(RequestNo(2))));
    project.commit(&id, rewind(&counters().await, point, at(60))).await.unwrap();
    let view = project.load_view(&id).await.unwrap();
    assert_eq!(
        view.epoch.as_ref().map(|epoch| (epoch.cause, epoch.base)),
        Some((EpochCause::Rewind, Some(RequestNo(2))))
    );
    assert_eq!(texts(&view.carried), ["m1", "m2", "m3"]);
    assert_eq!(view.items.iter().map(|item| item.item.no.0).collect::<Vec<_>>(), [6]);
    assert_eq!(view.shown, [shown(2), shown(1)]);
    let whole = project.whole_items(&id, ItemNo(0), 99).await.unwrap();
    let last = whole.last().map(|item| item.item.body.clone());
    assert_eq!(last, Some(ItemBody::Rewind(Rewind { turn: TurnNo(2), from: ItemNo(7) })));

    // To before the first turn: the head alone, and nothing that was shown.
    let point = project.point_before(&id, TurnNo(1)).await.unwrap().unwrap();
    assert_eq!((point.from, point.base.is_none(), point.first.is_some()), (ItemNo(1), true, true));
    project.commit(&id, rewind(&counters().await, point, at(61))).await.unwrap();
    let view = project.load_view(&id).await.unwrap();
    assert_eq!((view.last_request, view.carried.len(), view.items.len(), view.shown.len()), (None, 0, 0, 0));
    assert_eq!(view.epoch.map(|epoch| epoch.preamble), Some(epoch(1, 1).preamble));
    // What is shared of a session is in the view of the fork as it was in its own.
    let row = project.fork_session(&id, fork("s2", 99)).await.unwrap();
    assert_eq!(row.counters.item, ItemNo(10));
    let view = project.load_view(&row.id).await.unwrap();
    let opened = view.epoch.map(|epoch| (epoch.cause, epoch.base));
    assert_eq!(
        (view.items.len(), view.shown.len(), view.carried.len(), opened),
        (0, 0, 0, Some((EpochCause::Fork, None)))
    );
}
