//! What can be changed of a session's own record.

use super::write::Write;
use super::{ProjectStore, SessionRow, StoreError};
use plimsoll_core::id::SessionId;
use plimsoll_core::time::Timestamp;

impl ProjectStore {
    /// Gives a session another title.
    pub async fn rename(&self, id: &SessionId, title: &str, at: Timestamp) -> Result<SessionRow, StoreError> {
        self.write_session(Write::Rename(id.clone(), title.to_owned(), at)).await
    }

    /// Sets a session's permission mode.
    pub async fn set_mode(&self, id: &SessionId, mode: &str, at: Timestamp) -> Result<SessionRow, StoreError> {
        self.write_session(Write::SetMode(id.clone(), mode.to_owned(), at)).await
    }

    /// Sets a session's model.
    pub async fn set_model(&self, id: &SessionId, model: &str, at: Timestamp) -> Result<SessionRow, StoreError> {
        self.write_session(Write::SetModel(id.clone(), model.to_owned(), at)).await
    }

    /// Takes a session out of lists, or puts it back. A new turn puts it back too.
    pub async fn archive(&self, id: &SessionId, archived: bool, at: Timestamp) -> Result<SessionRow, StoreError> {
        self.write_session(Write::Archive(id.clone(), archived, at)).await
    }
}
