//! What has in fact become of an operation whose end was not seen.

use super::Operation;
use crate::id::{CallId, Revision};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What evidence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every file has the content that was intended.
    Applied,
    /// Every file has the content from before.
    NotApplied,
    /// Some files have the intended content, the others that from before.
    PartlyApplied,
    /// At least one file has neither: somebody else has changed it since, or it holds a part only.
    Changed,
    /// There is nothing to compare: a command, or a file that cannot be read.
    CannotTell,
}

impl Verdict {
    /// The words that are shown.
    pub fn words(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::NotApplied => "not applied",
            Self::PartlyApplied => "partly applied",
            Self::Changed => "changed by someone else",
            Self::CannotTell => "cannot tell",
        }
    }

    /// Whether it says what became of the operation.
    pub fn decides(self) -> bool {
        matches!(self, Self::Applied | Self::NotApplied | Self::PartlyApplied)
    }
}

/// What was found out, when, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What it says.
    pub verdict: Verdict,
    /// Who found it out.
    pub by: FoundBy,
    /// When.
    pub at: Timestamp,
    /// The project's revision at which it was found.
    pub revision: Revision,
    /// How each file of the operation stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileFinding>,
    /// What the user said to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Finding {
    /// Whether it settles the operation: the evidence decides, or the user has.
    pub fn decides(&self) -> bool {
        self.by == FoundBy::User || self.verdict.decides()
    }
}

/// Who found something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// The daemon, when it took the session up again.
    Recovery,
    /// `inspect_operation`, or a client's `operation/inspect`.
    Inspection,
    /// The user, who says so or allowed the same once more.
    User,
    /// This later operation on the same files, whose content before proves it.
    Later(CallId),
}

/// How one file of an operation stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFinding {
    /// Canonical absolute path in text form.
    pub path: String,
    /// What it holds.
    pub stands: Stands,
    /// Its version now; none when nothing is there or it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a file holds, beside what an operation was to make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stands {
    /// The intended content.
    After,
    /// The content from before.
    Before,
    /// Something else, or nothing where something should be.
    Other,
    /// It cannot be read.
    Unreadable,
}

/// What was seen of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// Canonical absolute path in text form.
    pub path: String,
    /// Its version; none when nothing is there. The error says why it could not be read.
    pub version: Result<Option<String>, String>,
}

/// What the files say of an operation. A file of the operation that is not among `seen` counts as not readable.
///
/// Never [`Verdict::Applied`] while one file lacks its intended content, and never [`Verdict::NotApplied`] while one has
/// something else than before. A file that was to stay as it was says nothing of the others; an operation that was to leave
/// everything as it was is applied when it is as it was.
pub fn judge(operation: &Operation, seen: &[SeenFile]) -> (Verdict, Vec<FileFinding>) {
    let files: Vec<FileFinding> = operation
        .files
        .iter()
        .map(|file| match seen.iter().find(|seen| seen.path == file.path).map(|seen| &seen.version) {
            Some(Ok(now)) => {
                let stands = if *now == file.after {
                    Stands::After
                } else if *now == file.before {
                    Stands::Before
                } else {
                    Stands::Other
                };
                FileFinding { path: file.path.clone(), stands, version: now.clone() }
            }
            Some(Err(_)) | None => FileFinding { path: file.path.clone(), stands: Stands::Unreadable, version: None },
        })
        .collect();
    let stays: Vec<bool> = operation.files.iter().map(|file| file.before == file.after).collect();
    let nothing_changes = stays.iter().all(|stays| *stays);
    let all = |stands: Stands| {
        files.iter().zip(&stays).all(|(file, stays)| file.stands == stands || (*stays && !nothing_changes))
    };
    let any = |stands: Stands| files.iter().any(|file| file.stands == stands);
    let verdict = if files.is_empty() {
        Verdict::CannotTell
    } else if any(Stands::Other) {
        Verdict::Changed
    } else if any(Stands::Unreadable) {
        Verdict::CannotTell
    } else if all(Stands::After) {
        Verdict::Applied
    } else if all(Stands::Before) {
        Verdict::NotApplied
    } else {
        Verdict::PartlyApplied
    };
    (verdict, files)
}
