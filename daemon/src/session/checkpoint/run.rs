//! The undo itself: kept, recorded, done, settled; and settling one that was cut.

use super::value::{FileState, Undo, UndoState, Undone};
use super::{described, disk, fault, images, look, operations, plan};
use crate::session::api::{ApiError, ApiErrorKind};
use crate::session::driver::{Driver, now};
use crate::session::hub::{Hub, Publication};
use crate::session::load::store_error;
use crate::store::{ProjectStore, SessionRow, StoreError};
use plimsoll_core::checkpoint::{self, Content, FilePlan, Now, Scope, UNDO};
use plimsoll_core::event::{Event, EventBody};
use plimsoll_core::id::{ItemNo, Seq, SessionId, StepNo};
use plimsoll_core::ledger::{OpState, Operation, OperationFile};
use plimsoll_core::prompt::Prompts;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::spec::Class;
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::transcript::item::{Item, ItemBody, MetaCause, MetaMessage, Notice, NoticeCause};
use plimsoll_core::turn::input::InputBody;
use plimsoll_core::turn::machine::Machine;

impl Driver {
    /// Undoes what calls wrote, or says what that would do.
    pub(in crate::session) async fn undo(&mut self, undo: Undo) -> Result<Undone, ApiError> {
        if !undo.dry_run {
            self.check_idle("undo").await?;
        }
        let images = images(&self.project.folder);
        let known = operations(&self.store, &self.id).await?;
        let plan = plan(&known, &images, undo.scope).await?;
        let mut undone = described(&self.store, &self.id, &images, &plan, undo.how).await?;
        let Ok(chosen) = plan.choose(undo.how) else { return Ok(undone) };
        if undo.dry_run {
            return Ok(undone);
        }
        let chosen: Vec<FilePlan> = chosen.into_iter().cloned().collect();
        let (kept, keeping) = (images.clone(), chosen.clone());
        let kept =
            tokio::task::spawn_blocking(move || disk::keep(&kept, &keeping)).await.map_err(|error| fault(&error))?;
        kept.map_err(|why| {
            ApiError::new(ApiErrorKind::Conflict, format!("nothing was undone: {why}")).hint("look and try again")
        })?;

        let prompts = self.prompts().await?;
        let mut operation = self.recorded(&chosen).await?;
        self.record(operation.clone(), None).await?;
        let (with, doing, skip) = (images.clone(), chosen.clone(), undo.how.skip);
        let results = tokio::task::spawn_blocking(move || disk::restore(&with, &doing, skip)).await;
        let results = results.map_err(|error| fault(&error))?;
        let stands = look(chosen.iter().map(|file| file.path.clone()).collect()).await?;
        let failed = |file: &FilePlan| {
            let at = chosen.iter().position(|known| known.path == file.path)?;
            let why = results.get(at).cloned().flatten()?;
            let restored = matches!(stands.get(&file.path), Some(Now::Is(content, _)) if *content == file.want);
            (!restored).then_some(why)
        };
        operation.files.retain(|recorded| {
            chosen.iter().find(|file| file.path == recorded.path).is_some_and(|file| failed(file).is_none())
        });
        let any = !operation.files.is_empty();
        (operation.state, operation.at) = (if any { OpState::Succeeded } else { OpState::Failed }, now());
        let told = any.then(|| told(Some(undo.scope), &operation, &prompts));
        let call = operation.call;
        self.project.workspace().refresh();
        self.record(operation, told).await?;

        for (shown, file) in undone.files.iter_mut().zip(&plan.files) {
            if let Some(why) = failed(file) {
                (shown.state, shown.reason, shown.done) = (FileState::Failed, Some(why), false);
            }
        }
        undone.state = if any { UndoState::Done } else { UndoState::Refused };
        undone.call = any.then_some(call);
        Ok(undone)
    }

    /// The texts of the session's present epoch.
    async fn prompts(&self) -> Result<Prompts, ApiError> {
        match &self.machine {
            Some(machine) => Ok(machine.prompts().clone()),
            None => self.store.texts(&self.id).await.map_err(|error| store_error(&error)),
        }
    }

    /// The undo as the ledger has it before its effect.
    async fn recorded(&self, files: &[FilePlan]) -> Result<Operation, ApiError> {
        let row = self.store.session(&self.id).await.map_err(|error| store_error(&error))?;
        let file = |file: &FilePlan| OperationFile {
            path: file.path.clone(),
            before: file.now.version().map(str::to_owned),
            after: file.want.version().map(str::to_owned),
            mode: file.now_mode,
            link: matches!(file.now, Content::Link(_)),
        };
        Ok(Operation {
            call: self.machine.as_ref().map_or(row.counters.call.next(), Machine::next_call),
            turn: row.counters.turn,
            tool: UNDO.to_owned(),
            class: Class::Write.word().to_owned(),
            target: files.first().map(|file| file.path.clone()).unwrap_or_default(),
            command: None,
            state: OpState::Running,
            at: now(),
            revision: self.project.workspace().revision(),
            files: files.iter().map(file).collect(),
            process: None,
            background: false,
            finding: None,
            repeats: 0,
        })
    }

    /// Commits the undo's record, at its end with what is told of it. A machine that is loaded must know of both.
    async fn record(&mut self, operation: Operation, told: Option<Told>) -> Result<(), ApiError> {
        if self.machine.is_some() {
            self.input(InputBody::Undo { operation, told }).await;
            return self.stored();
        }
        let row = self.store.session(&self.id).await.map_err(|error| store_error(&error))?;
        self.commit(batch(&row, operation, told)).await.map_err(|error| store_error(&error))
    }
}

/// For people, and for the model.
type Told = (String, String);

fn told(scope: Option<Scope>, operation: &Operation, prompts: &Prompts) -> Told {
    let files = &operation.files;
    (checkpoint::notice(scope, operation.call, files), checkpoint::reminder(scope, files, prompts))
}

/// What a machine would commit, for a session without one.
fn batch(row: &SessionRow, operation: Operation, told: Option<Told>) -> Batch {
    let at: Timestamp = operation.at;
    let mut batch = Batch { operations: vec![operation], ..Batch::default() };
    let Some((notice, reminder)) = told else { return batch };
    let bodies = [
        ItemBody::Notice(Notice { cause: NoticeCause::Undone, text: notice }),
        ItemBody::Meta(MetaMessage { cause: MetaCause::Undone, text: reminder }),
    ];
    for (body, after) in bodies.into_iter().zip(1..) {
        let no = ItemNo(row.counters.item.0 + after);
        batch.items.push(Item { no, turn: row.counters.turn, step: StepNo(0), at, body });
        batch.events.push(Event { seq: Seq(row.counters.seq.0 + after), at, body: EventBody::ItemAdded { item: no } });
    }
    batch
}

/// Settles undos that the daemon's death has cut by what stands on the disk. Done twice, it does nothing the second time.
pub(in crate::session) async fn settle_cut(store: &ProjectStore, id: &SessionId, hub: &Hub) -> Result<(), StoreError> {
    let open = store.operations(id, true).await?;
    let prompts = store.texts(id).await?;
    for operation in open.iter().filter(|operation| checkpoint::is_undo(operation)) {
        let paths = operation.files.iter().map(|file| file.path.clone()).collect();
        let Ok(stands) = look(paths).await else { continue };
        let mut settled = checkpoint::settle(operation, &stands);
        settled.at = now();
        let told = (settled.state == OpState::Succeeded).then(|| told(None, &settled, &prompts));
        tracing::info!(session = %id, call = %settled.call, state = settled.state.word(), "an undo that was cut is settled");
        let row = store.session(id).await?;
        let batch = batch(&row, settled, told);
        let publication = Publication::of(&batch);
        store.commit(id, batch).await?;
        hub.publish(publication);
    }
    Ok(())
}
