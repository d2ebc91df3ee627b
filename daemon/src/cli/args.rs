//! The arguments of every command, and the help that explains them.

mod chat;
mod configuration;
mod context;
mod history;
mod memories;
mod ops;
mod permissions;
mod setup;
mod store;
mod task;
mod undo;

pub use chat::{Chat, Completions};
pub use configuration::{CONFIG_HELP, ConfigAction, Configure, Models};
pub use context::{Compact, Inspect, Replay, Requests};
pub use history::{Export, Fork, Form, Import, Rewind};
pub use memories::{Memories, MemoriesAction};
pub use ops::{Ops, OpsAction, OpsList, OpsOf, OpsResolution};
pub use permissions::{Grants, GrantsAction, GrantsList, Trust};
pub use setup::{Setup, SetupEditor, SetupService, SetupWhat};
pub use store::{Project, ProjectAction, Search, Sessions, SessionsAction, SessionsList, Transcript, TranscriptAction};
pub use task::{Evidence, Task};
pub use undo::Undo;

use super::{
    ask, bridge, chat as chat_command, configure, daemon, doctor, inspect, manage, models, out,
    permissions as permissions_command, projects, replay, requests, search, sessions, show, undo as undo_command,
};
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
  plimsoll chat                                        turn after turn, until Ctrl-D
  git diff | plimsoll ask - \"Review this change\"       the input is put before the prompt
  plimsoll sessions                                    what was talked about here
  plimsoll show ID                                     one conversation
  plimsoll search \"parse error\"                        who said that, and where
  plimsoll task                                        its goal, your demands, what enforces them
  plimsoll undo                                        take back what the last turn wrote into files
  plimsoll ops                                         calls whose end was not seen, and what became of them
  plimsoll inspect                                     what the model will see, layer by layer
  plimsoll compact                                     shorten what the model is sent of it
  plimsoll requests                                    what was sent, cached and paid
  plimsoll config                                      what is configured, and by whom
  plimsoll status                                      is a daemon running
  plimsoll doctor                                      what is wrong, and what to do about it

Editors start `plimsoll stdio` (Plimsoll's own protocol) or `plimsoll acp` (the Agent Client Protocol). Whoever needs
the daemon first starts it; it ends by itself when nobody has needed it for a while.";

/// A local daemon that gives any editor a coding agent.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version = super::build::version(),
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
    /// Talk with the agent on the terminal, turn after turn
    #[command(after_help = chat::CHAT_HELP)]
    Chat(Chat),
    /// List sessions, newest first; archive, rename or delete one
    #[command(after_help = store::SESSIONS_HELP)]
    Sessions(Sessions),
    /// Look for words in what was said and done
    #[command(after_help = store::SEARCH_HELP)]
    Search(Search),
    /// List projects, or say where one has moved to
    #[command(after_help = store::PROJECT_HELP)]
    Project(Project),
    /// Make the files of transcripts anew from the database
    #[command(after_help = store::TRANSCRIPT_HELP)]
    Transcript(Transcript),
    /// Print the transcript of a session
    Show(Show),
    /// Show the task of a session: goal, your demands and what enforces them, findings
    #[command(after_help = task::TASK_HELP)]
    Task(Task),
    /// Show what a call showed, and whether that is still so
    #[command(after_help = task::EVIDENCE_HELP)]
    Evidence(Evidence),
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
    /// List calls with an effect, and settle those whose end was not seen
    #[command(after_help = ops::OPS_HELP)]
    Ops(Ops),
    /// Make a session that begins with what another one has said
    #[command(after_help = history::FORK_HELP)]
    Fork(Fork),
    /// Take a turn and all after it out of what the model sees
    #[command(after_help = history::REWIND_HELP)]
    Rewind(Rewind),
    /// Write a session as text: whole, or for people
    #[command(after_help = history::EXPORT_HELP)]
    Export(Export),
    /// Make a session of an export
    #[command(after_help = history::IMPORT_HELP)]
    Import(Import),
    /// Show what the model will see: every byte of the next request, by layer and origin
    #[command(after_help = context::INSPECT_HELP)]
    Inspect(Inspect),
    /// Shorten the history of a session for the model; the transcript keeps everything
    #[command(after_help = context::COMPACT_HELP)]
    Compact(Compact),
    /// List the requests of a session: kept, cached, paid, and where the prefix broke
    #[command(after_help = context::REQUESTS_HELP)]
    Requests(Requests),
    /// Print the exact body of a request that was sent
    #[command(after_help = context::REPLAY_HELP)]
    Replay(Replay),
    /// Show, change or check the configuration
    #[command(after_help = CONFIG_HELP)]
    Config(Configure),
    /// List the models that sessions can use, with the state of their keys
    Models(Models),
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
    /// Print a script that completes commands and options in a shell
    #[command(after_help = chat::COMPLETIONS_HELP)]
    Completions(Completions),
    /// End the daemon and wait until it has ended; running turns are interrupted
    Stop,
    /// End the daemon, when one runs, and start one of this build, or of the newer one that it made room for
    Restart,
    /// Write Plimsoll into files of other programs: shown first, and nothing is lost
    Setup(Setup),
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
Exit codes: 0 the editor closed its side or called `shutdown`; 1 the daemon cannot be reached; 4 the daemon ended; 5 (`stdio`)
somebody stopped the daemon.
When the daemon ends, `stdio` ends: start it again and attach from the last `seq`, after a 5 once the user needs it. `acp` goes on
with the next daemon and ends only when there is none.";

/// `plimsoll ask`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Ask {
    /// What to ask; `-` stands for what comes through standard input
    #[arg(required_unless_present = "go_on", num_args = 1.., value_name = "PROMPT")]
    pub prompt: Vec<String>,
    /// Go on with the session's last turn, which was cut, instead of asking something
    #[arg(long = "continue", requires = "session", conflicts_with_all = ["prompt", "attach", "allow", "mode", "model"])]
    pub go_on: bool,
    /// One JSON event per line on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Permission mode: plan, ask, accept_edits, auto or full
    #[arg(long, long_help = mode_help())]
    pub mode: Option<String>,
    /// Allow this in this turn, such as "run_terminal_cmd(cargo test *)"; may be given several times
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Put this file beside the prompt, as path or path:first-last; may be given several times
    #[arg(long, value_name = "PATH[:A-B]")]
    pub attach: Vec<OsString>,
    /// Model, as provider/model; `plimsoll models` lists them
    #[arg(long)]
    pub model: Option<String>,
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// The project's folder instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub project: Option<PathBuf>,
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

/// Every mode with its meaning.
fn mode_help() -> String {
    let lines = PermissionMode::ALL.map(|mode| format!("  {:<14}{}", mode.word(), mode.meaning()));
    format!("Permission mode:\n{}", lines.join("\n"))
}

/// Runs the command that the arguments, the program's name first, ask for.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    match parse(arguments) {
        Ok(Command::Ask(ask)) => ask::main(&ask),
        Ok(Command::Chat(chat)) => chat_command::main(&chat),
        Ok(Command::Completions(Completions { shell })) => completions(shell),
        Ok(Command::Sessions(sessions)) => sessions::main(&sessions),
        Ok(Command::Search(arguments)) => search::main(&arguments),
        Ok(Command::Project(arguments)) => projects::project(&arguments),
        Ok(Command::Transcript(arguments)) => projects::transcript(&arguments),
        Ok(Command::Show(show)) => show::main(&show),
        Ok(Command::Task(arguments)) => super::task::task(&arguments),
        Ok(Command::Evidence(arguments)) => super::task::evidence(&arguments),
        Ok(Command::Grants(grants)) => permissions_command::grants(&grants),
        Ok(Command::Memories(arguments)) => super::memories::run(&arguments),
        Ok(Command::Trust(trust)) => permissions_command::trust(&trust),
        Ok(Command::Undo(undo)) => undo_command::main(&undo),
        Ok(Command::Ops(arguments)) => super::ops::main(&arguments),
        Ok(Command::Fork(fork)) => super::history::fork(&fork),
        Ok(Command::Rewind(rewind)) => super::history::rewind(&rewind),
        Ok(Command::Export(export)) => super::history::export(&export),
        Ok(Command::Import(import)) => super::history::import(&import),
        Ok(Command::Inspect(inspect)) => inspect::main(&inspect),
        Ok(Command::Compact(arguments)) => super::compact::main(&arguments),
        Ok(Command::Requests(requests)) => requests::main(&requests),
        Ok(Command::Replay(replay)) => replay::main(&replay),
        Ok(Command::Config(arguments)) => configure::main(&arguments),
        Ok(Command::Models(arguments)) => models::main(&arguments),
        Ok(Command::Status { json }) => manage::status(json),
        Ok(Command::Doctor(doctor)) => doctor::main(&doctor),
        Ok(Command::Stop) => manage::stop(),
        Ok(Command::Restart) => manage::restart(),
        Ok(Command::Setup(setup)) => super::setup::main(&setup),
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

/// Prints the script of a shell.
fn completions(shell: clap_complete::Shell) -> ExitCode {
    use clap::CommandFactory;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "plimsoll", &mut script);
    match out::print(&String::from_utf8_lossy(&script)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => super::connect::CommandError::Io(error).report(),
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
            go_on: false,
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
        let list = SessionsList { search: None, all: true, archived: false, project: None, limit: 30, json: false };
        assert_eq!(words("sessions --all").unwrap(), Command::Sessions(Sessions { action: None, list: list.clone() }));
        let list = SessionsList { all: false, ..list };
        let action = Some(SessionsAction::Archive { session: "s1".to_owned(), undo: true, json: false });
        assert_eq!(words("sessions archive s1 --undo").unwrap(), Command::Sessions(Sessions { action, list }));
        let list = |json| GrantsList { project: None, json };
        assert_eq!(words("grants --json").unwrap(), Command::Grants(Grants { action: None, list: list(true) }));
        let action = Some(GrantsAction::Revoke { no: 3, project: Some("/p".into()) });
        assert_eq!(
            words("grants revoke 3 --project /p").unwrap(),
            Command::Grants(Grants { action, list: list(false) })
        );
        let trust = Trust { folder: Some("/p".into()), revoke: true };
        assert_eq!(words("trust --revoke /p").unwrap(), Command::Trust(trust));
        let of = OpsOf { session: Some("s1".to_owned()), ..OpsOf::default() };
        let (call, resolution) = ("c7".to_owned(), OpsResolution::NotApplied);
        let action = Some(OpsAction::Resolve { call, resolution, note: None, of });
        let resolve = Ops { action, list: OpsList::default() };
        assert_eq!(words("ops resolve c7 not-applied --session s1").unwrap(), Command::Ops(resolve));
        let all = Ops { action: None, list: OpsList { all: true, ..OpsList::default() } };
        assert_eq!(words("ops --all").unwrap(), Command::Ops(all));
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
        let replay = Replay { session: "s1".to_owned(), request: 7, side: false, check: true };
        assert_eq!(words("replay s1 7 --check").unwrap(), Command::Replay(replay));
        let service = SetupService { remove: true, yes: true, ..SetupService::default() };
        let setup = Setup { what: SetupWhat::Service(service) };
        assert_eq!(words("setup service --remove -y").unwrap(), Command::Setup(setup));
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
            "ask --continue",
            "ask --session s --continue x",
            "ops resolve c7",
            "ask --session s --project /p x",
            "config set model",
            "config sing",
            "show",
            "sessions --limit 0",
            "search",
            "search --all --session s x",
            "project relocate k",
            "grants revoke",
            "grants revoke x",
            "sing",
            "stop now",
            "undo --turn 1 --call c1",
            "setup",
            "setup service --print --yes",
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
