//! The arguments of every command, and the help that explains them.

mod context;
mod memories;

pub use context::{Inspect, Replay, Requests};
pub use memories::{Memories, MemoriesAction};

use super::{ask, bridge, daemon, doctor, inspect, manage, out, permissions, replay, requests, sessions, show, undo};
use crate::config::{PermissionMode, env};
use clap::{Args, Parser, Subcommand};
use plimsoll_protocol::hello::Facade;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  plimsoll ask \"Where is the configuration read?\"      one turn about the project in this folder
  plimsoll ask --session ID \"And who calls it?\"        go on with a session
  git diff | plimsoll ask - \"Review this change\"       the input is put before the prompt
  plimsoll sessions                                    what was talked about here
  plimsoll show ID                                     one conversation
  plimsoll undo                                        take back what the last turn wrote into files
  plimsoll inspect                                     what the model will see, layer by layer
  plimsoll requests                                    what was sent, cached and paid
  plimsoll status                                      is a daemon running
  plimsoll doctor                                      what is wrong, and what to do about it

Editors start `plimsoll stdio` (Plimsoll's own protocol) or `plimsoll acp` (the Agent Client Protocol). Whoever needs
the daemon first starts it; it ends by itself when nobody has needed it for a while.";

/// A local daemon that gives any editor a coding agent.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
enum Command {
    /// Run one turn and print the answer
    #[command(after_help = "\
Exit codes: 0 the turn ended well; 1 it failed; 2 wrong arguments; 3 something had to be asked and there was no terminal;
130 interrupted. The answer goes to standard output, everything else to standard error.

While it asks for permission: y allows once, s allows for the session, a allows in this project from now on, n refuses, any
other text refuses with this advice. What s and a store is shown.")]
    Ask(Ask),
    /// List sessions, newest first
    Sessions(Sessions),
    /// Print the transcript of a session
    Show(Show),
    /// List or revoke what was allowed for good in a project
    #[command(after_help = "\
Examples:
  plimsoll grants                 what may run here without a question, with numbers
  plimsoll grants revoke 3        ask about it again from now on")]
    Grants(Grants),
    /// Show what is remembered over sessions, or forget some of it
    #[command(after_help = "\
Examples:
  plimsoll memories                what is remembered for this project and for you, with ids
  plimsoll memories show m3        the whole of one
  plimsoll memories delete m3      forget it")]
    Memories(Memories),
    /// Trust a project, so that its own programs may run where the mode says so
    Trust(Trust),
    /// Take back what the agent wrote into files: the last turn, unless told otherwise
    #[command(after_help = "\
Shows what will be done and asks first. What the agent's commands changed is not known and not undone. Your git index, stash and
branches are never touched. A file that you or others changed since is left alone unless --force is given, and then what is
there is kept first. An undo can be undone: its own call is printed.

Exit codes: 0 done, or nothing to do; 1 refused or failed; 2 wrong arguments; 3 a yes was needed and did not come.")]
    Undo(Undo),
    /// Show what the model will see: every byte of the next request, by layer and origin
    #[command(after_help = context::INSPECT_HELP)]
    Inspect(Inspect),
    /// List the requests of a session: kept, cached, paid, and where the prefix broke
    #[command(after_help = context::REQUESTS_HELP)]
    Requests(Requests),
    /// Print the exact body of a request that was sent
    #[command(after_help = context::REPLAY_HELP)]
    Replay(Replay),
    /// Say whether a daemon runs; never starts one
    #[command(after_help = "Exit codes: 0 it runs; 3 it does not.")]
    Status {
        /// As JSON: pid, socket, version, clients, sessions
        #[arg(long)]
        json: bool,
    },
    /// Look at everything that Plimsoll needs, and say what to do about what is wrong
    #[command(after_help = DOCTOR_HELP)]
    Doctor(Doctor),
    /// End the daemon and wait until it has ended; running turns are interrupted
    Stop,
    /// End the daemon, when one runs, and start one of this build
    Restart,
    /// Run the daemon in the foreground
    Daemon {
        /// Leave the session of whoever starts it, and say on standard output when it is ready
        #[arg(long, hide = true)]
        detached: bool,
    },
    /// Connect an editor's pipes to the daemon: Plimsoll's own protocol
    #[command(after_help = BRIDGE_HELP)]
    Stdio,
    /// Connect an editor's pipes to the daemon: the Agent Client Protocol
    #[command(after_help = BRIDGE_HELP)]
    Acp,
}

const DOCTOR_HELP: &str = "\
It changes nothing, starts no daemon and shows no key. Exit codes: 0 no errors; 1 errors; 2 wrong arguments.

With --json one object: {\"version\", \"errors\", \"warnings\", \"findings\": [{\"id\", \"level\", \"what\", \"fix\"}]}. The level is ok,
warn or error; the fix is text or null. An id is a group and a name, such as \"data.room\": ids stay, more may come.";

const BRIDGE_HELP: &str = "\
Starts the daemon when none runs. Standard output carries the protocol and nothing else.
Exit codes: 0 the editor closed its side; 1 the daemon cannot be reached; 4 the daemon ended.";

/// `plimsoll ask`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Ask {
    /// What to ask; `-` stands for what comes through standard input
    #[arg(required = true, num_args = 1.., value_name = "PROMPT")]
    pub prompt: Vec<String>,
    /// One JSON event per line on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Permission mode: plan, ask, accept_edits, auto or full
    #[arg(long, conflicts_with = "session", long_help = mode_help())]
    pub mode: Option<String>,
    /// Allow this in this turn, such as "run_terminal_cmd(cargo test *)"; may be given several times
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Put this file beside the prompt, as path or path:first-last; may be given several times
    #[arg(long, value_name = "PATH[:A-B]")]
    pub attach: Vec<OsString>,
    /// Model, as provider/model
    #[arg(long, conflicts_with = "session")]
    pub model: Option<String>,
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub project: Option<PathBuf>,
}

/// `plimsoll sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Sessions {
    /// Of all projects, not only of the current folder's
    #[arg(long)]
    pub all: bool,
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

/// `plimsoll doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Doctor {
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    /// Also make one tiny call to this provider, or to provider/model, with its key
    #[arg(long, value_name = "PROVIDER")]
    pub provider: Option<String>,
}

/// `plimsoll show`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Show {
    /// The session's id, from `plimsoll sessions`
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
}

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

/// Every mode with its meaning.
fn mode_help() -> String {
    let lines = PermissionMode::ALL.map(|mode| format!("  {:<14}{}", mode.word(), mode.meaning()));
    format!("Permission mode:\n{}", lines.join("\n"))
}

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

/// Runs the command that the arguments, the program's name first, ask for.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    match parse(arguments) {
        Ok(Command::Ask(ask)) => ask::main(&ask),
        Ok(Command::Sessions(sessions)) => sessions::main(&sessions),
        Ok(Command::Show(show)) => show::main(&show),
        Ok(Command::Grants(grants)) => permissions::grants(&grants),
        Ok(Command::Memories(arguments)) => super::memories::run(&arguments),
        Ok(Command::Trust(trust)) => permissions::trust(&trust),
        Ok(Command::Undo(undo)) => undo::main(&undo),
        Ok(Command::Inspect(inspect)) => inspect::main(&inspect),
        Ok(Command::Requests(requests)) => requests::main(&requests),
        Ok(Command::Replay(replay)) => replay::main(&replay),
        Ok(Command::Status { json }) => manage::status(json),
        Ok(Command::Doctor(doctor)) => doctor::main(&doctor),
        Ok(Command::Stop) => manage::stop(),
        Ok(Command::Restart) => manage::restart(),
        Ok(Command::Daemon { detached }) => daemon::main(detached),
        Ok(Command::Stdio) => bridge::main(Facade::Native),
        Ok(Command::Acp) => bridge::main(Facade::Acp),
        Err(error) => {
            // Help and version go to standard output, complaints to standard error; nobody may be reading either.
            let _ = out::flush_after(|| error.print());
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

fn parse(arguments: Vec<OsString>) -> Result<Command, clap::Error> {
    use clap::{CommandFactory, FromArgMatches};
    let help = format!("{EXAMPLES}\n\nEnvironment:\n{}", env::table());
    let matches = Arguments::command().after_help(help).try_get_matches_from(arguments)?;
    Arguments::from_arg_matches(&matches).map(|arguments| arguments.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Command, clap::Error> {
        parse(std::iter::once("plimsoll").chain(text.split(' ')).map(OsString::from).collect())
    }

    #[test]
    fn commands_and_options_are_understood() {
        let ask = Ask {
            prompt: vec!["two".to_owned(), "words".to_owned()],
            json: true,
            mode: Some("full".to_owned()),
            allow: vec!["grep".to_owned(), "list_dir".to_owned()],
            attach: vec!["a.rs:1-2".into()],
            model: Some("a/b".to_owned()),
            session: None,
            project: Some("/p".into()),
        };
        let found = words(
            "ask --json --mode full --allow grep --allow list_dir --attach a.rs:1-2 --model a/b --project /p two words",
        )
        .unwrap();
        assert_eq!(found, Command::Ask(ask));
        assert_eq!(words("status --json").unwrap(), Command::Status { json: true });
        let doctor = Doctor { json: true, provider: Some("a/b".to_owned()) };
        assert_eq!(words("doctor --json --provider a/b").unwrap(), Command::Doctor(doctor));
        assert_eq!(words("daemon").unwrap(), Command::Daemon { detached: false });
        let sessions = Sessions { all: true, project: None, limit: 30, json: false };
        assert_eq!(words("sessions --all").unwrap(), Command::Sessions(sessions));
        let list = |json| GrantsList { project: None, json };
        assert_eq!(words("grants --json").unwrap(), Command::Grants(Grants { action: None, list: list(true) }));
        let action = Some(GrantsAction::Revoke { no: 3, project: Some("/p".into()) });
        assert_eq!(
            words("grants revoke 3 --project /p").unwrap(),
            Command::Grants(Grants { action, list: list(false) })
        );
        let trust = Trust { folder: Some("/p".into()), revoke: true };
        assert_eq!(words("trust --revoke /p").unwrap(), Command::Trust(trust));
        let undo = Undo { turn: Some(3), skip: true, yes: true, ..Undo::default() };
        assert_eq!(words("undo --turn 3 --skip -y").unwrap(), Command::Undo(undo));
        let inspect = Inspect { prompt: Some("x".to_owned()), file: vec!["a".to_owned()], ..Inspect::default() };
        assert_eq!(words("inspect --prompt x --file a").unwrap(), Command::Inspect(inspect));
        let requests = Requests {
            session: Some("s1".to_owned()),
            limit: 50,
            projection: false,
            all: false,
            project: None,
            json: true,
        };
        assert_eq!(words("requests s1 --json").unwrap(), Command::Requests(requests));
        let replay = Replay { session: "s1".to_owned(), request: 7, check: true };
        assert_eq!(words("replay s1 7 --check").unwrap(), Command::Replay(replay));
        let show = Show { session: "s1".to_owned(), json: false };
        let forget = Some(MemoriesAction::Delete { id: "m3".to_owned(), project: None });
        assert_eq!(words("memories").unwrap(), Command::Memories(Memories { action: None }));
        assert_eq!(words("memories delete m3").unwrap(), Command::Memories(Memories { action: forget }));
        assert_eq!(words("show s1").unwrap(), Command::Show(show));
    }

    #[test]
    fn wrong_arguments_are_told_and_exit_with_two() {
        for wrong in [
            "ask",
            "ask --session s --model a/b x",
            "show",
            "sessions --limit 0",
            "grants revoke",
            "grants revoke x",
            "sing",
            "stop now",
            "undo --turn 1 --call c1",
        ] {
            let error = words(wrong).unwrap_err();
            assert_eq!((error.exit_code(), error.use_stderr()), (2, true), "{wrong}");
        }
    }

    #[test]
    fn help_teaches_with_examples_and_names_every_variable() {
        let help = words("--help").unwrap_err();
        assert_eq!((help.exit_code(), help.use_stderr()), (0, false));
        let text = help.to_string();
        assert!(text.contains("plimsoll ask \"Where is the configuration read?\""), "{text}");
        for variable in env::VARIABLES {
            assert!(text.contains(variable.name), "{} is not in the help", variable.name);
        }
        assert!(words("ask --help").unwrap_err().to_string().contains("130 interrupted"));
        for mode in PermissionMode::ALL {
            let help = words("ask --help").unwrap_err().to_string();
            assert!(help.contains(mode.word()) && help.contains(mode.meaning()), "{mode} is not in {help}");
        }
        assert!(!text.contains("--detached"));
    }

    #[test]
    fn the_version_is_the_packages() {
        assert_eq!(words("--version").unwrap_err().to_string(), format!("plimsoll {}\n", env!("CARGO_PKG_VERSION")));
    }
}
