//! Operations of a session, as clients and the model ask about them: how their files stand now, what else is known of a
//! command, what the user says became of one. What follows from it is decided by [`plimsoll_core::ledger`].

mod evidence;
mod service;

pub(super) use evidence::consult;

use super::api::{ApiError, ApiErrorKind};
use super::driver::{Driver, now};
use super::load::store_error;
use crate::file_io::observe;
use crate::store::ProjectStore;
use plimsoll_core::event::{Event, EventBody};
use plimsoll_core::id::{CallId, SessionId};
use plimsoll_core::ledger::{FoundBy, OpState, Operation, OperationFile, Resolution, SeenFile};
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::turn::input::InputBody;
use plimsoll_core::turn::machine::Machine;

/// Which operations to list: the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperationFilter {
    /// In one of these states only; empty: in any.
    pub states: Vec<OpState>,
    /// Only those that are open (`true`), or that are not (`false`); none: both.
    pub unsettled: Option<bool>,
    /// Only those of calls before this one.
    pub before: Option<CallId>,
    /// At most this many.
    pub limit: usize,
}

/// A page of operations.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationPage {
    /// The operations, the newest first.
    pub operations: Vec<Operation>,
    /// The next page holds those before this call; none at the end.
    pub next: Option<CallId>,
}

/// What is to be found out, or said, of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Look at its files again.
    Inspect,
    /// The user says this, with a note.
    Resolve(Resolution, Option<String>),
}

/// The files of operations, as they stand now.
pub(super) async fn look(operations: &[Operation]) -> Result<Vec<SeenFile>, ApiError> {
    let files: Vec<OperationFile> = operations.iter().flat_map(|operation| operation.files.clone()).collect();
    let look = move || files.iter().map(observe).collect();
    tokio::task::spawn_blocking(look)
        .await
        .map_err(|error| ApiError::new(ApiErrorKind::Internal, format!("the files could not be looked at: {error}")))
}

/// An operation of a session; an error says which are open.
pub(super) async fn operation(store: &ProjectStore, id: &SessionId, call: CallId) -> Result<Operation, ApiError> {
    let all = store.operations(id, false).await.map_err(|error| store_error(&error))?;
    if let Some(found) = all.iter().find(|operation| operation.call == call) {
        return Ok(found.clone());
    }
    let open: Vec<String> = all.iter().filter(|one| one.is_unsettled()).map(|one| one.call.to_string()).collect();
    let hint = if open.is_empty() {
        "none of the session's operations is open; operation/list shows all of them".to_owned()
    } else {
        format!("open are {}; operation/list shows all of them", open.join(", "))
    };
    Err(ApiError::new(ApiErrorKind::NotFound, format!("the session has no operation {call}")).hint(hint))
}

impl Driver {
    /// Looks at an operation again, or takes what the user says of it: stored and told to all before this returns.
    pub(super) async fn operation(&mut self, call: CallId, asked: Asked) -> Result<Operation, ApiError> {
        self.settle().await.map_err(|error| store_error(&error))?;
        let known = self.known(call).await?;
        let revision = self.project.workspace().revision();
        let changed = match asked {
            Asked::Inspect if !known.is_unsettled() => return Ok(known),
            Asked::Inspect => {
                let seen = look(std::slice::from_ref(&known)).await?;
                known.found(FoundBy::Inspection, &seen, now(), revision)
            }
            Asked::Resolve(resolution, note) => {
                if said_already(&known, resolution, note.as_deref()) {
                    return Ok(known);
                }
                if !known.is_unsettled() {
                    return Err(settled(&known));
                }
                known.resolved(resolution, note, now(), revision)
            }
        };
        if self.machine.is_some() {
            self.input(InputBody::Found(Box::new(changed.clone()))).await;
            self.stored()?;
        } else {
            let event = EventBody::OperationChanged { call };
            let event = Event { seq: self.hub.head().next(), at: now(), body: event };
            let batch = Batch { operations: vec![changed.clone()], events: vec![event], ..Batch::default() };
            self.commit(batch).await.map_err(|error| store_error(&error))?;
        }
        Ok(changed)
    }

    /// What the machine has is never older than what is stored.
    async fn known(&self, call: CallId) -> Result<Operation, ApiError> {
        let open = self.machine.iter().flat_map(Machine::unsettled);
        match open.into_iter().find(|operation| operation.call == call) {
            Some(operation) => Ok(operation.clone()),
            None => operation(&self.store, &self.id, call).await,
        }
    }
}

/// Whether the user has said just this: saying it twice changes nothing.
fn said_already(operation: &Operation, resolution: Resolution, note: Option<&str>) -> bool {
    let Some(finding) = operation.finding.as_ref().filter(|finding| finding.by == FoundBy::User) else { return false };
    let unsaid = Operation { finding: None, ..operation.clone() };
    let said = unsaid.resolved(resolution, note.map(str::to_owned), finding.at, finding.revision).finding;
    said.is_some_and(|said| {
        finding.note == said.note && (resolution == Resolution::Accepted || finding.verdict == said.verdict)
    })
}

fn settled(operation: &Operation) -> ApiError {
    let call = operation.call;
    let how = match operation.state {
        OpState::Unknown => operation.standing(),
        OpState::Running if operation.background => "it goes on in the background".to_owned(),
        OpState::Proposed | OpState::Approved | OpState::Running => "it has not ended yet".to_owned(),
        OpState::Denied | OpState::Succeeded | OpState::Failed | OpState::Cancelled => {
            format!("its end was seen: {}", operation.state.word())
        }
    };
    ApiError::new(ApiErrorKind::Conflict, format!("operation {call} is not open: {how}"))
        .hint("operation/list with `unsettled` shows those that are")
}
