//! The arguments of the commands that look after sessions and projects as they are stored.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Help of `plimsoll sessions`.
pub const SESSIONS_HELP: &str = "\
Examples:
  plimsoll sessions --search parser     those here with this word in the title
  plimsoll sessions archive ID          out of lists from now on; a new prompt in it, or --undo, puts it back
  plimsoll sessions delete ID           with everything that it stored";

/// Help of `plimsoll search`.
pub const SEARCH_HELP: &str = "\
Examples:
  plimsoll search \"parse error\"            items of this folder's sessions that hold both words, in any case
  plimsoll search --all --kind user todo    what you said, in all projects
  plimsoll search --session ID --json port  one JSON object per hit

Sessions made last come first, in each the last items. Nothing is indexed: it reads until it has found enough.

Exit codes: 0 something was found; 1 nothing was, or it failed; 2 wrong arguments; 130 interrupted.";

/// Help of `plimsoll project`.
pub const PROJECT_HELP: &str = "\
Examples:
  plimsoll project list                     all projects, with their folders, and which of these are gone
  plimsoll project relocate ~/old ~/new     the folder was moved: sessions, grants, trust and memories go along";

/// Help of `plimsoll transcript`.
pub const TRANSCRIPT_HELP: &str = "\
The files `transcript.txt` and `artifacts/*.txt` of a session are made from the database, which has the truth. They are checked
when a turn begins; `rebuild` makes them anew now.

Exit codes: 0 done; 1 failed, or a saved text is gone for good; 2 wrong arguments.";

/// `plimsoll sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Sessions {
    /// Without one it lists
    #[command(subcommand)]
    pub action: Option<SessionsAction>,
    /// Which sessions
    #[command(flatten)]
    pub list: SessionsList,
}

/// `plimsoll sessions` without more.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SessionsList {
    /// With these words in the title
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
    /// Of all projects, not only of the current folder's
    #[arg(long)]
    pub all: bool,
    /// Those that were archived
    #[arg(long)]
    pub archived: bool,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub project: Option<PathBuf>,
    /// At most so many
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// What `plimsoll sessions` does beside listing.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum SessionsAction {
    /// Take a session out of lists; everything of it is kept
    Archive {
        /// The session's id
        #[arg(value_name = "SESSION")]
        session: String,
        /// Put it back
        #[arg(long)]
        undo: bool,
        /// The session as JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a session another title
    Rename {
        /// The session's id
        #[arg(value_name = "SESSION")]
        session: String,
        /// The new title
        #[arg(required = true, num_args = 1.., value_name = "TITLE")]
        title: Vec<String>,
        /// The session as JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a session with everything that it stored; a running turn is interrupted
    Delete {
        /// The session's id
        #[arg(value_name = "SESSION")]
        session: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// `plimsoll search`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Search {
    /// Words that all stand in an item, in any case and order
    #[arg(required = true, num_args = 1.., value_name = "WORDS")]
    pub words: Vec<String>,
    /// In this session only
    #[arg(long, value_name = "ID", conflicts_with_all = ["all", "project"])]
    pub session: Option<String>,
    /// In all projects, not only in the current folder's
    #[arg(long)]
    pub all: bool,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub project: Option<PathBuf>,
    /// In items of this kind: user, assistant, reasoning, toolCall, toolResult, notice, meta, observation; several times
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// At most so many hits
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// One JSON object per hit and line
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll project`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(arg_required_else_help = true)]
pub struct Project {
    /// What to do
    #[command(subcommand)]
    pub action: ProjectAction,
}

/// What `plimsoll project` does.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ProjectAction {
    /// List all projects that were ever opened, oldest first
    List {
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Say where a project's folders are now, when they were moved; also: add or take away further folders
    Relocate {
        /// The project: its key, or the folder that it had
        #[arg(value_name = "PROJECT")]
        project: PathBuf,
        /// Its folders from now on; the first names it
        #[arg(required = true, num_args = 1.., value_name = "DIR")]
        roots: Vec<PathBuf>,
        /// The project as JSON
        #[arg(long)]
        json: bool,
    },
}

/// `plimsoll transcript`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(arg_required_else_help = true)]
pub struct Transcript {
    /// What to do
    #[command(subcommand)]
    pub action: TranscriptAction,
}

/// What `plimsoll transcript` does.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum TranscriptAction {
    /// Make the derived files of a session anew from the database
    Rebuild {
        /// The session's id; without one: all sessions of the folder's project
        #[arg(value_name = "SESSION")]
        session: Option<String>,
        /// The project's folder instead of the current one
        #[arg(long, value_name = "DIR", conflicts_with = "session")]
        project: Option<PathBuf>,
        /// One JSON object per session and line
        #[arg(long)]
        json: bool,
    },
}
