//! The workspace as values: what the shell collected at a turn's start, for assembly and for the record.

use crate::id::Revision;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Content hash of one file (BLAKE3, first 128 bits), printed as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FileVersion(pub [u8; 16]);

impl FileVersion {
    /// The version of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(blake3::hash(bytes))
    }

    /// The version whose full hash was computed piece by piece.
    pub fn from_hash(hash: blake3::Hash) -> Self {
        let mut version = [0; 16];
        version.copy_from_slice(hash.as_bytes().first_chunk::<16>().unwrap_or(&[0; 16]));
        Self(version)
    }
}

impl fmt::Display for FileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl From<FileVersion> for String {
    fn from(version: FileVersion) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for FileVersion {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a file version (32 hexadecimal digits)");
        let mut version = [0; 16];
        if text.len() != 32 || !text.is_ascii() {
            return Err(wrong());
        }
        for (slot, at) in version.iter_mut().zip((0..32).step_by(2)) {
            let pair = text.get(at..at + 2).ok_or_else(wrong)?;
            *slot = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(version))
    }
}

/// Everything that a turn's first request says about its surroundings. Collected by the shell, rendered by
/// [`context`](crate::context).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Facts for `<user_info>`.
    pub user_info: UserInfo,
    /// One tree per root, in order.
    pub layout: Vec<LayoutDir>,
    /// One per root, in order.
    pub git: Vec<GitBlock>,
    /// Instruction files found, in the order in which they are shown (user first, then roots).
    pub instructions: Vec<InstructionSource>,
    /// What the attached editors show.
    pub editor: EditorState,
    /// The project's revision now.
    pub revision: Revision,
}

/// Facts about machine, user and session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UserInfo {
    /// Operating system and version, such as `Linux 6.1 (Debian 12)`.
    pub os: String,
    /// Today with weekday in local time, such as `Sunday, 2026-11-29`.
    pub date: String,
    /// The shell that commands run in, such as `bash`.
    pub shell: String,
    /// Absolute paths of the roots in text form.
    pub roots: Vec<String>,
    /// The user's locale language, such as `de`; none when it says nothing.
    pub language: Option<String>,
}

/// A folder of the layout tree: ignored files left out, read breadth first up to a bound.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LayoutDir {
    /// Name; for a root its absolute path.
    pub name: String,
    /// Sub-folders, sorted by name.
    pub dirs: Vec<LayoutDir>,
    /// Names of files, sorted.
    pub files: Vec<String>,
    /// Entries that were not read because the collector's own bound was reached.
    pub unread: u64,
}

/// A repository's state, or why there is none to tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a state is the usual case, and there is one per root")]
pub enum GitBlock {
    /// The root lies in no repository.
    NotARepository,
    /// There is a repository, but its state cannot be told; the text says why and what would help.
    Unavailable(String),
    /// A bare repository: no work tree.
    Bare,
    /// The state.
    Status(GitStatus),
}

/// Where HEAD stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitHead {
    /// On a branch.
    Branch(String),
    /// On a branch that has no commit yet.
    Unborn(String),
    /// On a commit, abbreviated.
    Detached(String),
}

/// One path of a status, in text form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitChange {
    /// Path relative to the root.
    pub path: String,
    /// `M`, `A`, `D`, `R`, `T`, `?`, `U`, as porcelain writes them; `m` for a submodule with changed content.
    pub code: char,
    /// The earlier path of a rename.
    pub from: Option<String>,
}

/// The state of a repository with a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitStatus {
    /// Where HEAD stands.
    pub head: GitHead,
    /// Upstream branch with commits ahead and behind.
    pub upstream: Option<(String, u64, u64)>,
    /// `merge`, `rebase of topic`, `cherry-pick`, `revert`, `bisect`, when one is under way.
    pub operation: Option<String>,
    /// Differences between HEAD and index.
    pub staged: Vec<GitChange>,
    /// Differences between index and work tree.
    pub unstaged: Vec<GitChange>,
    /// Files not known to git; a folder without any known file is one entry ending in `/`.
    pub untracked: Vec<String>,
    /// Paths with conflicts.
    pub conflicted: Vec<String>,
    /// Subjects of the last commits, newest first, as `<abbreviated id> <subject>`.
    pub commits: Vec<String>,
    /// Whether untracked files may be missing, because there were too many folders to look through.
    #[serde(default)]
    pub incomplete: bool,
    /// Milliseconds since this was read, when it is not from this moment.
    pub age_ms: Option<u64>,
}

/// A file whose text instructs the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionSource {
    /// Path as shown to the model.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// What editors show, merged over the attached clients, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EditorState {
    /// Open and recently viewed files.
    pub files: Vec<EditorFile>,
}

/// A file in an editor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EditorFile {
    /// Path as shown to the model.
    pub path: String,
    /// Its total lines, when known.
    pub total_lines: Option<u64>,
    /// Whether it is open now, or was viewed before.
    pub open: bool,
    /// Whether it has the focus.
    pub focused: bool,
    /// Whether it has unsaved changes.
    pub unsaved: bool,
    /// Line of the cursor, from 1.
    pub cursor_line: Option<u64>,
    /// First and last line of the selection, from 1.
    pub selection: Option<(u64, u64)>,
}
