//! The list of what can be undone.

use super::value::{CallCheckpoint, ChangedFile, Restorable, TurnCheckpoint, TurnPage};
use super::{look, operations, reason};
use crate::file_io::pre_image::PreImages;
use crate::session::api::ApiError;
use crate::session::load::store_error;
use crate::store::ProjectStore;
use plimsoll_core::checkpoint::{self, How, Now, Refusal, Scope};
use plimsoll_core::id::{CallId, SessionId, TurnNo};
use plimsoll_core::ledger::{OpState, Operation};
use plimsoll_core::tool::outcome::Body;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What a list is made from.
struct Lister<'a> {
    store: &'a ProjectStore,
    id: &'a SessionId,
    images: &'a PreImages,
    operations: &'a [Operation],
    now: BTreeMap<String, Now>,
}

/// Turns that changed files, newest first: up to `limit` before `before`.
pub(in crate::session) async fn list(
    store: &ProjectStore,
    id: &SessionId,
    images: &PreImages,
    before: Option<TurnNo>,
    limit: usize,
) -> Result<TurnPage, ApiError> {
    let operations = operations(store, id).await?;
    let shown = |operation: &&Operation| {
        !operation.files.is_empty()
            && before.is_none_or(|before| operation.turn < before)
            && !matches!(operation.state, OpState::Proposed | OpState::Approved | OpState::Denied)
    };
    let mut by_turn: BTreeMap<TurnNo, Vec<&Operation>> = BTreeMap::new();
    for operation in operations.iter().filter(shown) {
        by_turn.entry(operation.turn).or_default().push(operation);
    }
    let more = by_turn.len() > limit;
    let page: Vec<(TurnNo, Vec<&Operation>)> = by_turn.into_iter().rev().take(limit).collect();
    let paths: BTreeSet<String> =
        page.iter().flat_map(|(_, all)| all).flat_map(|one| &one.files).map(|file| file.path.clone()).collect();
    let lister = Lister { store, id, images, operations: &operations, now: look(paths).await? };
    let prompts = store.prompts(id).await.map_err(|error| store_error(&error))?;
    let next_before = page.last().map(|(turn, _)| *turn).filter(|_| more);
    let mut turns = Vec::with_capacity(page.len());
    for (turn, of_turn) in page {
        let mut calls = Vec::with_capacity(of_turn.len());
        for operation in &of_turn {
            calls.push(lister.call(operation).await?);
        }
        turns.push(TurnCheckpoint {
            turn,
            at: of_turn.first().map(|operation| operation.at).unwrap_or_default(),
            prompt: prompts.get(&turn).cloned().unwrap_or_default(),
            restorable: lister.restorable(Scope::Turn(turn)).await?,
            calls,
        });
    }
    Ok(TurnPage { turns, next_before })
}

impl Lister<'_> {
    async fn call(&self, operation: &Operation) -> Result<CallCheckpoint, ApiError> {
        let lines = self.lines(operation.call).await?;
        let files = operation.files.iter().map(|file| ChangedFile {
            path: file.path.clone(),
            before: file.before.clone(),
            after: file.after.clone(),
            lines: lines.get(&file.path).copied(),
        });
        Ok(CallCheckpoint {
            call: operation.call,
            tool: operation.tool.clone(),
            at: operation.at,
            restorable: self.restorable(Scope::Call(operation.call)).await?,
            files: files.collect(),
        })
    }

    /// Lines added and removed by a call, per file. An undo has no result that says so.
    async fn lines(&self, call: CallId) -> Result<BTreeMap<String, (u64, u64)>, ApiError> {
        let outcome = self.store.outcome(self.id, call).await.map_err(|error| store_error(&error))?;
        Ok(match outcome.map(|outcome| outcome.body) {
            Some(Body::Edit(edited)) => edited
                .files
                .into_iter()
                .map(|file| (file.change.path, (file.change.diff.added, file.change.diff.removed)))
                .collect(),
            Some(_) | None => BTreeMap::new(),
        })
    }

    async fn restorable(&self, scope: Scope) -> Result<Restorable, ApiError> {
        let plan = checkpoint::plan(self.operations, scope, &self.now, &|version| self.images.has(version));
        let how = How::default();
        match plan.choose(how) {
            Ok(_) => Ok(Restorable::Ready),
            Err(Refusal::Nothing) => Ok(Restorable::AlreadySo),
            Err(Refusal::Blocked(count)) => {
                let Some(file) = plan.files.iter().find(|file| file.done(how) == Some(false)) else {
                    return Ok(Restorable::AlreadySo);
                };
                let mut why =
                    format!("{}: {}", file.path, reason(self.store, self.id, file).await?.unwrap_or_default());
                if count > 1 {
                    // Writing to a String cannot fail.
                    let _ = write!(why, " (and {} more)", count - 1);
                }
                Ok(Restorable::Blocked(why))
            }
        }
    }
}
