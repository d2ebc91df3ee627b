//! The arguments of commands about whole conversations.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub const FORK_HELP: &str = "\
The fork shares what was sent byte for byte, so its first request is read from the provider's cache. What happens in one of
the two changes nothing in the other; either can be deleted. Files and undo stay with the session that wrote them.

Examples:
  plimsoll fork                     of the latest session here, with all that is settled
  plimsoll fork ID --item 12        up to item 12, or the last settled end before it
  plimsoll ask --session NEW \"...\"  go on in the fork

Exit codes: 0 it was made; 1 it was not.";

pub const REWIND_HELP: &str = "\
The turn and all after it leave what the model sees; the transcript keeps them. Files stay as they are unless --files is
given: then what these turns wrote is undone first, as `plimsoll undo --session ID --from N` does it, and listed before you
are asked. When somebody else has changed such a file since, nothing is changed at all; --skip leaves those files alone.
What commands changed is not undone.

Examples:
  plimsoll rewind ID 4              turn 4 and all after it leave what the model sees
  plimsoll rewind ID 4 --files      and what they wrote is undone

Exit codes: 0 done; 1 it failed, or was refused because of such a file; 3 a yes was needed and did not come.";

pub const EXPORT_HELP: &str = "\
Examples:
  plimsoll export ID -o talk.jsonl              everything, for `plimsoll import` here or elsewhere
  plimsoll export ID --format markdown          for people, to standard output

An export holds all that the session saw: prompts, files that were read, output of commands.

Exit codes: 0 done; 1 it failed.";

pub const IMPORT_HELP: &str = "\
Makes a session of a file that `plimsoll export` wrote; `-` reads standard input. What it says is text by somebody else until
you know better. Its permission mode is the one of your configuration.

Exit codes: 0 it was made; 1 nothing was imported, and the line that is wrong is named.";

/// `plimsoll fork`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Fork {
    /// The session, from `plimsoll sessions`; else the latest in this folder
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// Share the items up to this one
    #[arg(long, value_name = "N")]
    pub item: Option<u64>,
    /// A title; else the session's own with "(fork)" behind it
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// As JSON: the new session
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll rewind`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct Rewind {
    /// The session, from `plimsoll sessions`
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// The first turn that leaves the model's view
    #[arg(value_name = "TURN")]
    pub turn: u64,
    /// Undo what these turns wrote
    #[arg(long)]
    pub files: bool,
    /// Leave the files as they are that cannot simply be restored
    #[arg(long, requires = "files")]
    pub skip: bool,
    /// Without asking
    #[arg(short, long)]
    pub yes: bool,
    /// As JSON: the session
    #[arg(long)]
    pub json: bool,
}

/// A form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Everything, for `plimsoll import`
    Jsonl,
    /// For people
    Markdown,
}

/// `plimsoll export`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Export {
    /// The session, from `plimsoll sessions`; else the latest in this folder
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// The form
    #[arg(long, value_enum, default_value_t = Form::Jsonl)]
    pub format: Form,
    /// The file; else standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Say as JSON what was written; needs a file
    #[arg(long, requires = "output")]
    pub json: bool,
}

/// `plimsoll import`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Import {
    /// The file; `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// As JSON: the new session
    #[arg(long)]
    pub json: bool,
}
