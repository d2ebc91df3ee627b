//! From the store to a machine, settling first what a death of the daemon left open.

use super::api::{ApiError, ApiErrorKind, SessionInfo};
use super::checkpoint::settle_cut;
use super::driver::now;
use super::hub::{Hub, Publication};
use super::operations;
use super::whole::make_whole;
use crate::process::recover;
use crate::store::{IndexedSession, LoadedView, ProjectStore, StoreError};
use plimsoll_core::checkpoint;
use plimsoll_core::context::view::StoredView;
use plimsoll_core::event::{AskChoice, AskOption, AskResolution};
use plimsoll_core::id::{CallId, SessionId, StepNo};
use plimsoll_core::ledger::Operation;
use plimsoll_core::permission::policy::grants;
use plimsoll_core::permission::rule::{Rule, Scope};
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::item::ItemBody;
use plimsoll_core::turn::load::Loaded;
use plimsoll_core::turn::machine::{Machine, Settings};
use plimsoll_core::turn::recover::{Cut, cut_operations, settle};

/// A machine that goes on where the session stands, in the middle of a turn that was suspended. What cut it must have been
/// settled before.
pub(super) async fn machine(
    store: &ProjectStore,
    id: &SessionId,
    settings: Settings,
    hub: &Hub,
) -> Result<Machine, ApiError> {
    let mut loaded = load(store, id).await.map_err(|error| store_error(&error))?;
    let is_other = |loaded: &Loaded| {
        let epoch = loaded.view.epoch.as_ref();
        epoch.is_some_and(|epoch| epoch.api != settings.model.api || epoch.model != settings.model.name)
    };
    let other_wire = is_other(&loaded);
    if other_wire && loaded.is_suspended() {
        // Another model cannot go on in the middle of a turn.
        recover_session(store, id, now(), hub, &Cut::Model).await.map_err(|error| store_error(&error))?;
        loaded = load(store, id).await.map_err(|error| store_error(&error))?;
    }
    if other_wire {
        take_sent(store, id, &mut loaded).await?;
    }
    Ok(Machine::load(loaded, settings))
}

/// A machine as [`machine`] gives it, for a look only: nothing is written. None where a turn runs or is suspended.
pub(super) async fn machine_at_rest(
    store: &ProjectStore,
    id: &SessionId,
    settings: Settings,
) -> Result<Option<Machine>, ApiError> {
    let mut loaded = load(store, id).await.map_err(|error| store_error(&error))?;
    if loaded.running_turn.is_some() {
        return Ok(None);
    }
    let epoch = loaded.view.epoch.as_ref();
    if epoch.is_some_and(|epoch| epoch.api != settings.model.api || epoch.model != settings.model.name) {
        take_sent(store, id, &mut loaded).await?;
    }
    Ok(Some(Machine::load(loaded, settings)))
}

/// Adds the items of the view that were sent, so that they can be rendered for another wire.
async fn take_sent(store: &ProjectStore, id: &SessionId, loaded: &mut Loaded) -> Result<(), ApiError> {
    let Some(epoch) = &loaded.view.epoch else { return Ok(()) };
    let sent = loaded.view.last_request.as_ref().map(|row| row.last_item).unwrap_or_default();
    let seen = loaded.view.carried_through.unwrap_or_default().max(sent);
    let items = store.shaped_items(id, epoch.first_item, &epoch.shape).await.map_err(|error| store_error(&error))?;
    for item in items.into_iter().filter(|item| item.item.no <= seen) {
        loaded.view.projections.extend(item.projection.map(|shown| (shown.call, shown)));
        loaded.view.rerender.push(item.item);
    }
    Ok(())
}

/// Settles a session that was cut in the middle of a turn or of an undo; does nothing otherwise.
pub(super) async fn recover_session(
    store: &ProjectStore,
    id: &SessionId,
    now: Timestamp,
    hub: &Hub,
    cut: &Cut,
) -> Result<(), StoreError> {
    let row = store.session(id).await?;
    let open = store.operations(id, true).await?;
    let busy = matches!(row.state, SessionState::Running | SessionState::Waiting);
    if !busy && !open.iter().any(|operation| checkpoint::is_undo(operation) || operation.in_background()) {
        // The usual case, for which a long session must not be read.
        return Ok(());
    }
    make_whole(store, id, &open).await;
    let mut loaded = load(store, id).await?;
    if loaded.operations.iter().any(checkpoint::is_undo) {
        settle_cut(store, id, hub).await?;
        loaded = load(store, id).await?;
    }
    // Before anything is said of what became of them, nothing works on any more.
    let running: Vec<Operation> = cut_operations(&loaded, cut).cloned().collect();
    for operation in &running {
        if let Some(process) = operation.process.clone() {
            // The helper's lifeline has ended them already; this is for one that was killed with the daemon.
            let end = tokio::task::spawn_blocking(move || recover::end_leftover(&process)).await;
            tracing::info!(session = %id, call = %operation.call, ?end, "looked for a process of a dead daemon");
        }
    }
    let seen = operations::look(&running).await.unwrap_or_else(|error| {
        // What was not seen counts as not readable.
        tracing::error!(session = %id, %error, "the files of operations that were cut could not be looked at");
        Vec::new()
    });
    let Some(batch) = settle(&loaded, &seen, now, cut) else { return Ok(()) };
    for operation in &batch.operations {
        let verdict = operation.finding.as_ref().map(|finding| finding.verdict);
        tracing::info!(session = %id, call = %operation.call, state = operation.state.word(), ?verdict, "an operation was cut");
    }
    let publication = Publication::of(&batch);
    store.commit(id, batch).await?;
    hub.publish(publication);
    Ok(())
}

pub(super) async fn load(store: &ProjectStore, id: &SessionId) -> Result<Loaded, StoreError> {
    let view = store.load_view(id).await?;
    let answered = store.granted(id).await?;
    let chosen = answered.iter().flat_map(|ask| {
        let choice = match &ask.resolution {
            Some(AskResolution::Answered { choice, .. }) => Some(*choice),
            Some(AskResolution::Void) | None => None,
        };
        // What was allowed for good is the project's: it can have been revoked since.
        let lasts = move |option: &&AskOption| Some(option.kind) == choice && option.kind == AskChoice::AllowSession;
        ask.options.iter().filter(lasts)
    });
    let grants = chosen.flat_map(|option| grants(option, Scope::Session)).collect();
    Ok(loaded(view, grants))
}

fn loaded(view: LoadedView, grants: Vec<Rule>) -> Loaded {
    Loaded {
        counters: view.session.counters.into(),
        state: Some(view.session.state),
        last_request_ended: view.last_end.is_some(),
        operations: view.operations,
        asks: view.session.open_asks,
        grants,
        untold: view.untold,
        shown: view.shown,
        task: view.task,
        turn_files: view.turn_files,
        verification: view.verification,
        todos: view.todos,
        before_plan: view.before_plan.and_then(|mode| mode.parse().ok()),
        open_calls: open_calls(&view.items),
        usage: view.usage,
        turn_usage: view.turn_usage,
        running_turn: view.running_turn,
        waiting_turns: view.waiting_turns,
        revision: view.revision,
        titled: !view.session.title.is_empty(),
        view: StoredView {
            epoch: view.epoch,
            sent: view.messages,
            carried: view.carried,
            carried_through: view.carried_through,
            last_usage: view.last_end.and_then(|end| end.usage),
            last_request: view.last_request,
            projections: view
                .items
                .iter()
                .filter_map(|item| item.projection.clone())
                .map(|shown| (shown.call, shown))
                .collect(),
            unsent: view.items.into_iter().map(|item| item.item).collect(),
            rerender: Vec::new(),
        },
    }
}

/// Calls without a result: id, tool, step. Those of earlier requests all have one, or no later request could be.
fn open_calls(items: &[crate::store::ViewItem]) -> Vec<(CallId, String, StepNo)> {
    let answered = |call: CallId| {
        items.iter().any(|item| matches!(&item.item.body, ItemBody::ToolResult(result) if result.call == call))
    };
    items
        .iter()
        .filter_map(|item| match &item.item.body {
            ItemBody::ToolCall(call) if !answered(call.call) => Some((call.call, call.tool.clone(), item.item.step)),
            _ => None,
        })
        .collect()
}

/// A session as its project's store knows it.
pub(super) async fn info(store: &ProjectStore, id: &SessionId) -> Result<SessionInfo, ApiError> {
    let session = store.session(id).await.map_err(|error| store_error(&error))?;
    let project = store.record();
    Ok(indexed(IndexedSession { project: project.key.clone(), roots: project.roots.clone(), session }))
}

/// A session as lists show it.
pub(super) fn indexed(indexed: IndexedSession) -> SessionInfo {
    let session = indexed.session;
    SessionInfo {
        id: session.id,
        project: indexed.project,
        roots: indexed.roots,
        title: session.title,
        created_at: session.created_at,
        updated_at: session.updated_at,
        state: session.state,
        items: session.counters.item.0,
        last_seq: session.counters.seq,
        mode: session.mode,
        model: session.model,
        open_asks: session.open_asks,
        origin: session.origin,
        archived: session.archived,
        workspace_missing: false,
    }
}

/// A failure of the store, for a client.
pub(super) fn store_error(error: &StoreError) -> ApiError {
    let kind = match error {
        StoreError::Newer { .. } => ApiErrorKind::NewerStore,
        StoreError::NotFound { .. } => ApiErrorKind::NotFound,
        StoreError::RootMissing { .. } => ApiErrorKind::WorkspaceMissing,
        StoreError::Closed { .. } => ApiErrorKind::ShuttingDown,
        StoreError::Full { .. }
        | StoreError::Damaged { .. }
        | StoreError::NetworkFs { .. }
        | StoreError::Foreign { .. }
        | StoreError::History { .. }
        | StoreError::Io { .. }
        | StoreError::Sqlite { .. }
        | StoreError::Codec { .. }
        | StoreError::Gap { .. } => ApiErrorKind::Store,
        StoreError::RootTaken { .. } => ApiErrorKind::Conflict,
    };
    let told = ApiError::new(kind, error.to_string());
    match error {
        StoreError::Full { .. } | StoreError::Io { .. } | StoreError::Sqlite { .. } => {
            told.hint("see that the disk of the data folder has room and is writable, then try again")
        }
        StoreError::RootTaken { .. } => told.hint("open that project instead, or delete what it holds first"),
        _ => told,
    }
}
