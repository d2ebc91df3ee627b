//! `plimsoll ask`: one turn from the terminal. It is a client like any other: what it shows comes as events, and the turn
//! runs in the daemon, whether this command lives to see its end or not.

mod attach;
mod consent;
mod diff;
mod line;
mod screen;
mod terminal;

pub use attach::attachments;
pub use consent::ask as consent;

use super::connect::{self, CommandError};
use super::progress::Progress;
use super::reach::{Spawn, own_environment};
use super::sessions::{open_project, project_folder};
use super::{args, out};
use crate::config::{Config, Folders, OFFLINE_MODEL, Overrides};
use crate::rpc::client::{CallError, RpcClient, Subscription};
use plimsoll_protocol::Done;
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::event::{Event, SessionEvent, StopReason};
use plimsoll_protocol::permission::{Ask, Choice, PermissionApiClient};
use plimsoll_protocol::session::{SessionApiClient, SessionInfo};
use plimsoll_protocol::turn::{Attachment, TurnApiClient, WhenBusy};
use screen::{Screen, Shown};
use std::io::Read;
use std::path::Path;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;
use terminal::{Reply, Terminal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

/// Exit code when something had to be asked and nobody could be.
const NOBODY_TO_ASK: u8 = 3;
/// Exit code after an interrupt: 128 and the number of SIGINT.
const INTERRUPTED: u8 = 130;
/// Longest text taken from standard input: far more than a model reads.
const INPUT_MAX: u64 = 8 * 1024 * 1024;
/// Silence after which a person is told that something still happens.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Runs the command.
pub fn main(arguments: &args::Ask) -> ExitCode {
    let prompt = match said(arguments) {
        Ok(prompt) => prompt,
        Err(error) => return error.report(),
    };
    let attachments = match attachments(&arguments.attach) {
        Ok(attachments) => attachments,
        Err(error) => return error.report(),
    };
    if let Err(error) = consent(arguments, &own_environment()) {
        return error.report();
    }
    connect::with_client(Spawn::WhenNone, async |client, folders| {
        let session = session(&client, &folders, arguments).await?;
        // A new session has them already.
        let of_session = |value: &Option<String>| value.clone().filter(|_| arguments.session.is_some());
        let (mode, model) = (of_session(&arguments.mode), of_session(&arguments.model));
        let (allow, json) = (arguments.allow.clone(), arguments.json);
        run(&client, session, Asked { prompt, allow, attachments, mode, model, json, alone: true }).await
    })
}

/// What is asked; nothing where the last turn is gone on with.
fn said(arguments: &args::Ask) -> Result<Option<String>, CommandError> {
    if arguments.go_on { Ok(None) } else { prompt(&arguments.prompt).map(Some) }
}

/// The words as one text; `-` is what comes through standard input.
fn prompt(words: &[String]) -> Result<String, CommandError> {
    let text = if words.iter().any(|word| word == "-") {
        let mut input = String::new();
        std::io::stdin().lock().take(INPUT_MAX + 1).read_to_string(&mut input)?;
        if input.len() as u64 > INPUT_MAX {
            return Err(CommandError::Argument {
                message: format!("standard input is longer than {INPUT_MAX} bytes"),
                hint: "put it in a file of the project and name the file".to_owned(),
            });
        }
        let parts: Vec<&str> = words.iter().map(|word| if word == "-" { input.trim_end() } else { word }).collect();
        parts.join("\n\n")
    } else {
        words.join(" ")
    };
    if text.trim().is_empty() {
        return Err(CommandError::Argument {
            message: "the prompt is empty".to_owned(),
            hint: "write what to ask: plimsoll ask \"…\"".to_owned(),
        });
    }
    Ok(text)
}

/// The session to ask in: the named one, else a new one in the project. Says what the configuration has to say.
pub async fn session(
    client: &RpcClient,
    folders: &Folders,
    arguments: &args::Ask,
) -> Result<SessionInfo, CommandError> {
    // The daemon reads it again; here it is read for what a person should know before it goes on.
    let config =
        |folder: Option<&Path>, overrides: Overrides| Config::load_for(folders, &own_environment(), folder, &overrides);
    if let Some(id) = &arguments.session {
        let info = client.get(id.clone()).await?;
        say_who_answers(&info, &config(None, Overrides::default())?);
        return Ok(info);
    }
    let folder = project_folder(arguments.project.as_deref())?;
    let overrides = Overrides { model: arguments.model.clone(), mode: arguments.mode.clone(), ..Overrides::default() };
    let config = config(Some(&folder), overrides)?;
    config.model(None)?;
    for warning in &config.warnings {
        out::note(&format!("warning: {}", out::harmless(warning, false)));
    }
    let project = open_project(client, &folder).await?;
    let key = uuid::Uuid::now_v7().to_string();
    let (mode, model) = (arguments.mode.clone(), arguments.model.clone());
    let info = client.create(project.key, None, mode, model, None, Some(key)).await?;
    say_who_answers(&info, &config);
    Ok(info)
}

fn say_who_answers(info: &SessionInfo, config: &Config) {
    if info.model == OFFLINE_MODEL {
        out::note(
            "No language model answers: the built-in `offline/retrieval` searches and quotes, it does not reason.",
        );
        for hint in &config.hints {
            out::note(&format!("  {hint}"));
        }
    }
}

/// A turn that is being watched.
struct Watch<'a> {
    client: &'a RpcClient,
    session: String,
    turn: u64,
    json: bool,
    alone: bool,
    screen: Screen,
    terminal: Option<Terminal>,
    progress: Progress,
    /// The question that stands on the terminal.
    asked: Option<Ask>,
    /// A question was refused because nobody could be asked.
    nobody_asked: bool,
    interrupted: bool,
    last_seq: u64,
}

/// A request to end the turn, on its way.
type Cancelling<'a> = Pin<Box<dyn Future<Output = Result<Done, CallError>> + Send + 'a>>;

/// Waits for it; for ever when there is none. Cancel safe.
async fn finish(cancelling: Option<&mut Cancelling<'_>>) -> Result<Done, CallError> {
    match cancelling {
        Some(cancelling) => cancelling.await,
        None => std::future::pending().await,
    }
}

/// How a turn ended.
struct Ended {
    reason: StopReason,
    message: Option<String>,
}

/// What is asked in one turn.
#[derive(Debug)]
pub struct Asked {
    /// The prompt; none to go on with the last turn, which was cut.
    pub prompt: Option<String>,
    /// Rules that hold for this turn.
    pub allow: Vec<String>,
    /// What is put beside the prompt.
    pub attachments: Vec<Attachment>,
    /// The permission mode that the session has from now on.
    pub mode: Option<String>,
    /// The model that it has from now on.
    pub model: Option<String>,
    /// Whether events are printed as JSON, and nothing else.
    pub json: bool,
    /// Whether the command ends with the turn, so that it says how to go on.
    pub alone: bool,
}

/// Runs one turn and shows it. The exit code is that of `plimsoll ask`.
pub async fn run(client: &RpcClient, info: SessionInfo, asked: Asked) -> Result<ExitCode, CommandError> {
    let Asked { prompt, allow, attachments, mode, model, json, alone } = asked;
    let allow = Some(allow).filter(|allow| !allow.is_empty());
    let attachments = Some(attachments).filter(|attachments| !attachments.is_empty());
    let events = client.attach(info.id.clone(), Some(info.last_seq)).await?;
    let key = uuid::Uuid::now_v7().to_string();
    let busy = Some(WhenBusy::Refuse);
    let started = match prompt {
        Some(prompt) => client.start(info.id.clone(), prompt, busy, allow, attachments, mode, model, Some(key)).await,
        None => client.go_on(info.id.clone(), Some(key)).await,
    };
    let turn = match started {
        Ok(accepted) => accepted.turn,
        Err(error) if connect::refusal_kind(&error) == Some(ErrorKind::Busy) => {
            return Err(CommandError::Argument {
                message: format!("a turn runs in session {}", info.id),
                hint: "wait until it has ended, or ask without --session".to_owned(),
            });
        }
        Err(error) => return Err(error.into()),
    };
    let mut watch = Watch {
        client,
        session: info.id.clone(),
        turn,
        json,
        alone,
        screen: Screen::new(turn, out::Style::of_stderr()),
        terminal: if json { None } else { Terminal::open() },
        progress: Progress::new(!json),
        asked: None,
        nobody_asked: false,
        interrupted: false,
        last_seq: info.last_seq,
    };
    let ended = watch.until_end(events).await?;
    watch.say_end(&ended)?;
    Ok(watch.exit_code(&ended))
}

impl Watch<'_> {
    async fn until_end(&mut self, mut events: Subscription<SessionEvent>) -> Result<Ended, CommandError> {
        let mut tick = interval(PROGRESS_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut interrupts = signal(SignalKind::interrupt())?;
        // Answered when the turn is over; meanwhile its events go on.
        let mut cancelling: Option<Cancelling<'_>> = None;
        let client = self.client;
        loop {
            tokio::select! {
                biased;
                Some(()) = interrupts.recv() => {
                    self.interrupt();
                    cancelling = Some(Box::pin(client.cancel(self.session.clone(), None)));
                }
                cancelled = finish(cancelling.as_mut()) => {
                    cancelling = None;
                    cancelled?;
                }
                event = events.next() => match event {
                    Some(Ok(event)) => {
                        if let Some(ended) = self.event(event).await? {
                            return Ok(ended);
                        }
                    }
                    Some(Err(error)) => tracing::debug!(%error, "an event that this build cannot read"),
                    // Cut off for not reading fast enough, or the daemon has gone: then this fails.
                    None => events = self.client.attach(self.session.clone(), Some(self.last_seq)).await?,
                },
                reply = terminal::reply(self.terminal.as_mut()), if self.asked.is_some() => self.answer(reply).await?,
                _ = tick.tick() => self.progress.tick(self.screen.at_line_start() && self.asked.is_none()),
            }
        }
    }

    /// The first interrupt asks the daemon to end the turn, whose end is then shown; the next one ends the command.
    fn interrupt(&mut self) {
        self.progress.clear();
        if self.interrupted {
            std::process::exit(INTERRUPTED.into());
        }
        self.interrupted = true;
        out::note("\ninterrupting; again to leave at once");
    }

    async fn event(&mut self, event: SessionEvent) -> Result<Option<Ended>, CommandError> {
        if let Some(seq) = event.seq {
            self.last_seq = self.last_seq.max(seq);
        }
        if self.json {
            out::json(&event)?;
        }
        match event.event {
            Event::TurnCompleted { turn, stop_reason, message, usage, cost, files, verification, .. }
                if turn == self.turn =>
            {
                self.screen.completed(usage, cost);
                let facts = self.screen.facts(&files, verification.as_ref());
                self.show(facts)?;
                return Ok(Some(Ended { reason: stop_reason, message }));
            }
            Event::PermissionAsked { ask } if ask.resolution.is_none() && ask.turn == self.turn => {
                self.ask(ask).await?;
            }
            Event::PermissionResolved { ask } => self.resolved(&ask),
            event => {
                let shown = self.screen.event(&event);
                self.show(shown)?;
            }
        }
        Ok(None)
    }

    fn show(&mut self, shown: Shown) -> Result<(), CommandError> {
        if self.json || shown == Shown::default() {
            return Ok(());
        }
        self.progress.clear();
        for note in &shown.notes {
            out::note(note);
        }
        if !shown.text.is_empty() {
            out::print(&shown.text)?;
        }
        Ok(())
    }

    async fn ask(&mut self, ask: Ask) -> Result<(), CommandError> {
        if let Some(terminal) = &mut self.terminal {
            self.progress.clear();
            terminal.ask(&ask)?;
            self.asked = Some(ask);
            return Ok(());
        }
        self.nobody_asked = true;
        out::note(&format!("denied, as there is no terminal to ask on: {}", out::short(&ask.title, 200)));
        self.respond(&ask.id, Choice::Reject, Some("The user is not there to be asked.".to_owned())).await
    }

    async fn answer(&mut self, reply: Reply) -> Result<(), CommandError> {
        let Some(ask) = self.asked.take() else { return Ok(()) };
        let (choice, advice) = match reply {
            Reply::Once => (Choice::AllowOnce, None),
            Reply::Session if terminal::offers(&ask, Choice::AllowSession) => (Choice::AllowSession, None),
            Reply::Always if terminal::offers(&ask, Choice::AllowAlways) => (Choice::AllowAlways, None),
            Reply::Refuse(advice) => (Choice::Reject, advice),
            Reply::Session | Reply::Always | Reply::Unclear => {
                if let Some(terminal) = &mut self.terminal {
                    terminal.ask(&ask)?;
                }
                self.asked = Some(ask);
                return Ok(());
            }
            Reply::Gone => {
                self.terminal = None;
                return self.ask(ask).await;
            }
        };
        self.respond(&ask.id, choice, advice).await
    }

    async fn respond(&self, ask: &str, choice: Choice, advice: Option<String>) -> Result<(), CommandError> {
        let key = uuid::Uuid::now_v7().to_string();
        let answered =
            PermissionApiClient::respond(self.client, self.session.clone(), ask.to_owned(), choice, advice, Some(key))
                .await;
        match answered {
            // It became void meanwhile, which its own event tells.
            Err(error) if connect::refusal_kind(&error) == Some(ErrorKind::Conflict) => Ok(()),
            answered => Ok(answered.map(|_| ())?),
        }
    }

    /// Another client was faster, or the question is void.
    fn resolved(&mut self, ask: &Ask) {
        if self.asked.as_ref().is_some_and(|asked| asked.id == ask.id) {
            self.asked = None;
            if let Some(terminal) = &mut self.terminal {
                terminal.withdraw();
            }
            out::note("\n(answered elsewhere)");
        }
    }

    /// The end for people: a line end after the answer, what went wrong, and how to go on.
    fn say_end(&mut self, ended: &Ended) -> Result<(), CommandError> {
        self.progress.clear();
        if self.json {
            return Ok(());
        }
        if !self.screen.at_line_start() {
            out::print("\n")?;
        }
        if let Some(problem) = problem(ended) {
            out::error(&problem, hint(&ended.reason));
        }
        let session = self.alone.then_some(self.session.as_str());
        if let Some(line) = self.screen.end(session) {
            out::note(&line);
        }
        Ok(())
    }

    fn exit_code(&self, ended: &Ended) -> ExitCode {
        match ended.reason {
            _ if self.nobody_asked => ExitCode::from(NOBODY_TO_ASK),
            StopReason::Cancelled if self.interrupted => ExitCode::from(INTERRUPTED),
            StopReason::EndTurn => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

/// What was not good about an end.
fn problem(ended: &Ended) -> Option<String> {
    let default = match &ended.reason {
        StopReason::EndTurn => return None,
        StopReason::MaxTokens => "the answer reached the model's output limit",
        StopReason::MaxSteps => "the turn reached its limit of steps",
        StopReason::Limit => "the turn reached a limit",
        StopReason::Refusal => "the model refused",
        StopReason::Cancelled => "interrupted",
        StopReason::ModelError => "the model failed",
        StopReason::StoreError => "the turn could not be stored",
        StopReason::Crashed => "the daemon died while the turn ran",
        StopReason::Internal => "a fault of Plimsoll's own ended the turn",
        StopReason::Other(other) => return Some(format!("the turn ended: {}", out::short(other, 60))),
    };
    Some(ended.message.as_deref().map_or_else(|| default.to_owned(), |message| out::harmless(message, true)))
}

fn hint(reason: &StopReason) -> Option<&'static str> {
    match reason {
        StopReason::MaxTokens => Some("ask it to go on, or raise max_output in config.toml"),
        StopReason::MaxSteps => Some("ask it to go on, or raise limits.max_steps_per_turn in config.toml"),
        StopReason::StoreError => Some("see that the disk of the data folder has room and is writable"),
        StopReason::Crashed | StopReason::Internal => Some("the daemon's log in the data folder may say more"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_one_prompt_and_an_empty_one_is_refused() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(prompt(&words(&["two", "words"])).unwrap(), "two words");
        assert!(matches!(prompt(&words(&[" ", ""])), Err(CommandError::Argument { .. })));
    }

    #[test]
    fn every_bad_end_has_words() {
        let end = |reason, message: Option<&str>| problem(&Ended { reason, message: message.map(str::to_owned) });
        assert_eq!(end(StopReason::EndTurn, None), None);
        assert_eq!(end(StopReason::ModelError, Some("no key\x1b[2J")).unwrap(), "no key\u{fffd}[2J");
        assert_eq!(end(StopReason::MaxSteps, None).unwrap(), "the turn reached its limit of steps");
        assert_eq!(end(StopReason::Other("bored".to_owned()), None).unwrap(), "the turn ended: bored");
    }
}
