//! The arguments of `plimsoll undo`.

use clap::Args;
use std::path::PathBuf;

/// `plimsoll undo`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct Undo {
    /// The session, from `plimsoll sessions`; else the latest in this folder
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Undo this turn
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "call"])]
    pub turn: Option<u64>,
    /// Undo this turn and all after it
    #[arg(long, value_name = "N", conflicts_with = "call")]
    pub from: Option<u64>,
    /// Undo this call, such as c7; of an undo: do again what it undid
    #[arg(long, value_name = "CALL")]
    pub call: Option<String>,
    /// List what can be undone instead
    #[arg(long, conflicts_with_all = ["turn", "from", "call", "dry_run", "diff", "skip", "force", "yes"])]
    pub list: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Print the differences too
    #[arg(long, conflicts_with = "json")]
    pub diff: bool,
    /// Leave out the files that cannot simply be restored
    #[arg(long)]
    pub skip: bool,
    /// Restore also files that were changed since, after keeping what is there
    #[arg(long)]
    pub force: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub project: Option<PathBuf>,
}
