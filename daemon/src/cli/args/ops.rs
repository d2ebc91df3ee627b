//! The arguments of `plimsoll ops`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

pub const OPS_HELP: &str = "\
Of a call that ran when the daemon died, the end was not seen. What its files say of it is found out when the daemon is back,
and the model is told; what stays open is never done again without you, in no permission mode.

Examples:
  plimsoll ops                                 calls of the latest session here whose end was not seen, and what runs
  plimsoll ops ID --all                        every call with an effect
  plimsoll ops inspect c7                      look at its files again
  plimsoll ops resolve c7 applied              it took effect, as you know
  plimsoll ops resolve c7 accepted --note \"…\"  whatever it did, go on from here; the model reads the note

With --json one object for each operation, as operation/list of the protocol has it.
Exit codes: 0 done; 1 it failed, or the operation is not open; 2 wrong arguments.";

/// `plimsoll ops`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Ops {
    /// Looking again, and settling
    #[command(subcommand)]
    pub action: Option<OpsAction>,
    /// Which operations
    #[command(flatten)]
    pub list: OpsList,
}

/// `plimsoll ops` without more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct OpsList {
    /// The session, from `plimsoll sessions`; else the latest in this folder
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// Every operation, also those that ended as they should
    #[arg(long)]
    pub all: bool,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub project: Option<PathBuf>,
}

/// What `plimsoll ops` does beside listing.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum OpsAction {
    /// Look again at the files of an operation whose end was not seen
    Inspect {
        /// Its call, such as c7
        #[arg(value_name = "CALL")]
        call: String,
        /// Where
        #[command(flatten)]
        of: OpsOf,
    },
    /// Say what became of an operation whose end was not seen
    Resolve {
        /// Its call, such as c7
        #[arg(value_name = "CALL")]
        call: String,
        /// What became of it
        #[arg(value_name = "RESOLUTION")]
        resolution: OpsResolution,
        /// What the model shall know about it
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// Where
        #[command(flatten)]
        of: OpsOf,
    },
}

/// Of which session, and how it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct OpsOf {
    /// The session; else the latest in this folder
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub project: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// What became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OpsResolution {
    /// It took effect
    Applied,
    /// It did not
    NotApplied,
    /// Whatever it did, it is taken as it is
    Accepted,
}
