//! Requests beside the conversation: a summary's. They never stand in the view, and are kept as they were sent.

use super::epoch::{Hash, Segment};
use crate::id::{EpochNo, ItemNo, RequestNo, SideNo};
use crate::model::request::{Api, Params};
use crate::model::usage::Usage;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One request that is about to be sent beside the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct SideRow {
    /// Its number among the session's side requests.
    pub no: SideNo,
    /// What it is for.
    pub purpose: Purpose,
    /// When it was assembled.
    pub at: Timestamp,
    /// The epoch at that time.
    pub epoch: EpochNo,
    /// The last item that it knows.
    pub last_item: ItemNo,
    /// The request of the conversation that it begins with, byte for byte; none: it stands alone.
    pub base: Option<RequestNo>,
    /// The wire.
    pub api: Api,
    /// Its parameters.
    pub params: Params,
    /// One segment per tool.
    pub tools: Vec<Segment>,
    /// One per block of system text.
    pub system: Vec<Segment>,
    /// All its messages.
    pub messages: Vec<Segment>,
    /// Positions among the messages that carry a cache mark.
    pub marks: Vec<u32>,
    /// Hash chain as of a request of the conversation.
    pub hash: Hash,
    /// Size of the body in bytes.
    pub bytes: u64,
}

/// What a side request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A summary for a compaction.
    Summary,
}

/// What came back for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideEnd {
    /// The request.
    pub no: SideNo,
    /// When its response ended.
    pub at: Timestamp,
    /// Reported usage; none when the provider gave none.
    pub usage: Option<Usage>,
    /// What the model wrote.
    pub text: String,
    /// The failure, when it failed, or why it could not be used.
    pub error: Option<String>,
}
