//! What the store takes and gives: plain values.

use plimsoll_core::event::{Ask, Event};
use plimsoll_core::id::{
    AskId, CallId, EpochNo, ItemNo, ProjectKey, RequestNo, Seq, SessionId, SideNo, StepNo, TurnNo,
};
use plimsoll_core::ledger::Operation;
use plimsoll_core::model::usage::Usage;
use plimsoll_core::prompt::Bundle;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::Todo;
use plimsoll_core::tool::projection::Shown;
use plimsoll_core::transcript::batch::{SessionState, StoredProjection};
use plimsoll_core::transcript::epoch::{Epoch, RequestEnd, RequestRow, Segment};
use plimsoll_core::transcript::item::Item;
use plimsoll_core::transcript::search::Words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRecord {
    /// Its key.
    pub key: ProjectKey,
    /// Canonical roots; the first names it.
    pub roots: Vec<PathBuf>,
    /// When it was first opened.
    pub created_at: Timestamp,
}

/// A session to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its id, unique in the world.
    pub id: SessionId,
    /// Its title; empty until it has one.
    pub title: String,
    /// Permission mode.
    pub mode: String,
    /// Model as `provider/model`.
    pub model: String,
    /// Which texts it works with.
    pub bundle: Bundle,
    /// Its identity sentence, when it has its own.
    pub base_prompt: Option<String>,
    /// When it is made.
    pub created_at: Timestamp,
    /// The client's key for the call: the same key again, in the same project, is the same session.
    pub key: Option<String>,
}

/// The highest numbers that a session has used; 0 where none was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// The last item.
    pub item: ItemNo,
    /// The last durable event.
    pub seq: Seq,
    /// The last turn, queued ones included.
    pub turn: TurnNo,
    /// The last call.
    pub call: CallId,
    /// The last request.
    pub request: RequestNo,
    /// The last epoch.
    pub epoch: EpochNo,
    /// The last question.
    pub ask: AskId,
    /// The last request beside the conversation.
    pub side: SideNo,
}

impl From<Counters> for plimsoll_core::turn::machine::Counters {
    fn from(counters: Counters) -> Self {
        let Counters { item, seq, turn, call, request, epoch, ask, side } = counters;
        Self { item, seq, turn, call, ask, request, epoch, side }
    }
}

/// A session as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// Its title; empty until it has one.
    pub title: String,
    /// Permission mode.
    pub mode: String,
    /// Model as `provider/model`.
    pub model: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// The latest time that something in it says; never goes back.
    pub updated_at: Timestamp,
    /// What it does.
    pub state: SessionState,
    /// Its highest numbers.
    pub counters: Counters,
    /// Bytes that it takes in the database and in files of large results, texts shared with other sessions counted
    /// where they came first.
    pub bytes: u64,
    /// Questions that wait for an answer, oldest first.
    pub open_asks: Vec<Ask>,
    /// Whether lists leave it out.
    pub archived: bool,
    /// Where it comes from, when it did not begin empty.
    pub origin: Option<SessionOrigin>,
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOrigin {
    /// The id of the other session, which may be gone, or never have been on this machine.
    pub session: String,
    /// The last item that it shares with it.
    pub item: ItemNo,
    /// The last request that it shares with it.
    #[serde(default)]
    pub request: RequestNo,
    /// It was read from an export.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

/// A session as the index over all projects knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedSession {
    /// Its project.
    pub project: ProjectKey,
    /// The project's canonical roots.
    pub roots: Vec<PathBuf>,
    /// The session.
    pub session: SessionRow,
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListFilter {
    /// Of one project only.
    pub project: Option<ProjectKey>,
    /// With these words in their titles only.
    pub title: Option<Words>,
    /// In one of these states only; empty: in any.
    pub states: Vec<SessionState>,
    /// Whether archived ones are among them.
    pub archived: Archived,
    /// Where the page before ended: its `next`.
    pub cursor: Option<i64>,
    /// At most this many.
    pub limit: usize,
}

/// Whether a list has archived sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// They are left out.
    #[default]
    No,
    /// They alone.
    Only,
    /// They too.
    Also,
}

/// A page of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPage {
    /// Sessions, the one that changed last first.
    pub sessions: Vec<IndexedSession>,
    /// Where the next page begins, always above 0; none at the end.
    pub next: Option<i64>,
}

/// An item with the text that the view shows of it, where that is not its own.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewItem {
    /// The item.
    pub item: Item,
    /// For a result: its projection.
    pub projection: Option<StoredProjection>,
}

/// Items in order.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemPage {
    /// Items, ascending.
    pub items: Vec<Item>,
    /// The text that the view shows of each result among them, by its call.
    pub projections: BTreeMap<CallId, String>,
    /// Number of the session's last item.
    pub last: ItemNo,
}

/// A durable event with what it refers to, as it stands now.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedEvent {
    /// The event.
    pub event: Event,
    /// The item, for `ItemAdded`; the result item for `PlanChanged`.
    pub item: Option<Item>,
    /// For `ItemAdded` of a result: the text that the model sees of it.
    pub projection: Option<String>,
    /// The question, for `PermissionAsked` and `PermissionResolved`, as it stands now.
    pub ask: Option<Ask>,
    /// For `CompactionFinished` with an epoch: the tokens that the provider's cache lost by it.
    pub given_up: Option<u64>,
}

/// Everything that a turn needs to go on where the session stands.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedView {
    /// The session.
    pub session: SessionRow,
    /// Its last epoch with its head. None before the first request, and when damage took it: then a new one is due.
    pub epoch: Option<Epoch>,
    /// The messages of all requests of that epoch, in order, after its preamble.
    pub messages: Vec<Segment>,
    /// Messages of the epochs before that it keeps, as long as it has no request of its own.
    pub carried: Vec<Segment>,
    /// The last item among them, where a compaction made them.
    pub carried_through: Option<ItemNo>,
    /// The epoch's last request; of an epoch that has none, that of the epoch whose messages it keeps.
    pub last_request: Option<RequestRow>,
    /// How that request ended; none when its end was not seen.
    pub last_end: Option<RequestEnd>,
    /// Items after that request's last one; without a request, those from the epoch's first, or all.
    pub items: Vec<ViewItem>,
    /// Of a session that was cut: the turn that had begun.
    pub running_turn: Option<TurnNo>,
    /// Of a session that was cut: the turns that waited, in order.
    pub waiting_turns: Vec<TurnNo>,
    /// Tokens of all requests of the session.
    pub usage: Usage,
    /// Tokens of the requests of `running_turn`.
    pub turn_usage: Usage,
    /// Operations that are not settled, unknown ones included, by call.
    pub operations: Vec<Operation>,
    /// Those of them that go on in the background and whose calls are out of the view.
    pub untold: Vec<CallId>,
    /// What results showed of files, oldest first.
    pub shown: Vec<Shown>,
    /// The mode before the session came into plan mode last; none when it never was in another.
    pub before_plan: Option<String>,
    /// The todo list as last written.
    pub todos: Vec<Todo>,
    /// Files that the calls of `running_turn` are known to have changed, each once.
    pub turn_files: Vec<String>,
    /// The last run of the tests that is in the view.
    pub verification: Option<plimsoll_core::verification::Verification>,
    /// The task; none where there never was one.
    pub task: Option<plimsoll_core::task::Task>,
    /// The project's revision that was last cited.
    pub revision: plimsoll_core::id::Revision,
}

/// A request in the list of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestEntry {
    /// The request with its own segments.
    pub request: RequestRow,
    /// How it ended; none when its end was not seen.
    pub end: Option<RequestEnd>,
}

/// All that a session sent, also where some of it is damaged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AllSent {
    /// The epochs, oldest first.
    pub epochs: Vec<Epoch>,
    /// What is wrong with epochs that cannot be read.
    pub damaged: BTreeMap<EpochNo, String>,
    /// The requests, oldest first.
    pub requests: Vec<SentRequest>,
}

/// A request, as far as it can be read.
#[derive(Debug, Clone, PartialEq)]
pub enum SentRequest {
    /// All of it.
    Whole(Box<RequestEntry>),
    /// A text of it is not as it was sent.
    Damaged(DamagedRequest),
}

/// What is known of a request without its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct DamagedRequest {
    /// Its number.
    pub no: RequestNo,
    /// Its epoch.
    pub epoch: EpochNo,
    /// Its turn.
    pub turn: TurnNo,
    /// Its step of the turn.
    pub step: StepNo,
    /// When it was sent.
    pub at: Timestamp,
    /// The last item in its view.
    pub last_item: ItemNo,
    /// Bytes of its body.
    pub bytes: u64,
    /// How it ended; none when its end was not seen.
    pub end: Option<RequestEnd>,
    /// What is wrong.
    pub why: String,
}

/// The exact segments of a request, whose hash was compared with the stored one.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestBody {
    /// The request.
    pub request: RequestRow,
    /// The epoch whose head it begins with.
    pub epoch: Epoch,
    /// All its messages in order: the epoch's preamble, then every tail up to its own.
    pub messages: Vec<Segment>,
}

/// An operation of another session of the same project.
#[derive(Debug, Clone, PartialEq)]
pub struct Elsewhere {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// The operation.
    pub operation: Operation,
}
