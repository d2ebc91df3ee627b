//! The arguments of `plimsoll chat` and `plimsoll completions`.

use super::Ask;
use clap::Args;
use std::path::PathBuf;

/// What the help says behind the options.
pub const CHAT_HELP: &str = "\
Lines that begin with a slash and a word are commands; /help lists them. Ctrl-C interrupts a running turn, and a second time
leaves at once; Ctrl-D leaves. The turn runs in the daemon: `plimsoll chat --session ID` goes on with it later.

Answers go to standard output, everything else to standard error. Exit codes: 0 it was left; 1 it cannot begin; 2 wrong
arguments; 130 left by two interrupts.";

/// What the help says behind the options.
pub const COMPLETIONS_HELP: &str = "\
Examples:
  bash    plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll
  zsh     plimsoll completions zsh > \"${fpath[1]}/_plimsoll\"
  fish    plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish";

/// `plimsoll chat`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Chat {
    /// A first prompt
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,
    /// Permission mode of new sessions: plan, ask, accept_edits, auto or full
    #[arg(long, conflicts_with = "session", long_help = super::mode_help())]
    pub mode: Option<String>,
    /// Allow this in every turn of this chat, such as "run_terminal_cmd(cargo test *)"; may be given several times
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Model of new sessions, as provider/model
    #[arg(long, conflicts_with = "session")]
    pub model: Option<String>,
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub project: Option<PathBuf>,
}

impl Chat {
    /// The same for one turn of a new session.
    pub fn as_ask(&self) -> Ask {
        Ask {
            prompt: Vec::new(),
            go_on: false,
            json: false,
            mode: self.mode.clone(),
            allow: self.allow.clone(),
            attach: Vec::new(),
            model: self.model.clone(),
            session: None,
            project: self.project.clone(),
        }
    }
}

/// `plimsoll completions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}
