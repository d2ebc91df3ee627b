//! Sessions that begin with what another one has said, and conversations that go back.

use super::super::actor::Msg;
use super::super::api::{ApiError, ApiErrorKind, SessionInfo};
use super::super::driver::now;
use super::super::given::clean_title;
use super::super::load::store_error;
use super::{Service, create};
use crate::store::ForkRecord;
use plimsoll_core::checkpoint::How;
use plimsoll_core::id::{ItemNo, SessionId, TurnNo};
use std::path::Path;

/// A fork to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewFork {
    /// The last item to share, at most; none: all that is settled.
    pub item: Option<ItemNo>,
    /// A title; none: the other session's, with a word behind it.
    pub title: Option<String>,
    /// The client's key for this call; the same key again gives the same session.
    pub key: Option<String>,
}

impl Service {
    /// Makes a session of the same project that shares what this one has said. A turn that runs goes on here; what of it is
    /// settled is shared.
    pub async fn fork_session(&self, id: &SessionId, fork: NewFork) -> Result<SessionInfo, ApiError> {
        self.check_open()?;
        let (key, store) = self.store_of(id).await?;
        let row = store.session(id).await.map_err(|error| store_error(&error))?;
        if let Some(item) = fork.item
            && item > row.counters.item
        {
            let what = format!("session {id} has no item {item}; its last is {}", row.counters.item);
            return Err(ApiError::new(ApiErrorKind::NotFound, what).hint("transcript/read shows the items"));
        }
        let title = fork.title.as_deref().map(clean_title).transpose()?;
        let made = create::new_session_id()?;
        let project = self.project(&key).await?;
        // Nobody knows of the copy before the fork is there.
        let (plan, copy) = (project.plan_file(id), project.plan_file(&made));
        let copied = tokio::task::spawn_blocking(move || copy_plan(&plan, &copy)).await;
        copied
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
            .map_err(|error| ApiError::new(ApiErrorKind::Store, format!("the plan file can't be copied: {error}")))?;
        let record = ForkRecord { id: made.clone(), until: fork.item, title, at: now(), key: fork.key };
        let forked = store.fork_session(id, record).await;
        if !forked.as_ref().is_ok_and(|row| row.id == made) {
            let unused = project.plan_file(&made);
            let _ = tokio::fs::remove_file(unused).await;
        }
        let row = forked.map_err(|error| store_error(&error))?;
        self.info(&store, &row.id).await
    }

    /// Takes a turn and all later ones out of a session's view; with `files`, undoes so what they wrote. Refused while a
    /// turn runs.
    pub async fn rewind_session(
        &self,
        id: &SessionId,
        turn: TurnNo,
        files: Option<How>,
    ) -> Result<SessionInfo, ApiError> {
        self.live(id).await?.ask(|reply| Msg::Rewind { turn, files, reply }).await??;
        self.get_session(id).await
    }
}

/// Copies a session's plan, where it has one.
fn copy_plan(from: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
