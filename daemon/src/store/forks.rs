//! What a project's store does with whole sessions: deletes them, forks them, reads them from an export.

use super::encode;
use super::fork::ForkWrite;
use super::project::{ProjectStore, database_path};
use super::record::{SessionOrigin, SessionRecord, SessionRow, ViewItem};
use super::write::Write;
use super::{StoreError, private};
use plimsoll_core::id::{ItemNo, SessionId, TurnNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::transcript::rewound::OutOfView;
use plimsoll_core::turn::rewind::Point;

/// A fork to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkRecord {
    /// Its id, unique in the world.
    pub id: SessionId,
    /// The last item to share, at most; none: the last one that is settled.
    pub until: Option<ItemNo>,
    /// A title; none: the other session's, with a word behind it.
    pub title: Option<String>,
    /// When it is made.
    pub at: Timestamp,
    /// The client's key for the call: the same key again, in the same project, is the same session.
    pub key: Option<String>,
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime does not fit the bound"
)]
impl ProjectStore {
    /// Deletes a session with everything that it stored, files included, and overwrites the place where it stood; but for
    /// files that a fork of it names. An unknown id is no error.
    pub async fn delete_session(&self, id: &SessionId) -> Result<(), StoreError> {
        self.run(Write::Delete(id.clone())).await?;
        // A folder whose session is being imported must not be taken for one whose session is gone.
        let _alone = self.memory_lock().lock().await;
        self.clear_folders().await
    }

    /// Makes a session that begins with what another one has said, in one transaction; or gives the one that was made with
    /// the same key.
    pub async fn fork_session(&self, parent: &SessionId, fork: ForkRecord) -> Result<SessionRow, StoreError> {
        let ForkRecord { id, until, title, at, key } = fork;
        let until = until.unwrap_or(ItemNo(u64::MAX));
        let write = ForkWrite { parent: parent.clone(), until, id, title, key, at };
        self.with_folder(Write::Fork(Box::new(write))).await
    }

    /// Makes a session with everything in it, in one transaction; or gives the one that was made with the same key. What
    /// `batch` holds is the whole of it, from item 1 on.
    pub async fn import_session(
        &self,
        record: SessionRecord,
        origin: SessionOrigin,
        batch: Batch,
    ) -> Result<SessionRow, StoreError> {
        let _alone = self.memory_lock().lock().await;
        // Large results are put into its folder before it is there: a folder without a session is removed.
        self.run(Write::FolderDoomed(record.id.clone())).await?;
        let made = match encode::encode(batch, &self.session_folder(&record.id), &database_path(self.folder())).await {
            Ok(encoded) => self.with_folder(Write::Import(Box::new((record, origin, encoded)))).await,
            Err(error) => Err(error),
        };
        if let Err(error) = self.clear_folders().await {
            tracing::warn!(%error, "folders without a session are removed when the project is opened next");
        }
        made
    }

    async fn with_folder(&self, write: Write) -> Result<SessionRow, StoreError> {
        let made = self.write_session(write).await?;
        let artifacts = self.session_folder(&made.id).join("artifacts");
        self.blocking(move || private::folder(&artifacts)).await?;
        Ok(made)
    }

    /// Where the conversation stands before a turn; none when the view holds nothing of it.
    pub async fn point_before(&self, id: &SessionId, turn: TurnNo) -> Result<Option<Point>, StoreError> {
        self.read(id, move |reader, sid| reader.point_before(sid, turn)).await
    }

    /// The items from `from` on that were in the view when `last` was the session's last item, with their projections.
    pub async fn view_items_at(&self, id: &SessionId, from: ItemNo, last: ItemNo) -> Result<Vec<ViewItem>, StoreError> {
        self.read(id, move |reader, sid| reader.view_items_at(sid, from, last)).await
    }

    /// Which items are out of the view, because the conversation went back.
    pub async fn out_of_view(&self, id: &SessionId) -> Result<OutOfView, StoreError> {
        self.read(id, |reader, sid| reader.out_of_view(sid)).await
    }
}

impl ProjectStore {
    /// The last item of what is settled: no call up to it is without its result.
    pub async fn settled_end(&self, id: &SessionId) -> Result<ItemNo, StoreError> {
        self.read(id, |reader, sid| reader.settled_end(sid, ItemNo(u64::MAX))).await
    }

    /// Up to `limit` items after `after`, out of the view or not, with all that is stored of their projections.
    pub async fn whole_items(&self, id: &SessionId, after: ItemNo, limit: usize) -> Result<Vec<ViewItem>, StoreError> {
        self.read(id, move |reader, sid| {
            let items = reader.items_after(sid, after, limit)?;
            items.into_iter().map(|item| reader.with_projection(sid, item)).collect()
        })
        .await
    }
}
