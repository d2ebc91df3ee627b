//! Lists of sessions, and what takes them out of lists.

use super::super::actor::Msg;
use super::super::api::{ApiError, ApiErrorKind, SessionFilter, SessionInfo, SessionPage};
use super::super::load::{self, store_error};
use super::{Service, missing};
use crate::store::ListFilter;
use plimsoll_core::id::SessionId;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::search::Words;

/// Sessions on one page of a list.
const PAGE_MAX: usize = 500;

impl Service {
    /// Lists sessions, the one that changed last first. A page may have fewer than asked for although more come.
    pub async fn list_sessions(&self, filter: SessionFilter) -> Result<SessionPage, ApiError> {
        let cursor = filter.cursor.as_deref().map(cursor).transpose()?;
        self.recover().await;
        let wanted = filter.states;
        let asked = ListFilter {
            project: filter.project,
            title: filter.query.as_deref().map(Words::new).filter(|words| words.count() > 0),
            states: stored(&wanted),
            archived: filter.archived,
            cursor,
            limit: filter.limit.clamp(1, PAGE_MAX),
        };
        let page = self.inner.stores.list_sessions(asked).await.map_err(|error| store_error(&error))?;
        let as_they_are = page.sessions.into_iter().map(|session| self.as_it_is(load::indexed(session)));
        let mut sessions: Vec<SessionInfo> =
            as_they_are.filter(|session| wanted.is_empty() || wanted.contains(&session.state)).collect();
        missing::note(&mut sessions).await;
        Ok(SessionPage { sessions, next: page.next.map(|next| next.to_string()) })
    }

    /// Takes a session out of lists, or puts it back.
    pub async fn archive_session(&self, id: &SessionId, archived: bool) -> Result<SessionInfo, ApiError> {
        let info = self.get_session(id).await?;
        if info.archived == archived {
            return Ok(info);
        }
        let handle = self.live(id).await?;
        handle.ask(|reply| Msg::Archive { archived, reply }).await??;
        self.get_session(id).await
    }
}

/// The place in the list that a page's cursor stands for.
fn cursor(text: &str) -> Result<i64, ApiError> {
    let place = text.parse().ok().filter(|place: &i64| *place > 0 && place.to_string() == text);
    place.ok_or_else(|| foreign_cursor("session/list"))
}

/// The error about a cursor that this method gave no client.
pub(super) fn foreign_cursor(method: &str) -> ApiError {
    ApiError::new(ApiErrorKind::InvalidParams, format!("`cursor`: it is none that {method} gave")).hint(format!(
        "give the `nextCursor` of a page of {method} as it came, or leave `cursor` out to begin at the first page"
    ))
}

/// The states in which sessions may be stored that are shown in one of these: a turn that was cut, and whose end is not
/// written yet, is shown as interrupted.
fn stored(wanted: &[SessionState]) -> Vec<SessionState> {
    let mut states = wanted.to_vec();
    if states.contains(&SessionState::Interrupted) {
        states.extend([SessionState::Running, SessionState::Waiting]);
    }
    states
}
