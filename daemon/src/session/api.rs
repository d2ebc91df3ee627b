//! What the facades may ask of sessions: plain values in and out.

use crate::config::Overrides;
use plimsoll_core::event::{Ask, AskChoice, Delta};
use plimsoll_core::id::{AskId, CallId, ItemNo, ProjectKey, Seq, SessionId, StepNo, TurnNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::item::Item;
use plimsoll_core::transcript::rewound::OutOfView;
use plimsoll_core::workspace::Attachment;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What a client puts beside a prompt's text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beside {
    /// Rules in their text form that the user allows for this turn.
    pub allow: Vec<String>,
    /// Files, texts and images.
    pub attachments: Vec<Attachment>,
    /// The session's permission mode from now on; none: it stays.
    pub mode: Option<String>,
    /// The session's model from now on; none: it stays.
    pub model: Option<String>,
}

/// An error for a client: a kind to branch on, a message for people, a hint with the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What went wrong, to branch on.
    pub kind: ApiErrorKind,
    /// What, where, with which value.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Kinds of errors that clients branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiErrorKind {
    /// A parameter is not valid.
    InvalidParams,
    /// The project, session, item or question does not exist.
    NotFound,
    /// The project's folder is gone.
    WorkspaceMissing,
    /// A turn runs and the client asked not to wait.
    Busy,
    /// The call does not fit the session's state.
    Conflict,
    /// The store cannot be read or written.
    Store,
    /// The database was written by a newer version.
    NewerStore,
    /// The configuration is not valid.
    Config,
    /// The key of the configured model is missing.
    AuthRequired,
    /// The daemon is about to end.
    ShuttingDown,
    /// A fault of Plimsoll's own.
    Internal,
}

impl ApiError {
    /// An error without a hint.
    pub fn new(kind: ApiErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Who is calling: from the connection's hello.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Number of the connection, unique in the daemon's life.
    pub connection: u64,
    /// Name that the client gave itself.
    pub name: String,
    /// Its environment; never stored.
    pub env: Arc<BTreeMap<String, String>>,
    /// Its current folder, absolute.
    pub cwd: Option<PathBuf>,
    /// What it asked for when it began, over its environment.
    pub options: Overrides,
    /// Keys that its user gave it, by provider: in memory only, for what it starts.
    pub keys: Arc<BTreeMap<String, Secret>>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectInfo {
    /// Its key.
    pub key: ProjectKey,
    /// Canonical roots; the first names it.
    pub roots: Vec<PathBuf>,
    /// When it was first opened.
    pub created_at: Timestamp,
    /// Whether the user trusts it.
    pub trusted: bool,
}

/// A session as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionInfo {
    /// Its id.
    pub id: SessionId,
    /// The project.
    pub project: ProjectKey,
    /// Canonical roots of the project.
    pub roots: Vec<PathBuf>,
    /// Its title; empty until it has one.
    pub title: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub updated_at: Timestamp,
    /// What it does now.
    pub state: SessionState,
    /// Items in its transcript.
    pub items: u64,
    /// Its newest durable event.
    pub last_seq: Seq,
    /// Permission mode.
    pub mode: String,
    /// Model as `provider/model`.
    pub model: String,
    /// Questions that wait for an answer.
    pub open_asks: Vec<Ask>,
    /// Where it comes from, when it did not begin empty.
    pub origin: Option<SessionOrigin>,
    /// Whether lists leave it out.
    pub archived: bool,
    /// Whether a root of its project is known to be gone.
    pub workspace_missing: bool,
}

/// A new session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewSession {
    /// The client's key for this call; the same key again gives the same session.
    pub key: Option<String>,
    /// A title; none: taken from the first prompt.
    pub title: Option<String>,
    /// Permission mode; none: from the configuration.
    pub mode: Option<String>,
    /// Model as `provider/model`; none: from the configuration.
    pub model: Option<String>,
    /// What takes the place of the identity sentence; none: from the configuration, else the built-in one.
    pub base_prompt: Option<String>,
}

/// Which sessions to list: newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFilter {
    /// Of one project only.
    pub project: Option<ProjectKey>,
    /// With all these words in the title only; none where it is blank.
    pub query: Option<String>,
    /// In one of these states only; empty: in any.
    pub states: Vec<SessionState>,
    /// Whether archived ones are among them.
    pub archived: Archived,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// At most this many; 1 to 500.
    pub limit: usize,
}

/// What to look for in transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchFor {
    /// Words that all stand in an item.
    pub query: String,
    /// Where.
    pub scope: SearchScope,
    /// In items of these kinds only, by their stored names; empty: in those of the conversation.
    pub kinds: Vec<&'static str>,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// At most this many hits.
    pub limit: usize,
}

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchScope {
    /// In one session.
    Session(SessionId),
    /// In the sessions of a project.
    Project(ProjectKey),
    /// In all sessions.
    All,
}

/// An item with all the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// The item.
    pub hit: ItemHit,
}

/// What one piece of a search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchPage {
    /// The hits: sessions made last first, the last items first.
    pub hits: Vec<SearchHit>,
    /// Where the search goes on; none at its end.
    pub next: Option<String>,
    /// Items that were looked through.
    pub searched: u64,
    /// Projects that cannot be read, and why.
    pub skipped: Vec<(ProjectKey, String)>,
}

/// A database that was damaged when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The damaged file, as it was found.
    pub kept: PathBuf,
    /// What was wrong and what came through, for people.
    pub detail: String,
}

/// A session's derived files after they were made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// The transcript as a file.
    pub path: PathBuf,
    /// What is in it.
    pub state: MirrorState,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Where the next page begins; none at the end.
    pub next: Option<String>,
}

/// What to do when a turn already runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenBusy {
    /// Wait behind it.
    #[default]
    Queue,
    /// Refuse with [`ApiErrorKind::Busy`].
    Refuse,
}

/// A prompt that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedTurn {
    /// The turn that it is, or will be.
    pub turn: TurnNo,
    /// Whether it waits behind a running one.
    pub queued: bool,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question.
    pub ask: AskId,
    /// The choice.
    pub choice: AskChoice,
    /// What the user says to a rejection.
    pub advice: Option<String>,
}

/// Something for an attached client, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A durable event with everything it refers to.
    Event(Box<ResolvedEvent>),
    /// More of something that is being written; `offset` is where `text` begins, in bytes from the block's start.
    Delta {
        /// What is appended, possibly several deltas in one.
        delta: Delta,
        /// Bytes of the block before it.
        offset: u64,
    },
    /// The session ended, or its turn was cut and how it ended cannot be stored now. Attached again from the last `seq`, a
    /// client is told the turn's end as soon as it is stored.
    Closed {
        /// Why.
        reason: CloseReason,
        /// The same for people.
        message: String,
    },
}

/// Why a subscription ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// Somebody asked the daemon to end.
    DaemonStopped,
    /// The daemon ends: another one takes its place, or nobody needs it.
    DaemonEnds,
    /// The session was deleted.
    SessionDeleted,
    /// The session's actor has ended; it can be attached anew.
    SessionEnded,
    /// The store failed: events cannot be read, or how a turn ended cannot be written now.
    StoreFailed,
}

impl CloseReason {
    /// Why, for people.
    pub fn message(self) -> &'static str {
        match self {
            Self::DaemonStopped => "somebody stopped the daemon",
            Self::DaemonEnds => "the daemon ends; attach again at the next one",
            Self::SessionDeleted => "the session was deleted",
            Self::SessionEnded => "the session ended; attach again",
            Self::StoreFailed => "the session's events cannot be read",
        }
    }
}

/// Something that is remembered over sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryInfo {
    /// What the store has.
    pub memory: crate::store::Memory,
    /// Its file.
    pub path: PathBuf,
}

pub use crate::provider::KeyAt;
pub use crate::provider::endpoint::Secret;
pub use crate::store::{Archived, ItemHit, LastingGrant as Grant, MirrorState, ResolvedEvent, SessionOrigin};

/// What a page of the transcript holds.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptPage {
    /// Items, ascending.
    pub items: Vec<Item>,
    /// The text that the model sees of each result among them, by its call.
    pub projections: BTreeMap<CallId, String>,
    /// Number of the last item of the session.
    pub last: ItemNo,
    /// Which items of the session are out of the model's view.
    pub out: OutOfView,
}

/// Which items to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptRange {
    /// Up to `limit` items after `after`.
    After {
        /// The item before the first.
        after: ItemNo,
        /// At most this many; 1 to 1,000.
        limit: usize,
    },
    /// Up to `limit` items before `before`; `None`: the last ones.
    Before {
        /// The item after the last.
        before: Option<ItemNo>,
        /// At most this many; 1 to 1,000.
        limit: usize,
    },
}

/// A place in a stream, for tests and facades that speak of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamKey {
    /// A block of a step.
    Block(TurnNo, StepNo, u32),
    /// A call's output.
    Output(CallId),
}
