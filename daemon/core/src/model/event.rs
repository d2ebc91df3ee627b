//! What a model's stream says, in the same words for every vendor.

use super::request::Reasoning;
use super::usage::Usage;
use serde::{Deserialize, Serialize};

/// One event of a response. Blocks are numbered from 0 in the order in which they began.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More text of block `block`.
    TextDelta {
        /// The block.
        block: u32,
        /// What is appended.
        text: String,
    },
    /// More reasoning of block `block`.
    ReasoningDelta {
        /// The block.
        block: u32,
        /// What is appended.
        text: String,
    },
    /// A tool call has begun in block `block`; its arguments are still coming.
    CallStarted {
        /// The block.
        block: u32,
        /// The tool's name as far as known.
        name: String,
    },
    /// Block `block` is complete. Blocks may complete in any order and do so at the latest before `Finished`.
    BlockDone {
        /// The block.
        block: u32,
        /// All of it.
        content: BlockContent,
    },
    /// Usage so far; the last one counts, field by field, never a sum.
    Usage(Usage),
    /// The response ended as the vendor's protocol says it must; every block is done.
    Finished(StopReason),
}

/// A complete block of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockContent {
    /// Text for the user; never empty.
    Text(String),
    /// Reasoning.
    Reasoning(Reasoning),
    /// A tool call that completed.
    Call {
        /// The provider's id, for the record only.
        provider_id: Option<String>,
        /// The tool's name as sent.
        name: String,
        /// The arguments as sent, possibly not valid JSON.
        arguments: String,
    },
}

/// Why a response ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model is done.
    EndTurn,
    /// It wants tools run. Decided by the calls that came, not by the vendor's word alone.
    ToolCalls,
    /// The answer reached its limit.
    MaxTokens,
    /// The model or a filter refused.
    Refusal,
    /// The vendor's word, where it is none of the above.
    Other(String),
}
