//! What is told of requests: plain values.

use crate::store::{LastSwitch, SideEntry};
use plimsoll_core::context::compare::Layer;
use plimsoll_core::context::explain::{Difference, Part};
use plimsoll_core::context::load::Room;
use plimsoll_core::id::{EpochNo, ItemNo, RequestNo, SessionId, StepNo, TurnNo};
use plimsoll_core::model::usage::Usage;
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::epoch::{EpochCause, Hash};
use plimsoll_core::transcript::shape::Shape;
use plimsoll_core::workspace::Attachment;

/// A prompt that somebody thinks of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ask {
    /// What the user would say.
    pub text: String,
    /// What would be put beside it.
    pub attachments: Vec<Attachment>,
    /// The model as `provider/model`; none: the session's.
    pub model: Option<String>,
}

/// Which request is inspected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The one that a prompt would send.
    Next,
    /// The one that was sent last.
    Last(RequestNo),
}

/// A request with everything that it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// The session.
    pub session: SessionId,
    /// Which request.
    pub of: Of,
    /// Its model as `provider/model`.
    pub model: String,
    /// Why nothing would be sent; then all that follows is empty.
    pub refused: Option<String>,
    /// Why an epoch would begin with it.
    pub opens: Option<EpochCause>,
    /// Bytes of its body.
    pub bytes: u64,
    /// Its tokens as the load counts them.
    pub tokens: u64,
    /// The window.
    pub room: Room,
    /// Per cent of load at which the history is shortened.
    pub lines: [u8; 3],
    /// What of the history it shows in short.
    pub shape: Shape,
    /// What the newest compaction of the session did.
    pub last_switch: Option<LastSwitch>,
    /// Its parts; their bytes add up to `bytes`.
    pub parts: Vec<Part>,
    /// Segments, from the first on, that are expected to be read from the cache.
    pub read: usize,
    /// Segments, from the first on, that are in the cache afterwards.
    pub cached: usize,
    /// What came since it was sent, while a turn runs.
    pub since: Option<Since>,
    /// US dollars of its input with the expected cache, with the day of the price.
    pub cost: Option<(f64, String)>,
}

/// What came after a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The items.
    pub items: Vec<ItemNo>,
    /// Their estimated tokens in the view.
    pub tokens: u64,
}

/// A page of requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestPage {
    /// The requests, ascending.
    pub requests: Vec<Listed>,
    /// Those beside the conversation, ascending; with the newest page only.
    pub side: Vec<SideListed>,
    /// Give it as `before` for the page before; none at the beginning.
    pub next_before: Option<RequestNo>,
    /// All of the session.
    pub total: Total,
}

/// What all requests of a session come to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Total {
    /// How many.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Reported tokens.
    pub usage: Usage,
    /// Tokens that were expected to be read from the cache.
    pub cached_expected: u64,
    /// Requests that did not go on from the one before.
    pub breaks: u64,
    /// US dollars of those with a known price, with the day of the price.
    pub cost: Option<(f64, String)>,
    /// What those beside the conversation come to; none where there are none.
    pub side: Option<SideTotal>,
}

/// What the requests beside a conversation come to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SideTotal {
    /// How many.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Reported tokens.
    pub usage: Usage,
    /// US dollars of those with a known price.
    pub cost: Option<f64>,
}

/// One request beside the conversation in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct SideListed {
    /// What is stored of it.
    pub entry: SideEntry,
    /// US dollars.
    pub cost: Option<f64>,
}

/// One with its segments.
#[derive(Debug, Clone, PartialEq)]
pub struct SideDetail {
    /// As in the list.
    pub listed: SideListed,
    /// The stored hash.
    pub hash: Hash,
    /// Its segments in the order of the body.
    pub segments: Vec<SegmentDetail>,
}

/// One request in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its number.
    pub no: RequestNo,
    /// Its turn.
    pub turn: TurnNo,
    /// Its step.
    pub step: StepNo,
    /// When it was sent.
    pub at: Timestamp,
    /// Its epoch.
    pub epoch: EpochNo,
    /// The provider's name of the model.
    pub model: String,
    /// The last item in its view.
    pub last_item: ItemNo,
    /// Bytes of its body.
    pub bytes: u64,
    /// Estimated tokens.
    pub tokens: u64,
    /// Reported usage.
    pub usage: Option<Usage>,
    /// Tokens that were expected to be read from the cache.
    pub cached_expected: u64,
    /// What it shares with the request before; none for the first.
    pub kept: Option<Kept>,
    /// Where it stopped going on from that.
    pub broke: Option<Break>,
    /// US dollars, with the day of the price.
    pub cost: Option<(f64, String)>,
    /// Why it failed.
    pub error: Option<String>,
    /// What is wrong with its stored texts. `tokens` and `cached_expected` are 0 then, and what it kept is not known.
    pub damaged: Option<String>,
}

/// What two requests share from their beginning on. Tokens are estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Segments.
    pub segments: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Tokens of the request before.
    pub of_tokens: u64,
}

/// Where a request does not go on from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Break {
    /// The first layer that changed.
    pub layer: Layer,
    /// Why its epoch began.
    pub cause: EpochCause,
    /// Estimated tokens of the request before that are not kept.
    pub lost_tokens: u64,
}

/// One request with its segments.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestDetail {
    /// As in the list.
    pub listed: Listed,
    /// Its stored hash.
    pub hash: Hash,
    /// Its segments in the order of the body.
    pub segments: Vec<SegmentDetail>,
    /// What making its messages anew gave, when that was asked for.
    pub checked: Option<Checked>,
}

/// A segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentDetail {
    /// Its layer.
    pub layer: Layer,
    /// Content hash.
    pub hash: Hash,
    /// Hash of the chain up to it.
    pub chain: Hash,
    /// Its bytes.
    pub bytes: u64,
    /// Its estimated tokens.
    pub tokens: u64,
    /// Whether it carries a cache mark.
    pub marked: bool,
    /// The items that it was made from.
    pub items: Vec<ItemNo>,
}

/// What making messages anew gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// How many were compared.
    pub messages: usize,
    /// How many an older version wrote; they are not compared.
    pub older: usize,
    /// Those that are not as they were sent.
    pub differences: Vec<Difference>,
}
