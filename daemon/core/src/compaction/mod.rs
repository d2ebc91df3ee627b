//! Compaction: what of the history is shown in short when a window gets full, so that nothing that was asked for is lost.
//! Pure.

pub mod costs;
mod guard;
pub mod history;
pub mod plan;
pub mod summary;

use crate::context::load::LINES;
use crate::model::catalog::ModelProfile;

/// When and how far the history is shortened: the settings under `context`.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Whether it is done by itself. When not, only a user's word does it, and a request that does not fit ends its turn.
    pub auto: bool,
    /// Per cent of load from which on results are cut, turns are shortened, and the history is summarised; ascending.
    pub lines: [u8; 3],
    /// The newest turns that are left as they are, the current one counted; at least 1.
    pub tail_guard_turns: u64,
    /// After so many turns it is done whatever the load; none: never.
    pub every_turns: Option<u64>,
    /// Whether a summary that will be needed is written beside the work. Not where a server answers one request at a time: the
    /// work would wait for it all the same.
    pub prepare: bool,
    /// The model that writes summaries; none: the session's own, on its own prefix.
    pub summary_model: Option<Box<ModelProfile>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { auto: true, lines: LINES, tail_guard_turns: 3, every_turns: None, prepare: true, summary_model: None }
    }
}
