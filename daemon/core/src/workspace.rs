//! The workspace as values: what the shell collected at a turn's start, for assembly and for the record.

pub mod memory;

use crate::id::Revision;
use crate::media::Image;
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
    /// Rules that do not stand in the head: those for some files, and those that the model asks for.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What is remembered over sessions, one line each.
    #[serde(default)]
    pub memories: Vec<MemoryEntry>,
    /// Skills that the model may read.
    #[serde(default)]
    pub skills: Vec<Skill>,
    /// Whether the user trusts the project: its own programs, prompts and skills count then.
    #[serde(default)]
    pub trusted: bool,
    /// What the user attached to the prompt, as it was read.
    #[serde(default)]
    pub attached: Vec<AttachedFile>,
    /// Sessions that the user referred to, in order.
    #[serde(default)]
    pub sessions: Vec<AttachedSession>,
    /// Images that the user attached, in order.
    #[serde(default)]
    pub images: Vec<Image>,
    /// Files known to the model that somebody else changed since.
    #[serde(default)]
    pub user_edits: Vec<UserEdit>,
    /// Whether the session has a plan file.
    #[serde(default)]
    pub plan_file_exists: bool,
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

/// A rule file of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Its name for `fetch_rules`: the file's name without its ending.
    pub name: String,
    /// Path as shown to the model.
    pub path: String,
    /// Number of the root that it belongs to; none of a rule of the user's own, which is about every root.
    #[serde(default)]
    pub root: Option<u16>,
    /// What it is about, when it says so.
    pub description: Option<String>,
    /// Patterns over paths relative to their root; one without `/` is about names in any folder. With none the rule is for
    /// `fetch_rules` only.
    pub globs: Vec<String>,
    /// Its text without the front matter.
    pub text: String,
}

/// A memory's line in the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// Its id.
    pub id: String,
    /// What it says, in one line.
    pub title: String,
    /// Absolute path of its file as shown to the model.
    pub path: String,
}

/// A skill: a folder with a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Path of its `SKILL.md` as shown to the model.
    pub path: String,
}

/// What a client put beside the prompt's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Attachment {
    /// A file to be read when the turn begins.
    File {
        /// Absolute path, or one relative to the first root.
        path: String,
        /// First and last line, from 1; all of them without.
        lines: Option<(u64, u64)>,
    },
    /// A file as the client's editor has it, which may be newer than what is on the disk.
    Buffer {
        /// Absolute path.
        path: String,
        /// Its text.
        text: String,
    },
    /// A text that the client gave itself, such as a selection.
    Text {
        /// What it is called, such as a path.
        name: String,
        /// Its text.
        text: String,
    },
    /// An image.
    Image {
        /// What it is called; may be empty.
        name: String,
        /// Media type, such as `image/png`.
        mime: String,
        /// Base64.
        data: String,
    },
    /// A session of the project: what it is about.
    Session {
        /// Its id, as it was given.
        session: String,
    },
    /// Something that no model can be sent, such as a sound: it is named.
    Named {
        /// What it is called.
        name: String,
        /// What it is, and why it is not shown.
        why: String,
    },
}

/// A file that was attached, as it was when the turn began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedFile {
    /// Path or name as shown to the model.
    pub path: String,
    /// What is to be shown, or why nothing is.
    pub content: Result<AttachedText, String>,
}

/// A session that the user referred to, as it stood when the turn began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedSession {
    /// Its id, as it was given.
    pub session: String,
    /// Path of its transcript in text form, and what it is about; or why nothing is shown.
    pub content: Result<(String, String), String>,
}

/// Lines of an attached file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedText {
    /// Version of the whole file in full; none of a text that the client gave itself.
    pub version: Option<String>,
    /// The file's canonical absolute path in text form; none of a text that the client gave itself.
    #[serde(default)]
    pub canonical: Option<String>,
    /// Number of the first of `lines`, from 1.
    pub first_line: u64,
    /// The lines without their ends.
    pub lines: Vec<String>,
    /// Lines of the whole file.
    pub total_lines: u64,
    /// Number of the last line that was asked for; may lie behind the last of `lines`.
    #[serde(default)]
    pub asked_until: u64,
    /// Lines of more than 2,000 characters among `lines`, in order.
    #[serde(default)]
    pub long_lines: Vec<Overlong>,
}

/// A line that is shown cut, with the bytes of its file that show the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlong {
    /// Its number, from 1.
    pub line: u64,
    /// Its length in characters.
    pub chars: u64,
    /// Place in the file at which its 2,001st character begins, in bytes.
    pub cut_at: u64,
    /// Place in the file at which it ends, without its line end, in bytes.
    pub end: u64,
}

/// A file that the model has read or written, and that somebody else changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserEdit {
    /// Path as shown to the model.
    pub path: String,
    /// Its version now; none when it is gone.
    pub version: Option<FileVersion>,
    /// What changed, as a unified diff without its head; none when that is not known or too long.
    pub diff: Option<String>,
}

/// What the collecting of a turn's surroundings depends on beside the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// What the client put beside the prompt.
    pub attachments: Vec<Attachment>,
    /// Files that the model knows, by canonical path, each in the version that it knows, for [`UserEdit`].
    pub known: Vec<(String, FileVersion)>,
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
