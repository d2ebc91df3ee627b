//! The arguments of `plimsoll grants` and `plimsoll trust`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `plimsoll grants`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Grants {
    /// Revoking
    #[command(subcommand)]
    pub action: Option<GrantsAction>,
    /// Which grants
    #[command(flatten)]
    pub list: GrantsList,
}

/// `plimsoll grants` without more.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct GrantsList {
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// What `plimsoll grants` does beside listing.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum GrantsAction {
    /// Revoke one, also for what runs now
    Revoke {
        /// Its number in the list
        #[arg(value_name = "N")]
        no: u64,
        /// The project's folder instead of the current one
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
}

/// `plimsoll trust`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Trust {
    /// The project's folder instead of the current one
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long)]
    pub revoke: bool,
}
