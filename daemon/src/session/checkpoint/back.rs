//! Undoing before the conversation goes back.

use super::operations;
use super::value::{FileState, RestoredFile, Undo, UndoState};
use crate::session::api::{ApiError, ApiErrorKind};
use crate::session::driver::Driver;
use plimsoll_core::checkpoint::{self, How, Scope};
use plimsoll_core::id::TurnNo;

/// Files that an error names.
const NAMED: usize = 10;

impl Driver {
    /// Undoes what this turn and later ones wrote. What stands as before already is no error; a file that cannot be restored
    /// is one, unless such files are to be left as they are.
    pub(in crate::session) async fn undo_from(&mut self, turn: TurnNo, how: How) -> Result<(), ApiError> {
        let scope = Scope::From(turn);
        if checkpoint::paths(&operations(&self.store, &self.id).await?, scope).is_empty() {
            return Ok(());
        }
        let undone = self.undo(Undo { scope, how, dry_run: false }).await?;
        // One that is ready was only not reached, because of the others.
        let stay = |file: &&RestoredFile| !file.done && !matches!(file.state, FileState::AlreadySo | FileState::Ready);
        let left: Vec<&RestoredFile> = undone.files.iter().filter(stay).collect();
        if left.is_empty() || how.skip {
            return Ok(());
        }
        let named = left.iter().take(NAMED).map(|file| {
            let why = file.reason.as_deref().unwrap_or("it cannot simply be restored");
            format!("{}: {why}", file.path)
        });
        let mut named: Vec<String> = named.collect();
        if left.len() > NAMED {
            named.push(format!("{} more", left.len() - NAMED));
        }
        let what = match undone.state {
            UndoState::Done => "the conversation stays, and some files were restored; these could not be",
            UndoState::Refused | UndoState::Planned | UndoState::Nothing => {
                "nothing was changed: these files cannot simply be restored"
            }
        };
        let error = ApiError::new(ApiErrorKind::Conflict, format!("{what}: {}", named.join("; ")));
        Err(error.hint("`skip` leaves them as they are; checkpoint/diff with `from` shows what would be restored"))
    }
}
