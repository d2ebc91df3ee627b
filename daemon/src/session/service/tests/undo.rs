//! Undoing in a session that is loaded, and an undo that the daemon's death has cut.

use super::*;
use crate::session::checkpoint::{FileState, Undo, UndoState};
use plimsoll_core::checkpoint::{How, Scope, UNDO};
use plimsoll_core::id::{CallId, ItemNo};
use plimsoll_core::ledger::{OpState, Operation};
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::transcript::item::NoticeCause;

impl Place {
    /// A turn in which the model writes these files.
    async fn write(&mut self, turn: u64, names: &[&str]) {
        self.prompt("write").await.unwrap();
        for name in names {
            let arguments = json!({"file_path": name, "contents": format!("{turn}\n")}).to_string();
            self.request().await.call("write", &arguments).await;
        }
        self.request().await.say("done").await;
        self.follow().await.end_of(turn).await.unwrap();
        // The actor may still be about to rest when its last event is seen.
        soon("an interrupt of nothing", self.service.cancel(&self.id)).await.unwrap();
    }

    async fn undo(&self, scope: Scope) -> crate::session::checkpoint::Undone {
        let undo = Undo { scope, how: How::default(), dry_run: false };
        soon("the undo", self.service.undo(&self.id, undo)).await.unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.temp.path().join("work").join(name).exists()
    }

    async fn operations(&self) -> Vec<Operation> {
        self.store().await.operations(&self.id, false).await.unwrap()
    }
}

fn notices(items: &[Item]) -> usize {
    let is = |item: &&Item| matches!(&item.body, ItemBody::Notice(notice) if notice.cause == NoticeCause::Undone);
    items.iter().filter(is).count()
}

#[tokio::test]
async fn a_loaded_session_goes_on_after_an_undo_and_its_model_is_told() {
    let mut place = Place::new().await;
    place.write(1, &["a"]).await;
    let undone = place.undo(Scope::Turn(TurnNo(1))).await;
    assert_eq!((undone.state, undone.call, place.has("a")), (UndoState::Done, Some(CallId(2)), false));
    place.prompt("go on").await.unwrap();
    let request = place.request().await;
    assert!(request.body.contains("The user undid the file changes of turn 1"), "{}", request.body);
    request.call("write", &json!({"file_path": "b", "contents": "b"}).to_string()).await;
    place.request().await.say("done").await;
    place.follow().await.end_of(2).await.unwrap();
    let calls: Vec<(CallId, String)> =
        place.operations().await.into_iter().map(|operation| (operation.call, operation.tool)).collect();
    let expected = [(1, "write"), (2, UNDO), (3, "write")].map(|(call, tool)| (CallId(call), tool.to_owned()));
    assert_eq!(calls, expected);
}

#[tokio::test]
async fn an_undo_that_was_cut_is_settled_by_what_stands_on_the_disk_and_can_be_completed() {
    let mut place = Place::new().await;
    place.write(1, &["a", "b"]).await;
    place.restart().await;
    // As a daemon leaves it that dies between the two files.
    let wrote = place.operations().await;
    let back = |operation: &Operation| {
        let file = &operation.files[0];
        plimsoll_core::ledger::OperationFile { before: file.after.clone(), after: None, ..file.clone() }
    };
    let cut = Operation {
        call: CallId(3),
        tool: UNDO.to_owned(),
        state: OpState::Running,
        files: wrote.iter().map(back).collect(),
        ..wrote[0].clone()
    };
    let store = place.store().await;
    store.commit(&place.id, Batch { operations: vec![cut], ..Batch::default() }).await.unwrap();
    std::fs::remove_file(place.temp.path().join("work/a")).unwrap();

    let page = place.service.checkpoints(&place.id, None, 10).await.unwrap();
    let calls: Vec<(CallId, usize)> = page.turns[0].calls.iter().map(|call| (call.call, call.files.len())).collect();
    assert_eq!(calls, [(CallId(1), 1), (CallId(2), 1), (CallId(3), 1)]);
    let settled = place.operations().await.remove(2);
    assert_eq!((settled.state, settled.files.len()), (OpState::Succeeded, 1));
    assert!(settled.files[0].path.ends_with("/a"));
    let (_, items) = place.stored().await;
    assert_eq!(notices(&items), 1);

    let undone = place.undo(Scope::Turn(TurnNo(1))).await;
    let states: Vec<FileState> = undone.files.iter().map(|file| file.state).collect();
    assert_eq!((undone.state, states), (UndoState::Done, vec![FileState::AlreadySo, FileState::Ready]));
    assert_eq!((place.has("a"), place.has("b")), (false, false));
    place.restart().await;
    place.service.checkpoints(&place.id, None, 10).await.unwrap();
    let (events, items) = place.stored().await;
    assert_eq!(notices(&items), 2, "what is settled is not settled again");
    let numbers: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(items.last().unwrap().no, ItemNo(items.len() as u64));
}
