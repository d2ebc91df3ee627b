//! `plimsoll chat`: turn after turn on the terminal. It holds no connection between turns and nothing of the conversation:
//! that is the daemon's, which may be another one by the next prompt.

mod command;
mod line;

use super::connect::{self, CommandError};
use super::reach::{Spawn, own_environment};
use super::{args, ask, inspect, out, sessions, undo};
use crate::config::Folders;
use command::Command;
use line::{Line, Typed};
use plimsoll_protocol::session::SessionApiClient;
use plimsoll_protocol::turn::Attachment;
use std::process::ExitCode;

/// Sessions that are listed.
const LISTED: u32 = 10;

/// Runs the command.
pub fn main(arguments: &args::Chat) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

fn run(arguments: &args::Chat) -> Result<(), CommandError> {
    if !out::stderr_is_terminal() {
        return Err(CommandError::Argument {
            message: "a chat needs a terminal".to_owned(),
            hint: "use `plimsoll ask` in scripts".to_owned(),
        });
    }
    let mut chat = Chat { session: arguments.session.clone(), chosen: arguments.as_ask(), beside: Vec::new() };
    ask::consent(&chat.chosen, &own_environment())?;
    let folders = Folders::of_process()?;
    folders.ensure_data()?;
    let mut line = Line::new(folders.data.join("chat_history"))?;
    out::note("/help lists the commands, Ctrl-D leaves.");
    if !arguments.prompt.is_empty() {
        chat.turn(arguments.prompt.join(" "));
    }
    loop {
        match line.read("\n> ")? {
            Typed::Interrupted => out::note("Ctrl-D leaves."),
            Typed::End => break,
            Typed::Text(text) => match Command::of_line(&text) {
                Command::Exit => break,
                command => chat.perform(command),
            },
        }
    }
    if let Some(session) = &chat.session {
        out::note(&format!("session {session} · go on: plimsoll chat --session {session}"));
    }
    Ok(())
}

/// What the next prompt goes to.
struct Chat {
    /// Made with the first prompt.
    session: Option<String>,
    /// What was chosen for new sessions.
    chosen: args::Ask,
    /// What is put beside the next prompt.
    beside: Vec<Attachment>,
}

impl Chat {
    fn perform(&mut self, command: Command) {
        match command {
            Command::Nothing | Command::Exit => {}
            Command::Prompt(text) => self.turn(text),
            Command::Help => out::note(&command::help()),
            Command::New => self.session = None,
            Command::Resume(id) => self.resume(id),
            Command::Sessions => {
                let list = args::SessionsList {
                    search: None,
                    all: false,
                    archived: false,
                    project: self.chosen.project.clone(),
                    limit: LISTED,
                    json: false,
                };
                sessions::main(&args::Sessions { action: None, list });
            }
            Command::Mode(mode) => self.set_mode(mode),
            Command::Attach(path) => match ask::attachments(&[path]) {
                Ok(attached) => self.beside.extend(attached),
                Err(error) => drop(error.report()),
            },
            Command::Undo => self.in_session(|session| {
                undo::main(&args::Undo { session: Some(session), ..args::Undo::default() });
            }),
            Command::Context => self.in_session(|session| {
                inspect::main(&args::Inspect { session: Some(session), ..args::Inspect::default() });
            }),
            Command::Wrong(what, hint) => out::error(&what, Some(hint)),
        }
    }

    fn in_session(&self, perform: impl FnOnce(String)) {
        match &self.session {
            Some(session) => perform(session.clone()),
            None => out::error("nothing was said yet", Some("a session begins with the first prompt")),
        }
    }

    /// One turn. What goes wrong in it is told, and the chat goes on.
    fn turn(&mut self, prompt: String) {
        let asked = ask::Asked {
            prompt: Some(prompt),
            allow: self.chosen.allow.clone(),
            attachments: std::mem::take(&mut self.beside),
            mode: None,
            model: None,
            json: false,
            alone: false,
        };
        let (session, chosen) = (&mut self.session, &self.chosen);
        connect::with_client(Spawn::WhenNone, async |client, folders| {
            let arguments = args::Ask { session: session.clone(), ..chosen.clone() };
            let info = ask::session(&client, &folders, &arguments).await?;
            *session = Some(info.id.clone());
            ask::run(&client, info, asked).await
        });
    }

    fn resume(&mut self, id: String) {
        let session = &mut self.session;
        connect::with_client(Spawn::WhenNone, async |client, _| {
            let info = client.get(id).await?;
            let title = if info.title.is_empty() { "without a title" } else { &info.title };
            out::note(&format!("{}, {} items, mode {}", out::short(title, 100), info.items, info.mode));
            *session = Some(info.id);
            Ok(ExitCode::SUCCESS)
        });
    }

    fn set_mode(&mut self, mode: String) {
        let Some(session) = self.session.clone() else {
            self.chosen.mode = Some(mode);
            return;
        };
        connect::with_client(Spawn::WhenNone, async |client, _| {
            let info = client.set_mode(session, mode, None).await?;
            out::note(&format!("mode {}", info.mode));
            Ok(ExitCode::SUCCESS)
        });
    }
}
