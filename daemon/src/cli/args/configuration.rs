//! The arguments of `plimsoll config` and `plimsoll models`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What is printed below the options of `plimsoll config`.
pub const CONFIG_HELP: &str = "\
Examples:
  plimsoll config                                        every key with its value and who said so
  plimsoll config get permissions.mode                   one value
  plimsoll config set model anthropic/claude-sonnet-5-5  written into your config.toml; comments and order stay
  plimsoll config set permissions.allow '[\"run_terminal_cmd(make *)\"]'
  plimsoll config set 'providers.local.models.\"qwen3:8b\".context_window' 32768
  plimsoll config unset language
  plimsoll config check                                  what is wrong, with file, line and key

What counts, in rising order: what is built in, your config.toml, a project's .plimsoll/config.toml, PLIMSOLL_* variables, what a
client asks for, an administrator's /etc/plimsoll/config.toml. Keys of providers are never shown.

Exit codes: 0 done; 1 refused or failed, `check` found an error, `get` found nothing set; 2 wrong arguments.";

/// `plimsoll config`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Configure {
    /// Without one it shows everything
    #[command(subcommand)]
    pub action: Option<ConfigAction>,
}

/// What `plimsoll config` does.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ConfigAction {
    /// Print what counts: of one key, of all below a table, or everything with who said so
    Get {
        /// A key such as limits.max_steps_per_turn, or a table such as providers.local
        #[arg(value_name = "KEY")]
        key: Option<String>,
        /// The project's folder instead of the current one
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
        /// One JSON object: values, sources, warnings
        #[arg(long)]
        json: bool,
    },
    /// Write a key into your config.toml
    Set {
        /// A key such as limits.max_steps_per_turn
        #[arg(value_name = "KEY")]
        key: String,
        /// A text without quotes, a number, true, false, or a list as TOML writes it
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,
        /// One JSON object: file, changed, warnings
        #[arg(long)]
        json: bool,
    },
    /// Take a key out of your config.toml
    Unset {
        /// The key
        #[arg(value_name = "KEY")]
        key: String,
        /// One JSON object: file, changed, warnings
        #[arg(long)]
        json: bool,
    },
    /// Say what is wrong and what is odd, with file, line and key
    Check {
        /// The project's folder instead of the current one
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
        /// One JSON object: errors, warnings
        #[arg(long)]
        json: bool,
    },
    /// Print the path of your config.toml, whether it exists or not
    Path,
    /// Print the JSON Schema of config.toml, for editors
    Schema {
        /// Of a project's .plimsoll/config.toml
        #[arg(long)]
        project: bool,
    },
}

/// `plimsoll models`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Models {
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
}
