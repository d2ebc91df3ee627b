//! The arguments of `plimsoll setup`.

use clap::{Args, Subcommand};

/// The help of `plimsoll setup service`.
pub const SERVICE_HELP: &str = "\
Not needed: whoever needs the daemon starts it. With a service it is there from the login on.

The file is shown first, as a difference where there is one already; a file that was there is kept beside the new one. The service
runs one daemon of this data folder and ends when another one runs. It is started again only when it failed: it ends by itself when
nobody needs it, or when another build takes its place.

Exit codes: 0 done, or nothing to do; 1 failed; 2 wrong arguments; 3 a yes was needed and did not come.";

/// The help of `plimsoll setup zed` and `plimsoll setup jetbrains`.
pub const EDITOR_HELP: &str = "\
The change is shown first. Everything else in the file, comments and order too, stays as it is, and the file as it was is kept
beside the new one. An entry that is there gets the path of this program; what you gave it otherwise stays.

Exit codes: 0 done, or nothing to do; 1 failed; 2 wrong arguments; 3 a yes was needed and did not come.";

/// `plimsoll setup`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Setup {
    /// What is set up
    #[command(subcommand)]
    pub what: SetupWhat,
}

/// What `plimsoll setup` sets up.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum SetupWhat {
    /// Start the daemon at login: a user unit of systemd, or an agent of launchd
    #[command(after_help = SERVICE_HELP)]
    Service(SetupService),
    /// Add Plimsoll to the agents in Zed's settings
    #[command(after_help = EDITOR_HELP)]
    Zed(SetupEditor),
    /// Add Plimsoll to the agents of IDEs by JetBrains (`~/.jetbrains/acp.json`)
    #[command(after_help = EDITOR_HELP)]
    Jetbrains(SetupEditor),
}

/// `plimsoll setup zed` and `plimsoll setup jetbrains`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct SetupEditor {
    /// Print the entry, as a file that has nothing else, and change nothing
    #[arg(long, conflicts_with_all = ["remove", "yes"])]
    pub print: bool,
    /// Take the entry away again
    #[arg(long)]
    pub remove: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// `plimsoll setup service`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct SetupService {
    /// Print the file and change nothing
    #[arg(long, conflicts_with_all = ["remove", "yes"])]
    pub print: bool,
    /// Take the service away again
    #[arg(long)]
    pub remove: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}
