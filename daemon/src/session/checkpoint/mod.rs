//! Undoing what the agent wrote: lists, differences and the undo itself. What is decided is decided by
//! [`plimsoll_core::checkpoint`]; here the ledger and the disk are read, and what was decided is done and recorded.
//!
//! An undo runs in the session's actor, so that no turn runs beside it. It is recorded before its effect, like any other
//! operation; what it replaces is kept first. One that was cut is settled by what stands on the disk when the session is
//! next taken up.

mod back;
mod disk;
mod list;
mod run;
mod service;
mod value;

pub use value::{
    CallCheckpoint, ChangedFile, FileAction, FileState, Restorable, RestoredFile, TurnCheckpoint, TurnPage, Undo,
    UndoState, Undone,
};

use super::api::{ApiError, ApiErrorKind};
use super::load::store_error;
use crate::file_io::pre_image::PreImages;
use crate::store::ProjectStore;
use plimsoll_core::checkpoint::{self, Content, FilePlan, How, Now, Plan, Scope, Verdict};
use plimsoll_core::id::SessionId;
use plimsoll_core::ledger::Operation;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(super) use list::list;
pub(super) use run::settle_cut;

/// The folder of a project in which contents are kept.
const PRE_IMAGES: &str = "pre-images";

/// The contents that a project's agents replaced.
pub(super) fn images(project_folder: &Path) -> PreImages {
    PreImages::new(image_folder(project_folder))
}

/// Where they lie.
pub(super) fn image_folder(project_folder: &Path) -> PathBuf {
    project_folder.join(PRE_IMAGES)
}

/// What stands at these paths now.
pub(super) async fn look(paths: BTreeSet<String>) -> Result<BTreeMap<String, Now>, ApiError> {
    let look = || paths.into_iter().map(|path| (path.clone(), disk::look(&path))).collect();
    tokio::task::spawn_blocking(look).await.map_err(|error| fault(&error))
}

fn fault(error: &tokio::task::JoinError) -> ApiError {
    ApiError::new(ApiErrorKind::Internal, format!("the files could not be looked at: {error}"))
}

async fn operations(store: &ProjectStore, id: &SessionId) -> Result<Vec<Operation>, ApiError> {
    store.operations(id, false).await.map_err(|error| store_error(&error))
}

/// What undoing would do now.
async fn plan(operations: &[Operation], images: &PreImages, scope: Scope) -> Result<Plan, ApiError> {
    let paths = checkpoint::paths(operations, scope);
    if paths.is_empty() {
        let what = match scope {
            Scope::Call(call) => format!("call {call} changed no files"),
            Scope::Turn(turn) => format!("turn {turn} changed no files"),
            Scope::From(turn) => format!("no turn from {turn} on changed files"),
        };
        return Err(ApiError::new(ApiErrorKind::NotFound, what).hint("checkpoint/list shows what can be undone"));
    }
    let now = look(paths).await?;
    Ok(checkpoint::plan(operations, scope, &now, &|version| images.has(version)))
}

/// What undoing would change, with differences.
pub(super) async fn diff(
    store: &ProjectStore,
    id: &SessionId,
    images: &PreImages,
    scope: Scope,
) -> Result<Undone, ApiError> {
    let plan = plan(&operations(store, id).await?, images, scope).await?;
    let how = How::default();
    let mut undone = described(store, id, images, &plan, how).await?;
    undone.state = UndoState::Planned;
    Ok(undone)
}

/// A plan for people: what would be done, why not, and how much that is.
async fn described(
    store: &ProjectStore,
    id: &SessionId,
    images: &PreImages,
    plan: &Plan,
    how: How,
) -> Result<Undone, ApiError> {
    let (compared, images) = (plan.files.clone(), images.clone());
    let compare = move || compared.iter().map(|file| disk::difference(&images, file)).collect::<Vec<_>>();
    let diffs = tokio::task::spawn_blocking(compare).await.map_err(|error| fault(&error))?;
    let chosen = plan.choose(how).is_ok();
    let mut files = Vec::with_capacity(plan.files.len());
    for (file, diff) in plan.files.iter().zip(diffs) {
        let keeps = match &file.verdict {
            Verdict::Changed { loses } => loses.iter().filter(|version| *version != "nothing").cloned().collect(),
            _ => Vec::new(),
        };
        files.push(RestoredFile {
            path: file.path.clone(),
            action: action(file),
            state: state(&file.verdict),
            reason: reason(store, id, file).await?,
            done: chosen && file.done(how) == Some(true),
            calls: file.calls.clone(),
            keeps,
            diff,
        });
    }
    let state = match plan.choose(how) {
        Ok(_) => UndoState::Planned,
        Err(checkpoint::Refusal::Blocked(_)) => UndoState::Refused,
        Err(checkpoint::Refusal::Nothing) => UndoState::Nothing,
    };
    Ok(Undone { state, call: None, files, commands: plan.commands.clone() })
}

fn action(file: &FilePlan) -> FileAction {
    match (&file.now, &file.want) {
        _ if matches!(file.verdict, Verdict::AlreadySo | Verdict::Unclear(_)) => FileAction::None,
        (_, Content::Absent) => FileAction::Delete,
        (_, Content::Link(_)) => FileAction::Link,
        (Content::Absent, Content::File(_)) => FileAction::Create,
        (Content::File(_) | Content::Link(_), Content::File(_)) => FileAction::Write,
    }
}

fn state(verdict: &Verdict) -> FileState {
    match verdict {
        Verdict::Restore => FileState::Ready,
        Verdict::AlreadySo => FileState::AlreadySo,
        Verdict::Later(_) => FileState::Later,
        Verdict::Changed { .. } => FileState::Changed,
        Verdict::Unclear(_) => FileState::Unclear,
        Verdict::Lost => FileState::Lost,
    }
}

/// Why a file is not simply restored, for people.
async fn reason(store: &ProjectStore, id: &SessionId, file: &FilePlan) -> Result<Option<String>, ApiError> {
    Ok(match &file.verdict {
        Verdict::Restore | Verdict::AlreadySo => None,
        Verdict::Later(calls) => {
            let calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
            Some(format!("{} changed it later: undo that first, or everything from its turn on", calls.join(", ")))
        }
        Verdict::Changed { loses } => {
            let newest = loses.first().map(String::as_str).unwrap_or_default();
            Some(if newest == file.now.version().unwrap_or("nothing") {
                format!("changed since by {}", who(store, id, file).await?)
            } else {
                "somebody else changed it between the agent's calls, which would go too".to_owned()
            })
        }
        Verdict::Unclear(why) => Some(why.clone()),
        Verdict::Lost => Some("its content before is no longer kept".to_owned()),
    })
}

/// Who wrote what stands there now, as far as the ledgers of the project's sessions know.
async fn who(store: &ProjectStore, id: &SessionId, file: &FilePlan) -> Result<String, ApiError> {
    let Some(version) = file.now.version() else { return Ok("somebody who deleted it".to_owned()) };
    let found = store.operations_elsewhere(id, version).await.map_err(|error| store_error(&error))?;
    let wrote = found.iter().rfind(|other| {
        other.operation.files.iter().any(|known| known.path == file.path && known.after.as_deref() == Some(version))
    });
    Ok(match wrote {
        Some(other) => {
            format!("{} of session {} (\u{201c}{}\u{201d})", other.operation.call, other.session, other.title)
        }
        None => "somebody else".to_owned(),
    })
}
