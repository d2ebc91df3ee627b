//! The arguments of `plimsoll memories`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `plimsoll memories`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Memories {
    /// Without one it lists
    #[command(subcommand)]
    pub action: Option<MemoriesAction>,
}

/// What `plimsoll memories` does.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum MemoriesAction {
    /// List what is remembered, for the project and for you
    List {
        /// The project's folder instead of the current one
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print the whole of one
    Show {
        /// Its id in the list
        #[arg(value_name = "ID")]
        id: String,
        /// The project's folder instead of the current one
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
    /// Forget one; sessions are told at their next turn
    Delete {
        /// Its id in the list
        #[arg(value_name = "ID")]
        id: String,
        /// The project's folder instead of the current one
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
}
