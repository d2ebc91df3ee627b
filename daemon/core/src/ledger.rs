//! Operations: calls with an effect, from proposed to settled, or `unknown`.
//!
//! Three facts are kept apart: what the model proposed (the call's item), what the executor began and saw ([`OpState`]),
//! and what has in fact changed ([`Finding`]). An operation whose end was not seen stays `unknown` for good; what evidence
//! or the user says of it later is its finding, which settles it or does not.

mod changed;
mod finding;
mod settling;
mod told;

pub use changed::changed_files;
pub use finding::{FileFinding, Finding, FoundBy, SeenFile, Stands, Verdict, judge};
pub use settling::Resolution;
pub use told::file_lines;

use crate::id::{CallId, Revision, TurnNo};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpState {
    /// The model asked for it.
    Proposed,
    /// It was refused and did not run.
    Denied,
    /// It may run and has not begun.
    Approved,
    /// It may have begun: this is committed before the effect.
    Running,
    /// It ended well.
    Succeeded,
    /// It ended badly.
    Failed,
    /// It was ended, or not begun, because of an interrupt.
    Cancelled,
    /// Its end was not seen: whether it took effect is not known.
    Unknown,
}

impl OpState {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Denied => "denied",
            Self::Approved => "approved",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the executor saw how it ended, or that it never began. See [`Operation::is_settled`].
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Denied | Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// An operation as it stands now. Stored whole at each change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// The call.
    pub call: CallId,
    /// Its turn.
    pub turn: TurnNo,
    /// The tool's name.
    pub tool: String,
    /// The tool's effect class, as its word.
    pub class: String,
    /// Canonical path of what it acts on: the file, or the folder that a command runs in.
    pub target: String,
    /// The command line, for commands.
    pub command: Option<String>,
    /// Where it stands.
    pub state: OpState,
    /// When it came there.
    pub at: Timestamp,
    /// The project's revision when it was allowed to run.
    pub revision: Revision,
    /// For file tools: each file, with its content before and the intended content after.
    #[serde(default)]
    pub files: Vec<OperationFile>,
    /// The process that performs it, once known.
    pub process: Option<ProcessMark>,
    /// A command that went on in the background: its call has its result, and it runs until its end is told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// What was found out about one whose end was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// How often the model proposed the same again while it was not settled.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Operation {
    /// Whether nothing about it is open: its end was seen, or what was found out since decides it.
    pub fn is_settled(&self) -> bool {
        self.state.is_settled() || (self.state == OpState::Unknown && self.is_decided())
    }

    /// Whether its end was not seen, and nothing that was found out since decides whether it took effect.
    pub fn is_unsettled(&self) -> bool {
        self.state == OpState::Unknown && !self.is_decided()
    }

    fn is_decided(&self) -> bool {
        self.finding.as_ref().is_some_and(Finding::decides)
    }

    /// Whether it is a command that goes on in the background.
    pub fn in_background(&self) -> bool {
        self.background && self.state == OpState::Running
    }
}

/// One file of an operation. Contents are named by their hash; the bytes before are kept as a pre-image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationFile {
    /// Canonical absolute path in text form.
    pub path: String,
    /// Hash before; none when nothing was there.
    pub before: Option<String>,
    /// Intended hash after; none for a deletion.
    pub after: Option<String>,
    /// Permission bits before.
    #[serde(default)]
    pub mode: Option<u32>,
    /// A symbolic link was deleted; its content is the path that it led to.
    #[serde(default)]
    pub link: bool,
}

/// A process, named so that another with the same pid is not taken for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// Process id, which is also its group.
    pub pid: u32,
    /// Start time in clock ticks since boot, as the kernel counts it.
    pub start_ticks: u64,
    /// The kernel's boot id.
    pub boot_id: String,
}
