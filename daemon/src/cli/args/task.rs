//! The arguments of `plimsoll task` and `plimsoll evidence`.

use clap::Args;

pub const TASK_HELP: &str = "\
Prints what is to be reached, your demands in your own words with the rules that enforce them, what was found out and on which
evidence, and what is not settled. What a rule denies does not run in any mode. Editors change the task with `task/set`.

Examples:
  plimsoll task                    of the latest session here
  plimsoll task ID --json          all of it, for scripts

Exit codes: 0 printed, also when there is no task; 1 it failed.";

pub const EVIDENCE_HELP: &str = "\
Prints what a call showed then, and says of each file whether it is still the same.

Examples:
  plimsoll evidence e/c7@r42       of the latest session here

Exit codes: 0 it is as it was; 1 it failed; 3 it is stale: a file is another now.";

/// `plimsoll task`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Task {
    /// The session's id; without it the latest of this folder
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll evidence`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Evidence {
    /// The evidence id, as the heads of results and the task show it
    #[arg(value_name = "EVIDENCE")]
    pub id: String,
    /// The session's id; without it the latest of this folder
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
