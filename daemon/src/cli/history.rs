//! `plimsoll fork`, `rewind`, `export` and `import`: what is done with a whole conversation.

use super::args::{Export, Fork, Form, Import, Rewind};
use super::confirm::{self, Said};
use super::connect::{self, CommandError};
use super::reach::Spawn;
use super::{out, sessions, undo};
use crate::rpc::client::RpcClient;
use crate::rpc::framing::MESSAGE_LIMIT;
use plimsoll_protocol::history::{ExportFormat, HistoryApiClient};
use plimsoll_protocol::session::{SessionApiClient, SessionInfo};
use serde_json::json;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit code when a yes was needed and did not come.
const NOT_CONFIRMED: u8 = 3;

/// Bytes after which it is said how far an export is.
const PROGRESS: u64 = 8 << 20;

/// Largest file that is imported: its text must fit a message.
const IMPORT_LIMIT: u64 = MESSAGE_LIMIT as u64;

fn key() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Runs `plimsoll fork`.
pub fn fork(arguments: &Fork) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let session = session(&client, arguments.session.as_deref()).await?;
        let made = client.fork(session, arguments.item, arguments.title.clone(), Some(key())).await?;
        if arguments.json {
            out::json(&made)?;
        } else {
            out::line(&made.id)?;
            let shared = made.forked_from.as_ref().map_or(0, |origin| origin.item);
            let asked = arguments.item.filter(|item| *item != shared);
            let why = asked.map(|item| format!(", the last settled end before item {item}")).unwrap_or_default();
            out::note(&format!("shares the items up to {shared}{why}; go on with: plimsoll ask --session {}", made.id));
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The session that was named, else the latest of this folder.
pub(super) async fn session(client: &RpcClient, given: Option<&str>) -> Result<String, CommandError> {
    if let Some(session) = given {
        return Ok(session.to_owned());
    }
    let folder = sessions::project_folder(None)?;
    let found = sessions::list(client, Some(&folder), 1).await?;
    found.into_iter().next().map(|session| session.id).ok_or_else(|| CommandError::Argument {
        message: format!("there is no session in {}", folder.display()),
        hint: "name one; `plimsoll sessions --all` lists them".to_owned(),
    })
}

/// Runs `plimsoll rewind`.
pub fn rewind(arguments: &Rewind) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let Rewind { turn, files, skip, .. } = *arguments;
        let info = client.get(arguments.session.clone()).await?;
        if files && !undo::announce(&client, &info.id, turn, skip).await? {
            return Ok(ExitCode::FAILURE);
        }
        if !arguments.yes && !confirmed(&info, turn) {
            return Ok(ExitCode::from(NOT_CONFIRMED));
        }
        let skip = skip.then_some(true);
        let info = client.rewind(info.id, turn, files.then_some(true), skip, Some(key())).await?;
        if arguments.json {
            out::json(&info)?;
            return Ok(ExitCode::SUCCESS);
        }
        if files {
            out::note(&format!("the model sees what was said before turn {turn}; what was written since is undone"));
        } else {
            out::note(&format!("the model sees what was said before turn {turn}; files stay as they are"));
            out::note(&format!(
                "`plimsoll undo --session {} --from {turn}` takes back what those turns wrote",
                info.id
            ));
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn confirmed(info: &SessionInfo, turn: u64) -> bool {
    let title = if info.title.is_empty() { "(no title)" } else { &info.title };
    out::note(&format!("session {} \u{201c}{}\u{201d}", info.id, out::short(title, 60)));
    match confirm::ask(&format!("Take turn {turn} and all after it out of the model's view?")) {
        Said::Yes => true,
        Said::No => {
            out::note("nothing was changed");
            false
        }
        Said::Nobody => {
            out::error("nothing was changed: there is no terminal to ask on", Some("give -y to do it without asking"));
            false
        }
    }
}

/// Runs `plimsoll export`.
pub fn export(arguments: &Export) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let session = session(&client, arguments.session.as_deref()).await?;
        let form = match arguments.format {
            Form::Jsonl => ExportFormat::Jsonl,
            Form::Markdown => ExportFormat::Markdown,
        };
        let Some(path) = &arguments.output else {
            pages(&client, &session, form, out::print).await?;
            return Ok(ExitCode::SUCCESS);
        };
        // Under another name until it is whole. It holds what the session saw: for its owner's eyes.
        let unfinished = beside(path);
        let opened = File::options().write(true).create(true).truncate(true).mode(0o600).open(&unfinished);
        let mut file = opened.map_err(|error| cannot("write", &unfinished, &error))?;
        let written = pages(&client, &session, form, |text| file.write_all(text.as_bytes())).await;
        let bytes = match written {
            Ok(bytes) => bytes,
            Err(error) => {
                let _ = std::fs::remove_file(&unfinished);
                return Err(error);
            }
        };
        file.sync_all()
            .and_then(|()| std::fs::rename(&unfinished, path))
            .map_err(|error| cannot("write", path, &error))?;
        if arguments.json {
            out::json(&json!({ "session": session, "file": path, "bytes": bytes }))?;
        } else {
            out::note(&format!("{bytes} bytes in {}", path.display()));
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Every page of an export; gives its bytes.
async fn pages(
    client: &RpcClient,
    session: &str,
    form: ExportFormat,
    mut take: impl FnMut(&str) -> std::io::Result<()>,
) -> Result<u64, CommandError> {
    let (mut offset, mut told) = (0, 0);
    loop {
        let page = client.export(session.to_owned(), form, Some(offset), None).await?;
        take(&page.text)?;
        let Some(next) = page.next_offset else { return Ok(page.offset + page.bytes) };
        offset = next;
        if offset >= told + PROGRESS {
            told = offset;
            out::transient(&format!("{} MiB", offset >> 20));
        }
    }
}

/// Runs `plimsoll import`.
pub fn import(arguments: &Import) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let data = read(&arguments.file)?;
        let folder = sessions::project_folder(arguments.project.as_deref())?;
        let project = sessions::open_project(&client, &folder).await?;
        let made = client.import(project.key, data, Some(key())).await?;
        if arguments.json {
            out::json(&made)?;
        } else {
            out::line(&made.id)?;
            out::note(&format!("{} items; `plimsoll show {}` prints them", made.items, made.id));
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn read(path: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(IMPORT_LIMIT + 1).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(IMPORT_LIMIT + 1).read_to_string(&mut text))
    };
    read.map_err(|error| cannot("read", path, &error))?;
    if text.len() as u64 > IMPORT_LIMIT {
        return Err(CommandError::Argument {
            message: format!("{} has more than {} MiB", path.display(), IMPORT_LIMIT >> 20),
            hint: "a session of this size cannot be imported".to_owned(),
        });
    }
    Ok(text)
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Argument {
        message: format!("cannot {what} {}: {error}", path.display()),
        hint: "see that the path is right and may be used".to_owned(),
    }
}
