//! What of a compaction goes on in a session. None of it is stored: after a death the view is as it was, or as the
//! compaction left it.

use crate::compaction::plan::{Aim, Draft};
use crate::id::{StepNo, TurnNo};
use crate::time::Timestamp;
use crate::transcript::epoch::{CompactionCause, SummarySource};
use crate::transcript::shape::{Summary, Through};

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub(super) struct Compacting {
    /// Nothing is shortened: it is only looked at what would be sent.
    pub(super) off: bool,
    /// The conversation waits for it.
    pub(super) waits: Option<Waits>,
    /// A summary that is ready for the next switch.
    pub(super) candidate: Option<Candidate>,
    /// A summary that is being written.
    pub(super) writing: Option<Box<super::phase::summarize::Writing>>,
    /// The history is being read, and for this.
    pub(super) reads: Option<Reads>,
    /// The user asked for it while a turn ran.
    pub(super) asked: Option<Asked>,
    /// The step before whose request it was done, or found to be of no use.
    pub(super) done_for: Option<(TurnNo, StepNo)>,
    /// A request was refused as too long: the step whose request follows, and what the provider said.
    pub(super) refused: Option<(TurnNo, StepNo, String)>,
    /// Nothing helped: not looked at again below so many tokens.
    pub(super) rests_below: u64,
    /// The turn in which no summary could be had in the background: it is not tried again before the next.
    pub(super) failed_in: Option<TurnNo>,
}

/// That the conversation waits.
#[derive(Debug, Clone)]
pub(super) struct Waits {
    pub(super) cause: CompactionCause,
    pub(super) aim: Aim,
    pub(super) since: Timestamp,
    /// What the summary should keep above all.
    pub(super) focus: Option<String>,
    /// What can be done when no summary can be had.
    pub(super) without: Option<Draft>,
    /// Why no model gave a summary.
    pub(super) failed: Option<String>,
    /// Whether clients were told that it has begun.
    pub(super) told: bool,
}

/// What the history is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// To find out what to do.
    Plan,
    /// To go over to the summary that is ready, or to the host's own up to here when none is.
    Finish(Option<Through>),
}

/// A summary that is ready.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) summary: Summary,
    pub(super) source: SummarySource,
    /// The end of the summary that the view had when it was begun: with another one it is of no use.
    pub(super) after: Option<Through>,
    /// What the model gave; none: the host made it.
    pub(super) written: Option<Written>,
}

/// A model's part of a summary, which is joined with what the host knows when the summary is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The model's answer.
    pub(super) answer: String,
    /// Estimated tokens of what it takes the place of.
    pub(super) replaces: u64,
}

/// A compaction that the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) focus: Option<String>,
}
