//! `plimsoll undo`: takes back what the agent wrote into files.

mod text;

use super::confirm::{self, Said};
use super::connect::{self, CommandError};
use super::reach::Spawn;
use super::{args, out, sessions};
use crate::rpc::client::RpcClient;
use plimsoll_protocol::checkpoint::{
    CheckpointApiClient, CheckpointTurn, RestorableState, RestoreResult, RestoreState,
};
use plimsoll_protocol::error::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

/// Exit code when a yes was needed and did not come.
const NOT_CONFIRMED: u8 = 3;
/// Turns in one answer.
const PAGE: u32 = 100;

/// What is to be undone, as the protocol has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Scope {
    turn: Option<u64>,
    from: Option<u64>,
    call: Option<String>,
}

/// Runs the command.
pub fn main(arguments: &args::Undo) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let folder = sessions::project_folder(arguments.project.as_deref());
        let (session, folder) = if let Some(session) = &arguments.session {
            // It needs no folder; where there is one, paths are shown as seen from it.
            (session.clone(), folder.ok())
        } else {
            let folder = folder?;
            (latest(&client, &folder).await?, Some(folder))
        };
        if arguments.list {
            return list(&client, &session, arguments.json, folder.as_deref()).await;
        }
        let Some(scope) = scope(&client, &session, arguments).await? else {
            out::note(&format!("there is nothing to undo in session {session}"));
            return Ok(ExitCode::SUCCESS);
        };
        undo(&client, &session, &scope, arguments, folder.as_deref()).await
    })
}

/// The session of this folder in which something last happened.
async fn latest(client: &RpcClient, folder: &Path) -> Result<String, CommandError> {
    let found = sessions::list(client, Some(folder), 1).await?;
    found.into_iter().next().map(|session| session.id).ok_or_else(|| CommandError::Argument {
        message: format!("there is no session in {}", folder.display()),
        hint: "name one with --session; `plimsoll sessions --all` lists them".to_owned(),
    })
}

/// What the arguments name; else the last turn that can be undone.
async fn scope(client: &RpcClient, session: &str, arguments: &args::Undo) -> Result<Option<Scope>, CommandError> {
    let args::Undo { turn, from, call, .. } = arguments;
    if turn.is_some() || from.is_some() || call.is_some() {
        return Ok(Some(Scope { turn: *turn, from: *from, call: call.clone() }));
    }
    let mut before = None;
    loop {
        let page = CheckpointApiClient::list(client, session.to_owned(), before, Some(PAGE)).await?;
        if let Some(turn) = page.turns.iter().find(|turn| turn.restorable.state != RestorableState::AlreadySo) {
            return Ok(Some(Scope { turn: Some(turn.turn), from: None, call: None }));
        }
        before = page.next_before;
        if before.is_none() {
            return Ok(None);
        }
    }
}

async fn list(client: &RpcClient, session: &str, json: bool, folder: Option<&Path>) -> Result<ExitCode, CommandError> {
    let mut before = None;
    let mut turns: Vec<CheckpointTurn> = Vec::new();
    loop {
        let page = CheckpointApiClient::list(client, session.to_owned(), before, Some(PAGE)).await?;
        turns.extend(page.turns);
        before = page.next_before;
        if before.is_none() {
            break;
        }
    }
    if json {
        for turn in &turns {
            out::json(turn)?;
        }
    } else if turns.is_empty() {
        out::note("no call of this session changed files");
    } else {
        out::print(&text::turns(&turns, folder, out::Style::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn restore(
    client: &RpcClient,
    session: &str,
    scope: &Scope,
    arguments: &args::Undo,
    dry_run: bool,
) -> Result<RestoreResult, CommandError> {
    let Scope { turn, from, call } = scope.clone();
    let (skip, force) = (Some(arguments.skip), Some(arguments.force));
    let key = (!dry_run).then(|| uuid::Uuid::now_v7().to_string());
    let asked = client.restore(session.to_owned(), turn, from, call, skip, force, Some(dry_run), key);
    Ok(asked.await?)
}

async fn undo(
    client: &RpcClient,
    session: &str,
    scope: &Scope,
    arguments: &args::Undo,
    folder: Option<&Path>,
) -> Result<ExitCode, CommandError> {
    let plan = restore(client, session, scope, arguments, true).await?;
    let told = |result: &RestoreResult| text::result(result, folder);
    if arguments.diff {
        let Scope { turn, from, call } = scope.clone();
        let diff = client.diff(session.to_owned(), turn, from, call).await?;
        out::print(&text::differences(&diff, folder))?;
    }
    match plan.state {
        RestoreState::Planned => {}
        RestoreState::Nothing => {
            print(&plan, arguments, || "nothing to undo: the files stand as before\n".to_owned())?;
            return Ok(ExitCode::SUCCESS);
        }
        RestoreState::Refused | RestoreState::Done | RestoreState::Other(_) => {
            print(&plan, arguments, || told(&plan))?;
            out::error("nothing was undone: some files cannot simply be restored", Some(text::way_out(&plan)));
            return Ok(ExitCode::FAILURE);
        }
    }
    if arguments.dry_run {
        print(&plan, arguments, || told(&plan))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.yes {
        out::note(told(&plan).trim_end());
        match confirm::ask("Undo this?") {
            Said::Yes => {}
            Said::No => {
                out::note("nothing was undone");
                return Ok(ExitCode::from(NOT_CONFIRMED));
            }
            Said::Nobody => {
                out::error(
                    "nothing was undone: there is no terminal to ask on",
                    Some("give -y to undo without asking"),
                );
                return Ok(ExitCode::from(NOT_CONFIRMED));
            }
        }
    }
    let done = restore(client, session, scope, arguments, false).await?;
    print(&done, arguments, || told(&done))?;
    if done.state != RestoreState::Done {
        out::error("nothing was undone: the files changed meanwhile", Some("look and try again"));
        return Ok(ExitCode::FAILURE);
    }
    if let Some(call) = &done.call {
        out::note(&format!("`plimsoll undo --session {session} --call {call}` takes this back"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what going back with the files would undo; whether it can be done.
pub(super) async fn announce(client: &RpcClient, session: &str, from: u64, skip: bool) -> Result<bool, CommandError> {
    let asked = client.restore(session.to_owned(), None, Some(from), None, Some(skip), None, Some(true), None);
    let plan = match asked.await {
        Ok(plan) => plan,
        Err(error) if connect::refusal_kind(&error) == Some(ErrorKind::NotFound) => {
            out::note("those turns wrote no files");
            return Ok(true);
        }
        Err(error) => return Err(error.into()),
    };
    let folder = sessions::project_folder(None).ok();
    out::note(text::result(&plan, folder.as_deref()).trim_end());
    let stays = matches!(plan.state, RestoreState::Refused) && !skip;
    if stays {
        out::error(
            "nothing was changed: some files cannot simply be restored",
            Some("--skip leaves those files as they are"),
        );
    }
    Ok(!stays)
}

fn print(result: &RestoreResult, arguments: &args::Undo, text: impl FnOnce() -> String) -> Result<(), CommandError> {
    if arguments.json {
        out::json(result)?;
    } else {
        out::print(&text())?;
    }
    Ok(())
}
