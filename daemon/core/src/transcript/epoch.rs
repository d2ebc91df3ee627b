//! Epochs and what was sent in them: the stored head, wire segments, requests.

use super::shape::Shape;
pub use crate::event::{CompactionCause, Level, SummarySource, SwitchFacts};
use crate::id::{EpochNo, ItemNo, RequestNo, StepNo, TurnNo};
use crate::model::request::{Api, Params};
use crate::model::usage::Usage;
use crate::prompt::Prompts;
use crate::time::Timestamp;
use crate::tokens::json_tokens;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Content hash of a segment (BLAKE3), and of a chain of segments.
pub type Hash = [u8; 32];

/// One message (or tool, or block of system text) exactly as it stands on the wire, without cache marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Hash of `text`.
    pub hash: Hash,
    /// The bytes; JSON.
    pub text: Arc<str>,
    /// Estimated tokens, counted once. An image counts what vendors count for it, not the length of its base64.
    pub tokens: u64,
    /// Images in it.
    pub images: u32,
}

impl Segment {
    /// The segment of these bytes, which hold no image.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let tokens = json_tokens(&text);
        Self::counted(text, tokens, 0)
    }

    /// The segment of bytes that were counted before.
    pub fn counted(text: impl Into<Arc<str>>, tokens: u64, images: u32) -> Self {
        let text = text.into();
        Self { hash: *blake3::hash(text.as_bytes()).as_bytes(), text, tokens, images }
    }
}

/// The hash of a chain that is `segment` longer.
pub fn chain(before: &Hash, segment: &Hash) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before);
    hasher.update(segment);
    *hasher.finalize().as_bytes()
}

/// The hash of a whole request: a chain that begins with the stored form of the parameters and goes on over tools,
/// system text and messages in order. What is stored in [`RequestRow::hash`], and what a replay compares.
pub fn request_hash<'a>(params: &Params, segments: impl IntoIterator<Item = &'a Segment>) -> Hash {
    // Parameters are plain values; a form that cannot be written would hash as empty on both sides.
    let params = serde_json::to_vec(params).unwrap_or_default();
    segments.into_iter().fold(*blake3::hash(&params).as_bytes(), |hash, segment| chain(&hash, &segment.hash))
}

/// Why an epoch began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpochCause {
    /// The session's first.
    SessionStart,
    /// Another model or API, or other parameters.
    ModelChanged,
    /// The set of tools changed, or what their definitions say about the surroundings.
    ToolsChanged,
    /// What was sent had to be repaired to be accepted.
    Repair,
    /// By hand.
    Manual,
    /// The provider's cache had gone cold.
    Cold,
    /// A compaction.
    Compaction,
    /// The session is a fork: what it shares goes on as it was sent in the session that it was forked from.
    Fork,
    /// The conversation went back to before a turn.
    Rewind,
}

/// The time between two deliberate changes of the view, with everything that stands before the history.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch {
    /// Its number.
    pub no: EpochNo,
    /// Why it began.
    pub cause: EpochCause,
    /// When.
    pub at: Timestamp,
    /// The wire that its segments are written for.
    pub api: Api,
    /// The provider's name of the model.
    pub model: String,
    /// Layer 1: one segment per tool.
    pub tools: Vec<Segment>,
    /// Layers 2 and 3: one segment per block of system text.
    pub system: Vec<Segment>,
    /// Layers 4 and 5: messages that are no items.
    pub preamble: Vec<Segment>,
    /// The texts that it uses.
    pub prompts: Prompts,
    /// The facts that the head states, so that later turns can say what changed since.
    pub stated: Stated,
    /// The first item of the history; what stands before it is not in the view.
    pub first_item: ItemNo,
    /// The parameters of all its requests; none in an epoch of an earlier build.
    pub params: Option<Params>,
    /// What its tool definitions were made for.
    pub tool_facts: ToolFacts,
    /// What opening it cost.
    pub price: Price,
    /// The request whose messages it goes on with, where that need not be the newest before it: of a fork or a rewind.
    pub base: Option<RequestNo>,
    /// What of the history it shows in short.
    pub shape: Shape,
    /// What a compaction that opened it did; none in one that was opened for another reason.
    pub switch: Option<Switch>,
}

/// What a compaction did, and the messages that it left.
#[derive(Debug, Clone, PartialEq)]
pub struct Switch {
    /// The messages behind the head, which the epoch's first request sends: those of all items up to `last_item`.
    pub messages: Vec<Segment>,
    /// The last item among them.
    pub last_item: ItemNo,
    /// What is told of it.
    pub facts: SwitchFacts,
}

impl Epoch {
    /// Whether what was sent in the other one may be sent in this one as it is.
    pub fn has_wire_of(&self, other: &Self) -> bool {
        self.is_for(other.api, &other.model)
    }

    /// Whether its segments are written for this wire and model.
    pub fn is_for(&self, api: Api, model: &str) -> bool {
        self.api == api && self.model == model
    }
}

/// What tool definitions depend on beside their texts, by name: other facts need other definitions. Empty in an epoch of
/// an earlier build, and then equal to any other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolFacts(pub BTreeMap<String, String>);

impl ToolFacts {
    /// Whether definitions made for these say something wrong, or miss something, when the facts are `now`.
    pub fn differ(&self, now: &Self) -> bool {
        !self.0.is_empty() && self != now
    }
}

/// What the opening of an epoch cost, in estimated tokens of the last request before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Price {
    /// Still at the beginning of the next request, and so read from the provider's cache.
    pub kept: u64,
    /// Cached by the provider, and given up. 0 when its cache had gone cold.
    pub given_up: u64,
}

/// What the view has said about the surroundings so far: rendered blocks by name. A later turn says only what
/// differs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stated {
    /// Each block as it was said last, by its name: its text (`git_status:0`, `user_info`), or where only whether it
    /// changed matters its hash (`instructions:AGENTS.md`, `open_files`). Of what was said to be gone the text is empty.
    pub blocks: BTreeMap<String, String>,
    /// The item that said it last; what is not named here was said last by the head.
    #[serde(default)]
    pub said_in: BTreeMap<String, ItemNo>,
    /// How long ago the harness told what it tells again after some turns.
    #[serde(default)]
    pub told: super::told::Told,
}

impl Stated {
    /// These blocks were said last by that item.
    pub fn say<'a>(&mut self, names: impl IntoIterator<Item = &'a String>, item: ItemNo) {
        self.said_in.extend(names.into_iter().map(|name| (name.clone(), item)));
    }

    /// Forgets the blocks for which `keep`, asked with name and text, is false.
    pub fn retain(&mut self, keep: impl Fn(&str, &str) -> bool) {
        self.blocks.retain(|name, text| keep(name, text));
        self.said_in.retain(|name, _| self.blocks.contains_key(name));
    }
}

/// One request that was sent, or is about to be.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRow {
    /// Its number in the session.
    pub no: RequestNo,
    /// The epoch whose head it begins with.
    pub epoch: EpochNo,
    /// The turn it belongs to.
    pub turn: TurnNo,
    /// The step it begins.
    pub step: StepNo,
    /// When it was assembled.
    pub at: Timestamp,
    /// The last item in its view.
    pub last_item: ItemNo,
    /// Its parameters.
    pub params: Params,
    /// The messages that the request before it in this epoch did not have.
    pub tail: Vec<Segment>,
    /// Positions, among all its messages (preamble included), that carry a cache mark.
    pub marks: Vec<u32>,
    /// Hash chain over parameters, tools, system, and messages in order.
    pub hash: Hash,
    /// Size of the whole body in bytes.
    pub bytes: u64,
    /// What the view has said once this was sent.
    pub stated: Stated,
    /// Version of the code that wrote its tail, [`codec::VERSION`](crate::model::codec::VERSION).
    pub codec: u32,
}

/// What came back for a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestEnd {
    /// The request.
    pub no: RequestNo,
    /// When its response ended.
    pub at: Timestamp,
    /// Reported usage; none when the provider gave none.
    pub usage: Option<Usage>,
    /// The failure, when it failed.
    pub error: Option<String>,
}
