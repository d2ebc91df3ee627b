//! What is written in one transaction. Effects that come after a batch wait until it is committed.

use super::epoch::{Epoch, RequestEnd, RequestRow};
use super::item::Item;
use super::side::{SideEnd, SideRow};
use crate::event::{Ask, Event};
use crate::id::{CallId, Revision, TurnNo};
use crate::ledger::Operation;
use crate::permission::mode::Mode;
use crate::task::Task;
use crate::tool::projection::Shown;
use serde::{Deserialize, Serialize};

/// One transaction on one session. Empty parts are not written; parts are written in the order of the fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// Items to append, in order, without gaps after the last stored one.
    pub items: Vec<Item>,
    /// The text that the view shows for a result, from now on.
    pub projections: Vec<StoredProjection>,
    /// Operations in their new state.
    pub operations: Vec<Operation>,
    /// Questions in their new state.
    pub asks: Vec<Ask>,
    /// A new epoch.
    pub epoch: Option<Epoch>,
    /// A request about to be sent.
    pub request: Option<RequestRow>,
    /// What came back for one.
    pub request_end: Option<RequestEnd>,
    /// A request beside the conversation about to be sent.
    pub side: Option<SideRow>,
    /// What came back for one.
    pub side_end: Option<SideEnd>,
    /// Durable events, in order, without gaps after the last stored one.
    pub events: Vec<Event>,
    /// The session's state from now on.
    pub state: Option<SessionState>,
    /// The turn's idempotency key, with the turn it began.
    pub prompt_key: Option<(String, TurnNo)>,
    /// A title that the session did not have.
    pub title: Option<String>,
    /// The session's permission mode from now on.
    pub mode: Option<Mode>,
    /// The session's task from now on.
    pub task: Option<Task>,
    /// The project's revision that this batch cites.
    pub revision: Option<Revision>,
}

/// The projection of one result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredProjection {
    /// The call.
    pub call: CallId,
    /// The text in the view.
    pub text: String,
    /// Whether the view marks it as an error.
    pub is_error: bool,
    /// Estimated tokens of `text`.
    pub tokens: u64,
    /// Whether something was left out.
    pub partial: bool,
    /// Estimated tokens that the whole result would have cost; 0 when that was not counted.
    #[serde(default)]
    pub whole: u64,
    /// Bytes of the file with the whole text that `text` names; 0 when it names none.
    #[serde(default)]
    pub saved: u64,
    /// What it shows of files, by canonical path; of an edit, all that is known of the new version.
    #[serde(default)]
    pub shown: Vec<Shown>,
}

/// What a session is doing, as the lists show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// No turn runs.
    Idle,
    /// A turn runs.
    Running,
    /// A turn waits for an answer.
    Waiting,
    /// The last turn was cut: by the daemon's death, a store that could not be written, or a fault of Plimsoll's own.
    Interrupted,
}
