//! The arguments of the commands that show what the model sees and saw.

use clap::Args;
use std::path::PathBuf;

/// Help of `plimsoll inspect`.
pub const INSPECT_HELP: &str = "\
Examples:
  plimsoll inspect                                   the newest session here: what an empty prompt would send
  plimsoll inspect --prompt \"Fix it\" --file a.rs:3-20  what this would send and cost; nothing is sent
  plimsoll inspect --model anthropic/claude-opus-5-5   the same conversation with another model

The layers stand in the order of the request. Each has its tokens, its share of the model's window, and what the provider's
cache is expected to do with it: read (from the cache), written (to it) or new. Below a layer are its parts, each with the
items of the transcript that it was made from (#17). The bytes of all parts together are the whole body.

The load is the request's tokens over the window without the room for the answer and for the next results. Its lines are where
old results are cut (65%), old turns are shortened (82%) and the history is summarised (95%). While a turn runs the request that
was sent last is shown, with what has come since.";

/// Help of `plimsoll compact`.
pub const COMPACT_HELP: &str = "\
Examples:
  plimsoll compact                                the newest session here
  plimsoll compact ID --focus \"the parser's rules\" what a summary should keep above all

What the model is sent gets shorter: old results are cut, old turns become a line each, and the beginning is summarised, as
far as it must. The transcript keeps everything, and the model can read it there. By itself the same is done when the window
gets full; `context.compaction` and `context.load_lines` in the configuration say when. While a turn runs it is done before the
turn's next request. Ctrl-C leaves the history as it is.

Exit codes: 0 shortened; 1 nothing was shortened, or it failed; 2 wrong arguments; 130 interrupted.";

/// Help of `plimsoll requests`.
pub const REQUESTS_HELP: &str = "\
The newest is last. Columns: number, turn and step; logical tokens (as reported, else estimated); bytes of the body; the share of the
request before that this one begins with; tokens that were expected to be read from the provider's cache, and that it
reported; US dollars. Requests beside the conversation, such as for a summary, follow with numbers of their own. A request that does not begin with the whole one before it has a line with the first layer that changed, why,
and the tokens that were not kept.

What is expected: of what two requests share, everything where the provider caches by itself; with Anthropic, up to the last cache mark of
the earlier one; nothing once the cache's lifetime is over.";

/// Help of `plimsoll replay`.
pub const REPLAY_HELP: &str = "\
Examples:
  plimsoll replay ID 12 | jq .messages[-1]    the last message of request 12
  plimsoll replay ID 1 --side                 the first one beside the conversation, such as for a summary
  plimsoll replay ID 12 --check > body.json   also make its messages anew from their items, and say what differs

The body comes from the stored segments alone, whose hashes are compared: no project folder is needed, and a copy of the data folder
elsewhere prints the same. Standard output has the body and nothing else.

Exit codes: 0 printed; 1 the request is unknown or damaged, or the check found a difference; 2 wrong arguments.";

/// `plimsoll inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct Inspect {
    /// The session, from `plimsoll sessions`; else the newest in this folder
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// What this prompt would send
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// Put this file beside the prompt, or some lines of it as path:3-20; may be given several times
    #[arg(long, value_name = "PATH")]
    pub file: Vec<String>,
    /// With this model, as provider/model
    #[arg(long)]
    pub model: Option<String>,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub project: Option<PathBuf>,
    /// One JSON object, with every part
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll compact`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct Compact {
    /// The session, from `plimsoll sessions`; else the newest in this folder
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// What a summary should keep above all
    #[arg(long, value_name = "TEXT")]
    pub focus: Option<String>,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub project: Option<PathBuf>,
    /// One JSON object: the event `compactionFinished`
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll requests`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Requests {
    /// The session, from `plimsoll sessions`; else the newest in this folder
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// At most so many, the newest
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// What shortened results saved and what of it was read again, by model and tool, instead
    #[arg(long)]
    pub projection: bool,
    /// With --projection: over all sessions of the project
    #[arg(long, requires = "projection")]
    pub all: bool,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub project: Option<PathBuf>,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// `plimsoll replay`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Replay {
    /// The session, from `plimsoll sessions`
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// The request's number, from `plimsoll requests`
    #[arg(value_name = "REQUEST")]
    pub request: u64,
    /// The number is that of a request beside the conversation, such as for a summary
    #[arg(long, conflicts_with = "check")]
    pub side: bool,
    /// Also make its messages anew from their items, and compare
    #[arg(long)]
    pub check: bool,
}
