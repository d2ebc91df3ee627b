//! Listing, closing and deleting sessions.

use super::error::api;
use super::facade::{Facade, absolute, read, session_id};
use super::turns::Turns;
use crate::session::api::{SessionFilter, SessionInfo};
use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse, Error, ListSessionsRequest,
    ListSessionsResponse, SessionInfo as Listed,
};
use plimsoll_core::id::SessionId;
use serde_json::value::RawValue;
use std::sync::PoisonError;

/// Sessions on one page: what an editor's menu shows before somebody scrolls.
const PAGE: usize = 50;

impl Facade {
    /// The sessions of a folder, or all, newest first.
    pub(super) async fn list_sessions(&self, params: Option<&RawValue>) -> Result<ListSessionsResponse, Error> {
        let request: ListSessionsRequest = read(params)?;
        let mut filter = SessionFilter { cursor: request.cursor, limit: PAGE, ..SessionFilter::default() };
        if let Some(cwd) = request.cwd {
            let Some(project) = self.service.project_at(absolute("cwd", cwd)?).await.map_err(api)? else {
                return Ok(ListSessionsResponse::new(Vec::new()));
            };
            filter.project = Some(project);
        }
        let page = self.service.list_sessions(filter).await.map_err(api)?;
        Ok(ListSessionsResponse::new(page.sessions.iter().filter_map(listed).collect()).next_cursor(page.next))
    }

    /// Cancels what this client has prompted, and follows the session no longer. One that is not open here is closed
    /// already.
    pub(super) async fn close_session(&self, params: Option<&RawValue>) -> Result<CloseSessionResponse, Error> {
        let request: CloseSessionRequest = read(params)?;
        let id = session_id(&request.session_id.0)?;
        if !self.leave(&id).await {
            self.service.get_session(&id).await.map_err(api)?;
        }
        Ok(CloseSessionResponse::new())
    }

    /// Deletes a session. What is not there is deleted already.
    pub(super) async fn delete_session(&self, params: Option<&RawValue>) -> Result<DeleteSessionResponse, Error> {
        let request: DeleteSessionRequest = read(params)?;
        // No session has an id of another form.
        if let Ok(id) = session_id(&request.session_id.0) {
            self.leave(&id).await;
            self.service.delete_session(&id).await.map_err(api)?;
        }
        Ok(DeleteSessionResponse::new())
    }

    /// Ends the prompts of this client as a cancel does, then the following; whether the session was followed.
    async fn leave(&self, id: &SessionId) -> bool {
        let Ok(followed) = self.followed(id) else { return false };
        if followed.turns(Turns::cancel_all) {
            self.interrupt(id).await;
        }
        // Each prompt is answered with its turn's end.
        followed.nothing_prompted().await;
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.get(id).is_some_and(|open| std::sync::Arc::ptr_eq(open, &followed)) {
            sessions.remove(id);
        }
        drop(sessions);
        followed.left.cancel();
        true
    }
}

/// A session as an editor lists it; none when its folder has no text form.
fn listed(info: &SessionInfo) -> Option<Listed> {
    let mut roots = info.roots.iter().filter(|root| root.to_str().is_some()).cloned();
    let first = roots.next().filter(|first| info.roots.first() == Some(first))?;
    let title = Some(info.title.clone()).filter(|title| !title.is_empty());
    Some(
        Listed::new(info.id.to_string(), first)
            .additional_directories(roots.collect())
            .title(title)
            .updated_at(info.updated_at.to_string()),
    )
}
