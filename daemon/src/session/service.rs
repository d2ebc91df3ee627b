//! The one object through which facades reach projects and sessions. Cheap to clone.

use super::api::{
    AcceptedTurn, Answer, ApiError, Client, NewSession, ProjectInfo, SessionFilter, SessionInfo, SessionPage,
    TranscriptPage, TranscriptRange, Update, WhenBusy,
};
use plimsoll_core::id::{ProjectKey, Seq, SessionId};
use plimsoll_core::workspace::EditorState;
use std::path::PathBuf;

/// See the module's head.
#[derive(Clone)]
pub struct Service {}

/// A live view of one session: replays from a `seq`, then follows.
pub struct Subscription {}

impl Subscription {
    /// The next updates, in order, never empty; what gathered while the caller was busy comes merged. `None` when the
    /// session was deleted or the daemon ends. Cancel safe.
    pub async fn next(&mut self) -> Option<Vec<Update>> {
        std::future::pending().await
    }
}

fn unfinished<T>() -> Result<T, ApiError> {
    Err(ApiError::new(super::api::ApiErrorKind::Internal, "not wired"))
}

impl Service {
    /// Opens the project of these roots, the first of which names it; made when it is new. Roots are absolute.
    pub async fn open_project(&self, _roots: Vec<PathBuf>) -> Result<ProjectInfo, ApiError> {
        unfinished()
    }
    /// Makes a session.
    pub async fn create_session(
        &self,
        _client: &Client,
        _project: &ProjectKey,
        _new: NewSession,
    ) -> Result<SessionInfo, ApiError> {
        unfinished()
    }
    /// Lists sessions, newest first.
    pub async fn list_sessions(&self, _filter: SessionFilter) -> Result<SessionPage, ApiError> {
        unfinished()
    }
    /// One session.
    pub async fn get_session(&self, _id: &SessionId) -> Result<SessionInfo, ApiError> {
        unfinished()
    }
    /// Gives a session another title.
    pub async fn rename_session(&self, _id: &SessionId, _title: &str) -> Result<SessionInfo, ApiError> {
        unfinished()
    }
    /// Deletes a session with everything it stored; a running turn is interrupted first. Unknown ids are no error.
    pub async fn delete_session(&self, _id: &SessionId) -> Result<(), ApiError> {
        unfinished()
    }
    /// Reads items.
    pub async fn read_transcript(&self, _id: &SessionId, _range: TranscriptRange) -> Result<TranscriptPage, ApiError> {
        unfinished()
    }
    /// Begins to follow a session after `after`.
    pub async fn attach(&self, _client: &Client, _id: &SessionId, _after: Seq) -> Result<Subscription, ApiError> {
        unfinished()
    }
    /// Asks for a turn. Accepted when this returns; its end is an event.
    pub async fn start_turn(
        &self,
        _client: &Client,
        _id: &SessionId,
        _text: String,
        _key: Option<String>,
        _busy: WhenBusy,
    ) -> Result<AcceptedTurn, ApiError> {
        unfinished()
    }
    /// Adds to the running turn; without one it is a prompt.
    pub async fn steer(&self, _client: &Client, _id: &SessionId, _text: String) -> Result<(), ApiError> {
        unfinished()
    }
    /// Interrupts the running turn; returns when it is over (at once when none runs).
    pub async fn cancel(&self, _id: &SessionId) -> Result<(), ApiError> {
        unfinished()
    }
    /// Answers a question; `false` when another answer came first.
    pub async fn answer(&self, _id: &SessionId, _answer: Answer) -> Result<bool, ApiError> {
        unfinished()
    }
    /// What this client's editor shows in this project; replaces what it said before.
    pub async fn set_editor_state(
        &self,
        _client: &Client,
        _project: &ProjectKey,
        _state: EditorState,
    ) -> Result<(), ApiError> {
        unfinished()
    }
    /// Sets a session's permission mode (`ask`, `full`); takes effect at the next decision.
    pub async fn set_mode(&self, _id: &SessionId, _mode: &str) -> Result<SessionInfo, ApiError> {
        unfinished()
    }
    /// A connection has ended: what its editor showed is forgotten.
    pub async fn disconnected(&self, _client: &Client) {}
    /// How many sessions are live, and how many turns run.
    pub fn counts(&self) -> (usize, usize) {
        (0, 0)
    }
    /// Interrupts running turns, waits until all is stored, closes the stores.
    pub async fn shutdown(&self) {}
}
