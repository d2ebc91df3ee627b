//! What a tool gave: complete, structured where the tool knows the structure. It is saved as it is here; the text
//! that the view shows is made from it by [`projection`](super::projection).

use super::test_report::TestRun;
use crate::media::Image;
use serde::{Deserialize, Serialize};

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It did what was asked. A command that ended with another code than 0 is `Failed`.
    Ok,
    /// It ran and failed, or it could not begin (bad arguments, no such file).
    Failed,
    /// The permission was refused; it did not run.
    Denied,
    /// It was ended by the user's interrupt, or had not begun when that came.
    Cancelled,
    /// The daemon died while it ran; whether it took effect is not known.
    Unknown,
}

impl Status {
    /// Whether the result is marked as an error for the model.
    pub fn is_error(self) -> bool {
        self != Self::Ok
    }

    /// The word that headers and clients show.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

/// The complete outcome of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// What it gave.
    pub body: Body,
}

impl Outcome {
    /// A failure that the model reads: what was wrong and what would be right.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { status: Status::Failed, body: Body::Text(message.into()) }
    }
}

/// What a tool gave, by the kind of its result. All text in it has passed [`crate::ingest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
pub enum Body {
    /// Plain text: errors, and tools without a structure of their own.
    Text(String),
    /// A part or the whole of a text file.
    File(FileRead),
    /// An image file; the view shows it in an observation.
    Image(Image),
    /// Entries of a folder, or files that matched a glob.
    Entries(Entries),
    /// Matches of a search.
    Matches(Matches),
    /// A command's end and its output.
    Command(CommandRun),
    /// The todo list after the call.
    Todos(Vec<Todo>),
    /// Files that were changed.
    Edit(Edited),
    /// A command that goes on in the background, as it was when it was asked about.
    Task(TaskState),
    /// A run of the project's tests.
    Tests(Box<TestRun>),
}

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Edited {
    /// Each file, in the order of the call.
    pub files: Vec<EditedFile>,
    /// Further facts, such as an encoding that was kept or text that matched only after its escapes were undone.
    pub notes: Vec<String>,
}

/// What an edit did to one file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EditedFile {
    /// What was prepared and came true. Its `after` is the version that the file has now.
    pub change: super::call::FileChange,
    /// Lines of the file after.
    pub lines_after: u64,
    /// Lines of the file after that the call wrote: number of the first, and how many.
    pub wrote: Vec<(u64, u64)>,
}

/// A command in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskState {
    /// The call that started it; its id for `task_output` and `stop_task`.
    pub id: crate::id::CallId,
    /// The command and what came out since it was last asked about; `exit` is `running` while it runs.
    pub run: CommandRun,
    /// Bytes of the log before those in `run.output`.
    pub from: u64,
    /// Bytes of the log `[start, end)` that are left out of `run.output`, between its head and its tail.
    #[serde(default)]
    pub gap: Option<(u64, u64)>,
}

/// The end of a command in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskEnd {
    /// The call that started it.
    pub call: crate::id::CallId,
    /// How it ended; none when that was not seen.
    pub exit: Option<Exit>,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// The model ended it itself, and is told by that call's result.
    pub told: bool,
}

impl Body {
    /// The run of a command that it is about, where that is over.
    pub fn command_run(&self) -> Option<&CommandRun> {
        match self {
            Self::Command(run) => Some(run),
            Self::Tests(tests) => Some(&tests.run),
            Self::Text(_)
            | Self::File(_)
            | Self::Image(_)
            | Self::Entries(_)
            | Self::Matches(_)
            | Self::Todos(_)
            | Self::Edit(_)
            | Self::Task(_) => None,
        }
    }

    /// About how many bytes it holds.
    pub fn weight(&self) -> usize {
        let output = |output: &Output| output.head.len() + output.tail.len();
        let command = |run: &CommandRun| run.command.len() + output(&run.output) + output(&run.stderr) + 256;
        match self {
            Self::Text(text) => text.len(),
            Self::File(file) => file.lines.iter().map(|line| line.len() + 24).sum(),
            Self::Image(image) => image.data.len() + 256,
            Self::Entries(list) => list.entries.iter().map(|entry| entry.path.len() + 80).sum(),
            Self::Matches(found) => {
                found.files.iter().flat_map(|file| &file.lines).map(|line| line.text.len() + 80).sum()
            }
            Self::Command(run) => command(run),
            Self::Todos(todos) => todos.iter().map(|todo| todo.content.len() + 80).sum(),
            Self::Edit(edited) => edited.files.iter().map(|file| file.change.diff.text.len() + 400).sum(),
            Self::Task(task) => command(&task.run),
            Self::Tests(tests) => command(&tests.run) + tests.weight(),
        }
    }
}

/// Lines that were read from a text file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileRead {
    /// The path as shown to the model: relative to the first root when inside it, else absolute.
    pub path: String,
    /// Content hash of the whole file as [`version`](crate::workspace::FileVersion) prints it.
    pub version: String,
    /// `utf-8`, `utf-8-bom`, `utf-16le`, … as encoding_rs names them.
    pub encoding: String,
    /// `lf`, `crlf`, `cr`, `mixed` or `none`.
    pub eol: String,
    /// Whether invalid bytes are shown as U+FFFD.
    pub lossy: bool,
    /// Lines in the file; a final newline does not begin a further line.
    pub total_lines: u64,
    /// Size of the file in bytes.
    pub total_bytes: u64,
    /// Number of the first line in `lines`, from 1.
    pub first_line: u64,
    /// The lines without their line ends. Of a file up to 1 MiB without an asked range: all of them.
    pub lines: Vec<String>,
    /// Whether the call asked for a range of lines or bytes.
    pub asked_range: bool,
    /// For a read by bytes: the range of bytes `[start, end)` that `lines` holds as one entry.
    pub bytes: Option<(u64, u64)>,
    /// Lines of more than 2,000 characters among `lines` and `tail`, in order.
    #[serde(default)]
    pub long_lines: Vec<LongLine>,
    /// The file's end, when the middle of a large file was left out of the result.
    #[serde(default)]
    pub tail: Option<Tail>,
    /// The end of the asked range, when the result ends before it: number of its last line, or end of its bytes.
    #[serde(default)]
    pub asked_until: Option<u64>,
    /// The version that the call expected, when the file has another one now.
    #[serde(default)]
    pub expected: Option<String>,
    /// The file's last line has no line end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
    /// A log or transcript of Plimsoll's own: it only grows, so that its lines keep their numbers whatever its version.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grows: bool,
}

/// A line that is shown cut, with the bytes of the file that show the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongLine {
    /// Its number, from 1.
    pub line: u64,
    /// Its length in characters.
    pub chars: u64,
    /// Place in the file at which its 2,001st character begins, in bytes.
    pub cut_at: u64,
    /// Place in the file at which it ends, without its line end, in bytes.
    pub end: u64,
}

/// The last lines of a file, after a gap.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tail {
    /// Number of the first of them, from 1.
    pub first_line: u64,
    /// They themselves, as [`FileRead::lines`].
    pub lines: Vec<String>,
}

/// One entry of a folder listing or a glob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Path as shown to the model: relative to the listed folder for list_dir, like [`FileRead::path`] for glob.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes, for files.
    pub size: Option<u64>,
}

/// Kinds of directory entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Special,
}

/// A listing: list_dir or glob_file_search.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Entries {
    /// The folder that was listed or searched, as shown to the model.
    pub base: String,
    /// The glob pattern; none for list_dir.
    pub pattern: Option<String>,
    /// All entries, in the order in which they are shown.
    pub entries: Vec<Entry>,
    /// How many were left out because an ignore rule names them.
    pub ignored: u64,
    /// Further facts for the reader, such as unreadable folders.
    pub notes: Vec<String>,
    /// The call's arguments, so that a page or a further call asks for the same.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub args: serde_json::Value,
}

/// One line that a search shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchLine {
    /// Line number, from 1.
    pub line: u64,
    /// The line's text, cut around the match when longer than 2,000 characters (then `cut` is its full length).
    pub text: String,
    /// Length of the whole line in bytes when `text` is a cut.
    pub cut: Option<u64>,
    /// A match, or a line of context around one.
    pub is_match: bool,
}

/// All that a search found in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMatches {
    /// Path as [`FileRead::path`].
    pub path: String,
    /// Matching lines in this file, all of them counted, also where `lines` is empty or shorter.
    pub count: u64,
    /// Lines in order, each once.
    pub lines: Vec<MatchLine>,
    /// The version of the file that has exactly these lines, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MatchSource>,
}

/// Which bytes of a file were searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchSource {
    /// The file's canonical absolute path in text form.
    pub path: String,
    /// As [`FileRead::version`].
    pub version: String,
    /// Lines of the file.
    pub total_lines: u64,
}

/// How a search shows its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchMode {
    /// Lines grouped by file.
    #[default]
    Content,
    /// Paths only.
    FilesWithMatches,
    /// Paths with counts.
    Count,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Matches {
    /// The pattern as the call gave it.
    #[serde(default)]
    pub pattern: String,
    /// The file or folder that was searched, as shown to the model; none for all roots.
    #[serde(default)]
    pub base: Option<String>,
    /// How it is shown.
    pub mode: MatchMode,
    /// Files in the order in which they are shown.
    pub files: Vec<FileMatches>,
    /// Matching lines in all.
    pub total: u64,
    /// Whether the search stopped at its own bound, so that `total` is a lower bound.
    pub more: bool,
    /// At most this many lines or paths are shown per page when the call asked for it.
    pub head_limit: Option<u64>,
    /// Further facts: ignored files not searched (with the option that includes them), unreadable paths.
    pub notes: Vec<String>,
    /// The call's arguments, so that a page or a further call asks for the same.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub args: serde_json::Value,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Ended by the daemon when its time was over.
    TimedOut,
    /// Ended by the daemon when the user interrupted.
    Cancelled,
    /// It never started; the text says why.
    NotStarted,
    /// It still runs, in the background.
    Running,
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The command's text.
    pub command: String,
    /// The folder in which it ran, as shown to the model.
    pub cwd: String,
    /// How it ended.
    pub exit: Exit,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// Standard output and standard error as they came, in one text, cleaned by [`crate::ingest`]: whole when up to
    /// 1 MiB, else its head and tail around `omitted`.
    pub output: Output,
    /// What it printed on standard error alone, bounded like `output`; the projection keeps it longest.
    pub stderr: Output,
    /// Absolute path of the log with everything that was printed, as it was printed; none when it printed nothing.
    pub log: Option<String>,
    /// Processes of its group that still run, by pid: the command ended, they hold on.
    pub left_running: Vec<u32>,
    /// What it was held to, in a few words; none when files and network were free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<String>,
}

/// A text that may miss its middle.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Output {
    /// The beginning; everything when `omitted` is 0.
    pub head: String,
    /// Bytes left out between `head` and `tail`, as printed.
    pub omitted: u64,
    /// Line feeds among them, so that the lines of `tail` have the numbers that they have in the log.
    #[serde(default)]
    pub omitted_lines: u64,
    /// The end; empty when `omitted` is 0.
    pub tail: String,
    /// Bytes in all, as printed.
    pub total_bytes: u64,
}

/// One entry of the todo list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// The model's own id for it.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// States of a todo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}
