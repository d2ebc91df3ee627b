//! What clients may ask about the task of a session, and about the evidence that it cites.

use super::super::actor::Msg;
use super::super::api::{ApiError, ApiErrorKind};
use super::super::load::store_error;
use super::super::task::TaskInfo;
use super::Service;
use crate::file_io::{OpenError, Version, open_file};
use plimsoll_core::id::{EvidenceId, ItemNo, Revision, SessionId};
use plimsoll_core::path::unescape;
use plimsoll_core::task::change::Change;
use plimsoll_core::tool::outcome::Status;
use plimsoll_core::tool::projection::Shown;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// What a call showed, and how that stands now.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceInfo {
    /// The evidence.
    pub id: EvidenceId,
    /// The item of the result.
    pub item: ItemNo,
    /// The tool.
    pub tool: String,
    /// How the call ended.
    pub status: Status,
    /// What the model was shown.
    pub text: String,
    /// The files of which it was shown something.
    pub files: Vec<FileNow>,
    /// The project's revision now, with what was pending applied.
    pub revision: Revision,
}

/// A file of an evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNow {
    /// Canonical absolute path in text form.
    pub path: String,
    /// The version that was shown.
    pub version: String,
    /// How it stands now.
    pub now: Standing,
}

/// How a file stands beside the version that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is that version.
    Same,
    /// It is another.
    Changed,
    /// It is not there.
    Gone,
    /// It cannot be read.
    Unknown,
}

impl EvidenceInfo {
    /// Whether what it shows may be another now: a file is not as it was shown, or, where no file is shown, anything in the
    /// project has changed since.
    pub fn is_stale(&self) -> bool {
        if self.files.is_empty() {
            return self.revision > self.id.revision;
        }
        self.files.iter().any(|file| file.now != Standing::Same)
    }
}

impl Service {
    /// The task of a session with what the host knows beside it.
    pub async fn task(&self, id: &SessionId) -> Result<TaskInfo, ApiError> {
        self.live(id).await?.ask(|reply| Msg::Task { reply }).await?
    }

    /// Changes it on the user's behalf.
    pub async fn set_task(&self, id: &SessionId, change: Change) -> Result<TaskInfo, ApiError> {
        self.live(id).await?.ask(|reply| Msg::SetTask { change: Box::new(change), reply }).await?
    }

    /// What a call showed then, and how it stands now.
    pub async fn evidence(&self, id: &SessionId, evidence: EvidenceId) -> Result<EvidenceInfo, ApiError> {
        let (key, store) = self.store_of(id).await?;
        let call = evidence.call;
        let missing = |why: String| ApiError::new(ApiErrorKind::NotFound, why);
        let found = store.evidence(id, call).await.map_err(|error| store_error(&error))?;
        let shown = found.ok_or_else(|| {
            missing(format!("there is no result of {call} in this session"))
                .hint("the head of each result in transcript/read names its evidence id")
        })?;
        if shown.revision != evidence.revision {
            return Err(missing(format!(
                "the result of {call} is of {}, not of {}",
                shown.revision, evidence.revision
            ))
            .hint(format!("e/{call}@{} is the one", shown.revision)));
        }
        let workspace = self.project(&key).await?.workspace();
        let revision = workspace.observe(workspace.revision()).await.revision;
        let (text, files) = shown.projection.map(|shown| (shown.text, shown.shown)).unwrap_or_default();
        let look = tokio::task::spawn_blocking(move || files.into_iter().map(look).collect::<Vec<FileNow>>());
        let files =
            look.await.map_err(|_| ApiError::new(ApiErrorKind::Internal, "the files could not be looked at"))?;
        Ok(EvidenceInfo {
            id: evidence,
            item: shown.item,
            tool: shown.tool,
            status: shown.status,
            text,
            files,
            revision,
        })
    }
}

/// How a file stands now.
fn look(shown: Shown) -> FileNow {
    let path = PathBuf::from(OsString::from_vec(unescape(&shown.path)));
    let now = match open_file(&path).map(|(file, metadata)| Version::of(&file, &metadata)) {
        Ok(Ok(version)) if version.to_string() == shown.version => Standing::Same,
        Ok(Ok(_)) => Standing::Changed,
        Err(OpenError::Missing | OpenError::NotDir) => Standing::Gone,
        Ok(Err(_)) | Err(_) => Standing::Unknown,
    };
    FileNow { path: shown.path, version: shown.version, now }
}
