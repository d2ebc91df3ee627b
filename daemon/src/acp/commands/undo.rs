//! `/undo`: takes back what the last turn wrote, as far as nothing else goes along.

use super::Ran;
use crate::acp::facade::Facade;
use crate::session::api::ApiError;
use crate::session::checkpoint::{FileAction, Restorable, RestoredFile, TurnCheckpoint, Undo, UndoState, Undone};
use plimsoll_core::checkpoint::{How, Scope};
use plimsoll_core::id::SessionId;
use std::fmt::Write as _;

/// Turns that are looked at together.
const PAGE: usize = 20;

impl Facade {
    pub(super) async fn undo(&self, id: &SessionId) -> Result<Ran, ApiError> {
        let Some(turn) = self.last_in_effect(id).await? else {
            return Ok(Ran::Said(
                "There is nothing to undo: no turn of this session has changed files that stand so.".into(),
            ));
        };
        let undo = Undo { scope: Scope::Turn(turn.turn), how: How::default(), dry_run: false };
        let undone = self.service.undo(id, undo).await?;
        Ok(Ran::Said(text(id, &turn, &undone)))
    }

    /// The newest turn whose changes are not undone yet.
    async fn last_in_effect(&self, id: &SessionId) -> Result<Option<TurnCheckpoint>, ApiError> {
        let mut before = None;
        loop {
            let page = self.service.checkpoints(id, before, PAGE).await?;
            if let Some(turn) = page.turns.into_iter().find(|turn| turn.restorable != Restorable::AlreadySo) {
                return Ok(Some(turn));
            }
            before = page.next_before;
            if before.is_none() {
                return Ok(None);
            }
        }
    }
}

/// What was done, one file a line.
fn text(id: &SessionId, turn: &TurnCheckpoint, undone: &Undone) -> String {
    let of = format!("turn {} (“{}”)", turn.turn, turn.prompt);
    let mut text = match undone.state {
        UndoState::Done => format!("Undone: what {of} wrote.\n\n"),
        UndoState::Nothing => format!("Nothing to undo: the files of {of} stand as before.\n\n"),
        UndoState::Refused | UndoState::Planned => {
            format!("Nothing was undone: not all files of {of} can simply be restored.\n\n")
        }
    };
    for file in &undone.files {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "- `{}`: {}", file.path, what(file));
    }
    for (_, command) in &undone.commands {
        let _ = writeln!(text, "- not undone: what the command `{command}` changed is not known");
    }
    if undone.state == UndoState::Refused {
        let _ = writeln!(
            text,
            "\nIn a terminal, `plimsoll undo --session {id} --turn {} --skip` leaves these out; `--force` restores them \
             all the same, after keeping what is there.",
            turn.turn
        );
    }
    text
}

fn what(file: &RestoredFile) -> String {
    if !file.done {
        return file.reason.clone().unwrap_or_else(|| "left as it is".to_owned());
    }
    match file.action {
        FileAction::Write => format!("written back (+{} -{})", file.diff.added, file.diff.removed),
        FileAction::Create => "made again".to_owned(),
        FileAction::Link => "made again as a link".to_owned(),
        FileAction::Delete => "deleted".to_owned(),
        FileAction::None => "stands as before".to_owned(),
    }
}
